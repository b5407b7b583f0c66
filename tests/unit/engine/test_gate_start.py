"""Gates under `at_most_once`: the start is written when the gate is open, so that the death of a node before loses nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest

from horae.engine.engine import Engine
from horae.model.accounts.principal import LOCAL
from horae.model.gate import Gate
from horae.model.outcome import Outcome, Succeeded
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.model.task import Task
from horae.ports.target import Invocation
from horae.service.tasks.tasks import Tasks
from horae.testing.factories import NOON, SECOND
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import SETTINGS, FaultyStore, ScriptedTarget, add_task, as_store, list_runs

GATE = Gate("function", '{"name":"check"}')


def answer(clock: VirtualClock, seconds: float, verdict: str) -> Callable[[Invocation], Awaitable[Outcome]]:
    async def act(_: Invocation) -> Outcome:
        await clock.pause(seconds)
        return Succeeded(verdict)

    return act


class Setup:
    def __init__(self, clock: VirtualClock, verdict: str = '{"run": true}') -> None:
        self.clock = clock
        self.store, self.target = FaultyStore(), ScriptedTarget()
        self.gate = ScriptedTarget(answer(clock, 3, verdict))
        targets = {"stub": self.target, "function": self.gate}
        self.engine = Engine(as_store(self.store), targets, clock, SETTINGS, version="1", home="here/1")

    async def begin(self) -> Task:
        task = await add_task(self.store, NOON, self.clock.now(), guarantee="at_most_once", gate=GATE)
        await self.engine.start()
        return task


async def test_start_is_written_after_the_gate_and_before_the_target(clock: VirtualClock) -> None:
    setup = Setup(clock)
    setup.store.block("start")
    task = await setup.begin()
    await clock.pause(5)
    assert (len(setup.gate.invocations), setup.target.invocations, setup.store.count("start")) == (1, [], 1)
    assert [run.state for run in await list_runs(setup.store, task)] == [RunState.CLAIMED]
    setup.store.unblock()
    await clock.pause(1)
    await setup.engine.stop()
    (run,) = await list_runs(setup.store, task)
    assert (run.state, run.started, len(setup.target.invocations)) == (RunState.SUCCEEDED, NOON, 1)


async def test_closed_gate_needs_no_start(clock: VirtualClock) -> None:
    setup = Setup(clock, '{"run": false}')
    task = await setup.begin()
    await clock.pause(5)
    await setup.engine.stop()
    (run,) = await list_runs(setup.store, task)
    assert (run.state, run.reason, run.started, run.ended) == (
        RunState.SKIPPED,
        Reason.GATE_CLOSED,
        None,
        NOON + 3 * SECOND,
    )
    assert (setup.target.invocations, setup.store.count("start")) == ([], 0)


async def test_start_that_failed_before_the_commit_asks_the_gate_again(clock: VirtualClock) -> None:
    setup = Setup(clock)
    setup.store.fail_before("start")
    task = await setup.begin()
    await clock.pause(20)
    await setup.engine.stop()
    first, second = await list_runs(setup.store, task)
    assert (first.state, first.reason, second.state) == (RunState.LOST, Reason.RELEASED, RunState.SUCCEEDED)
    assert (len(setup.gate.invocations), len(setup.target.invocations)) == (2, 1)


async def test_start_with_unknown_commit_is_not_retried(clock: VirtualClock) -> None:
    setup = Setup(clock)
    setup.store.fail_after("start")
    task = await setup.begin()
    await clock.pause(60)
    await setup.engine.stop()
    assert [run.state for run in await list_runs(setup.store, task)] == [RunState.LOST]
    assert setup.target.invocations == []


@pytest.mark.parametrize("seconds", [1, 4], ids=["during the gate", "during the start"])
async def test_cancelled_run_does_not_call_the_target(clock: VirtualClock, seconds: float) -> None:
    setup = Setup(clock)
    setup.store.block("start")
    task = await setup.begin()
    await clock.pause(seconds)
    tasks = Tasks(as_store(setup.store), clock, on_write=lambda _due: setup.engine.notify())
    await tasks.cancel(LOCAL, task.id)
    await clock.pause(4)
    setup.store.unblock()
    await clock.pause(4)
    await setup.engine.stop()
    assert setup.target.invocations == []
    assert [run.state for run in await list_runs(setup.store, task)] == [RunState.CANCELLED]


async def test_node_that_stops_during_the_gate_hands_the_run_back(clock: VirtualClock) -> None:
    setup = Setup(clock)
    setup.gate.act = answer(clock, 25, '{"run": true}')
    task = await setup.begin()
    await clock.pause(1)
    await setup.engine.stop()
    runs = await list_runs(setup.store, task)
    assert [(run.state, run.reason) for run in runs] == [(RunState.LOST, Reason.RELEASED)]
    facts = await as_store(setup.store).facts(task.id, None)
    assert facts is not None
    assert [entry.attempt for entry in facts.entries] == [2]
    assert setup.target.invocations == []
