"""The runner: always an outcome, capacity for unsettled runs, and abandoned runs are never settled."""

from __future__ import annotations

import asyncio
import json
from typing import cast

import pytest

from horae.engine.active_run import ActiveRun
from horae.engine.engine import Engine
from horae.lifecycle.control.control import run_now
from horae.lifecycle.control.edit import edit
from horae.model.inputs.run_input import RunInput
from horae.model.limits import PAYLOAD_BYTES
from horae.model.outcome import Failed, Outcome, Skipped, Succeeded, Waiting
from horae.model.reason import Reason
from horae.model.run import Run, RunState
from horae.model.task import Target
from horae.ports.target import Invocation
from horae.testing.factories import HOUR, NOON, SECOND
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import (
    SETTINGS,
    FaultyStore,
    ScriptedTarget,
    add_task,
    as_store,
    endless,
    execute_once,
    list_runs,
    make_engine,
    wait_until,
)


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        (Succeeded('"done"'), RunState.SUCCEEDED),
        (Failed("broken"), RunState.FAILED),
        (Skipped("nothing new"), RunState.SKIPPED),
        (Waiting(NOON + HOUR), RunState.WAITING),
    ],
)
async def test_outcome_of_the_target_is_recorded(clock: VirtualClock, outcome: Outcome, state: RunState) -> None:
    async def act(_: Invocation) -> Outcome:
        return outcome

    run = await execute_once(clock, act, seconds=1)
    assert run.state is state


@pytest.mark.parametrize("error", [ValueError("no such thing"), SystemExit(3), asyncio.CancelledError()])
async def test_a_target_that_raises_has_failed(clock: VirtualClock, error: BaseException) -> None:
    async def act(_: Invocation) -> Outcome:
        raise error

    run = await execute_once(clock, act, seconds=1)
    assert (run.state, run.reason) == (RunState.FAILED, Reason.TARGET_FAILED)
    assert run.error is not None
    assert str(error) in run.error


async def test_target_that_returns_no_outcome_has_failed(clock: VirtualClock) -> None:
    async def act(_: Invocation) -> Outcome:
        return cast("Outcome", None)

    run = await execute_once(clock, act, seconds=1)
    assert (run.state, run.error) == (RunState.FAILED, "the target answered with NoneType, which is no outcome")


async def test_unknown_target_kind_fails(clock: VirtualClock) -> None:
    store = FaultyStore()
    engine = Engine(as_store(store), {}, clock, SETTINGS, version="1", home="here/1")
    task = await add_task(store, NOON, clock.now(), guarantee="at_most_once")
    await engine.start()
    await clock.pause(1)
    await engine.stop()
    (run,) = await list_runs(store, task)
    assert (run.state, run.reason) == (RunState.FAILED, Reason.TARGET_UNKNOWN)


# --- letting go ------------------------------------------------------------------------------------------------------------


async def test_abandoned_run_is_released_at_its_end_and_not_settled(clock: VirtualClock) -> None:
    store, ended = FaultyStore(), asyncio.Event()

    async def act(invocation: Invocation) -> Outcome:
        if invocation.run.attempt > 1:
            return Succeeded()
        try:
            await endless(invocation)
        finally:
            await clock.pause(2)
            ended.set()
        return Succeeded()

    target = ScriptedTarget(act)
    engine = make_engine(store, target, clock)
    task = await add_task(store, NOON, clock.now())
    await engine.start()
    await clock.pause(1)
    engine.runner.abandon(Reason.LEASE_LOST)
    engine.runner.abandon(Reason.LEASE_LOST)
    assert engine.runner.active_count == 0
    await engine.runner.wait_idle()
    await clock.pause(1)
    assert [run.state for run in await list_runs(store, task)] == [RunState.RUNNING], "its work is not over yet"
    await engine.runner.wait_abandoned()
    assert ended.is_set()
    await clock.pause(1)
    await engine.stop()
    first, second = await list_runs(store, task)
    assert (first.state, first.reason) == (RunState.LOST, Reason.RELEASED)
    assert second.state is RunState.SUCCEEDED
    assert all(first.id not in [each.run_id for each in batch] for batch, _ in store.arguments("settle"))


async def test_capacity_counts_unsettled_runs_beyond_a_second_capacity(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    engine = make_engine(store, target, clock, capacity=3)
    store.block("settle")
    for _ in range(4):
        await add_task(store, NOON, clock.now())
    await engine.start()
    await clock.pause(1)
    assert (engine.runner.active_count, engine.settler.pending, engine.runner.free_capacity) == (0, 4, 2)
    store.unblock()
    await clock.pause(1)
    assert (engine.settler.pending, engine.runner.free_capacity) == (0, 3)
    await engine.stop()


async def test_the_key_and_the_trace_are_those_of_the_occurrence(clock: VirtualClock) -> None:
    store = FaultyStore()

    async def act(invocation: Invocation) -> Outcome:
        return Failed("once more") if invocation.run.attempt < 3 else Succeeded()

    target = ScriptedTarget(act)
    engine = make_engine(store, target, clock)
    await add_task(store, NOON, clock.now())
    await add_task(store, NOON + HOUR, clock.now())
    await engine.start()
    await clock.pause(2 * HOUR.total_seconds())
    await engine.stop()
    seen = target.invocations
    assert len(seen) == 6
    assert len({each.key for each in seen}) == 2
    spans = [each.trace.split("-") for each in seen]
    assert [len(part) for part in spans[0]] == [2, 32, 16, 2]
    assert len({span[1] for span in spans}) == 2
    assert len({span[2] for span in spans}) == 6


async def test_stop_is_visible_to_running_functions(clock: VirtualClock) -> None:
    async def act(invocation: Invocation) -> Outcome:
        while not invocation.yield_requested:
            await clock.pause(0.5)
        return Succeeded('"early"')

    store = FaultyStore()
    engine = make_engine(store, ScriptedTarget(act), clock)
    task = await add_task(store, NOON, clock.now())
    await engine.start()
    await clock.pause(5)
    before = clock.now()
    await engine.stop()
    assert clock.now() - before < SECOND
    assert [run.result_json for run in await list_runs(store, task)] == ['"early"']


async def test_log_lines_of_a_run_are_bounded(clock: VirtualClock) -> None:
    store = FaultyStore()

    async def act(invocation: Invocation) -> Outcome:
        for _ in range(500):
            invocation.log("0123456789")
        assert isinstance(invocation, ActiveRun)
        return Succeeded()

    engine = make_engine(store, ScriptedTarget(act), clock, run_log_bytes=1_000)
    await add_task(store, NOON, clock.now())
    await engine.start()
    await clock.pause(1)
    await engine.stop()
    assert sum(len(lines) for (lines,) in store.arguments("write_lines")) == 101


async def test_invocation_has_the_task_and_the_run(clock: VirtualClock) -> None:
    store, target = FaultyStore(), ScriptedTarget()
    engine = make_engine(store, target, clock)
    task = await add_task(store, NOON + SECOND, clock.now())
    await engine.start()
    await wait_until(clock, lambda: bool(target.invocations))
    (invocation,) = target.invocations
    assert invocation.task == task
    assert invocation.task.target == Target("stub", "{}")
    assert (invocation.run.planned, invocation.run.attempt) == (NOON + SECOND, 1)
    assert invocation.deadline == NOON + SECOND + task.policies.timeout
    await engine.stop()


async def _run_with_input(clock: VirtualClock, payload: str, given: RunInput) -> tuple[Run, list[str]]:
    """Request a run with this input, give the task that payload before it starts, and run it."""
    seen: list[str] = []

    async def act(invocation: Invocation) -> Outcome:
        seen.append(invocation.task.payload)
        return Succeeded()

    store = FaultyStore()
    engine = make_engine(store, ScriptedTarget(act), clock)
    task = await add_task(store, NOON + HOUR, clock.now())
    await store.change(task.id, None, lambda facts: run_now(facts, clock.now(), given))
    await store.change(task.id, None, lambda facts: edit(facts, facts.task._replace(payload=payload), clock.now()))
    await engine.start()
    await clock.pause(1)
    await engine.stop()
    (run,) = await list_runs(store, task)
    return run, seen


async def test_target_gets_the_payload_with_the_input_and_its_placeholders(clock: VirtualClock) -> None:
    run, seen = await _run_with_input(clock, '{"a":1}', RunInput("merge", '{"b":"{horae.attempt}"}'))
    assert (run.state, seen) == (RunState.SUCCEEDED, ['{"a":1,"b":"1"}'])


async def test_input_that_no_longer_fits_fails_the_run_for_good(clock: VirtualClock) -> None:
    payload = json.dumps({"a": "x" * (PAYLOAD_BYTES - 100)})
    run, seen = await _run_with_input(clock, payload, RunInput("merge", json.dumps({"b": "x" * 100})))
    assert (run.state, run.reason, seen) == (RunState.FAILED, Reason.NOT_CALLED, [])
