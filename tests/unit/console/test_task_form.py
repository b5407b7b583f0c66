"""The form of a task: a form that was not touched changes nothing, for every kind of schedule, target and policy."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from horae.choices import Language
from horae.clock import SystemClock
from horae.console.tasks.fields import TaskWords
from horae.console.tasks.form import body_of, field_of, is_same_schedule, texts_of_task
from horae.console.tasks.merge import base_json, merge_texts
from horae.errors import Refusal
from horae.model.accounts.principal import LOCAL, Principal, Scope
from horae.model.task import Task
from horae.runtime.service_factory import make_service
from horae.runtime.stores import make_store
from horae.runtime.target_kinds import TargetKinds
from horae.service.service import Service
from horae.service.tasks.parsed_task import parse_request, replacing_edits
from horae.settings import read_settings
from horae.wire.tasks.task import read_task

ADA = Principal("ada", scopes=frozenset({Scope.READ, Scope.WRITE, Scope.RUN}))
SAY = {"target": {"kind": "event", "say": "hello"}}
SCHEDULES = (
    "every 250ms",
    "every 2 hours after end",
    "every day at 9:00 and 17:30 until 2999-01-01, 10 times, jitter 1m",
    "每周一三 7:30",
    "on the last friday of the month at 17:00 except 2999-12-25",
    "every 10m between 9:00 and 18:00 on weekdays",
    "0 9 * * 1-5",
    "*/10 * * * * * starting 2999-01-01",
    "RRULE:FREQ=MONTHLY;BYMONTHDAY=1;BYHOUR=8;BYMINUTE=0;BYSECOND=0",
    "2999-12-24 18:00",
    "2999-12-24T18:00:00Z",
    "in 20 minutes",
    "every weekday at 9am and saturday at 11am, 10 times",
    "每天9点，跳变时跳过；以及每周六11点 上海时间；每5分钟；北京时间",
    "0 9 * * 1-5 and every day at 9am New York time; Berlin time",
)
BODIES: list[dict[str, Any]] = [
    *({"name": each, "when": each, "zone": "Europe/Berlin", **SAY} for each in SCHEDULES),
    {
        "name": "http",
        "when": "every 5m",
        "target": {
            "kind": "http",
            "url": "https://example.com/",
            "headers": {"A": ["Bearer ", {"secret": "t"}], "B": "@secret:literal", "C": "a: b=c"},
            "body": None,
            "success": [200, "3xx"],
            "sign": {"secret": "s"},
        },
        "payload": None,
        "lane": "reports",
        "key": "unique",
        "labels": {"team": "ops", "empty": "", "odd: name": "x=y"},
        "policies": {
            "missed": {"mode": "merge", "within": None, "limit": 3},
            "overlap": "parallel",
            "retry": {"attempts": None, "backoff": "0s", "factor": 1.5, "max": 30.5, "jitter": "none"},
            "give_up_after": None,
            "max_duration": "2d",
            "guarantee": "at_most_once",
            "priority": -100,
            "notify_after": 0,
        },
    },
    {
        "name": "command",
        "when": "now",
        "target": {
            "kind": "command",
            "argv": ["date", "", "two\nlines", "[", " padded "],
            "environment": {"A": {"secret": "b"}, "B": "x"},
            "stdin": "payload",
            "limits": {"cpu": 3, "memory": 33554432},
            "success": [0, 3],
        },
        "payload": [1, "two", {"three": None}],
    },
    {
        "name": "function",
        "when": "every 1h",
        "target": {"kind": "function", "name": "shop.report"},
        "payload": {"a": 1},
    },
]


@pytest.fixture
async def service() -> AsyncIterator[Service]:
    store = make_store("memory://")
    await store.open()
    settings = read_settings({"HORAE_COMMAND_ALLOW": "date"})
    yield make_service("memory://", store, SystemClock(), "UTC", TargetKinds(settings))
    await store.close()


async def save(service: Service, who: Principal, texts: dict[str, str], task: Task) -> Task:
    """Save the form as the page does."""
    request = read_task(body_of(texts, task), exported=True)
    parsed = await parse_request(service, who, request, SystemClock().now(), owner=task.owner)
    edits = replacing_edits(who, parsed, task)
    return (await service.tasks.edit(who, task.id, edits, expected=task.version)).after


@pytest.mark.parametrize("body", BODIES, ids=[each["name"] for each in BODIES])
async def test_untouched_form_changes_nothing(service: Service, body: dict[str, Any]) -> None:
    task = await service.tasks.create(ADA, read_task(body))
    languages: tuple[Language, ...] = ("en", "zh")
    for language in languages:
        texts = texts_of_task(task, language)
        assert is_same_schedule(texts, task)
        for who in (ADA, LOCAL):
            assert await save(service, who, texts, task) == task


@pytest.mark.parametrize("when", [each for each in SCHEDULES if not each.startswith("in ")])
async def test_new_zone_moves_the_same_rule(service: Service, when: str) -> None:
    task = await service.tasks.create(ADA, read_task({"name": "x", "when": when, "zone": "Europe/Berlin", **SAY}))
    moved = await save(service, ADA, {**texts_of_task(task, "en"), "zone": "东京"}, task)
    assert moved.schedule.zone == "Asia/Tokyo"
    assert type(moved.schedule) is type(task.schedule)


async def test_cleared_field_gets_the_default(service: Service) -> None:
    body = {**BODIES[0], "lane": "reports", "labels": {"a": "b"}, "payload": {"x": 1}, "policies": {"timeout": "9s"}}
    task = await service.tasks.create(ADA, read_task(body))
    blank = {"lane": "", "labels": " ", "payload": "", "policies.timeout": ""}
    after = await save(service, ADA, {**texts_of_task(task, "en"), **blank}, task)
    plain = await service.tasks.create(ADA, read_task(BODIES[0]))
    assert after[2:7] == plain[2:7]
    assert (after.lane, after.labels) == (None, ())


async def test_merge_keeps_both_changes_and_names_the_contested_field(service: Service) -> None:
    task = await service.tasks.create(ADA, read_task({**BODIES[0], "labels": {"a": "b"}}))
    loaded = texts_of_task(task, "zh")
    theirs = await save(service, ADA, {**loaded, "name": "theirs", "labels": "c: d", "zone": "UTC"}, task)
    mine = {**loaded, "name": "mine", "policies.priority": "5"}
    merged, conflict = merge_texts(mine, base_json(loaded, "zh"), theirs, TaskWords("zh"))
    assert (merged["name"], merged["labels"], merged["zone"], merged["policies.priority"]) == (
        "mine",
        "c: d",
        "UTC",
        "5",
    )
    assert {each.label: each.is_contested for each in conflict.changes} == {"名称": True, "标签": False, "时区": False}
    tampered, nothing = merge_texts(mine, "[" * 100_000, theirs, TaskWords("en"))
    assert (tampered, nothing.changes) == (mine, ())


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"name": ""}, "name"),
        ({"when": " "}, "when"),
        ({"when": "every foo"}, "when"),
        ({"zone": "Mars/Olympus"}, "zone"),
        ({"payload": "{"}, "payload"),
        ({"labels": "x" * 300}, "labels"),
        ({"lane": "\u0000"}, "lane"),
        ({"policies.timeout": "soon"}, "policies.timeout"),
        ({"policies.priority": "1000"}, "policies.priority"),
        ({"policies.retry.factor": "0"}, "policies.retry.factor"),
        ({"policies.missed.mode": "never"}, "policies.missed.mode"),
        ({"policies.missed.within": "soon"}, "policies.missed.within"),
        ({"target.event.topic": "run.started"}, "target.event.topic"),
        ({"target.kind": "http", "target.http.url": "http://127.0.0.1/"}, "target.http.url"),
        (
            {"target.kind": "http", "target.http.url": "https://a.b/", "target.http.headers": "Host: x"},
            "target.http.headers",
        ),
        ({"target.kind": "command", "target.command.argv": "rm"}, "target.command.argv"),
        (
            {"target.kind": "command", "target.command.argv": "date", "target.command.limits.cpu": "x"},
            "target.command.limits.cpu",
        ),
        ({"target.kind": "other", "target.other.kind": "bell"}, "target.other.kind"),
        ({"target.kind": "other", "target.other.kind": "x", "target.other.spec": "[]"}, "target.other.spec"),
        ({"target.kind": "gone"}, "target.kind"),
    ],
)
async def test_refusal_names_the_field_of_the_form(service: Service, changed: dict[str, str], field: str) -> None:
    texts = {"name": "x", "when": "every 5m", "zone": "UTC", "target.kind": "event", **changed}
    with pytest.raises(Refusal) as refused:
        await service.tasks.create(ADA, read_task(body_of(texts)))
    assert field_of(refused.value, texts) == field
