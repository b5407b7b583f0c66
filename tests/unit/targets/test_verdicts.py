"""Outcome of a run by the return value or exception of its function."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Any

import pytest

from horae.model.limits import ERROR_CHARACTERS
from horae.model.outcome import Failed, Outcome, Skipped, Succeeded
from horae.model.reason import Reason
from horae.targets.function.registry import Registry, function_spec
from horae.targets.function.signals import Fail, Retry, Skip
from horae.targets.function.target import FunctionTarget
from tests.unit.targets.invocations import Recorded, a_task, execute, target_for


def raising(error: BaseException) -> Callable[[], Coroutine[Any, Any, None]]:
    async def work() -> None:
        raise error

    return work


def failure(outcome: Outcome) -> Failed:
    assert isinstance(outcome, Failed), outcome
    return outcome


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (Skip("nothing new"), Skipped("nothing new")),
        (Skip(), Skipped("")),
        (Fail("bad key"), Failed("bad key", permanent=True)),
        (Fail(), Failed("it gave up", permanent=True)),
        (Retry(), Failed("it asked to be tried again")),
        (Retry(90, "busy"), Failed("busy", retry_after=timedelta(seconds=90))),
        (Retry("2m"), Failed("it asked to be tried again", retry_after=timedelta(minutes=2))),
        (Retry(timedelta(hours=1)), Failed("it asked to be tried again", retry_after=timedelta(hours=1))),
        (ExceptionGroup("all", [Skip("a"), Skip("b")]), Skipped("a; b")),
    ],
)
async def test_a_verdict_becomes_its_outcome(error: Exception, outcome: Outcome) -> None:
    assert (await execute(raising(error)))[0] == outcome


@pytest.mark.parametrize("after", [-1, timedelta(days=31), "soon", float("nan")])
def test_a_retry_after_nonsense_is_an_error_of_the_function(after: Any) -> None:
    with pytest.raises(ValueError, match=r"after|duration|NaN"):
        Retry(after)


@pytest.mark.parametrize(
    ("error", "headline"),
    [
        (ValueError("text"), "ValueError: text"),
        (KeyError("k"), "KeyError: 'k'"),
        (SystemExit(2), "SystemExit: 2"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
        (asyncio.CancelledError(), "asyncio.exceptions.CancelledError"),
        (OSError("\udcff\0"), "OSError: ?\N{REPLACEMENT CHARACTER}"),
    ],
)
async def test_exception_is_reported_with_its_location(error: BaseException, headline: str) -> None:
    outcome = failure((await execute(raising(error)))[0])
    first, *frames = outcome.error.splitlines()
    assert first == headline
    assert frames[0].startswith(f'  File "{__file__}", line ')
    assert frames[1:] == ["    raise error"]
    assert (outcome.permanent, outcome.retry_after, outcome.reason) == (False, None, Reason.TARGET_FAILED)


async def test_library_failure_is_reported_with_the_calling_frame() -> None:
    async def work() -> None:
        json.loads("{")

    assert 'json.loads("{")' in failure((await execute(work))[0]).error


async def test_causes_and_notes_are_reported() -> None:
    error = ValueError("outer")
    error.__cause__ = KeyError("inner")
    error.add_note("look at the key")
    assert failure((await execute(raising(error)))[0]).error.startswith(
        "ValueError: outer\nlook at the key, caused by KeyError: 'inner'"
    )


async def test_exception_group_is_reported_by_members_and_verdicts_apply() -> None:
    async def work() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(raising(ValueError("one"))())
            group.create_task(raising(Retry(5, "two"))())

    outcome = failure((await execute(work))[0])
    assert "(2 sub-exceptions); ValueError: one; two\n" in outcome.error
    assert outcome.retry_after == timedelta(seconds=5)
    nested = BaseExceptionGroup("x", [ExceptionGroup("y", [Fail("no"), Retry(5)]), SystemExit()])
    assert failure((await execute(raising(nested)))[0])[1:3] == (True, None)


async def test_a_long_error_and_a_deep_one_are_cut() -> None:
    async def deep(level: int) -> None:
        if not level:
            raise ValueError("x" * 100_000)
        await deep(level - 1)

    async def work() -> None:
        await deep(50)

    assert len(failure((await execute(work))[0]).error) == ERROR_CHARACTERS
    error = failure((await execute(raising_deep))[0]).error
    assert "… 91 more …" in error
    assert error.count("  File ") == 8


def raising_deep(level: int = 98) -> None:
    if not level:
        raise LookupError
    raising_deep(level - 1)


async def test_exception_without_str_is_reported() -> None:
    class Sulky(Exception):  # noqa: N818
        def __str__(self) -> str:
            raise RuntimeError("no")

    assert "Sulky: <exception str() failed>" in failure((await execute(raising(Sulky())))[0]).error


async def test_unawaited_coroutine_is_reported() -> None:
    async def inner() -> None: ...

    def outer() -> Coroutine[Any, Any, None]:
        return inner()

    outcome = failure((await execute(outer))[0])
    assert outcome.permanent
    assert "coroutine" in outcome.error


@pytest.mark.parametrize("spec", [function_spec("absent"), "{}", "[]", "not json", '{"name": 5}', '{"name": ["it"]}'])
async def test_a_name_that_is_not_known_is_an_ordinary_failure(spec: str) -> None:
    target = FunctionTarget(Registry())
    outcome = failure(await target.execute(Recorded(a_task("it", spec=spec))))
    assert (outcome.reason, outcome.permanent) == (Reason.TARGET_UNKNOWN, False)
    assert "function" in outcome.error


async def test_function_registered_later_is_found() -> None:
    registry = Registry()
    target, invocation = FunctionTarget(registry), Recorded(a_task("it"))

    async def work() -> int:
        return 1

    assert isinstance((await target.execute(invocation)), Failed)
    registry.register("it", work)
    assert (await target.execute(invocation)) == Succeeded("1")


async def test_async_function_runs_in_the_calling_task() -> None:
    async def work() -> bool:
        return asyncio.current_task() is asking

    asking = asyncio.current_task()
    assert await target_for(work).execute(Recorded(a_task("it"))) == Succeeded("true")


async def test_cancellation_passes_through_after_the_function_has_cleaned_up() -> None:
    seen, reached = [], asyncio.Event()

    async def work() -> None:
        try:
            reached.set()
            await asyncio.Event().wait()
        finally:
            seen.append("cleaned up")

    execution = asyncio.ensure_future(target_for(work).execute(Recorded(a_task("it"))))
    await reached.wait()
    execution.cancel()
    with pytest.raises(asyncio.CancelledError):
        await execution
    assert seen == ["cleaned up"]


async def test_cancellation_of_another_task_is_a_failure_of_the_function() -> None:
    async def work() -> None:
        other = asyncio.ensure_future(asyncio.Event().wait())
        asyncio.get_running_loop().call_soon(other.cancel)
        await other

    assert failure((await execute(work))[0]).error.startswith("asyncio.exceptions.CancelledError")
