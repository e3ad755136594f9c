"""Requests over TLS: certificates are checked, and a server that drips is cut there too."""

from __future__ import annotations

import contextlib
import datetime
import ipaddress
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mcp_actors.auth.fetching import Fetcher, Network
from mcp_actors.errors import AuthorizationFailed, RequestTimeout
from mcp_actors.runtime.slot import Slot
from tests.conftest import BOUND


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A key and a certificate for 127.0.0.1, which nobody vouches for but itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(private + signed.public_bytes(serialization.Encoding.PEM))
    return path


@contextlib.contextmanager
def server(certificate: Path, answer: bytes, *, drip: bool = False) -> Iterator[str]:
    """Answers one request, then closes; or goes on with single bytes until the peer is gone."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    stopped = threading.Event()

    def serve() -> None:
        # However it ends: the client's side is what is looked at.
        with contextlib.suppress(OSError):
            plain, _ = listening.accept()
            with plain, context.wrap_socket(plain, server_side=True) as connection:
                connection.recv(65536)
                connection.sendall(answer)
                while drip and not stopped.wait(0.02):
                    connection.sendall(b" ")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(BOUND)
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"https://127.0.0.1:{listening.getsockname()[1]}/x"
        finally:
            stopped.set()
            thread.join(BOUND)


def fetcher(verify: bool | str, timeout: float = BOUND) -> Fetcher:
    return Fetcher(Network("https://127.0.0.1/mcp", timeout, verify), Slot())


def test_a_certificate_that_the_caller_trusts_is_accepted(certificate: Path) -> None:
    with server(certificate, b'HTTP/1.0 200 OK\r\n\r\n{"a": 1}') as url:
        assert fetcher(str(certificate)).get(url, "it").members == {"a": 1}


def test_a_certificate_that_nobody_trusts_is_refused(certificate: Path) -> None:
    with (
        server(certificate, b"HTTP/1.0 200 OK\r\n\r\n{}") as url,
        pytest.raises(AuthorizationFailed, match="cannot be reached.*certificate"),
    ):
        fetcher(True).get(url, "it")


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 200 OK\r\n\r\n"])
def test_a_server_that_drips_over_tls_is_cut_at_the_deadline(certificate: Path, answer: bytes) -> None:
    with (
        server(certificate, answer, drip=True) as url,
        pytest.raises(RequestTimeout, match="gave no whole answer within 0.3 s"),
    ):
        fetcher(str(certificate), 0.3).get(url, "it")
