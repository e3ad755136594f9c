"""The way to a server: redirects, certificates, proxies."""

from __future__ import annotations

import base64
import datetime
import ipaddress
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mcp_actors import Client, errors
from mcp_actors.transports.http.dialogue import Dialogues, at_home
from mcp_actors.transports.http.engine import Engine, Errand
from mcp_actors.transports.http.grip import Grip
from mcp_actors.transports.http.proxies import proxy_for
from mcp_actors.transports.http.settings import HttpSettings
from tests.client.waiting import BOUND, in_thread, until
from tests.servers.http_peer import HttpPeer, Turn
from tests.transports.http.conftest import MakeClient, MakePeer

pytestmark = pytest.mark.requirement("transport:http")


# Redirects.


@pytest.mark.parametrize("status", [307, 308])
def test_a_redirect_within_the_origin_is_followed(
    status: int, peer: HttpPeer, make_client: MakeClient
) -> None:
    def move(turn: Turn) -> None:
        if turn.path == "/mcp":
            turn.status(status, Location="/mcp/")
        else:
            peer.serve(turn)

    for method in ("server/discover", "tools/call"):
        peer.on(method, move)
    client = make_client(peer, auth="a-token").wait_ready()
    assert client.call_tool("echo", {"a": 1}).text == '{"a": 1}'
    assert [turn.path for turn in peer.turns("tools/call")] == ["/mcp", "/mcp/"]
    assert {turn.headers["authorization"] for turn in peer.heard} == {"Bearer a-token"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_redirect_leads_to_another_origin(
    status: int, peer: HttpPeer, make_peer: MakePeer, make_client: MakeClient
) -> None:
    other = make_peer()
    peer.on("server/discover", lambda turn: turn.status(status, Location=other.url))
    with pytest.raises(errors.StartFailed):
        make_client(peer, auth="a-token", max_failed_starts=1).wait_ready()
    assert other.connections == 0


@pytest.mark.requirement("security:oauth")
@pytest.mark.parametrize(
    "start", ["http://{other}\\@{home}/mcp", "//{other}\\@{home}/mcp", "http://{other}@{home}/mcp"]
)
def test_an_address_that_can_be_read_in_two_ways_is_not_gone_to(
    start: str, peer: HttpPeer, make_peer: MakePeer, make_client: MakeClient
) -> None:
    other = make_peer()
    names = {"home": peer.url.split("/")[2], "other": other.url.split("/")[2]}
    peer.on("server/discover", lambda turn: turn.status(307, Location=start.format(**names)))
    with pytest.raises(errors.StartFailed):
        make_client(peer, auth="a-token", max_failed_starts=1).wait_ready()
    assert (len(peer.heard), other.connections) == (1, 0)


def test_a_loop_of_redirects_ends(peer: HttpPeer, client: Client) -> None:
    peer.calls["echo"] = lambda turn: turn.status(307, Location="/mcp")
    with pytest.raises(errors.ConnectionLost, match="8 times in a row"):
        client.call_tool("echo", {})
    assert len(peer.turns("tools/call")) == 8


def test_addresses_that_a_server_makes_up_are_not_all_remembered(peer: HttpPeer) -> None:
    def move(turn: Turn) -> None:
        if turn.path.startswith("/mcp"):
            turn.status(307, Location=f"/moved/{len(peer.heard)}")
        else:
            turn.status(202)

    peer.on("POST", move)
    engine = Engine(None, None, BOUND)
    dialogues = Dialogues(engine, HttpSettings(url=peer.url))
    for _ in range(50):
        dialogues.finish(dialogues.ask(Errand("POST", peer.url, {}), Grip()))
    assert len({turn.path for turn in peer.heard}) == 51
    assert len(engine._ways) <= 16
    engine.close()


# Certificates.


def _certificate(
    name: str, issuer: tuple[x509.Certificate, ec.EllipticCurvePrivateKey] | None, *, hours: float = 1
) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.UTC)
    alternative = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signer = issuer[1] if issuer else key
    # Python 3.13 and later believe in no authority whose certificates do not say whose keys are whose.
    own, signers = key.public_key(), signer.public_key()
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer[0].subject if issuer else subject)
        .public_key(own)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=2))
        .not_valid_after(now + datetime.timedelta(hours=hours))
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(alternative, critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(own), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signers), critical=False)
        .add_extension(_usage(signs=issuer is None), critical=True)
    )
    return builder.sign(signer, hashes.SHA256()), key


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """The file of a certificate authority, and what a server needs that it vouches for."""
    folder = tmp_path_factory.mktemp("tls")
    root = _certificate("an authority of a test", None)
    leaf, key = _certificate("a server of a test", root)
    pem = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(root[0].public_bytes(pem))
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "server.pem").write_bytes(leaf.public_bytes(pem) + private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return folder / "ca.pem", context


Authority = tuple[Path, ssl.SSLContext]


@pytest.mark.parametrize("how", ["str", "path", "context", "off"])
def test_a_private_authority_is_believed_if_it_is_given(
    how: str, authority: Authority, make_peer: MakePeer, make_client: MakeClient
) -> None:
    path, context = authority
    verify = {
        "str": str(path),
        "path": path,
        "context": ssl.create_default_context(cafile=path),
        "off": False,
    }[how]
    peer = make_peer("2025-11-25", tls=context)
    client = make_client(peer, verify=verify).wait_ready()
    for number in range(3):
        assert client.call_tool("echo", {"n": number}).text == f'{{"n": {number}}}'
    peer.await_listener()
    assert peer.connections <= 3


def test_a_certificate_that_nobody_vouches_for_is_refused_once_and_for_all(
    authority: Authority, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer(tls=authority[1])
    with pytest.raises(
        errors.StartFailed, match="could not be reached: its certificate does not verify: .*verify="
    ):
        make_client(peer).wait_ready()
    assert peer.heard == []
    assert peer.connections == 1


def test_of_a_certificate_that_has_expired_just_that_is_said(
    tmp_path: Path, make_peer: MakePeer, make_client: MakeClient
) -> None:
    leaf, key = _certificate("a server of a test", None, hours=-1)
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "server.pem").write_bytes(leaf.public_bytes(pem) + private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem")
    peer = make_peer(tls=context)
    with pytest.raises(errors.StartFailed) as caught:
        make_client(peer, verify=tmp_path / "server.pem").wait_ready()
    assert caught.value.message.endswith("its certificate does not verify: certificate has expired")


def test_a_call_over_tls_is_cut_at_its_deadline(
    authority: Authority, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer(tls=authority[1])
    cut = threading.Event()

    def work(turn: Turn) -> None:
        turn.stream()
        turn.over = True
        try:
            while turn.sock.recv(1):
                pass
        except OSError:
            pass
        cut.set()

    peer.calls["work"] = work
    client = make_client(peer, verify=authority[0]).wait_ready()
    with pytest.raises(errors.RequestTimeout):
        client.call_tool("work", timeout=0.2)
    assert cut.wait(BOUND)
    assert client.call_tool("echo", {}).text == "{}"


def test_certificates_that_are_not_there_are_named(tmp_path: Path, make_client: MakeClient) -> None:
    with pytest.raises(
        errors.StartFailed, match="could not be reached: the certificates in .*none.pem, .* cannot be read"
    ):
        make_client("https://127.0.0.1:1/", verify=str(tmp_path / "none.pem")).wait_ready()


def test_a_server_that_does_not_speak_tls_is_said_to_be_unreachable(make_client: MakeClient) -> None:
    def answer(server: socket.socket) -> None:
        sock, _ = server.accept()
        with sock:
            sock.recv(65536)
            sock.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        serving = in_thread(lambda: answer(server))
        url = f"https://127.0.0.1:{server.getsockname()[1]}/"
        with pytest.raises(
            errors.StartFailed, match="could not be reached: it does not speak TLS there.*http://"
        ):
            make_client(url, max_failed_starts=1).wait_ready()
        serving.result(BOUND)


# Proxies.


class ToyProxy:
    """Forwards plain requests and tunnels the others; remembers what it was asked for."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.heads: list[str] = []
        self._tls = tls
        self.refuses = False
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(0.02)
        self._socks: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._run(self._accept)

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.getsockname()[1]}"

    def stop(self) -> None:
        self._server.close()
        for sock in self._socks:
            sock.close()
        for thread in self._threads:
            thread.join(BOUND)

    def _run(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                sock, _ = self._server.accept()
            except TimeoutError:
                continue
            except OSError:
                return
            self._socks.append(sock)
            self._run(self._serve, sock)

    def _serve(self, sock: socket.socket) -> None:
        sock.settimeout(None)
        if self._tls is not None:
            sock = self._tls.wrap_socket(sock, server_side=True)
            self._socks.append(sock)
        head = b""
        while b"\r\n\r\n" not in head:
            data = sock.recv(65536)
            if not data:
                return
            head += data
        self.heads.append(head.split(b"\r\n\r\n")[0].decode())
        if self.refuses:
            sock.sendall(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")
            return
        method, target, _ = self.heads[-1].split("\r\n")[0].split(" ")
        host = target if method == "CONNECT" else target.split("/")[2]
        upstream = socket.create_connection((host.split(":")[0], int(host.split(":")[1])))
        self._socks.append(upstream)
        if method == "CONNECT":
            sock.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        else:
            upstream.sendall(head)
        self._pass_on(sock, upstream)

    def _pass_on(self, one: socket.socket, other: socket.socket) -> None:
        try:
            while True:
                # TLS may hold what is not in the socket any more.
                held = isinstance(one, ssl.SSLSocket) and one.pending()
                for sock in [one] if held else select.select([one, other], [], [], 0.05)[0]:
                    data = sock.recv(65536)
                    if not data:
                        return
                    (other if sock is one else one).sendall(data)
        except (OSError, ValueError):
            return


@pytest.fixture
def proxy() -> Iterator[ToyProxy]:
    one = ToyProxy()
    yield one
    one.stop()


@pytest.fixture
def tls_proxy(authority: Authority) -> Iterator[ToyProxy]:
    one = ToyProxy(authority[1])
    yield one
    one.stop()


def test_a_proxy_forwards_plain_requests(peer: HttpPeer, proxy: ToyProxy, make_client: MakeClient) -> None:
    client = make_client(peer, proxies={"http": f"http://user:p%40ss@{proxy.address}"}).wait_ready()
    assert client.call_tool("echo", {}).text == "{}"
    assert proxy.heads[0].startswith(f"POST {peer.url} HTTP/1.1")
    secret = base64.b64encode(b"user:p@ss").decode()
    assert f"proxy-authorization: Basic {secret}".lower() in proxy.heads[0].lower()
    assert peer.heard[0].headers["host"] == peer.url.split("/")[2]
    client.close()


def test_a_proxy_is_tunnelled_through_to_a_server_with_tls(
    authority: Authority, proxy: ToyProxy, make_peer: MakePeer, make_client: MakeClient
) -> None:
    peer = make_peer(tls=authority[1])
    proxies = {"https": f"user:pass@{proxy.address}"}
    client = make_client(peer, verify=authority[0], proxies=proxies, auth="a-token").wait_ready()
    assert client.call_tool("echo", {}).text == "{}"
    assert {head.split("\r\n")[0].split(" ")[0] for head in proxy.heads} == {"CONNECT"}
    assert not any("a-token" in head for head in proxy.heads)
    assert not any("proxy-authorization" in turn.headers for turn in peer.heard)
    client.close()


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_proxy_may_be_spoken_to_over_tls(
    encrypted: bool,
    authority: Authority,
    tls_proxy: ToyProxy,
    make_peer: MakePeer,
    make_client: MakeClient,
) -> None:
    peer = make_peer(tls=authority[1] if encrypted else None)

    def work(turn: Turn) -> None:
        turn.stream()
        turn.over = True
        # Until the client has gone, or its proxy.
        turn.sock.recv(1)

    peer.calls["work"] = work
    proxies = {"all": f"https://{tls_proxy.address}"}
    client = make_client(peer, verify=authority[0], proxies=proxies).wait_ready()
    assert client.call_tool("echo", {}).text == "{}"
    with pytest.raises(errors.RequestTimeout):
        client.call_tool("work", timeout=0.2)
    assert client.call_tool("echo", {}).text == "{}"
    ways = {head.split(" ")[0] for head in tls_proxy.heads}
    assert ways == ({"CONNECT"} if encrypted else {"POST"})
    client.close()


def test_a_proxy_that_refuses_is_named(
    authority: Authority, proxy: ToyProxy, make_peer: MakePeer, make_client: MakeClient
) -> None:
    proxy.refuses = True
    peer = make_peer(tls=authority[1])
    client = make_client(peer, proxies={"all": proxy.address}, max_failed_starts=1)
    with pytest.raises(errors.StartFailed, match="could not be reached: the proxy failed: .*407"):
        client.wait_ready()
    assert peer.connections == 0


def test_the_environment_names_a_proxy_unless_it_is_told_not_to(
    peer: HttpPeer, proxy: ToyProxy, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", proxy.address)
    make_client(peer, proxies=None).wait_ready().close()
    assert len(proxy.heads) == 1
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    make_client(peer, proxies=None).wait_ready().close()
    make_client(peer, proxies={}).wait_ready().close()
    assert len(proxy.heads) == 1
    until(lambda: len(peer.turns("server/discover")) == 3)


@pytest.mark.parametrize("address", ["socks5://user:secret@localhost:1", "ftp://x", "http://"])
def test_an_address_that_is_none_of_a_proxy_is_refused_at_once(address: str) -> None:
    with pytest.raises(ValueError, match="a proxy must have") as caught:
        Client.http("http://127.0.0.1:1/", proxies={"http": address})
    assert "secret" not in str(caught.value)


def test_a_scheme_without_a_proxy_needs_none() -> None:
    assert proxy_for("https://example.com/", {"http": "localhost:1"}) is None


def test_a_server_that_says_nothing_to_tls_holds_nobody_up_beyond_the_deadline(
    make_client: MakeClient,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(BOUND)
        client = make_client(f"https://127.0.0.1:{listening.getsockname()[1]}/mcp", verify=False)
        call = in_thread(lambda: client.call_tool("echo", {}, timeout=0.3))
        silent, _ = listening.accept()
        with silent:
            silent.settimeout(BOUND)
            assert isinstance(call.exception(BOUND), errors.RequestTimeout)
            client.close()
            # The greeting of TLS, and then the end.
            while silent.recv(65536):
                pass


@pytest.mark.parametrize(
    "reference",
    [
        "http://server.example/mcp",
        "https://server.example:8443/mcp",
        "https://other.example/mcp",
        "//other.example/mcp",
        "https://server.example.other.example/mcp",
        "https://server.example@other.example/mcp",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://[::1",
        "https://server.example:99999/",
    ],
)
@pytest.mark.requirement("security:oauth")
def test_an_address_of_another_scheme_host_or_port_is_not_at_home(reference: str) -> None:
    assert at_home("https://server.example/mcp", reference) is None


def test_an_address_of_the_same_origin_is_at_home_however_it_is_spelled() -> None:
    for reference in ("/mcp/", "?a=1", "HTTPS://SERVER.example:443/mcp/", "//server.example/mcp/"):
        assert at_home("https://server.example/mcp", reference) is not None
