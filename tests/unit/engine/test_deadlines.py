"""Deadlines: silence is a timeout, heartbeats move it, max_duration bounds the run, one timer serves all."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from horae.engine import active_run as watch_module
from horae.model.outcome import Outcome, Succeeded
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.ports.target import Invocation
from horae.testing.factories import MINUTE, NOON, SECOND
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import (
    FaultyStore,
    ScriptedTarget,
    add_task,
    endless,
    execute_once,
    list_runs,
    make_engine,
)


async def test_silence_is_a_timeout_to_the_second(clock: VirtualClock) -> None:
    run = await execute_once(clock, endless, timeout=30 * SECOND)
    assert (run.state, run.reason, run.error) == (RunState.TIMED_OUT, Reason.DEADLINE, "silent for 30 s")
    assert run.ended == NOON + 30 * SECOND


@pytest.mark.parametrize("sign", ["heartbeat", "progress"])
async def test_heartbeats_move_the_deadline(clock: VirtualClock, sign: str) -> None:
    async def act(invocation: Invocation) -> Outcome:
        for _ in range(4):
            await clock.pause(20)
            if sign == "heartbeat":
                invocation.heartbeat()
            else:
                invocation.progress(0.5, "halfway")
            assert invocation.deadline == clock.now() + 30 * SECOND
        await endless(invocation)
        return Succeeded()

    run = await execute_once(clock, act, timeout=30 * SECOND)
    assert (run.state, run.ended) == (RunState.TIMED_OUT, NOON + (4 * 20 + 30) * SECOND)


async def test_max_duration_holds_despite_heartbeats(clock: VirtualClock) -> None:
    async def act(invocation: Invocation) -> Outcome:
        while True:
            await clock.pause(1)
            invocation.heartbeat()

    run = await execute_once(clock, act, timeout=30 * SECOND, max_duration=MINUTE)
    assert (run.state, run.ended, run.error) == (RunState.TIMED_OUT, NOON + MINUTE, "not over after 60 s")


async def test_different_deadlines_all_fire(clock: VirtualClock) -> None:
    store = FaultyStore()
    engine = make_engine(store, ScriptedTarget(endless), clock)
    tasks = {}
    for seconds in (50, 7, 400, 7, 90):
        task = await add_task(store, NOON, clock.now(), guarantee="at_most_once", timeout=seconds * SECOND)
        tasks[task.id] = seconds
    await engine.start()
    await clock.pause(500)
    await engine.stop()
    outcome = {
        tasks[run.task_id]: (run.ended - NOON).total_seconds()
        for run in await list_runs(store)
        if run.ended is not None
    }
    assert outcome == {50: 50, 7: 7, 400: 400, 90: 90}


async def test_one_timer_serves_all_deadlines(clock: VirtualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    look = watch_module.DeadlineTimer._check_deadlines

    def counted(watch: watch_module.DeadlineTimer) -> None:
        nonlocal looks
        looks += 1
        look(watch)

    monkeypatch.setattr(watch_module.DeadlineTimer, "_check_deadlines", counted)
    store = FaultyStore()
    engine = make_engine(store, ScriptedTarget(endless), clock)
    for _ in range(100):
        await add_task(store, NOON, clock.now(), guarantee="at_most_once", timeout=30 * SECOND)
    await engine.start()
    await clock.pause(40)
    assert engine.runner.active_count == 0
    await engine.stop()
    assert looks <= 2


@pytest.mark.parametrize("policies", [{"timeout": 10 * SECOND}, {"timeout": MINUTE, "max_duration": 10 * SECOND}])
async def test_run_that_ignores_its_deadline_is_cancelled_again_without_spinning(
    clock: VirtualClock, policies: dict[str, timedelta]
) -> None:
    asked = 0

    async def act(_: Invocation) -> Outcome:
        nonlocal asked
        end = clock.steady() + 200
        while clock.steady() < end:
            try:
                await clock.pause(end - clock.steady())
            except asyncio.CancelledError:
                asked += 1
        return Succeeded('"all the same"')

    run = await execute_once(clock, act, seconds=1_000, **policies)
    assert asked == 1 + int(190 / policies["timeout"].total_seconds())
    # The outcome that the target returned counts.
    assert (run.state, run.result_json) == (RunState.SUCCEEDED, '"all the same"')


async def test_cleanup_after_a_deadline_is_not_cancelled_by_other_timeouts(clock: VirtualClock) -> None:
    store, cleaned = FaultyStore(), list[float]()

    async def act(invocation: Invocation) -> Outcome:
        try:
            await endless(invocation)
        finally:
            await clock.pause(20)
            cleaned.append(clock.steady())
        return Succeeded()

    engine = make_engine(store, ScriptedTarget(act), clock)
    for start in (0, 5, 10):
        await add_task(store, NOON + start * SECOND, clock.now(), guarantee="at_most_once", timeout=30 * SECOND)
    await engine.start()
    await clock.pause(100)
    await engine.stop()
    assert cleaned == [50, 55, 60]
    assert {run.state for run in await list_runs(store)} == {RunState.TIMED_OUT}


async def test_error_caused_by_the_deadline_is_a_timeout(clock: VirtualClock) -> None:
    async def act(invocation: Invocation) -> Outcome:
        try:
            await endless(invocation)
        except asyncio.CancelledError:
            raise ConnectionError("in the middle of it") from None
        return Succeeded()

    run = await execute_once(clock, act)
    assert (run.state, run.error) == (RunState.TIMED_OUT, "ConnectionError: in the middle of it")
