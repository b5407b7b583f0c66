"""Event targets: published in the process, to Redis and to a webhook."""

from __future__ import annotations

import json
import re
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from string import Formatter
from typing import Any
from uuid import UUID

import pytest

from horae.clock import SystemClock
from horae.errors import InvalidTask
from horae.model.events.event import EventKind
from horae.model.outcome import Failed, Outcome, Succeeded
from horae.model.task import Target
from horae.outgoing.signatures import new_secret, verify
from horae.ports.target import Tools
from horae.targets.event.refusals import CATALOGUE
from horae.targets.event.spec import DEFAULT_TOPIC
from horae.targets.event.target import EVENT, EventTarget
from horae.testing import RecordingInvocation
from horae.testing.contracts.targets.harness import KnownSecrets
from horae.testing.factories import a_run, a_task
from tests.contract.endpoint import Endpoint
from tests.unit.targets.event.redis_server import RedisServer

SOURCE = Path(__file__).parents[4] / "src" / "horae" / "targets" / "event"
ALL_TEXT = "\n".join(path.read_text(encoding="utf-8") for path in SOURCE.glob("*.py") if path.name != "refusals.py")
LOOPBACK = ["127.0.0.0/8"]


class Scene:
    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.published: list[tuple[str, Mapping[str, Any]]] = []
        tell = self._tell
        target = EVENT.open(Tools(SystemClock(), KnownSecrets({}), settings, tell))
        assert isinstance(target, EventTarget)
        self.target = target

    def _tell(self, topic: str, body: Mapping[str, Any]) -> int:
        self.published.append((topic, body))
        return 1

    async def carry(
        self, spec: Mapping[str, Any], payload: Any = None, attempt: int = 1
    ) -> tuple[Outcome, RecordingInvocation]:
        checked = EVENT.check(spec, payload, {})
        task = a_task(id="tsk_1", target=Target("event", json.dumps(checked)), payload=json.dumps(payload))
        invocation = RecordingInvocation(task, a_run(task, attempt=attempt))
        return await self.target.execute(invocation), invocation


async def told(spec: Mapping[str, Any], payload: Any = None) -> tuple[str, Mapping[str, Any], RecordingInvocation]:
    scene = Scene({})
    outcome, invocation = await scene.carry(spec, payload)
    assert outcome == Succeeded(
        '{"delivered": 1, "to": {"process": 1}}', triggered_topic=spec.get("topic", DEFAULT_TOPIC)
    )
    ((topic, body),) = scene.published
    return topic, body, invocation


async def test_event_names_the_due_task() -> None:
    payload = {"sourceType": "reminder", "sourceId": "r-7", "text": "站起来"}
    topic, body, invocation = await told({}, payload)
    task, run = invocation.task, invocation.run
    assert topic == "task.triggered"
    assert {**body, "occurredOn": "", "eventId": ""} == {
        "eventId": "",
        "type": "task.triggered",
        "occurredOn": "",
        "taskUuid": "tsk_1",
        "sourceType": "reminder",
        "sourceId": "r-7",
        "accountUuid": task.owner,
        "payload": payload,
        "title": task.name,
        "priority": 0,
        "labels": {},
        "runId": run.id,
        "key": invocation.key,
        "trace": invocation.trace,
        "origin": "scheduled",
        "planned": "2026-03-01T12:00:00+00:00",
        "due": "2026-03-01T12:00:00+00:00",
        "attempt": 1,
    }
    assert str(body["occurredOn"]).endswith("+00:00")
    UUID(body["eventId"])


@pytest.mark.parametrize(
    "payload", [None, {}, "text", [1], {"sourceType": "", "sourceId": None}, {"sourceType": ["x"]}]
)
async def test_a_payload_that_names_no_source_has_an_unknown_one(payload: Any) -> None:
    _, body, _ = await told({}, payload)
    assert (body["sourceType"], body["sourceId"]) == ("unknown", "tsk_1")
    assert body["payload"] == payload


async def test_a_source_may_be_a_number() -> None:
    assert (await told({}, {"sourceId": 7}))[1]["sourceId"] == "7"


async def test_text_is_in_the_log_and_in_the_event() -> None:
    topic, body, invocation = await told({"topic": "garden.due", "say": "water the plants"})
    assert topic == body["type"] == "garden.due"
    assert body["text"] == "water the plants"
    assert invocation.lines == [("info", "water the plants")]


async def test_a_secret_that_a_payload_names_stays_a_name() -> None:
    assert (await told({}, {"token": {"secret": "token"}}))[1]["payload"] == {"token": {"secret": "token"}}


async def test_every_attempt_has_the_same_event_id() -> None:
    scene = Scene({})
    for attempt in (1, 2):
        await scene.carry({}, attempt=attempt)
    (first, second) = [body["eventId"] for _, body in scene.published]
    assert first == second


async def test_event_is_published_to_redis() -> None:
    async with RedisServer().open() as server:
        scene = Scene({"redis": server.url, "channel": "due"})
        for _ in range(2):
            outcome, _ = await scene.carry({"say": "é"})
            assert outcome == Succeeded(
                '{"delivered": 2, "to": {"process": 1, "redis": 1}}', triggered_topic="task.triggered"
            )
        await scene.target.aclose()
        bodies = [json.loads(body) for channel, body in await server.heard(2) if channel == "due"]
    assert bodies == [dict(body) for _, body in scene.published]


async def test_unavailable_redis_is_a_transient_failure() -> None:
    async with RedisServer().open() as server:
        await server.allow("-publish")
        unwilling = Scene({"redis": server.url, "channel": "due"})
        outcome, _ = await unwilling.carry({})
        assert isinstance(outcome, Failed)
        assert not outcome.permanent
        await server.allow("+publish")
        assert isinstance((await unwilling.carry({}))[0], Succeeded)
        await unwilling.target.aclose()
    gone = Scene({"redis": f"redis://127.0.0.1:{_free_port()}/0", "channel": "due"})
    outcome, _ = await gone.carry({})
    assert isinstance(outcome, Failed)
    assert not outcome.permanent
    assert len(gone.published) == 1
    await gone.target.aclose()


async def test_the_password_of_redis_is_not_in_the_error() -> None:
    async with RedisServer(password="right").open() as server:  # noqa: S106 - made up
        scene = Scene({"redis": server.url.replace("//", "//:wrong-password@"), "channel": "due"})
        outcome, _ = await scene.carry({})
        assert isinstance(outcome, Failed)
        assert "wrong-password" not in outcome.error
        await scene.target.aclose()


async def test_a_webhook_is_posted_and_signed() -> None:
    secret = new_secret(b"0123456789abcdef0123456789abcdef")
    async with Endpoint().open() as endpoint:
        scene = Scene({"webhook": endpoint.url, "webhook_secret": secret, "allow_networks": LOOPBACK})
        outcome, _ = await scene.carry({"say": "now"})
        await scene.target.aclose()
    assert outcome == Succeeded(
        '{"delivered": 2, "to": {"process": 1, "webhook": 1}}', triggered_topic="task.triggered"
    )
    (headers,), (body,) = endpoint.headers, endpoint.bodies
    assert json.loads(body) == dict(scene.published[0][1])
    assert headers["content-type"] == "application/json"
    assert headers["webhook-id"] == headers["idempotency-key"] == scene.published[0][1]["eventId"]
    assert verify([secret], headers, body, SystemClock().now())


@pytest.mark.parametrize(("topic", "permanent"), [("please.fail", False), ("please.forbid", True)])
async def test_refusing_webhook_is_a_failure(topic: str, permanent: bool) -> None:  # noqa: FBT001
    async with Endpoint().open() as endpoint:
        scene = Scene({"webhook": endpoint.url, "allow_networks": LOOPBACK})
        outcome, _ = await scene.carry({"topic": topic})
        await scene.target.aclose()
    assert isinstance(outcome, Failed)
    assert outcome.permanent is permanent


def test_a_webhook_on_this_machine_is_refused_unless_the_operator_allows_it() -> None:
    with pytest.raises(InvalidTask) as refused:
        Scene({"webhook": "http://127.0.0.1/"})
    assert refused.value.code == "address_not_public"


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        (None, "event_spec"),
        ([], "event_spec"),
        ({"to": "x"}, "event_unknown_key"),
        ({"topic": ""}, "event_topic"),
        ({"topic": "two words"}, "event_topic"),
        *(({"topic": kind.value}, "event_topic_reserved") for kind in EventKind if kind != DEFAULT_TOPIC),
        ({"topic": "task.of.mine"}, "event_topic_reserved"),
        ({"topic": "task.triggered.twice"}, "event_topic_reserved"),
        ({"topic": "Run.Failed"}, "event_topic_reserved"),
        ({"topic": None}, "event_topic"),
        ({"topic": "x" * 101}, "event_topic"),
        ({"say": 1}, "event_say"),
        ({"say": "x" * 4_001}, "event_say"),
        ({"say": "\ud800"}, "event_say"),
    ],
)
def test_invalid_spec_is_refused(spec: Any, code: str) -> None:
    with pytest.raises(InvalidTask) as refused:
        EVENT.check(spec, None, {})
    assert refused.value.code == code


@pytest.mark.parametrize(
    "settings",
    [
        {"radis": "x"},
        {"redis": "redis://localhost"},
        {"channel": "due"},
        {"redis": "http://localhost", "channel": "due"},
        {"redis": 1, "channel": "due"},
        {"webhook": 1},
        {"webhook": "https://example.com", "allow_networks": 1},
    ],
)
def test_settings_that_mean_nothing_are_refused_when_a_node_starts(settings: Mapping[str, Any]) -> None:
    with pytest.raises(InvalidTask) as refused:
        Scene(settings)
    assert refused.value.code == "event_setting"


def test_a_secret_that_cannot_sign_is_refused_when_a_node_starts() -> None:
    with pytest.raises(InvalidTask) as refused:
        Scene({"webhook": "https://example.com", "webhook_secret": "plain text"})
    assert refused.value.code == "signing_secret"


def test_a_library_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "redis", raising=False)
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(InvalidTask) as refused:
        Scene({"redis": "redis://localhost", "channel": "due"})
    assert refused.value.code == "event_redis_missing"
    assert "pip install 'horae[redis]'" in refused.value.hint


def test_the_library_is_loaded_only_when_something_is_sent() -> None:
    import subprocess  # noqa: PLC0415 - only here

    script = "import sys, horae.targets.event.target; print([n for n in ('redis', 'aiohttp') if n in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_a_refusal_is_used_bilingual_and_has_a_hint(name: str) -> None:
    entry = CATALOGUE[name]
    assert f'"{name}"' in ALL_TEXT, "no refusal uses this code"
    assert entry.message
    assert entry.hint
    assert re.search("[\u4e00-\u9fff]", entry.message_zh)
    assert re.search("[\u4e00-\u9fff]", entry.hint_zh)
    assert fields(entry.message + entry.hint) >= fields(entry.message_zh + entry.hint_zh)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
