"""Blocking functions run in a bounded thread pool, and a cancelled run waits for its thread."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar

import pytest

from horae.model.outcome import Failed, Succeeded
from horae.targets.function.registry import Registry
from horae.targets.function.target import FunctionTarget
from tests.unit.targets.invocations import Recorded, a_run, a_task, execute, target_for

VARIABLE: ContextVar[str] = ContextVar("VARIABLE", default="unset")


async def test_a_blocking_function_runs_in_another_thread_with_the_same_context_variables() -> None:
    def work() -> list[object]:
        return [VARIABLE.get(), threading.current_thread() is threading.main_thread()]

    VARIABLE.set("set")
    outcome = await target_for(work).execute(Recorded(a_task("it")))
    assert outcome == Succeeded('["set",false]')


async def test_async_function_can_run_in_a_thread_with_its_own_loop() -> None:
    async def work() -> bool:
        await asyncio.to_thread(str)
        return threading.current_thread() is threading.main_thread()

    assert (await execute(work, isolate="thread"))[0] == Succeeded("false")


async def stays() -> None: ...


def leaves() -> None: ...


def test_functions_that_leave_the_loop_are_known_beforehand() -> None:
    ordinary, alone = Recorded(a_task("it")), Recorded(a_task("it"), a_run(alone=True))
    assert not target_for(stays).leaves_the_loop(ordinary)
    assert target_for(stays).leaves_the_loop(alone)
    assert target_for(stays, "thread").leaves_the_loop(ordinary)
    assert target_for(leaves).leaves_the_loop(ordinary)
    assert not target_for(leaves).leaves_the_loop(Recorded(a_task("another")))


@pytest.mark.parametrize("error", [SystemExit(1), KeyboardInterrupt(), StopIteration(), asyncio.CancelledError()])
async def test_exceptions_in_a_thread_become_failures(error: BaseException) -> None:
    def work() -> None:
        raise error

    outcome, _ = await execute(work)
    assert isinstance(outcome, Failed)
    assert type(error).__name__ in outcome.error


async def test_a_cancelled_run_is_over_only_when_its_thread_is() -> None:
    started, release, ended = threading.Event(), threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        release.wait()
        ended.set()

    try:
        execution = asyncio.ensure_future(target_for(work).execute(Recorded(a_task("it"))))
        await asyncio.to_thread(started.wait)
        for _ in range(3):
            execution.cancel()
            await asyncio.to_thread(str)
            assert not execution.done()
        release.set()
        with pytest.raises(asyncio.CancelledError):
            await execution
        assert ended.is_set()
    finally:
        release.set()


async def test_async_function_in_a_thread_is_cancelled_in_that_thread() -> None:
    started, cleaned = threading.Event(), threading.Event()

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    execution = asyncio.ensure_future(target_for(work, "thread").execute(Recorded(a_task("it"))))
    await asyncio.to_thread(started.wait)
    execution.cancel()
    with pytest.raises(asyncio.CancelledError):
        await execution
    assert cleaned.is_set()


async def test_thread_pool_is_bounded_and_queued_runs_can_be_cancelled() -> None:
    started, release, calls = threading.Event(), threading.Event(), []

    def work() -> None:
        calls.append(1)
        started.set()
        release.wait()

    try:
        registry = Registry()
        registry.register("it", work)
        target = FunctionTarget(registry, threads=1)
        running, waiting = (asyncio.ensure_future(target.execute(Recorded(a_task("it")))) for _ in range(2))
        await asyncio.to_thread(started.wait)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        release.set()
        assert await running == Succeeded()
        target.close()
        assert calls == [1]
    finally:
        release.set()
