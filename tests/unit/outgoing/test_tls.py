"""TLS: the certificate must match the requested name and be trusted."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from horae.outgoing.client import Client
from horae.outgoing.exchange import FailureKind, Unreachable
from horae.outgoing.guard import CheckedUrl
from tests.unit.outgoing.servers import LOOPBACK, a_client, a_request

NAME = "named.example"


def a_certificate(folder: Path) -> Path:
    """For the right name, but from an untrusted issuer."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    certificate = (
        x509.CertificateBuilder(subject_name=subject, issuer_name=subject, public_key=key.public_key())
        .serial_number(1)
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2099, 1, 1, tzinfo=UTC))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "both.pem"
    path.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return path


async def test_certificate_must_match_the_requested_name(tmp_path: Path) -> None:
    asked: list[str | None] = []
    spoken: list[bytes] = []
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(a_certificate(tmp_path))
    context.sni_callback = lambda _socket, name, _context: asked.append(name)

    async def lookup(_host: str) -> Sequence[str]:
        return ("127.0.0.1",)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        spoken.append(await reader.read(1))
        writer.close()

    async with (
        await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as server,
        a_client(Client(LOOPBACK, lookup=lookup)) as client,
    ):
        port = server.sockets[0].getsockname()[1]
        reply = await client.send(a_request(CheckedUrl("https", NAME, port, "/")))
    assert isinstance(reply, Unreachable)
    assert reply.kind is FailureKind.TLS
    assert "self-signed" in reply.message
    assert asked == [NAME]
    assert not any(spoken)
