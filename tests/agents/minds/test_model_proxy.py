"""Model proxy of the host: the key never enters the sandbox, only a few paths are forwarded, and each run has limits."""

from __future__ import annotations

import asyncio
import json
import socket
import stat
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from horae.agents.model_prices import read_prices
from horae.agents.model_proxy import ModelProxy, ProxyLimits, RunSocket, read_endpoint
from horae.agents.model_proxy.rules import base_of, request_headers
from horae.agents.model_proxy.usage import MAX_JSON_BYTES, RunUsage, UsageReader
from horae.clock import SystemClock
from horae.errors import InvalidTask
from horae.outgoing.refusals import refuse
from tests.servers.model_stub import Cut, Fail, Hang, ModelStub, Say, Torn, running_stub

KEY = "sk-host"
CHAT = {"model": "stub-1", "messages": [{"role": "user", "content": "hi"}]}
MESSAGES = {"model": "claude-1", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}], "tools": [{}]}
VERSION = {"anthropic-version": "2023-06-01"}


class SteppedClock(SystemClock):
    seconds = 0.0

    def steady(self) -> float:
        return self.seconds


class Bench:
    """A proxy in front of the stub, and one open socket."""

    def __init__(self, stub: ModelStub, opened: RunSocket, clock: SteppedClock, session: aiohttp.ClientSession) -> None:
        self.stub = stub
        self.opened = opened
        self.clock = clock
        self.session = session

    async def send(
        self, path: str, body: Any = None, headers: Mapping[str, str] | None = None, method: str = "POST"
    ) -> tuple[int, str, Mapping[str, str]]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        url = f"http://anything.example{path}"
        async with self.session.request(method, url, data=data, headers=headers) as response:
            return response.status, await response.text(), response.headers


async def read_key() -> str:
    return KEY


@asynccontextmanager
async def bench(folder: Path, *, limits: ProxyLimits | None = None, **endpoint: Any) -> AsyncIterator[Bench]:
    clock = SteppedClock()
    async with running_stub(key=KEY) as stub:
        found = read_endpoint(endpoint.pop("url", f"{stub.url}/v1"), endpoint.pop("read_key", read_key), **endpoint)
        proxy = ModelProxy(found, folder / "sockets", clock, limits)
        async with proxy.open_socket("run-1") as opened:
            connector = aiohttp.UnixConnector(str(opened.path))
            async with aiohttp.ClientSession(connector=connector) as session:
                yield Bench(stub, opened, clock, session)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path) as made:
        yield made


async def test_key_is_added_and_the_agents_credentials_are_dropped(desk: Bench) -> None:
    desk.stub.plan(Say("hello"), Say("hello"))
    headers = {"Authorization": "Bearer own", "X-Api-Key": "own", "Cookie": "a=b", "X-Other": "x", **VERSION}
    assert (await desk.send("/v1/chat/completions", CHAT, headers))[0] == 200
    assert (await desk.send("/v1/messages?beta=true", MESSAGES, headers))[0] == 200
    chat, messages = (each.headers for each in desk.stub.received)
    assert (chat["authorization"], chat.get("x-api-key")) == (f"Bearer {KEY}", None)
    assert (messages.get("authorization"), messages["x-api-key"]) == (None, KEY)
    for received in (chat, messages):
        assert received["host"] == desk.stub.url.removeprefix("http://")
        assert not {"cookie", "x-other"} & set(received)


async def test_usage_is_counted_for_json_and_streams(desk: Bench) -> None:
    desk.stub.plan(Say("a"), Say("b"), Say("c"))
    await desk.send("/v1/chat/completions", CHAT)
    await desk.send("/v1/messages", MESSAGES, VERSION)
    status, text, headers = await desk.send("/v1/messages?beta=true", {**MESSAGES, "stream": True}, VERSION)
    assert (status, headers["Content-Type"]) == (200, "text/event-stream")
    assert '"text_delta", "text": "c"' in text
    usage = desk.opened.usage
    assert (usage.requests, usage.input_tokens, usage.output_tokens, usage.model) == (3, 300, 60, "claude-1")


async def test_cost_is_counted_by_the_prices_of_the_host(tmp_path: Path) -> None:
    prices = read_prices({"stub-1": {"input": 0.25, "output": 2}})
    async with bench(tmp_path, prices=prices) as priced:
        assert priced.opened.usage.cost_micros is None
        await priced.send("/v1/chat/completions", CHAT)
        usage = priced.opened.usage
        # 100 tokens at 0.25 and 20 at 2 dollars for a million.
        assert (usage.cost_micros, usage.unpriced) == (65, None)
        await priced.send("/v1/messages", MESSAGES, VERSION)
        assert (usage.cost_micros, usage.unpriced) == (65, "claude-1"), "the known part stays"


def test_price_is_that_of_the_answering_model_else_of_the_asked_one() -> None:
    prices = read_prices("small=1/2, big=10/20/1")
    usage = RunUsage()
    usage.add(response("big", 1_000_000, 0, cached=400_000), prices, "small")
    assert usage.cost_micros == 6_400_000
    usage.add(response("small-2026-01-01", 0, 1_000_000), prices, "small")
    assert usage.cost_micros == 8_400_000
    usage.add(response(None, 0, 0), prices, "free")
    nothing_used = usage.unpriced
    assert nothing_used is None
    usage.add(response(None, 1, 1), prices)
    assert (usage.unpriced, usage.cost_micros) == ("?", 8_400_000)


def response(model: str | None, input_tokens: int, output_tokens: int, cached: int = 0) -> UsageReader:
    counts = {
        "prompt_tokens": input_tokens,
        "completion_tokens": output_tokens,
        "prompt_tokens_details": {"cached_tokens": cached},
    }
    reader = UsageReader(is_stream=False)
    reader.feed(json.dumps({"model": model, "usage": counts}).encode())
    reader.finish()
    return reader


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/files"),
        ("GET", "/v1/chat/completions"),
        ("POST", "/v1/chat/completions?api-version=1"),
        ("POST", "/v1/messages/../files"),
        ("POST", "/v1//messages"),
        ("POST", "/v1/messages%2f..%2ffiles"),
        ("POST", "/"),
        ("DELETE", "/v1/models"),
    ],
)
async def test_other_paths_are_refused(desk: Bench, method: str, path: str) -> None:
    """As raw bytes: a client library would normalise the path."""
    reader, writer = await asyncio.open_unix_connection(str(desk.opened.path))
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n".encode())
    assert (await reader.readline()).startswith(b"HTTP/1.1 404")
    writer.close()
    assert desk.stub.received == []


async def test_list_of_models_is_forwarded(desk: Bench) -> None:
    status, text, _ = await desk.send("/v1/models", method="GET")
    assert (status, json.loads(text)["data"][0]["id"]) == (200, "stub-1")


async def test_errors_and_rate_limits_of_the_endpoint_reach_the_agent(desk: Bench) -> None:
    desk.stub.plan(Fail(429, "slow", headers={"Retry-After": "9", "x-request-id": "r", "Set-Cookie": "a=b"}))
    status, text, headers = await desk.send("/v1/chat/completions", CHAT)
    assert (status, json.loads(text)["error"]["message"]) == (429, "slow")
    assert (headers["Retry-After"], headers["x-request-id"]) == ("9", "r")
    assert "Set-Cookie" not in headers


async def test_redirect_is_not_followed(desk: Bench) -> None:
    desk.stub.plan(Fail(302, headers={"Location": f"{desk.stub.url}/v1/models"}))
    async with desk.session.post("http://x/v1/chat/completions", json=CHAT, allow_redirects=False) as response:
        assert response.status == 302
        assert "Location" not in response.headers
    assert len(desk.stub.received) == 1


async def test_endpoint_that_fails_is_a_bad_gateway(desk: Bench) -> None:
    desk.stub.plan(Cut())
    status, text, _ = await desk.send("/v1/chat/completions", CHAT)
    assert status == 502
    assert "cannot be reached" in text
    await desk.stub.close()
    status, text, _ = await desk.send("/v1/messages", MESSAGES, VERSION)
    assert status == 502
    assert json.loads(text)["type"] == "error"
    assert KEY not in text


async def test_torn_response_is_torn_for_the_agent_and_its_tokens_count(desk: Bench) -> None:
    desk.stub.plan(Torn())
    with pytest.raises(aiohttp.ClientError):
        await desk.send("/v1/messages", {**MESSAGES, "stream": True}, VERSION)
    assert (desk.opened.usage.input_tokens, desk.opened.usage.model) == (100, "claude-1")


async def test_tokens_of_an_agent_that_does_not_wait_for_the_answer_count(tmp_path: Path) -> None:
    async with bench(tmp_path) as desk:
        desk.stub.plan(Hang())
        asking = asyncio.create_task(desk.send("/v1/chat/completions", CHAT))
        await desk.stub.arrived.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    assert desk.opened.usage.input_tokens == len(json.dumps(CHAT)) // 4


def test_tokens_that_a_stream_does_not_report_are_estimated() -> None:
    """A program can ask for a stream without usage, and leave a stream before its end."""
    chunk = b'data: {"model": "m", "usage": null, "choices": [{"delta": {"content": "a"}}]}\n\n'
    start = b'data: {"message": {"usage": {"input_tokens": 7, "output_tokens": 1}}}\n\n'
    last = b'data: {"usage": {"output_tokens": 3}}\n\n'
    found = []
    for data in (chunk * 50, start + chunk * 50, start + chunk * 50 + last):
        reader = UsageReader(is_stream=True)
        reader.feed(data)
        reader.finish()
        reader.estimate(400)
        found.append((reader.input_tokens, reader.output_tokens))
    assert found == [(100, 50), (7, 51), (7, 3)]
    body = UsageReader(is_stream=False)
    body.feed(b"x" * 80)
    body.finish()
    body.estimate(400)
    assert (body.input_tokens, body.output_tokens) == (100, 20)


async def test_rate_of_a_run_is_limited(tmp_path: Path) -> None:
    async with bench(tmp_path, limits=ProxyLimits(requests_per_minute=2)) as desk:
        answers = [await desk.send("/v1/chat/completions", CHAT) for _ in range(3)]
        assert [status for status, _, _ in answers] == [200, 200, 429]
        assert answers[2][2]["Retry-After"] == "61"
        desk.clock.seconds = 60.0
        assert (await desk.send("/v1/chat/completions", CHAT))[0] == 200
    assert desk.opened.usage.requests == 3


async def test_concurrent_requests_of_a_run_are_limited(tmp_path: Path) -> None:
    async with bench(tmp_path, limits=ProxyLimits(concurrent_requests=1)) as desk:
        desk.stub.plan(Hang())
        first = asyncio.create_task(desk.send("/v1/chat/completions", CHAT))
        await desk.stub.arrived.wait()
        assert (await desk.send("/v1/chat/completions", CHAT))[0] == 429
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first


async def test_connections_of_a_run_are_limited(tmp_path: Path) -> None:
    async with bench(tmp_path, limits=ProxyLimits(connections=2)) as desk:
        kept = [await asyncio.open_unix_connection(str(desk.opened.path)) for _ in range(2)]
        reader, writer = await asyncio.open_unix_connection(str(desk.opened.path))
        assert await reader.read() == b""
        writer.close()
        for _, each in kept:
            each.close()


async def test_sizes_are_limited(tmp_path: Path) -> None:
    async with bench(tmp_path, limits=ProxyLimits(request_bytes=200, response_bytes=1000)) as desk:
        assert (await desk.send("/v1/chat/completions", b"x" * 201))[0] == 413
        desk.stub.plan(Say("x" * 2000))
        with pytest.raises(aiohttp.ClientError):
            await desk.send("/v1/chat/completions", CHAT)


async def test_slow_endpoint_is_a_timeout(tmp_path: Path) -> None:
    async with bench(tmp_path, limits=ProxyLimits(seconds=0.05)) as desk:
        desk.stub.plan(Hang())
        assert (await desk.send("/v1/chat/completions", CHAT))[0] == 504


async def test_only_permitted_models_are_forwarded(tmp_path: Path) -> None:
    async with bench(tmp_path, models=["stub-1"]) as desk:
        assert (await desk.send("/v1/chat/completions", CHAT))[0] == 200
        twice = b'{"model": "stub-1", "model": "dear", "messages": [{"role": "user", "content": "x"}]}'
        bodies: list[Any] = [{**CHAT, "model": "dear"}, twice, b"{", [], {"messages": []}]
        for body in bodies:
            status, text, _ = await desk.send("/v1/chat/completions", body)
            assert status == 403
            assert "permitted: stub-1" in text
    assert len(desk.stub.received) == 1


async def test_key_that_cannot_be_read_is_the_operators_matter(tmp_path: Path) -> None:
    async def no_key() -> str:
        raise refuse("url_port", port="secret detail")

    async with bench(tmp_path, read_key=no_key) as desk:
        status, text, _ = await desk.send("/v1/chat/completions", CHAT)
        assert (status, "secret detail" in text) == (502, False)


async def test_socket_is_private_has_a_long_path_and_is_removed(tmp_path: Path) -> None:
    folder = tmp_path / ("x" * 100)
    async with bench(folder) as desk:
        assert len(str(desk.opened.path)) > 107
        assert stat.S_IMODE(desk.opened.path.parent.stat().st_mode) == 0o700
    assert not desk.opened.path.exists()


async def test_sockets_of_killed_processes_are_removed(tmp_path: Path) -> None:
    async with bench(tmp_path) as desk:
        stale = desk.opened.path.with_name("dead.sock")
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(stale))
        ModelProxy(read_endpoint(desk.stub.url, read_key), stale.parent, SystemClock()).remove_stale_sockets()
        assert not stale.exists()
        assert (await desk.send("/v1/models", method="GET"))[0] == 200


@pytest.mark.parametrize("url", ["file:///etc/passwd", "https://user:key@api.example/v1", "https://", "api.example"])
def test_wrong_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidTask):
        read_endpoint(url, read_key)


async def test_name_with_a_private_address_needs_the_operators_networks(tmp_path: Path) -> None:
    """An address is the operator's word; a name is not, since its address may change."""
    assert read_endpoint("http://127.0.0.1:11434/v1", read_key).allowed != ()
    assert read_endpoint("http://localhost:11434/v1", read_key).url.text == "http://localhost:11434/"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("horae.outgoing.session.system_lookup", _private_address)
        async with bench(tmp_path, url="http://model.example/v1") as desk:
            status, text, _ = await desk.send("/v1/chat/completions", CHAT)
    assert status == 502
    assert "10.0.0.1" in text or "10.0.0.0" in text


async def _private_address(_: str) -> Sequence[str]:
    return ["10.0.0.1"]


def test_base_url_may_end_with_the_version() -> None:
    assert base_of("https://openrouter.ai/api/v1/") == "https://openrouter.ai/api"
    assert base_of("https://api.anthropic.com") == "https://api.anthropic.com"


def test_token_of_a_subscription_gets_its_beta_header() -> None:
    headers = request_headers([("Anthropic-Beta", "a")], "/v1/messages", "sk-ant-oat01-x")
    assert headers["anthropic-beta"] == "a,oauth-2025-04-20"
    assert headers["authorization"] == "Bearer sk-ant-oat01-x"
    assert "authorization" not in request_headers([], "/v1/models", "")


def test_usage_is_read_from_any_chunks_and_bounded() -> None:
    event = b'data: {"type": "message_start", "message": {"model": "m", "usage": {"input_tokens": 7, "cache_read_input_tokens": 5}}}\n'
    last = b'data: {"usage": {"output_tokens": 3}}\n'
    noise = b"data: " + b"x" * 600_000 + b'"usage"\n'
    for size in (1, 7, 1000):
        reader = UsageReader(is_stream=True)
        data = event + b": comment\n" + last + b'data: {"usage": 5}\ndata: ["usage"]\ndata: "usage" broken\n'
        for start in range(0, len(data), size):
            reader.feed(data[start : start + size])
        reader.finish()
        assert (reader.input_tokens, reader.output_tokens, reader.model) == (12, 3, "m")
    reader = UsageReader(is_stream=True)
    for start in range(0, len(noise), 65_536):
        reader.feed(noise[start : start + 65_536])
        assert len(reader._rest) < 400_000
    reader.feed(last)
    assert reader.output_tokens == 3
    long = UsageReader(is_stream=False)
    for _ in range(3):
        long.feed(b"x" * MAX_JSON_BYTES)
    assert len(long._rest) <= 2 * MAX_JSON_BYTES + 1
    long.finish()
    assert long.output_tokens == 0
