"""Lease renewal in its own thread: a function that blocks the event loop does not cost the lease."""

from __future__ import annotations

import asyncio
import logging
import threading
from datetime import datetime, timedelta

import pytest

from horae.clock import SystemClock
from horae.engine.engine import Engine
from horae.engine.keeper import LeaseThread
from horae.engine.settings import EngineSettings
from horae.errors import StoreError
from horae.lifecycle.control.control import cancel
from horae.model.outcome import Outcome, Succeeded
from horae.model.run import RunState
from horae.ports.store import LeaseRenewal, Terms
from horae.ports.target import Invocation
from horae.stores.memory import MemoryStore
from tests.unit.engine.engine_setup import FaultyStore, ScriptedTarget, add_task, as_store, list_runs

QUICK = Terms(lease=timedelta(seconds=0.8))
PATIENCE = 60


class Counting(MemoryStore):
    """Waits for a number of renewals."""

    def __init__(self) -> None:
        super().__init__()
        self.renewals = 0
        self.renewed = threading.Condition()

    async def renew_lease(
        self, node: str, now: datetime, load: int = 0, offset: timedelta = timedelta(0)
    ) -> LeaseRenewal:
        answer = await super().renew_lease(node, now, load, offset)
        with self.renewed:
            self.renewals += 1
            self.renewed.notify_all()
        return answer

    def wait_for_more(self, count: int) -> None:
        with self.renewed:
            wanted = self.renewals + count
            assert self.renewed.wait_for(lambda: self.renewals >= wanted, PATIENCE)


def make_engine(store: object, target: ScriptedTarget) -> Engine:
    settings = EngineSettings(terms=QUICK, lease_thread=True)
    return Engine(as_store(store), {"stub": target}, SystemClock(), settings, version="1")


def lease_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "horae-keeper"]


async def test_lease_is_renewed_while_a_function_blocks_the_loop() -> None:
    store, ended = Counting(), asyncio.Event()

    async def act(_: Invocation) -> Outcome:
        store.wait_for_more(8)  # two leases long, nothing else on this loop can run
        ended.set()
        return Succeeded('"survived"')

    engine = make_engine(store, ScriptedTarget(act))
    await engine.start()
    node = engine.node
    task = await add_task(store, SystemClock().now(), SystemClock().now())
    engine.notify()
    await ended.wait()
    await engine.stop()
    assert engine.node == node
    (run,) = await list_runs(store, task)
    assert (run.state, run.result_json) == (RunState.SUCCEEDED, '"survived"')
    assert lease_threads() == []


async def test_cancel_requests_reach_the_event_loop() -> None:
    store, begun = Counting(), asyncio.Event()

    async def act(_: Invocation) -> Outcome:
        begun.set()
        await asyncio.get_running_loop().create_future()
        return Succeeded()

    engine = make_engine(store, ScriptedTarget(act))
    await engine.start()
    now = SystemClock().now()
    task = await add_task(store, now, now)
    engine.notify()
    await begun.wait()
    settled = asyncio.Event()
    engine.on_settled = lambda _tasks: settled.set()
    await store.change(task.id, None, lambda facts: cancel(facts, now))
    engine.notify()
    await asyncio.wait_for(settled.wait(), PATIENCE)
    await engine.stop()
    (run,) = await list_runs(store, task)
    assert run.state is RunState.CANCELLED


async def test_failed_start_leaves_no_thread() -> None:
    store = FaultyStore()
    store.fail_before("join")
    engine = make_engine(store, ScriptedTarget())
    with pytest.raises(StoreError):
        await engine.start()
    assert lease_threads() == []
    await engine.start()
    assert len(lease_threads()) == 1
    await engine.stop()
    assert lease_threads() == []


async def test_killed_node_leaves_no_thread() -> None:
    engine = make_engine(MemoryStore(), ScriptedTarget())
    await engine.start()
    engine.kill()
    assert lease_threads() == []
    engine.notify()
    engine.kill()


async def start_engine() -> Engine:
    engine = make_engine(Counting(), ScriptedTarget())
    await engine.start()
    return engine


def test_lease_is_abandoned_when_the_event_loop_is_gone(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger="horae"):
        engine = asyncio.run(start_engine())
        thread = engine._thread
        assert thread is not None
        (job,) = thread._jobs
        over = threading.Event()
        thread.call(lambda: job.add_done_callback(lambda _: over.set()))
        assert over.wait(PATIENCE)
    thread.stop()
    assert caplog.text == "", "that is no failure of the keeper"


def test_lease_thread_may_be_stopped_twice_from_two_threads() -> None:
    thread = LeaseThread("horae-keeper")
    enders = [threading.Thread(target=thread.stop) for _ in range(4)]
    for ender in enders:
        ender.start()
    for ender in enders:
        ender.join()
    thread.stop()
    thread.call(lambda: None)
    assert lease_threads() == []
