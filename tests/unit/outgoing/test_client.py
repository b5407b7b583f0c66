"""The outgoing client against hostile servers: every end is a value, every limit holds."""

from __future__ import annotations

import asyncio
import gzip
import zlib

import pytest

from horae.outgoing.client import Client
from horae.outgoing.exchange import FailureKind, Response, Unreachable
from horae.outgoing.guard import CheckedUrl
from horae.outgoing.session import Decompressor
from tests.unit.outgoing.servers import (
    LOOPBACK,
    Speak,
    a_client,
    a_request,
    answering,
    endlessly,
    reply_to,
    saying,
    silence,
    wire,
)

GZIP_BOMB = gzip.compress(bytes(50_000_000))


def trouble(reply: object) -> FailureKind:
    assert isinstance(reply, Unreachable), reply
    return reply.kind


async def test_an_answer_has_its_status_its_headers_and_its_body() -> None:
    reply = await reply_to(answering(201, b"made", (("X-Twice", "one"), ("X-Twice", "two"))))
    assert isinstance(reply, Response)
    assert (reply.status, reply.body, reply.truncated, reply.headers["x-twice"]) == (201, b"made", False, "one")


async def test_request_has_only_the_given_headers_and_body() -> None:
    async with wire(answering()) as server, a_client() as client:
        url = server.url("/a%20b?x=%7B1%7D", host="127.0.0.1")
        headers = (("X-One", "1"), ("Content-Type", "text/x"))
        await client.send(a_request(url, method="POST", headers=headers, body=b"hello"))
    first, *lines = server.heard[0].strip().split("\r\n")
    assert first == "POST /a%20b?x=%7B1%7D HTTP/1.1"
    assert {line.lower() for line in lines} == {
        f"host: 127.0.0.1:{server.port}",
        "x-one: 1",
        "content-type: text/x",
        "accept: */*",
        "accept-encoding: gzip, deflate",
        "connection: close",
        "content-length: 5",
    }
    assert server.bodies == [b"hello"]


async def test_no_cookie_is_kept_and_no_connection_is_shared() -> None:
    async def lookup(_host: str) -> tuple[str]:
        return ("127.0.0.1",)

    cookie = ("Set-Cookie", "a=b; Path=/")
    async with wire(answering(headers=(cookie,))) as server, a_client(Client(LOOPBACK, lookup=lookup)) as client:
        for _ in range(2):
            await client.send(a_request(server.url(host="named.example")))
    assert server.connections == 2
    assert "cookie" not in server.heard[1].lower()


async def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    async with wire(answering()) as proxy, wire(answering(204)) as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url().text)
        async with a_client() as client:
            reply = await client.send(a_request(server.url()))
    assert isinstance(reply, Response)
    assert reply.status == 204
    assert proxy.connections == 0


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("", b"hello"),
        ("identity", b"hello"),
        ("gzip", gzip.compress(b"hello", mtime=0)),
        ("X-GZIP", gzip.compress(b"hello", mtime=0)),
        ("gzip", gzip.compress(b"hel", mtime=0) + gzip.compress(b"lo", mtime=0)),
        ("deflate", zlib.compress(b"hello")),
        ("deflate", zlib.compress(b"hello")[2:-4]),
    ],
)
async def test_compressed_answers_are_read(encoding: str, body: bytes) -> None:
    reply = await reply_to(answering(body=body, headers=(("Content-Encoding", encoding),)))
    assert isinstance(reply, Response)
    assert reply.body == b"hello"


async def test_a_body_of_exactly_the_bound_is_whole_and_one_byte_more_is_cut() -> None:
    for body, cut in ((b"12345678", False), (b"123456789", True)):
        for encoding, sent in (("", body), ("gzip", gzip.compress(body))):
            reply = await reply_to(answering(body=sent, headers=(("Content-Encoding", encoding),)), max_body_bytes=8)
            assert isinstance(reply, Response)
            assert (reply.body, reply.truncated) == (b"12345678", cut)


@pytest.mark.parametrize(("encoding", "bomb"), [("gzip", GZIP_BOMB), ("deflate", zlib.compress(bytes(50_000_000)))])
async def test_decompression_bomb_is_cut_at_the_limit(encoding: str, bomb: bytes) -> None:
    reply = await reply_to(answering(body=bomb, headers=(("Content-Encoding", encoding),)), max_body_bytes=1000)
    assert isinstance(reply, Response)
    assert (reply.body, reply.truncated) == (bytes(1000), True)


def test_decompression_bomb_is_never_unpacked_in_memory() -> None:
    unpacking = Decompressor("gzip", 1000)
    assert not unpacking.feed(GZIP_BOMB)
    assert len(unpacking._body) == 1001


@pytest.mark.parametrize(
    ("head", "piece"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", bytes(4096)),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + bytes(4096) + b"\r\n"),
        # Blocks that hold nothing: they are read for ever and come to nothing.
        (b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\nx\x9c", b"\0\0\0\xff\xff" * 800),
    ],
)
async def test_an_endless_body_is_cut_at_the_bound_and_the_connection_is_closed(head: bytes, piece: bytes) -> None:
    async with wire(endlessly(head, piece)) as server, a_client() as client:
        reply = await client.send(a_request(server.url(), max_body_bytes=100_000))
        await server.gone.wait()
    assert isinstance(reply, Response)
    assert reply.truncated


async def slowly(writer: asyncio.StreamWriter) -> None:
    """Begins well."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1")
    await silence(writer)


async def halfway(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Le")
    await silence(writer)


@pytest.mark.parametrize("speak", [silence, slowly, halfway, endlessly(b"", b"HTTP/1.1 100 Continue\r\n\r\n")])
async def test_slow_response_times_out(speak: Speak) -> None:
    assert trouble(await reply_to(speak, timeout=0.2)) is FailureKind.TIMEOUT


@pytest.mark.parametrize(
    ("speak", "kind"),
    [
        (saying(), FailureKind.BROKEN),
        (saying(b"HTTP/1.1 200 OK\r\nContent-Le"), FailureKind.BROKEN),
        (answering(body=b"short", length=10), FailureKind.BROKEN),
        (saying(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"), FailureKind.BROKEN),
        (saying(b"hello\r\n\r\n"), FailureKind.MALFORMED),
        (saying(b"HTTP/1.1 999999 OK\r\n\r\n"), FailureKind.MALFORMED),
        (saying(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n"), FailureKind.MALFORMED),
        (saying(b"HTTP/1.1 200 OK\r\n" + b"X: x\r\n" * 10_000 + b"\r\n"), FailureKind.MALFORMED),
        (answering(body=b"hello", headers=(("Content-Encoding", "br"),)), FailureKind.MALFORMED),
        (answering(body=b"hello", headers=(("Content-Encoding", "gzip, gzip"),)), FailureKind.MALFORMED),
        (answering(body=b"hello", headers=(("Content-Encoding", "gzip"),)), FailureKind.MALFORMED),
        (answering(body=gzip.compress(b"hello")[:-9], headers=(("Content-Encoding", "gzip"),)), FailureKind.MALFORMED),
    ],
)
async def test_transport_errors_have_codes(speak: Speak, kind: FailureKind) -> None:
    assert trouble(await reply_to(speak)) is kind


async def reset(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n1")
    await writer.drain()
    writer.transport.abort()


async def test_a_reset_connection_is_broken() -> None:
    assert trouble(await reply_to(reset)) is FailureKind.BROKEN


async def test_connection_refused() -> None:
    async with wire(silence) as server:
        url = server.url()
    async with a_client() as client:
        outcome = await client.send(a_request(url))
    assert trouble(outcome) is FailureKind.CONNECTION


async def test_plain_text_where_tls_should_be() -> None:
    async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server, a_client() as client:
        port = server.sockets[0].getsockname()[1]
        outcome = await client.send(a_request(CheckedUrl("https", "127.0.0.1", port, "/")))
    assert trouble(outcome) is FailureKind.TLS


async def test_a_cancelled_request_closes_its_connection() -> None:
    async with (
        wire(
            endlessly(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1000\r\n" + bytes(4096) + b"\r\n")
        ) as server,
        a_client() as client,
    ):
        request = a_request(server.url(), max_body_bytes=1 << 40)
        sending = asyncio.create_task(client.send(request))
        await server.arrived.wait()
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await server.gone.wait()


async def test_closing_is_safe_twice_and_before_anything_was_sent() -> None:
    client = Client(LOOPBACK)
    await client.close()
    await client.close()


async def test_messages_name_the_host_alone() -> None:
    async with wire(saying()) as server, a_client() as client:
        url = server.url("/hunter2?hunter2")
        reply = await client.send(a_request(url, headers=(("X", "hunter2"),), body=b"hunter2", method="POST"))
        assert isinstance(reply, Unreachable)
    assert "hunter2" not in reply.message


async def test_unchecked_url_is_checked_before_sending() -> None:
    async with a_client(Client()) as client:
        outcome = await client.send(a_request(CheckedUrl("http", "169.254.169.254", 80, "/latest/meta-data")))
    assert trouble(outcome) is FailureKind.FORBIDDEN
