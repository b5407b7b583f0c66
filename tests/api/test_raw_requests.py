"""Raw HTTP requests over a socket: trailers, slow bodies, Host headers, aborted connections."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from horae.web.request_context import WebSettings
from tests.api.api_server import TASK, Api, serve_api
from tests.cli.operating.deployment import Deployment

QUICK: Final = WebSettings(expects_engine=False, body_seconds=0.3)


async def _exchange(api: Api, request: bytes) -> tuple[int, dict[str, Any]]:
    """Send one request as bytes; return the status and the JSON body of the response."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(api.base.rsplit(":", 1)[1]))
    with closing(writer):
        writer.write(request)
        async with asyncio.timeout(20):
            head = await reader.readuntil(b"\r\n\r\n")
            lengths = [line for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")]
            body = await reader.readexactly(int(lengths[0].split(b":")[1])) if lengths else b""
    return int(head.split()[1]), json.loads(body) if body else {}


def _bearer(api: Api, who: str = "ada") -> bytes:
    return f"Authorization: Bearer {api.tokens[who]}\r\n".encode()


# --- trailers -------------------------------------------------------------------------------------------------------


def _chunked(head: bytes, trailers: bytes, body: bytes = json.dumps(TASK).encode()) -> bytes:
    return (
        b"POST /v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
        + head
        + b"\r\n%x\r\n%b\r\n0\r\n%b\r\n" % (len(body), body, trailers)
    )


async def _check_trailers(api: Api) -> None:
    status, refused = await _exchange(api, _chunked(b"", _bearer(api)))
    assert (status, refused["code"]) == (401, "no_token")
    status, made = await _exchange(api, _chunked(_bearer(api), b"Accept-Language: zh\r\nX-Request-Id: theirs\r\n"))
    assert status == 201, made
    # A token, an idempotency key and a condition in trailers are ignored.
    smuggled = _bearer(api, "bob") + b'Idempotency-Key: k\r\nIf-Match: "9-x"\r\nContent-Type: text/plain\r\n'
    status, second = await _exchange(api, _chunked(_bearer(api), smuggled))
    assert (status, second["owner"]) == (201, "ada")
    assert (await api.service.store.records("answer")).items == ()


async def test_trailers_of_a_chunked_request_never_become_headers() -> None:
    async with serve_api() as api:
        await _check_trailers(api)


# --- slow bodies ----------------------------------------------------------------------------------------------------


async def _check_slow_bodies(api: Api) -> None:
    half = b"POST /v1/tasks HTTP/1.1\r\nHost: x\r\n" + _bearer(api) + b"Content-Length: 100\r\n\r\n{"
    status, problem = await _exchange(api, half)
    assert (status, problem["code"], problem["title"]) == (408, "slow_body", "request timeout")
    chunked = b"POST /v1/tasks HTTP/1.1\r\nHost: x\r\n" + _bearer(api) + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"
    status, problem = await _exchange(api, chunked)
    assert (status, problem["code"]) == (408, "slow_body")


async def test_slow_body_is_answered_with_request_timeout() -> None:
    async with serve_api(settings=QUICK) as api:
        await _check_slow_bodies(api)


def test_body_timeout_is_thirty_seconds_unless_set(tmp_path: Path) -> None:
    assert WebSettings().body_seconds == 30
    deployment = Deployment(tmp_path)
    done = deployment.horae("up", "--port", "0", environment={"HORAE_API": "on", "HORAE_BODY_TIMEOUT": "soon"})
    assert done.returncode != 0
    assert "body_timeout" in done.stderr + done.stdout


# --- Host -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hosts", "version", "status"),
    [
        (b"", b"1.1", 400),
        (b"Host: a\r\nHost: b\r\n", b"1.1", 400),
        (b"Host: a\r\nhost: a\r\n", b"1.1", 400),
        (b"Host: a\r\nHost: b\r\n", b"1.0", 400),
        (b"Host: a\r\n", b"1.1", 200),
        (b"", b"1.0", 200),
    ],
)
async def test_request_needs_exactly_one_host_header(hosts: bytes, version: bytes, status: int) -> None:
    async with serve_api() as api:
        found, body = await _exchange(api, b"GET /healthz HTTP/%b\r\n%b\r\n" % (version, hosts))
        assert found == status
        if status == 400:
            assert body["code"] == "bad_host"


# --- aborted connections --------------------------------------------------------------------------------------------


async def _check_aborted_requests(api: Api) -> None:
    for path in (b"/v1/tasks", b"/v1/runs/run_1/callback", b"/v1/tasks/tsk_1/pause"):
        _, writer = await asyncio.open_connection("127.0.0.1", int(api.base.rsplit(":", 1)[1]))
        writer.write(b"POST %b HTTP/1.1\r\nHost: x\r\n%bContent-Length: 100\r\n\r\n{" % (path, _bearer(api)))
        await writer.drain()
        writer.transport.abort()
    async with asyncio.timeout(20):
        while (text := (await api.get("/metrics", who=None)).text).count('status="499"') < 2:
            pass
    assert 'status="500"' not in text


async def test_aborted_request_is_not_counted_as_a_server_error() -> None:
    async with serve_api() as api:
        await _check_aborted_requests(api)
