"""Callbacks of runs: the token and the rate are checked before the body is read, and wrong tokens are limited."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Final

from horae.outgoing.signatures import callback_token
from horae.web.request_context import WebSettings
from tests.api.api_server import Api, Reply, StoppedClock, serve_api, start_run
from tests.cli.operating.deployment import Deployment

WITHOUT_CALLBACKS: Final = WebSettings(expects_engine=False)


async def _callback(api: Api, run: str, token: str, body: object = None) -> Reply:
    return await api.post(f"/v1/runs/{run}/callback", body or {}, who=None, headers={"Horae-Callback-Token": token})


async def _token_of(api: Api, run_id: str) -> str:
    run = await api.service.store.run(run_id, None)
    assert run is not None
    return callback_token(api.app.context.settings.secret, run.id, run.token)


async def _status_before_body(api: Api, run: str, token: str, length: int) -> bytes:
    """The status line of a request whose body never arrives."""
    reader, writer = await asyncio.open_connection("127.0.0.1", int(api.base.rsplit(":", 1)[1]))
    writer.write(
        f"POST /v1/runs/{run}/callback HTTP/1.1\r\nHost: x\r\nHorae-Callback-Token: {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n".encode()
    )
    async with asyncio.timeout(60):
        line = await reader.readline()
    writer.close()
    return line


async def _wrong_token_is_refused_before_the_body(api: Api) -> None:
    run = await start_run(api)
    assert await _status_before_body(api, run, "0" * 64, 1_000) == b"HTTP/1.1 404 Not Found\r\n"
    # A body that is too large is not announced to a caller without a token either.
    assert await _status_before_body(api, run, "0" * 64, 9_000_000) == b"HTTP/1.1 404 Not Found\r\n"
    assert await _status_before_body(api, run, await _token_of(api, run), 9_000_000) == (
        b"HTTP/1.1 413 Request Entity Too Large\r\n"
    )


async def test_wrong_callback_token_is_refused_before_the_body_is_read() -> None:
    async with serve_api() as api:
        await _wrong_token_is_refused_before_the_body(api)


async def _wrong_tokens_are_limited(api: Api) -> None:
    api.app.context.rate_limits.failures._clock = StoppedClock()
    run = await start_run(api)
    replies = [await _callback(api, run, f"{number:064x}") for number in range(70)]
    assert (replies[0].status, replies[0].code) == (404, "bad_answer")
    assert (replies[-1].status, replies[-1].code) == (429, "too_many_failures")
    assert int(replies[-1].headers["retry-after"]) >= 1
    # Runs that do not exist count as well, and a valid token works from the same address.
    assert (await _callback(api, "run_" + "0" * 32, "0" * 64)).code == "too_many_failures"
    assert (await _callback(api, run, await _token_of(api, run), {"result": 1})).status == 204


async def test_wrong_callback_tokens_are_counted_and_limited_per_address() -> None:
    async with serve_api() as api:
        await _wrong_tokens_are_limited(api)


async def _valid_token_has_a_rate(api: Api) -> None:
    api.app.context.rate_limits.callbacks._clock = StoppedClock()
    first, second = await start_run(api), await start_run(api)
    token = await _token_of(api, first)
    replies = [await _callback(api, first, token, {"until": "in 2 hours"}) for _ in range(61)]
    assert {each.status for each in replies[:60]} == {204}
    assert (replies[60].status, replies[60].code) == (429, "too_many_callbacks")
    assert await _status_before_body(api, first, token, 1_000) == b"HTTP/1.1 429 Too Many Requests\r\n"
    assert (await _callback(api, second, await _token_of(api, second))).status == 204


async def test_callbacks_of_one_run_are_limited_and_other_runs_are_not_affected() -> None:
    async with serve_api() as api:
        await _valid_token_has_a_rate(api)


async def _closed_without_callback_url(api: Api) -> None:
    run = await start_run(api)
    reply = await _callback(api, run, await _token_of(api, run))
    assert (reply.status, reply.code) == (404, "callbacks_closed")
    assert "HORAE_HTTP_CALLBACK_URL" in reply.json["hint"]


async def test_callbacks_are_closed_where_no_callback_address_is_configured() -> None:
    async with serve_api(settings=WITHOUT_CALLBACKS) as api:
        await _closed_without_callback_url(api)


def test_installed_server_opens_callbacks_by_its_setting(tmp_path: Path) -> None:
    assert _code_from_installed_server(tmp_path / "closed", {}) == "callbacks_closed"
    configured = {"HORAE_HTTP_CALLBACK_URL": "https://horae.example.org"}
    assert _code_from_installed_server(tmp_path / "open", configured) == "bad_answer"


def _code_from_installed_server(folder: Path, environment: dict[str, str]) -> str:
    """The code with which `horae up` answers a callback with a wrong token."""
    folder.mkdir()
    deployment = Deployment(folder)
    up = deployment.up("--port", "0", environment={"HORAE_API": "on", **environment})
    try:
        place = re.search(r"http://([0-9.:]+)", up.expect("API "))
        assert place is not None
        path = f"/v1/runs/run_{'0' * 32}/callback"
        with closing(HTTPConnection(place[1], timeout=30)) as connection:
            connection.request("POST", path, b"{}", {"Horae-Callback-Token": "0" * 64})
            return str(json.loads(connection.getresponse().read())["code"])
    finally:
        deployment.end()
