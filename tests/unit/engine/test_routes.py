"""Routes: with two nodes of which one lacks the function, each occurrence runs once, on the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from horae.engine.dispatcher import SOLO_ROUTE_CHECK_SECONDS
from horae.engine.engine import Engine
from horae.model.entry import EntryState
from horae.model.policy import GUARANTEES
from horae.model.run import RunState
from horae.ports.store import WaitingCounts
from horae.schedule import Every
from horae.testing.factories import HOUR, MINUTE, NOON, SECOND
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import (
    SETTINGS,
    TERMS,
    FaultyStore,
    ScriptedTarget,
    add_task,
    as_store,
    list_runs,
    wait_until,
)

STUB = frozenset({"target:stub"})
OTHER = frozenset({"function:other"})
NOTHING: frozenset[str] = frozenset()
CEILING = TERMS.poll_ceiling


def make_node(
    routes: frozenset[str] | Callable[[], frozenset[str]],
    store: FaultyStore,
    target: ScriptedTarget,
    clock: VirtualClock,
) -> Engine:
    chosen = routes if callable(routes) else lambda: routes
    return Engine(as_store(store), {"stub": target}, clock, SETTINGS, version="1", home="here/1", routes=chosen)


class Pair:
    """A node with the route and one without; the second joins first."""

    def __init__(self, clock: VirtualClock, unable: frozenset[str] = OTHER) -> None:
        self.clock = clock
        self.store = FaultyStore()
        self.right, self.wrong = ScriptedTarget(), ScriptedTarget()
        self.unable = make_node(unable, self.store, self.wrong, clock)
        self.able = make_node(STUB, self.store, self.right, clock)

    async def start(self, *, rings: bool) -> None:
        if rings:
            self.unable.dispatcher.on_unroutable = self.able.notify
            self.able.dispatcher.on_unroutable = self.unable.notify
        await self.unable.start()
        await self.able.start()

    async def stop(self) -> None:
        await self.unable.stop()
        await self.able.stop()


@pytest.mark.parametrize("rings", [True, False], ids=["rung", "every ring gets lost"])
@pytest.mark.parametrize("guarantee", GUARANTEES)
async def test_entries_run_once_on_the_node_with_the_route(
    clock: VirtualClock,
    guarantee: str,
    rings: bool,  # noqa: FBT001
) -> None:
    pair = Pair(clock)
    await pair.start(rings=rings)
    for second in range(40):
        await add_task(pair.store, NOON + (1 + second % 17) * SECOND * 7, clock.now(), guarantee=guarantee)
    await clock.pause(300)
    runs = await list_runs(pair.store)
    assert len(runs) == len(pair.right.invocations) == 40
    assert {(run.state, run.attempt, run.forgiven, run.node) for run in runs} == {
        (RunState.SUCCEEDED, 1, 0, pair.able.node)
    }
    assert pair.wrong.invocations == []
    latest = max(run.lateness for run in runs if run.lateness is not None)
    assert latest <= (SECOND if rings else CEILING)
    assert await as_store(pair.store).waiting(None, clock.now()) == WaitingCounts()
    await pair.stop()


async def test_recurring_task_runs_on_the_node_with_the_route(clock: VirtualClock) -> None:
    pair = Pair(clock)
    await pair.start(rings=False)
    task = await add_task(pair.store, Every(interval=MINUTE), clock.now())
    await clock.pause(3_605)
    runs = await list_runs(pair.store, task)
    assert [(run.planned, run.attempt, run.state) for run in runs] == [
        (NOON + number * MINUTE, 1, RunState.SUCCEEDED) for number in range(1, 61)
    ]
    assert {run.node for run in runs} == {pair.able.node}
    await pair.stop()


async def test_stranded_entry_runs_when_a_node_with_the_route_joins(
    clock: VirtualClock,
) -> None:
    pair = Pair(clock)
    task = await add_task(pair.store, NOON + SECOND, clock.now(), guarantee="at_most_once")
    await pair.unable.start()
    await clock.pause(3_600)
    assert (await list_runs(pair.store), pair.wrong.invocations) == ([], [])
    assert await as_store(pair.store).waiting(None, clock.now()) == WaitingCounts(stranded=1)
    await pair.able.start()
    await wait_until(clock, lambda: len(pair.right.invocations) == 1, within=1)
    await pair.stop()
    (run,) = await list_runs(pair.store, task)
    assert (run.state, run.attempt, run.planned) == (RunState.SUCCEEDED, 1, NOON + SECOND)


async def test_node_without_routes_is_harmless(clock: VirtualClock) -> None:
    pair = Pair(clock, unable=NOTHING)
    await pair.start(rings=True)
    await add_task(pair.store, NOON + SECOND, clock.now())
    await clock.pause(60)
    assert (len(pair.right.invocations), pair.wrong.invocations) == (1, [])
    await pair.stop()


async def test_two_nodes_without_the_route_do_not_spin(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    first, second = (make_node(OTHER, store, target, clock) for _ in range(2))
    first.dispatcher.on_unroutable, second.dispatcher.on_unroutable = second.notify, first.notify
    await first.start()
    await second.start()
    await add_task(store, NOON + SECOND, clock.now())
    await clock.pause(2)
    before = store.count("claim_due")
    await clock.pause(100)
    assert store.count("claim_due") - before <= 2 * (100 / CEILING.total_seconds() + 2)
    assert target.invocations == []
    await first.stop()
    await second.stop()


# --- how often a door is asked for -----------------------------------------------------------------------------------


async def test_single_node_admits_routes_periodically_and_after_notifications(clock: VirtualClock) -> None:
    store = FaultyStore()
    engine = make_node(STUB, store, ScriptedTarget(), clock)
    await add_task(store, Every(interval=MINUTE), clock.now())
    await engine.start()
    await clock.pause(3_600)
    # Another node may have stranded an entry and left without a notification.
    assert set(store.arguments("admit")) == {(STUB,)}
    assert 3_600 / SOLO_ROUTE_CHECK_SECONDS / 1.3 <= store.count("admit") <= 3_600 / SOLO_ROUTE_CHECK_SECONDS + 1
    before = store.count("admit")
    for _ in range(3):
        engine.notify()
        await clock.pause(1)
    assert store.count("admit") == before + 3
    await engine.stop()


async def test_nodes_admit_routes_within_the_poll_ceiling(clock: VirtualClock) -> None:
    pair = Pair(clock)
    await add_task(pair.store, Every(interval=SECOND), clock.now(), overlap="parallel")
    await pair.start(rings=False)
    await clock.pause(30)
    before = pair.store.count("admit")
    await clock.pause(600)
    each = (pair.store.count("admit") - before) / 2
    # A stretch of 600 s may hold one more than 600 s divided by the least distance.
    assert 600 * SECOND / CEILING <= each <= 600 * SECOND / (CEILING - TERMS.renewal) + 1
    await pair.stop()


async def test_node_without_declared_routes_admits_none(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    engine = Engine(as_store(store), {"stub": target}, clock, SETTINGS, version="1", home="here/1")
    await add_task(store, NOON + SECOND, clock.now())
    await engine.start()
    await clock.pause(60)
    assert (store.count("admit"), len(target.invocations)) == (0, 1)
    await engine.stop()


async def test_failed_admission_of_routes_is_retried(clock: VirtualClock) -> None:
    """A single node after its only notification: otherwise the entry would wait for ever."""

    pair = Pair(clock)
    await add_task(pair.store, NOON + SECOND, clock.now())
    await pair.unable.start()
    await clock.pause(5)
    await pair.unable.stop()
    pair.store.fail_before("admit", times=3)
    await pair.able.start()
    await clock.pause(10)
    assert len(pair.right.invocations) == 1
    await pair.able.stop()


async def test_function_registered_later_admits_its_route(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    routes = [NOTHING]
    engine = make_node(lambda: routes[0], store, target, clock)
    await add_task(store, NOON + SECOND, clock.now())
    await engine.start()
    await clock.pause(60)
    assert target.invocations == []
    routes[0] = STUB
    await clock.pause(CEILING.total_seconds() + 1)
    assert len(target.invocations) == 1
    await engine.stop()


@pytest.mark.parametrize("how", ["stops", "dies"])
async def test_entry_stranded_by_a_leaving_node_is_found_without_notification(clock: VirtualClock, how: str) -> None:
    pair = Pair(clock)
    await pair.start(rings=False)
    # The one that can run it is busy for a moment, so that the other is the one that claims it.
    pair.store.block("admit")
    task = await add_task(pair.store, NOON + 15 * SECOND, clock.now())
    pair.able.dispatcher._routes = lambda: OTHER
    await clock.pause(16)
    pair.able.dispatcher._routes = lambda: STUB
    pair.store.unblock()
    if how == "stops":
        await pair.unable.stop()
    else:
        pair.unable.kill()
    await clock.pause((TERMS.lease + 3 * CEILING).total_seconds())
    (run,) = await list_runs(pair.store, task)
    assert (run.node, run.attempt) == (pair.able.node, 1)
    await pair.able.stop()


# --- notifications --------------------------------------------------------------------------------------------------


async def test_only_the_node_that_strands_an_entry_notifies(clock: VirtualClock) -> None:
    pair = Pair(clock)
    told: list[str] = []
    pair.unable.dispatcher.on_unroutable = lambda: told.append("unable")
    pair.able.dispatcher.on_unroutable = lambda: told.append("able")
    await pair.unable.start()
    await add_task(pair.store, NOON + SECOND, clock.now())
    await clock.pause(5)
    assert told == ["unable"]
    await pair.able.start()
    await clock.pause(5)
    assert told == ["unable"]
    await pair.stop()


async def test_full_lane_does_not_strand_entries(clock: VirtualClock) -> None:
    store = FaultyStore()

    async def act(_: Any) -> Any:
        await clock.pause(30)

    target = ScriptedTarget(act)
    engine = make_node(STUB, store, target, clock)
    told: list[int] = []
    engine.dispatcher.on_unroutable = lambda: told.append(1)
    tasks = [await add_task(store, NOON + SECOND, clock.now(), lane="press") for _ in range(2)]
    await engine.start()
    await clock.pause(5)
    stands = [entry.state for task in tasks for entry in (await _entries(store, task.id))]
    assert (stands, told) == ([EntryState.PARKED], [])
    engine.kill()


async def _entries(store: FaultyStore, task_id: str) -> tuple[Any, ...]:
    facts = await as_store(store).facts(task_id, None)
    assert facts is not None
    return facts.entries


async def test_resume_and_deadline_entries_need_no_route(clock: VirtualClock) -> None:
    from horae.lifecycle.control import control  # noqa: PLC0415 - only here

    store = FaultyStore()
    engine = make_node(NOTHING, store, ScriptedTarget(), clock)
    task = await add_task(store, Every(interval=HOUR), clock.now())
    end = NOON + MINUTE
    await as_store(store).change(task.id, None, lambda facts: control.pause(facts, clock.now(), until=end))
    await engine.start()
    await clock.pause(65)
    facts = await as_store(store).facts(task.id, None)
    assert facts is not None
    assert facts.status.state == "active"
    await engine.stop()
