"""SIGINT around the event loop of a command: the loop is closed, and the command is interrupted."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from horae.cli.session.interruptible import run_interruptible


@pytest.fixture(autouse=True)
def default_handler() -> Iterator[None]:
    """Handle SIGINT as a command does; test processes may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    handler = signal.signal(signal.SIGINT, before)
    assert handler is signal.default_int_handler


@pytest.fixture
def loops(monkeypatch: pytest.MonkeyPatch) -> list[asyncio.AbstractEventLoop]:
    """Event loops that were made during the test."""
    made: list[asyncio.AbstractEventLoop] = []
    make = asyncio.events.new_event_loop

    def note() -> asyncio.AbstractEventLoop:
        made.append(make())
        return made[-1]

    monkeypatch.setattr(asyncio.events, "new_event_loop", note)
    return made


async def return_seven() -> int:
    return 7


def test_result_is_returned_and_the_handler_restored(loops: list[asyncio.AbstractEventLoop]) -> None:
    assert run_interruptible(return_seven()) == 7
    assert [loop.is_closed() for loop in loops] == [True]


def test_interrupt_while_the_loop_is_made_runs_nothing(
    loops: list[asyncio.AbstractEventLoop], monkeypatch: pytest.MonkeyPatch
) -> None:
    make = asyncio.events.new_event_loop

    def interrupt() -> asyncio.AbstractEventLoop:
        loop = make()
        signal.raise_signal(signal.SIGINT)
        return loop

    monkeypatch.setattr(asyncio.events, "new_event_loop", interrupt)
    ran: list[int] = []

    async def work() -> None:
        ran.append(1)

    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work())
    assert ran == []
    assert [loop.is_closed() for loop in loops] == [True]


def test_interrupt_while_the_loop_is_closed_closes_it(loops: list[asyncio.AbstractEventLoop]) -> None:
    async def work() -> int:
        loop: Any = asyncio.get_running_loop()
        shut_down = loop.shutdown_asyncgens

        async def interrupt() -> None:
            signal.raise_signal(signal.SIGINT)
            await shut_down()

        loop.shutdown_asyncgens = interrupt
        return 7

    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work())
    assert [loop.is_closed() for loop in loops] == [True]


def test_interrupt_cancels_the_coroutine_which_may_clean_up(loops: list[asyncio.AbstractEventLoop]) -> None:
    cleaned: list[str] = []

    async def work() -> None:
        asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append("store")

    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work())
    assert cleaned == ["store"]
    assert [loop.is_closed() for loop in loops] == [True]


def test_second_interrupt_ends_a_coroutine_that_cleans_up_for_long(loops: list[asyncio.AbstractEventLoop]) -> None:
    async def work() -> None:
        loop = asyncio.get_running_loop()
        loop.call_soon(signal.raise_signal, signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            loop.call_soon(signal.raise_signal, signal.SIGINT)
            await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        run_interruptible(work())
    assert [loop.is_closed() for loop in loops] == [True]


def test_cancellation_from_inside_is_no_interrupt() -> None:
    async def work() -> None:
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        run_interruptible(work())
