"""`check_health` and `/readyz`: readiness of store, writes, engine, clock and punctuality."""

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
from tests.api.api_server import serve_api
from tests.observe.observed_app import TEST_SECONDS, run_observed_app

READY = Readiness(store=True, writes=True, engine=True, clock=True, on_time=True)


@pytest.mark.parametrize(
    ("node", "late", "expected"),
    [
        (a_node(), None, READY),
        (a_node(), timedelta(seconds=50), READY),
        (a_node(), timedelta(seconds=70), READY._replace(on_time=False)),
        (a_node(draining=True), None, READY._replace(engine=False)),
        (a_node(offset=timedelta(seconds=-61)), None, READY._replace(clock=False)),
        (a_node(offset=timedelta(seconds=59)), None, READY),
        (None, None, READY._replace(engine=False)),
    ],
)
async def test_readiness_of_each_part(node: object, late: timedelta | None, expected: Readiness) -> None:
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
    assert found.is_ready(engine=True) is (expected == READY)
    assert found.is_ready(engine=False)


async def test_node_with_an_expired_lease_does_not_count(tmp_path: Path) -> None:
    clock, store = SystemClock(), SQLiteStore(str(tmp_path / "h.db"))
    await store.open()
    long_ago = clock.now() - timedelta(minutes=1)
    await store.join(a_node(joined=long_ago, renewed=long_ago))
    assert not (await check_health(store, clock, WriteProbe(clock))).readiness.engine
    await store.close()
    parts, problem, _ = await check_health(store, clock, WriteProbe(clock))
    assert (parts, type(problem)) == (Readiness(), StoreUnavailable)


async def test_readyz_over_http(tmp_path: Path) -> None:
    async with run_observed_app() as observed:
        reply = await observed.api.get("/readyz", who=None)
        assert (reply.status, reply.json["parts"]) == (200, READY._asdict())
    async with asyncio.timeout(TEST_SECONDS), serve_api(f"sqlite:///{tmp_path}/h.db") as api:
        reply = await api.get("/readyz", who=None)
        assert reply.status == 200, "this server expects no engine"
        assert not reply.json["parts"]["engine"]
        await api.service.store.close()
        reply = await api.get("/readyz", who=None)
        assert (reply.status, reply.headers["Retry-After"]) == (503, "2")
        assert not any(reply.json["parts"].values())
        assert reply.json["problem"]["code"] == "store_unavailable"
        assert (await api.get("/healthz", who=None)).status == 200


async def check_clock_step(url: str) -> None:
    async with asyncio.timeout(TEST_SECONDS), serve_api(url) as api:
        now = SystemClock().now()
        step = ClockStep("clockwork", now, timedelta(seconds=90))
        record = Record(CLOCK_STEP, "nod_1", "", json.dumps(step.as_json()), expires=now + timedelta(days=1))
        assert await api.service.store.put_record(record, replacing=None)
        reply = await api.get("/readyz", who=None)
        assert (reply.status, [each["by_ms"] for each in reply.json["clock_steps"]]) == (200, [90_000])
        assert "clockwork" not in reply.text, "names of hosts are for admins"
        overview = (await api.get("/v1/overview", who="admin")).json
        assert [each["host"] for each in overview["clock_steps"]] == ["clockwork"]
        assert (await api.get("/v1/overview", who="ada")).json["clock_steps"] == []


async def test_clock_step_is_reported_and_does_not_change_readiness(tmp_path: Path) -> None:
    await check_clock_step(f"sqlite:///{tmp_path}/h.db")
