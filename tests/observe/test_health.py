"""When it says that it is ready, and which part is missing when it does not."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest

from horae.clock import SystemClock
from horae.errors import StoreUnavailable
from horae.model.record import Record
from horae.observe.health import Readiness, WriteProbe, check_health
from horae.ports.node_records import CLOCK_STEP, ClockStep
from horae.stores.memory import MemoryStore
from horae.stores.sqlite import SQLiteStore
from horae.testing.contracts.stores.setup import add_tasks
from horae.testing.factories import a_node, a_task
from tests.api.served import served
from tests.observe.stage import TEST_SECONDS, staged

GOOD = Readiness(store=True, writes=True, engine=True, clock=True, on_time=True)


@pytest.mark.parametrize(
    ("node", "late", "expected"),
    [
        (a_node(), None, GOOD),
        (a_node(), timedelta(seconds=50), GOOD),
        (a_node(), timedelta(seconds=70), GOOD._replace(on_time=False)),
        (a_node(draining=True), None, GOOD._replace(engine=False)),
        (a_node(offset=timedelta(seconds=-61)), None, GOOD._replace(clock=False)),
        (a_node(offset=timedelta(seconds=59)), None, GOOD),
        (None, None, GOOD._replace(engine=False)),
    ],
)
async def test_each_part_by_itself(node: object, late: timedelta | None, expected: Readiness) -> None:
    clock, store = SystemClock(), MemoryStore()
    await store.open()
    now = clock.now()
    if node is not None:
        assert isinstance(node, type(a_node()))
        await store.join(node._replace(joined=now, renewed=now))
    if late is not None:
        await add_tasks(store, a_task(), due=now - late)
    found = (await check_health(store, clock, WriteProbe(clock))).readiness
    await store.close()
    assert found == expected
    assert found.is_ready(engine=True) is (expected == GOOD)
    assert found.is_ready(engine=False)


async def test_a_node_that_has_not_renewed_in_time_does_not_count(tmp_path: Path) -> None:
    clock, store = SystemClock(), SQLiteStore(str(tmp_path / "h.db"))
    await store.open()
    long_ago = clock.now() - timedelta(minutes=1)
    await store.join(a_node(joined=long_ago, renewed=long_ago))
    assert not (await check_health(store, clock, WriteProbe(clock))).readiness.engine
    await store.close()
    parts, problem, _ = await check_health(store, clock, WriteProbe(clock))
    assert (parts, type(problem)) == (Readiness(), StoreUnavailable)


async def test_over_http(tmp_path: Path) -> None:
    async with staged() as stage:
        reply = await stage.api.get("/readyz", who=None)
        assert (reply.status, reply.json["parts"]) == (200, GOOD._asdict())
    async with asyncio.timeout(TEST_SECONDS), served(f"sqlite:///{tmp_path}/h.db") as api:
        reply = await api.get("/readyz", who=None)
        assert reply.status == 200, "nobody is expected to run anything there"
        assert not reply.json["parts"]["engine"]
        await api.service.store.close()
        reply = await api.get("/readyz", who=None)
        assert (reply.status, reply.headers["Retry-After"]) == (503, "2")
        assert not any(reply.json["parts"].values())
        assert reply.json["problem"]["code"] == "store_unavailable"
        assert (await api.get("/healthz", who=None)).status == 200


async def ask_after_a_clock_step(url: str) -> None:
    async with asyncio.timeout(TEST_SECONDS), served(url) as api:
        now = SystemClock().now()
        step = ClockStep("clockwork", now, timedelta(seconds=90))
        record = Record(CLOCK_STEP, "nod_1", "", json.dumps(step.as_json()), expires=now + timedelta(days=1))
        assert await api.service.store.put_record(record, replacing=None)
        reply = await api.get("/readyz", who=None)
        assert (reply.status, [each["by_ms"] for each in reply.json["clock_steps"]]) == (200, [90_000])
        assert "clockwork" not in reply.text, "names of hosts are for admins"
        everything = (await api.get("/v1/overview", who="admin")).json
        assert [each["host"] for each in everything["clock_steps"]] == ["clockwork"]
        assert (await api.get("/v1/overview", who="ada")).json["clock_steps"] == []


async def test_a_clock_that_was_set_back_is_shown_and_makes_nothing_unready(tmp_path: Path) -> None:
    await ask_after_a_clock_step(f"sqlite:///{tmp_path}/h.db")
