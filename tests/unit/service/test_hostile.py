"""Hostile ids, numbers and names are refused alike on every store."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from horae.encryption import Key
from horae.errors import Refusal
from horae.model.accounts.principal import Principal
from horae.model.outcome import Succeeded
from horae.model.task import Target
from horae.ports.store import RunFilter, TaskFilter
from horae.runtime.stores import make_store
from horae.service.accounts.secrets import SecretVault
from horae.service.service import Service
from horae.service.tasks.edits import Edits
from horae.service.tasks.task_request import TaskRequest
from horae.testing.factories import NOON
from horae.virtual_time import VirtualClock
from tests.unit.service.service_harness import ADA, ROOT, TARGET

STORES = ("memory", "sqlite")
HALF = "\ud800"
IDS: dict[str, Any] = {
    "half a letter": HALF,
    "half a letter within": f"tsk_{HALF}_x",
    "too long": "x" * 201,
    "far too long": "x" * 1_000_000,
    "a control character": "tsk_\0",
    "a line": "tsk_\n",
    "a number": 7,
    "nothing": None,
}
NUMBERS: dict[str, Any] = {
    "huge": 2**70,
    "just too high": 2**63,
    "negative": -1,
    "far below": -(2**70),
    "a text": "1",
    "a fraction": 0.5,
    "a truth": True,
}
WISH = TaskRequest("water", "every 1h", TARGET, zone="UTC")
Asked = Callable[[Service, Any], Awaitable[object]]

TASK_METHODS: dict[str, Asked] = {
    "get": lambda service, id_: service.tasks.get(ADA, id_),
    "named": lambda service, id_: service.tasks.find_by_name(ADA, id_),
    "edit": lambda service, id_: service.tasks.edit(ADA, id_, Edits(name="x")),
    "rehearsed edit": lambda service, id_: service.tasks.edit(ADA, id_, Edits(name="x"), dry_run=True),
    "pause": lambda service, id_: service.tasks.pause(ADA, id_),
    "resume": lambda service, id_: service.tasks.resume(ADA, id_),
    "cancel": lambda service, id_: service.tasks.cancel(ADA, id_),
    "delete": lambda service, id_: service.tasks.delete(ADA, id_),
    "run now": lambda service, id_: service.tasks.run_now(ADA, id_),
    "skip": lambda service, id_: service.tasks.skip_next(ADA, id_),
    "backfill": lambda service, id_: service.tasks.backfill(ADA, id_, NOON - timedelta(days=1), NOON),
    "cancel a run": lambda service, id_: service.tasks.cancel_run(ADA, id_, "run_x"),
    "history": lambda service, id_: service.tasks.import_history(ADA, id_, []),
    "why": lambda service, id_: service.explanations.why(ADA, id_, NOON),
    "explained": lambda service, id_: service.explanations.explain(ADA, id_, None),
}
RUN_METHODS: dict[str, Asked] = {
    "get": lambda service, id_: service.runs.get(ADA, id_),
    "lines": lambda service, id_: service.runs.lines(ADA, id_),
    "cancel": lambda service, id_: service.runs.cancel(ADA, id_),
    "retry": lambda service, id_: service.runs.retry(ADA, id_),
    "answer": lambda service, id_: service.runs.answer(id_, lambda _: True, Succeeded()),
}
NUMBERED: dict[str, Asked] = {
    "events": lambda service, number: service.events.after(ADA, number),
    "lines": lambda service, number: service.runs.lines(ADA, "run_x", number),
}
LIMITED: dict[str, Asked] = {
    "tasks": lambda service, limit: service.tasks.page(ADA, limit=limit),
    "upcoming": lambda service, limit: service.tasks.upcoming(ADA, limit),
    "runs": lambda service, limit: service.runs.page(ADA, limit=limit),
    "events": lambda service, limit: service.events.after(ADA, 0, limit),
    "secrets": lambda service, limit: service.secrets.names(ADA, limit=limit),
}
TEXTS: dict[str, Asked] = {
    "after a task": lambda service, text: service.tasks.page(ADA, after=text),
    "after a run": lambda service, text: service.runs.page(ADA, after=text),
    "tasks of an owner": lambda service, text: service.tasks.page(ROOT, TaskFilter(owner=text)),
    "tasks of a name": lambda service, text: service.tasks.page(ADA, TaskFilter(name=text)),
    "tasks of a lane": lambda service, text: service.tasks.page(ADA, TaskFilter(lane=text)),
    "tasks with a text": lambda service, text: service.tasks.page(ADA, TaskFilter(text=text)),
    "tasks of a kind": lambda service, text: service.tasks.page(ADA, TaskFilter(kind=text)),
    "tasks that begin so": lambda service, text: service.tasks.page(ADA, TaskFilter(prefix=text)),
    "tasks of a label": lambda service, text: service.tasks.page(ADA, TaskFilter(labels=((text, "x"),))),
    "tasks of a label's value": lambda service, text: service.tasks.page(ADA, TaskFilter(labels=(("x", text),))),
    "runs of an owner": lambda service, text: service.runs.page(ROOT, RunFilter(owner=text)),
    "runs of a task": lambda service, text: service.runs.page(ADA, RunFilter(task_id=text)),
    "a key": lambda service, text: service.tasks.declare(ADA, WISH._replace(key=text)),
    "a key in rehearsal": lambda service, text: service.tasks.preview_declaration(ADA, WISH._replace(key=text)),
    "an owner": lambda service, text: service.tasks.declare(ROOT, WISH._replace(owner=text, key="x")),
    "a name": lambda service, text: service.tasks.create(ADA, WISH._replace(name=text)),
    "a lane": lambda service, text: service.tasks.create(ADA, WISH._replace(lane=text)),
    "the limit of a lane": lambda service, text: service.lanes.limit(ROOT, text, 1),
    "secrets after": lambda service, text: service.secrets.names(ADA, after=text),
    "secrets of an owner": lambda service, text: service.secrets.names(ROOT, text),
    "a secret's name": lambda service, text: service.secrets.set(ADA, text, "x"),
    "a secret's owner": lambda service, text: service.secrets.set(ROOT, "x", "x", text),
    "a secret to remove": lambda service, text: service.secrets.remove(ADA, text),
    "whose secret to remove": lambda service, text: service.secrets.remove(ROOT, "x", text),
}


@asynccontextmanager
async def a_service(kind: str, folder: Path) -> AsyncIterator[Service]:
    store = make_store("memory://" if kind == "memory" else f"sqlite:///{folder}/horae.db")
    await store.open()
    clock = VirtualClock(NOON)
    yield Service(store, clock, "UTC", SecretVault(store, Key.random(), clock))
    await store.close()


async def refused(call: Awaitable[object]) -> str | None:
    """The code of the refusal; None when it was none. Any other exception is a failure of the test."""
    try:
        await call
    except Refusal as refusal:
        assert len(str(refusal)) < 1_000
        return refusal.code
    return None


async def all_refused(
    service: Service, methods: dict[str, Asked], values: dict[str, Any]
) -> dict[str, set[str | None]]:
    return {name: {await refused(ask(service, value)) for value in values.values()} for name, ask in methods.items()}


@pytest.mark.parametrize("kind", STORES)
async def test_impossible_id_is_not_found(kind: str, tmp_path: Path) -> None:
    async with a_service(kind, tmp_path) as service:
        told = await all_refused(service, TASK_METHODS, IDS)
        assert told == {key: {"no_such_task"} for key in TASK_METHODS}
        told = await all_refused(service, RUN_METHODS, IDS)
        assert told == {key: {"no_such_run"} for key in RUN_METHODS} | {"answer": {"bad_answer"}}


@pytest.mark.parametrize("kind", STORES)
async def test_numbers_beyond_the_range_of_a_store_are_refused(kind: str, tmp_path: Path) -> None:
    async with a_service(kind, tmp_path) as service:
        assert await all_refused(service, NUMBERED, NUMBERS) == {key: {"bad_number"} for key in NUMBERED}
        limits = NUMBERS | {"none at all": 0, "minus five": -5}
        assert await all_refused(service, LIMITED, limits) == {key: {"bad_page"} for key in LIMITED}
        assert await service.events.after(ADA, 2**63 - 1) == ()


@pytest.mark.parametrize("kind", STORES)
async def test_texts_that_no_store_accepts_are_refused_in_every_field(kind: str, tmp_path: Path) -> None:
    async with a_service(kind, tmp_path) as service:
        texts = {name: text for name, text in IDS.items() if isinstance(text, str) and len(text) != 201}
        told = await all_refused(service, TEXTS, texts)
        assert [name for name, codes in told.items() if None in codes] == []
        assert (await service.tasks.page(ROOT)).items == ()
        assert await service.store.lanes() == ()


@pytest.mark.parametrize("kind", STORES)
async def test_lone_surrogates_in_payload_target_or_labels_are_refused(kind: str, tmp_path: Path) -> None:
    async with a_service(kind, tmp_path) as service:
        for wish in (
            WISH._replace(payload=f'"{HALF}"'),
            WISH._replace(target=Target("function", f'{{"name":"{HALF}"}}')),
            WISH._replace(target=Target(f"function{HALF}", "{}")),
        ):
            assert await refused(service.tasks.create(ADA, wish)) == "bad_payload"
        assert await refused(service.tasks.create(ADA, WISH._replace(labels={"x": HALF}))) == "bad_labels"
        assert (await service.tasks.page(ROOT)).items == ()


@pytest.mark.parametrize("kind", STORES)
async def test_naive_instant_is_refused(kind: str, tmp_path: Path) -> None:
    async with a_service(kind, tmp_path) as service:
        naive = NOON.replace(tzinfo=None)
        for wanted in (RunFilter(since=naive), RunFilter(until=naive)):
            assert await refused(service.runs.page(ADA, wanted)) == "naive_instant"


@pytest.mark.parametrize("kind", STORES)
async def test_reserved_lane_names_are_refused_and_quotas_need_an_admin(kind: str, tmp_path: Path) -> None:
    async with a_service(kind, tmp_path) as service:

        async def code(name: str, limit: Any = 1, who: Principal = ROOT) -> str | None:
            return await refused(service.lanes.limit(who, name, limit))

        assert await code("") == "bad_text"
        assert [await code(name) for name in ("function:x", "target:http")] == ["bad_choice"] * 2
        assert [await code("press", limit) for limit in (-1, 2**70, True, "1")] == ["bad_number"] * 4
        assert await code("owner:bob", who=ADA) == "not_allowed"
        assert await service.store.lanes() == ()
        assert await code("owner:bob") is None
        assert await code("press", 3) is None
        assert [(lane.name, lane.limit) for lane in await service.store.lanes()] == [("owner:bob", 1), ("press", 3)]


@pytest.mark.parametrize("kind", STORES)
async def test_secret_names_page_past_the_longest_key(kind: str, tmp_path: Path) -> None:
    async with a_service(kind, tmp_path) as service:
        owner, names = "o" * 200, ["a" * 100, "b" * 100]
        for name in names:
            await service.secrets.set(ROOT, name, "x", owner)
        first = await service.secrets.names(ROOT, limit=1)
        rest = await service.secrets.names(ROOT, after=first.after, limit=1)
        assert [each.name for each in (*first.items, *rest.items)] == names
