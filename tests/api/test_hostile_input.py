"""Hostile bodies, schedules, targets and headers: each is refused quickly with the right status, and nothing is stored."""

from __future__ import annotations

import asyncio
import json
from io import BytesIO
from typing import Any, Final

import pytest

from tests.api.api_server import TASK, Api, serve_api


async def _check_nothing_stored(api: Api) -> None:
    assert (await api.get("/v1/tasks", who="admin")).json["items"] == []


BODIES: Final[list[tuple[bytes, int, str]]] = [
    (b"", 400, "not_json"),
    (b"{", 400, "not_json"),
    (b"nonsense", 400, "not_json"),
    (b"\xff\xfe{}", 400, "not_json"),
    (b"\xef\xbb\xbf{}", 400, "not_json"),
    (b'{"name": "a", "name": "b", "when": "every 1h", "say": "x"}', 400, "not_strict_json"),
    (b'{"name": "a", "when": "every 1h", "say": "x", "payload": {"a": {"b": 1, "b": 2}}}', 400, "not_strict_json"),
    (b"[" * 10_000 + b"]" * 10_000, 400, "not_strict_json"),
    (b'{"payload": ' + b'{"a":' * 10_000 + b"1" + b"}" * 10_000 + b"}", 400, "not_strict_json"),
    (
        b'{"name": "a", "when": "every 1h", "say": "x", "payload": ' + b"[" * 70 + b"]" * 70 + b"}",
        400,
        "not_strict_json",
    ),
    (b'{"name": "a", "when": "every 1h", "say": "x", "payload": NaN}', 400, "not_strict_json"),
    (b'{"name": "a", "when": "every 1h", "say": "x", "payload": -Infinity}', 400, "not_strict_json"),
    (b'{"name": "a", "when": "every 1h", "say": "x", "payload": 1e999}', 400, "not_strict_json"),
    (b'{"payload": ' + b"9" * 5_000 + b"}", 400, "not_json"),
    (b"[]", 422, "bad_policy"),
    (b'"text"', 422, "bad_policy"),
    (b"null", 422, "bad_policy"),
    (b"{}", 422, "missing_field"),
    (b'{"name": "\\ud800", "when": "every 1h", "say": "x"}', 422, "bad_text"),
    (b'{"name": "a", "when": "every 1h", "say": "x", "\\ud800": 1}', 422, "unknown_field"),
    (b'{"name": "a", "when": "every 1h", "say": "x", "payload": "\\ud800"}', 422, "bad_payload"),
]


async def test_body_that_is_not_strict_json_is_refused() -> None:
    async with serve_api() as api:
        for body, status, code in BODIES:
            reply = await api.post("/v1/tasks", raw=body)
            assert (reply.status, reply.code) == (status, code), (body[:100], reply.text)
            assert len(reply.text) < 3_000
        await _check_nothing_stored(api)


async def test_body_over_a_megabyte_is_refused_with_and_without_content_length() -> None:
    async def pieces() -> Any:
        yield b'{"name": "'
        for _ in range(40):
            yield b"x" * 65_536

    async with serve_api() as api:
        headers = {"Authorization": f"Bearer {api.tokens['ada']}", "Content-Type": "application/json"}
        for body in (BytesIO(b'{"name": "' + b"x" * 1_100_000 + b'"}'), pieces()):
            async with api.session.post(f"{api.base}/v1/tasks", data=body, headers=headers) as answer:
                assert answer.status == 413
                assert (await answer.json(content_type=None))["code"] == "body_too_large"
        await _check_nothing_stored(api)


async def test_body_with_another_content_type_is_refused() -> None:
    async with serve_api() as api:
        for kind in ("text/plain", "application/x-www-form-urlencoded", "application/xml", "json", ""):
            reply = await api.post("/v1/tasks", raw=json.dumps(TASK).encode(), headers={"Content-Type": kind})
            assert (reply.status, reply.code) == (415, "not_json_type")
        await _check_nothing_stored(api)


SCHEDULES: Final[list[Any]] = [
    "0 0 30 2 *",
    "* " * 5_000,
    {"kind": "cron", "expression": "0 0 " + ",".join(["1"] * 5_000) + " * *"},
    "every 0s",
    "every -1s",
    "every NaN",
    "every 1e308 seconds",
    {"kind": "every", "interval": "PT0S"},
    {"kind": "every", "interval": "-PT1S"},
    {"kind": "every", "interval": 0},
    {"kind": "every", "interval": 1e308},
    {"kind": "cron", "expression": "0 9 * * *", "zone": "../../etc/passwd"},
    {"kind": "once", "at": "10000-01-01T00:00:00Z"},
    "at 10000-01-01 00:00",
    {"kind": "rrule", "rule": "FREQ=DAILY;INTERVAL=0", "zone": "UTC"},
    {"kind": "rrule", "rule": "FREQ=SECONDLY", "zone": "UTC"},
    {"kind": "rrule", "rule": "FREQ=DAILY;COUNT=1000000000", "zone": "UTC"},
    {"kind": "nothing"},
    {},
    [],
    7,
    None,
    True,
    "",
    "\u0000",
    "{{7*7}}",
    "'; drop table tasks; --",
]


async def test_invalid_schedule_is_refused_and_not_stored() -> None:
    async with serve_api() as api:
        for when in SCHEDULES:
            reply = await api.post("/v1/tasks", {**TASK, "when": when})
            assert reply.status == 422, (when, reply.text)
            assert len(reply.text) < 3_000
            looked = await api.post("/v1/schedules/preview", {"when": when, "zone": "UTC"})
            # A schedule that only exceeds a quota can be previewed.
            assert looked.status == (200 if reply.code == "interval_too_short" else 422), (when, looked.text)
        await _check_nothing_stored(api)


TARGETS: Final[list[dict[str, Any]]] = [
    {"http": "http://169.254.169.254/"},
    {"http": "http://[::ffff:127.0.0.1]/"},
    {"http": "http://2130706433/"},
    {"http": "http://127.0.0.1:4672/v1/tasks"},
    {"http": "http://localhost/"},
    {"http": "file:///etc/passwd"},
    {"http": "gopher://example.org/"},
    {"http": "http://user:pass@example.org/"},
    {"http": {"url": "https://example.org/", "headers": {"X": "a\r\nHost: b"}}},
    {"http": {"url": "https://example.org/", "headers": {"Host": "b"}}},
    {"command": "rm -rf / ; echo done"},
    {"command": ["/bin/sh", "-c", "id"]},
    {"target": {"kind": "pickle"}},
    {"target": {"kind": "__class__"}},
    {"target": {}},
    {"target": "http"},
    {"http": "https://example.org/", "say": "both"},
]


async def test_forbidden_target_is_refused_and_not_stored() -> None:
    async with serve_api() as api:
        for target in TARGETS:
            reply = await api.post("/v1/tasks", {"name": "x", "when": "every 1h", "zone": "UTC", **target})
            assert reply.status == 422, (target, reply.text)
        await _check_nothing_stored(api)


async def test_hostile_zones_are_refused_and_hostile_names_are_stored_verbatim() -> None:
    async with serve_api() as api:
        for zone in ("../../etc/passwd", "Mars/Base", "UTC\x00", "/etc/localtime"):
            assert (await api.post("/v1/tasks", {**TASK, "zone": zone})).status == 422
        await _check_nothing_stored(api)
        for name in ("{{7*7}}", "${jndi:ldap://x}", "<img src=x onerror=alert(1)>", "%s%n", "'; drop table tasks; --"):
            made = await api.create_task(name=name, payload={"text": name})
            found = (await api.get(f"/v1/tasks/{made['id']}")).json
            assert (found["name"], found["payload"]) == (name, {"text": name})
            listed = (await api.get("/v1/tasks?name=" + name.encode().hex(" ").replace(" ", "%").join(("%", "")))).json
            assert [each["id"] for each in listed["items"]] == [made["id"]]


async def test_unknown_ids_and_ids_of_other_owners_answer_alike() -> None:
    async with serve_api() as api:
        theirs = (await api.create_task("bob"))["id"]
        for path in ("/v1/tasks/{}", "/v1/tasks/{}/why", "/v1/tasks/{}/runs", "/v1/tasks/{}/explain"):
            foreign, absent = await api.get(path.format(theirs)), await api.get(path.format("tsk_" + "0" * 32))
            assert foreign.status == absent.status == 404
            assert foreign.json["detail"].replace(theirs, "") == absent.json["detail"].replace("tsk_" + "0" * 32, "")
        for odd in ("'", "%00", "%ff", "..%2f..", "a" * 190, "%F0%9F%92%A5", "*", "%25"):
            assert (await api.get(f"/v1/tasks/{odd}")).status == 404, odd
        assert (await api.get("/v1/tasks/" + "a" * 5_000)).status in (404, 422)


async def test_endless_request_head_is_cut_off() -> None:
    async with serve_api() as api:
        port = int(api.base.rsplit(":", 1)[1])
        for sent in (b"GET / HTTP/1.1\r\nX-A: " + b"a" * 200_000, b"GET /" + b"a" * 200_000):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(sent)
                await writer.drain()
                answer = await reader.read(200)
                assert answer == b"" or b" 431 " in answer or b" 400 " in answer
                assert await reader.read() == b""
            except ConnectionError:
                pass
            finally:
                writer.close()
        for odd in (b"\x00\x01\x02\r\n\r\n", b"GET /v1/tasks HTTP/9.9\r\n\r\n", b"GET http://[ HTTP/1.1\r\n\r\n"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(odd)
            assert b" 500 " not in await reader.read(500)
            writer.close()
        assert (await api.get("/healthz", who=None)).status == 200


LARGE_HEADS: Final = {
    "one header": b"X-A: " + b"a" * 40_000 + b"\r\n",
    "many headers": b"".join(b"X-%d: %s\r\n" % (number, b"a" * 1_000) for number in range(40)),
    "nothing but names": b"".join(b"X-%05d:\r\n" % number for number in range(4_000)),
}


@pytest.mark.parametrize("large", LARGE_HEADS)
@pytest.mark.parametrize(
    "before", [b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"], ids=["first", "pipelined"]
)
async def test_oversized_request_head_is_refused(large: str, before: bytes) -> None:
    async with serve_api() as api:
        body = json.dumps(TASK).encode()
        head = (
            b"Host: localhost\r\nContent-Type: application/json\r\nAuthorization: Bearer " + api.tokens["ada"].encode()
        )
        length = b"\r\nContent-Length: %d\r\n" % len(body)
        request = b"POST /v1/tasks HTTP/1.1\r\n" + head + length + LARGE_HEADS[large] + b"\r\n" + body
        answer = await _raw(api, before + request)
        assert answer.count(b"HTTP/1.1 ") == 1, "the connection is closed after the first response"
        assert answer.startswith(b"HTTP/1.1 431 ")
        await _check_nothing_stored(api)


@pytest.mark.parametrize("path", ["/v1/tasks", "/v1/whoami", "/scheduled-tasks"])
async def test_two_authorization_headers_are_refused(path: str) -> None:
    async with serve_api() as api:
        both = "".join(f"Authorization: Bearer {api.tokens[who]}\r\n" for who in ("ada", "bob"))
        answer = await _raw(api, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n{both}\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 401 ")


async def test_oversized_url_is_refused_and_a_large_header_below_the_limit_is_accepted() -> None:
    async with serve_api() as api:
        end = b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        assert (await _raw(api, b"GET /healthz?" + b"a" * 40_000 + end + b"\r\n")).startswith(b"HTTP/1.1 431 ")
        fits = end + b"X-A: " + b"a" * 32_000 + b"\r\n\r\n"
        assert (await _raw(api, b"GET /healthz" + fits)).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize(
    "begins", [b"0\r\n", b"0\r\nX-A: ", b"1;a="], ids=["many headers", "one header", "chunk extension"]
)
async def test_endless_trailers_and_chunk_extensions_are_cut_off(begins: bytes) -> None:
    """The token is checked later, so without a bound an anonymous client could fill memory."""
    head = b"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    more = b"X-B: " + b"b" * 59_993 + b"\r\n" if begins == b"0\r\n" else b"b" * 60_000

    async with serve_api() as api:
        _, writer = await asyncio.open_connection("127.0.0.1", int(api.base.rsplit(":", 1)[1]))
        writer.write(head + begins)
        with pytest.raises(ConnectionError):
            await _send_repeatedly(writer, more, 200)
        writer.close()
        assert (await api.get("/healthz", who=None)).status == 200


async def test_body_in_many_small_chunks_with_a_trailer_is_read() -> None:
    async with serve_api() as api:
        body = json.dumps({**TASK, "payload": {"text": "x" * 40_000}}).encode()
        pieces = b"".join(b"1;a=b\r\n%c\r\n" % each for each in body)
        head = (
            f"POST /v1/tasks HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {api.tokens['ada']}\r\n"
            "Content-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
        ).encode()
        answer = await _raw(api, head + pieces + b"0\r\nX-A: behind\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 201 "), answer[:300]


async def _send_repeatedly(writer: asyncio.StreamWriter, more: bytes, times: int) -> None:
    for _ in range(times):
        writer.write(more)
        await writer.drain()


async def _raw(api: Api, sent: bytes) -> bytes:
    """Send these bytes on a new connection and return everything until the server closes it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(api.base.rsplit(":", 1)[1]))
    writer.write(sent)
    try:
        return await reader.read()
    finally:
        writer.close()


async def test_server_shuts_down_after_concurrent_requests() -> None:
    async with serve_api() as api:
        request = [asyncio.ensure_future(api.create_task()) for _ in range(20)]
        await asyncio.gather(*request)
