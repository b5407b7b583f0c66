"""Cancellation of runs: requested once, at once, and every cancelled run is settled."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from horae.engine.engine import Engine
from horae.model.accounts.principal import LOCAL
from horae.model.outcome import Outcome, Succeeded
from horae.model.reason import Reason
from horae.model.run import Run, RunState
from horae.ports.target import Invocation
from horae.service.tasks.tasks import Tasks
from horae.testing.factories import NOON, SECOND
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import (
    FaultyStore,
    ScriptedTarget,
    add_task,
    as_store,
    endless,
    list_runs,
    make_engine,
)

Act = Callable[[Invocation], Awaitable[Outcome]]


async def cancelled_after(
    clock: VirtualClock, act: Act, seconds: float, patience: float = 1_000
) -> tuple[Run, ScriptedTarget, Engine]:
    store, target = FaultyStore(), ScriptedTarget(act)
    engine = make_engine(store, target, clock)
    task = await add_task(store, NOON, clock.now())
    await engine.start()
    await clock.pause(seconds)
    tasks = Tasks(as_store(store), clock, on_write=lambda _due: engine.notify())
    await tasks.cancel(LOCAL, task.id)
    await clock.pause(patience)
    await engine.stop()
    (run,) = await list_runs(store, task)
    return run, target, engine


async def test_a_cancelled_run_ends_at_once(clock: VirtualClock) -> None:
    run = (await cancelled_after(clock, endless, seconds=10))[0]
    assert (run.state, run.reason) == (RunState.CANCELLED, Reason.CANCELLED)
    assert run.ended is not None
    assert run.ended - NOON < 10 * SECOND + timedelta(seconds=0.1)


async def test_run_in_cleanup_is_cancelled_once(clock: VirtualClock) -> None:
    """Cancel requests repeat with every renewal; a second cancellation would interrupt the cleanup."""

    cleaned: list[Any] = []

    async def act(invocation: Invocation) -> Outcome:
        try:
            await endless(invocation)
        finally:
            await clock.pause(60)
            cleaned.append(clock.now())
        return Succeeded()

    run = (await cancelled_after(clock, act, seconds=1))[0]
    assert run.state is RunState.CANCELLED
    assert len(cleaned) == 1


async def test_cancelled_run_that_succeeds_is_succeeded(clock: VirtualClock) -> None:
    async def act(invocation: Invocation) -> Outcome:
        while not invocation.cancelled:
            try:
                await clock.pause(1)
            except asyncio.CancelledError:
                break
        assert invocation.cancelled
        return Succeeded('"just in time"')

    run = (await cancelled_after(clock, act, seconds=1))[0]
    assert (run.state, run.result_json) == (RunState.SUCCEEDED, '"just in time"')


async def test_cancel_actions_are_called_and_may_fail(clock: VirtualClock, caplog: pytest.LogCaptureFixture) -> None:
    done: list[str] = []

    def broken() -> None:
        raise OSError("nothing to kill")

    async def act(invocation: Invocation) -> Outcome:
        invocation.on_cancel(broken)
        invocation.on_cancel(lambda: done.append("before"))
        try:
            await endless(invocation)
        finally:
            invocation.on_cancel(lambda: done.append("after"))
        return Succeeded()

    with caplog.at_level(logging.ERROR, logger="horae"):
        run = (await cancelled_after(clock, act, seconds=1))[0]
    assert (run.state, done) == (RunState.CANCELLED, ["before", "after"])
    assert "nothing to kill" in caplog.text


async def test_run_cancelled_before_its_first_step_is_settled(clock: VirtualClock) -> None:
    """An asyncio task cancelled before its first step runs no code."""

    store, target = FaultyStore(), ScriptedTarget()
    engine = make_engine(store, target, clock)
    task = await add_task(store, NOON + SECOND, clock.now())
    await engine.start()
    await clock.pause(0.5)
    carry = engine.runner.execute

    def carry_and_end(claims: Any) -> None:
        carry(claims)
        for _, run in claims:
            engine.runner.request_end(run.id, Reason.CANCELLED)

    engine.dispatcher._runner.execute = carry_and_end  # type: ignore[method-assign]
    await clock.pause(5)
    assert engine.runner.active_count == 0
    await engine.stop()
    assert target.invocations == []
    assert [run.state for run in await list_runs(store, task)] == [RunState.CANCELLED]


async def test_cancellation_during_a_log_flush_loses_nothing(clock: VirtualClock) -> None:
    store = FaultyStore()

    async def act(invocation: Invocation) -> Outcome:
        invocation.log("the last words")
        return Succeeded('"done"')

    engine = make_engine(store, ScriptedTarget(act), clock)
    task = await add_task(store, NOON, clock.now(), timeout=5 * SECOND)
    store.block("write_lines")
    await engine.start()
    await clock.pause(8)
    assert engine.runner.active_count == 1
    store.unblock()
    await clock.pause(1)
    await engine.stop()
    (run,) = await list_runs(store, task)
    assert [line.line.text for line in await as_store(store).lines(run.id)] == ["the last words"]
    assert (run.state, run.result_json) == (RunState.SUCCEEDED, '"done"')
