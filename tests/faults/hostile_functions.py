"""Hostile task functions; each function name is a case of `test_hostile_functions.py`."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal

from horae import Context, Horae, Retry
from horae.clock import SystemClock
from tests.faults.functions import FOLDER
from tests.faults.testbed import POLL_SECONDS, Testbed

LOTS: Final = 100_000_000
MANY_LINES: Final = 120_000
BLOCKED_SECONDS: Final = 3.0
CHILDREN: Final = 3

Where = Literal["loop", "thread", "process"]


class Unusual(BaseException):
    """A BaseException that is neither an `Exception` nor built in."""


class MuteError(Exception):
    """Exception whose `str()` raises."""

    def __str__(self) -> str:
        raise MuteError


class Unspeakable:
    """Object whose `str()` and `repr()` raise the given exception."""

    def __init__(self, error: type[BaseException]) -> None:
        self._error = error

    def __str__(self) -> str:
        raise self._error

    def __repr__(self) -> str:
        raise self._error


# --- raise -------------------------------------------------------------------------------------------------------


def raises_system_exit() -> None:
    sys.exit(3)


def raises_keyboard_interrupt() -> None:
    raise KeyboardInterrupt


def raises_generator_exit() -> None:
    raise GeneratorExit


def raises_cancelled_error() -> None:
    raise asyncio.CancelledError


def raises_base_exception() -> None:
    raise Unusual("neither this nor that")


def raises_long_message() -> None:
    raise ValueError("x" * LOTS)


def raises_unprintable_error() -> None:
    raise MuteError


def raises_group() -> None:
    raise BaseExceptionGroup("several", [ValueError("one"), Unusual("two"), ExceptionGroup("more", [MuteError()])])


def retries_with_unprintable_reason() -> None:
    """Raise a verdict whose reason cannot be rendered."""
    raise Retry(reason=Unspeakable(MuteError))  # type: ignore[arg-type]


def retries_with_interrupting_reason() -> None:
    raise Retry(reason=Unspeakable(KeyboardInterrupt))  # type: ignore[arg-type]


# --- return ------------------------------------------------------------------------------------------------------


def returns_a_long_text() -> str:
    return "x" * LOTS


def returns_a_long_list() -> list[str]:
    return ["x" * 1_000] * (LOTS // 1_000)


def returns_itself() -> list[Any]:
    ring: list[Any] = []
    ring.append({"again": ring})
    return ring


def returns_unprintable_value() -> Unspeakable:
    return Unspeakable(ValueError)


def returns_interrupting_value() -> Unspeakable:
    return Unspeakable(KeyboardInterrupt)


def returns_value_raising_base_exception() -> Unspeakable:
    return Unspeakable(Unusual)


def _begin(function: Callable[..., Any]) -> Testbed:
    """Record for the test that the function was called."""
    folder = Path(os.environ[FOLDER])
    (folder / f"began-{function.__name__}").touch()
    return Testbed.on_file(folder)


# --- never end -----------------------------------------------------------------------------------------------------


async def awaits_for_ever() -> None:
    _begin(awaits_for_ever)
    await asyncio.Event().wait()


async def ignores_cancellation() -> None:
    """Ignore the first three cancellations."""
    _begin(ignores_cancellation)
    for _ in range(3):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            continue
    await asyncio.Event().wait()


def stays_until_the_gate_opens(ctx: Context) -> None:
    """Notice the cancellation and continue until the gate opens."""
    testbed, clock = _begin(stays_until_the_gate_opens), SystemClock()
    while not testbed.gate("thread").exists():
        if ctx.cancelled:
            testbed.open_gate("cancelled")
        clock.sleep(POLL_SECONDS)


def spins() -> None:
    _begin(spins)
    for _ in count():
        pass


def spins_ignoring_sigterm() -> None:
    _begin(spins_ignoring_sigterm)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    spins()


async def blocks_the_loop() -> None:
    SystemClock().sleep(BLOCKED_SECONDS)


# --- leave child processes, or kill the process --------------------------------------------------------------------


def forks_children_ignoring_sigterm() -> None:
    for _ in range(CHILDREN):
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            SystemClock().sleep(3_600)


def forks_children_and_spins() -> None:
    _begin(forks_children_and_spins)
    forks_children_ignoring_sigterm()
    spins_ignoring_sigterm()


def exits_process() -> None:
    os._exit(3)


def kills_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def segfaults() -> None:
    ctypes.string_at(0)


def overflows_the_stack() -> None:
    sys.setrecursionlimit(2**31 - 1)
    nested: list[Any] = []
    for _ in range(1_000_000):
        nested = [nested]
    repr(nested)


# --- write too much ------------------------------------------------------------------------------------------------


def floods_its_log(ctx: Context) -> None:
    for number in range(MANY_LINES):
        ctx.log.info("line %d", number)


def fills_its_output() -> None:
    line = "x" * 9_999
    for _ in range(LOTS // 10_000):
        print(line)  # noqa: T201 - floods standard output on purpose


PLAIN: Final[tuple[Callable[..., Any], ...]] = (
    raises_system_exit,
    raises_keyboard_interrupt,
    raises_generator_exit,
    raises_cancelled_error,
    raises_base_exception,
    raises_long_message,
    raises_unprintable_error,
    raises_group,
    retries_with_unprintable_reason,
    retries_with_interrupting_reason,
    returns_a_long_text,
    returns_a_long_list,
    returns_itself,
    returns_unprintable_value,
    returns_interrupting_value,
    returns_value_raising_base_exception,
    floods_its_log,
)
"""Functions for every place: the node's event loop, a thread of the node, an isolated process."""

ONLY: Final[Mapping[Where, tuple[Callable[..., Any], ...]]] = {
    "loop": (awaits_for_ever, ignores_cancellation, blocks_the_loop),
    "thread": (stays_until_the_gate_opens, exits_process, kills_itself, segfaults),
    "process": (
        spins,
        spins_ignoring_sigterm,
        forks_children_ignoring_sigterm,
        forks_children_and_spins,
        exits_process,
        kills_itself,
        segfaults,
        overflows_the_stack,
        fills_its_output,
    ),
}
PLACES: Final[tuple[Where, ...]] = ("loop", "thread", "process")


def name_of(function: Callable[..., Any], where: Where) -> str:
    return f"{function.__name__} ({where})"


def register(app: Horae) -> None:
    for where in PLACES:
        for function in (*PLAIN, *ONLY[where]):
            on_loop = where == "loop" and not asyncio.iscoroutinefunction(function)
            call = _on_the_loop(function) if on_loop else function
            app.task(name=name_of(function, where), isolate="process" if where == "process" else None)(call)


def _on_the_loop(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the function in a coroutine, so that the node awaits it on its loop."""
    if function is floods_its_log:

        async def with_context(ctx: Context) -> Any:
            return function(ctx)

        return with_context

    async def called() -> Any:
        return function()

    return called
