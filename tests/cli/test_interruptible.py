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


async def append_one(ran: list[int]) -> None:
    ran.append(1)


async def interrupt_its_shutdown() -> int:
    """Replace the step that closes the loop's generators by one that is interrupted."""
    loop: Any = asyncio.get_running_loop()
    shut_down = loop.shutdown_asyncgens

    async def interrupted() -> None:
        signal.raise_signal(signal.SIGINT)
        await shut_down()

    loop.shutdown_asyncgens = interrupted
    return 7


async def wait_for_an_interrupt(cleaned: list[str]) -> None:
    asyncio.get_running_loop().call_soon(signal.raise_signal, signal.SIGINT)
    try:
        await asyncio.Event().wait()
    finally:
        cleaned.append("store")


async def wait_for_two_interrupts() -> None:
    loop = asyncio.get_running_loop()
    loop.call_soon(signal.raise_signal, signal.SIGINT)
    try:
        await asyncio.Event().wait()
    finally:
        loop.call_soon(signal.raise_signal, signal.SIGINT)
        await asyncio.Event().wait()


async def cancel_itself() -> None:
    raise asyncio.CancelledError


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
    with pytest.raises(KeyboardInterrupt):
        run_interruptible(append_one(ran))
    assert ran == []
    assert [loop.is_closed() for loop in loops] == [True]


def test_interrupt_while_the_loop_is_closed_closes_it(loops: list[asyncio.AbstractEventLoop]) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_interruptible(interrupt_its_shutdown())
    assert [loop.is_closed() for loop in loops] == [True]


def test_interrupt_cancels_the_coroutine_which_may_clean_up(loops: list[asyncio.AbstractEventLoop]) -> None:
    cleaned: list[str] = []
    with pytest.raises(KeyboardInterrupt):
        run_interruptible(wait_for_an_interrupt(cleaned))
    assert cleaned == ["store"]
    assert [loop.is_closed() for loop in loops] == [True]


def test_second_interrupt_ends_a_coroutine_that_cleans_up_for_long(loops: list[asyncio.AbstractEventLoop]) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_interruptible(wait_for_two_interrupts())
    assert [loop.is_closed() for loop in loops] == [True]


def test_cancellation_from_inside_is_no_interrupt() -> None:
    with pytest.raises(asyncio.CancelledError):
        run_interruptible(cancel_itself())
