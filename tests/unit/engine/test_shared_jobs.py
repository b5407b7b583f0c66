"""Runs that do not suspend share one asyncio task; each keeps its own context, cancellation and end."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, Final, cast

from horae.engine.active_run import ActiveRun
from horae.engine.shared_jobs import MAX_RUNS_PER_STEP, SharedJobs
from horae.model.task import Target, Task
from horae.testing.factories import a_task

_NAME: Final[ContextVar[str]] = ContextVar("name", default="")
Work = Callable[[], Coroutine[Any, Any, None]]


class StubRun:
    """What `SharedJobs` sees of an active run."""

    def __init__(self, work: Work, spec: str, kind: str = "function") -> None:
        self.work = work
        self.task: Task = a_task(target=Target(kind, spec))
        self.job: asyncio.Task[None] | None = None
        self.ended = asyncio.Event()


async def _execute(active: ActiveRun) -> None:
    run = cast("StubRun", active)
    try:
        await run.work()
    finally:
        run.ended.set()


async def suspend() -> None:
    waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().call_soon(waiter.set_result, None)
    await waiter


def start_each(jobs: SharedJobs, runs: list[StubRun]) -> list[asyncio.Task[None]]:
    for run in runs:
        jobs.start(cast("ActiveRun", run))
    return [run.job for run in runs if run.job is not None]


async def start_all(runs: list[StubRun]) -> list[asyncio.Task[None]]:
    """Start runs of functions that have not suspended before."""
    jobs = SharedJobs(_execute)

    async def plain() -> None: ...

    await asyncio.wait(start_each(jobs, [StubRun(plain, run.task.target.spec, run.task.target.kind) for run in runs]))
    return start_each(jobs, runs)


async def wait_all(runs: list[StubRun]) -> None:
    for run in runs:
        await run.ended.wait()


async def test_runs_that_do_not_suspend_share_a_task_and_no_context() -> None:
    seen: list[tuple[str, str, asyncio.Task[Any] | None]] = []

    def named(name: str) -> Work:
        async def work() -> None:
            seen.append((name, _NAME.get(), asyncio.current_task()))
            _NAME.set(name)

        return work

    runs = [StubRun(named(str(number)), "f") for number in range(5)]
    assert len(await start_all(runs)) == len(runs), "each has its task before it begins"
    await wait_all(runs)
    assert [(name, inherited) for name, inherited, _ in seen] == [(str(number), "") for number in range(5)]
    assert len({job for _, _, job in seen}) == 1
    assert _NAME.get() == ""


async def test_a_run_that_suspends_delays_no_other_and_keeps_its_context() -> None:
    release, ended = asyncio.Event(), []

    async def suspended() -> None:
        _NAME.set("suspended")
        await release.wait()
        async with asyncio.timeout(60):
            await suspend()
        ended.append(_NAME.get())

    async def plain() -> None:
        ended.append(_NAME.get() or "plain")

    runs = [StubRun(suspended, "s"), StubRun(plain, "p"), StubRun(suspended, "s"), StubRun(plain, "p")]
    await start_all(runs)
    await wait_all([runs[1], runs[3]])
    assert ended == ["plain", "plain"]
    assert runs[0].job is not runs[2].job, "once it has suspended, a function gets a task for each run"
    release.set()
    await wait_all(runs)
    assert ended[2:] == ["suspended", "suspended"]


async def test_cancelling_a_suspended_run_ends_that_run_alone() -> None:
    started, outcomes = asyncio.Event(), []

    async def suspended() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            outcomes.append("cancelled")

    async def plain() -> None:
        outcomes.append("plain")

    runs = [StubRun(suspended, "s"), StubRun(plain, "p")]
    await start_all(runs)
    await started.wait()
    await wait_all(runs[1:])
    assert runs[0].job is not None
    runs[0].job.cancel()
    await asyncio.wait([runs[0].job])
    assert outcomes == ["plain", "cancelled"]


async def test_a_run_that_cancels_its_own_task_or_raises_leaves_the_others_theirs() -> None:
    ended: list[str] = []

    async def cancels_itself() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    async def raises() -> None:
        raise ValueError("no")

    async def plain() -> None:
        await suspend()
        ended.append("plain")

    for first in (cancels_itself, raises):
        runs = [StubRun(first, "first"), StubRun(plain, "p"), StubRun(plain, "p")]
        before, *_ = await start_all(runs)
        await asyncio.wait([before])
        await wait_all(runs)
        assert before.cancelled() or isinstance(before.exception(), ValueError)
    assert ended == ["plain"] * 4


async def test_other_targets_have_a_task_of_their_own() -> None:
    async def plain() -> None: ...

    runs = [StubRun(plain, "{}", "http") for _ in range(3)]
    assert len(set(await start_all(runs))) == 3
    await wait_all(runs)


async def test_first_runs_of_a_function_have_a_task_each_and_begin_in_one_step_of_the_loop() -> None:
    """A run that waits behind another could time out before it begins, on a loop that is blocked."""
    begun: list[int] = []

    async def waits() -> None:
        begun.append(len(begun))
        await suspend()

    runs = [StubRun(waits, f"f{number}") for number in range(3)]
    assert len(set(start_each(SharedJobs(_execute), runs))) == 3
    step = asyncio.Event()
    asyncio.get_running_loop().call_soon(step.set)
    await step.wait()
    assert begun == [0, 1, 2]
    await wait_all(runs)


async def test_many_runs_leave_the_event_loop_its_turns() -> None:
    """Ended runs reach the store while others execute."""
    loop, turns, turns_before = asyncio.get_running_loop(), list[None](), list[int]()

    async def plain() -> None:
        turns_before.append(len(turns))

    def take_turn() -> None:
        turns.append(None)
        if not all(run.ended.is_set() for run in runs):
            loop.call_soon(take_turn)

    runs = [StubRun(plain, "f") for _ in range(3 * MAX_RUNS_PER_STEP)]
    await start_all(runs)
    turns_before.clear()
    loop.call_soon(take_turn)
    await wait_all(runs)
    assert len(turns_before) == len(runs)
    assert set(Counter(turns_before).values()) == {MAX_RUNS_PER_STEP}
