"""Workers without a person: each has the program's key, and tokens come and go behind their calls.

Run it from the root of a checkout by `python -m examples.credentials_in_a_worker`: the server is one of the
test suite.
"""

from __future__ import annotations

import queue
import threading

from mcp_actors import Client, errors
from mcp_actors.auth import ClientCredentials, SigningKey
from tests.auth.protected_server import ProtectedServer


def work(client: Client, jobs: queue.Queue[int | None], done: queue.Queue[str]) -> None:
    """Until None comes. What may succeed later goes back into the queue, what cannot is reported."""
    while (job := jobs.get()) is not None:
        try:
            done.put(f"job {job}: {client.call_tool('whoami', wait=True, timeout=10.0).text}")
        except errors.AuthorizationFailed as error:
            done.put(f"job {job} needs an operator: {error.message}")
        except errors.McpError as error:
            if error.retryable:
                jobs.put(job)
            else:
                done.put(f"job {job} failed: {error.message}")


def run(client: Client, numbers: range) -> list[str]:
    """The jobs by three workers, who share the client."""
    jobs: queue.Queue[int | None] = queue.Queue()
    done: queue.Queue[str] = queue.Queue()
    workers = [threading.Thread(target=work, args=(client, jobs, done)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for number in numbers:
        jobs.put(number)
    results = sorted(done.get(timeout=30.0) for _ in numbers)
    for _ in workers:
        jobs.put(None)
    for worker in workers:
        worker.join()
    return results


def main() -> None:
    # In life: SigningKey.load(Path("worker.pem").read_text()), and the operator has the public half.
    key = SigningKey.generate("ES256", kid="worker-1")
    with ProtectedServer(challenge_scope="jobs:run") as server:
        server.add_client("worker", public_key=key.public_jwk)
        robot = ClientCredentials("worker", private_key=key, issuer=server.issuer)
        with Client.http(server.resource_url, auth=robot, name="jobs") as client:
            print(*run(client, range(6)), sep="\n")
            print(f"tokens: {server.count('token')}")
            server.revoke_tokens()
            print(*run(client, range(6, 8)), sep="\n")
            print(f"tokens: {server.count('token')}")
        stranger = ClientCredentials("worker", private_key=SigningKey.generate(), issuer=server.issuer)
        client = Client.http(server.resource_url, auth=stranger, name="jobs")
        print(*run(client, range(8, 9)), sep="\n")
        client.close()


if __name__ == "__main__":
    main()
