"""Model proxies and sessions with a defect: an attack, and a turn that fails, find each of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pytest

from horae.agents.model_proxy import ModelProxy, ProxyLimits, proxy, read_endpoint
from horae.agents.runner.minds import MindFailed
from horae.agents.runner.minds.chat_client import ChatClient
from horae.agents.runner.minds.chat_sessions import ChatSessions, Message
from horae.agents.runner.minds.openai import ModelOptions, OpenAiMind
from horae.clock import SystemClock
from tests.servers.model_stub import Fail, ModelStub, Say, running_stub

CHAT = {"model": "stub-1", "messages": [{"role": "user", "content": "hi"}]}
TWICE = b'{"model": "dear", "model": "stub-1", "messages": [{"role": "user", "content": "hi"}]}'
LIMIT = 5


async def read_key() -> str:
    return "sk-host"


async def attack(folder: Path) -> set[str]:
    """Send what an agent must not send through its socket; return what reached the endpoint."""
    async with running_stub() as stub:
        made = ModelProxy(
            read_endpoint(stub.url, read_key, ["stub-1"]),
            folder,
            SystemClock(),
            ProxyLimits(requests_per_minute=LIMIT),
        )
        async with made.open_socket("run-1") as opened:
            connector = aiohttp.UnixConnector(str(opened.path))
            headers = {"Authorization": "Bearer own", "Cookie": "a=b"}
            async with aiohttp.ClientSession("http://x", connector=connector, headers=headers) as session:
                for path, body in (
                    ("/v1/chat/completions", json.dumps(CHAT).encode()),
                    ("/v1/chat/completions?key=other", json.dumps(CHAT).encode()),
                    ("/v1/chat/completions", TWICE),
                    *[("/v1/chat/completions", json.dumps(CHAT).encode())] * LIMIT,
                ):
                    async with session.post(path, data=body) as response:
                        await response.read()
        return set(_findings(stub))


def _findings(stub: ModelStub) -> Iterator[str]:
    if any(each.headers.get("authorization") != "Bearer sk-host" or "cookie" in each.headers for each in stub.received):
        yield "credentials"
    if any(each.path != "/v1/chat/completions" for each in stub.received):
        yield "path"
    if len(stub.received) > LIMIT:
        yield "rate"
    # The refused ones count towards the rate, but do not arrive.
    if len(stub.received) != LIMIT - 1 and len(stub.received) <= LIMIT:
        yield "model"


class EveryPath:
    def __contains__(self, _: object) -> bool:
        return True


class Defect(NamedTuple):
    place: Any
    name: str
    value: Any
    finding: str


def all_headers(given: Any, path: str, key: str) -> dict[str, str]:
    del path
    return {"authorization": f"Bearer {key}", **{name.lower(): value for name, value in given}}


def last_model(body: bytes) -> str:
    return str(json.loads(body)["model"])


DEFECTS = [
    Defect(proxy, "request_headers", all_headers, "credentials"),
    Defect(proxy, "PATHS", EveryPath(), "path"),
    Defect(proxy, "_model_of", last_model, "model"),
    Defect(ModelProxy, "_wait", lambda *_: None, "rate"),
]


async def test_attack_finds_nothing_in_the_proxy(tmp_path: Path) -> None:
    assert await attack(tmp_path) == set()


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.finding)
async def test_attack_finds_the_defect(defect: Defect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defect.place, defect.name, defect.value)
    assert defect.finding in await attack(tmp_path)


class SavesAtOnce(ChatSessions):
    """Writes the prompt of a turn before its answer."""

    def load(self, session_id: str | None) -> list[Message]:
        messages = super().load(session_id)
        if session_id is not None:
            self.save(session_id, [*messages, {"role": "user", "content": "half a turn"}])
        return messages


class Overwrites(ChatSessions):
    """Forgets the messages before the last turn."""

    def save(self, session_id: str | None, messages: Any) -> str:
        return super().save(session_id, messages[-2:])


async def conversation(folder: Path, kind: Callable[[Path], ChatSessions]) -> list[str]:
    """Hold a conversation with a turn that fails; return what the next turn begins with."""
    async with running_stub(Say("1"), Say("2"), Fail(400, "no")) as stub:
        client = ChatClient(f"{stub.url}/v1", None, 20.0, SystemClock())
        mind = OpenAiMind(client, ModelOptions(model="stub-1"), kind(folder), (), lambda: "")
        session = (await mind.answer("one", None)).session_id
        await mind.answer("two", session)
        with pytest.raises(MindFailed):
            await mind.answer("lost", session)
        return [str(each["content"]) for each in ChatSessions(folder).load(session)]


async def test_failed_turn_leaves_no_trace_in_a_session(tmp_path: Path) -> None:
    assert await conversation(tmp_path, ChatSessions) == ["one", "1", "two", "2"]


@pytest.mark.parametrize("kind", [SavesAtOnce, Overwrites])
async def test_conversation_finds_the_defect(kind: type[ChatSessions], tmp_path: Path) -> None:
    assert await conversation(tmp_path, kind) != ["one", "1", "two", "2"]
