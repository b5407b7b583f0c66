"""The timer fires on the event loop, never early, also where the system has no timers of its own."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from horae.clock import SystemClock
from horae.engine import alarm as module
from horae.engine.alarm import timer

SHORT = 0.003


def open_files() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


@pytest.fixture(params=["the system's", "the loop's", "no system"])
def fine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    if request.param == "no system":
        monkeypatch.setattr(module, "_LIBRARY", None)
    return bool(request.param != "the loop's")


@pytest.mark.parametrize("seconds", [0.0, SHORT])
async def test_timer_fires_and_not_early(seconds: float, fine: bool) -> None:  # noqa: FBT001 - a fixture
    clock = SystemClock()

    # An event loop may fire within the resolution of its clock before the time.
    fired = asyncio.Event()
    started = clock.steady()
    with timer(seconds, fired.set, fine=fine):
        await fired.wait()
    outcome = clock.steady() - started
    assert outcome >= seconds - 1e-6


async def test_cancelled_timer_does_not_fire(fine: bool) -> None:  # noqa: FBT001 - a fixture
    fired: list[str] = []
    last = asyncio.Event()
    with timer(SHORT, lambda: fired.append("first"), fine=fine):
        pass
    with timer(2 * SHORT, last.set, fine=fine):
        await last.wait()
    assert fired == []


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="nowhere to count open files")
async def test_timer_leaves_no_file_open() -> None:
    before = open_files()
    for _ in range(100):
        with timer(60, lambda: None):
            pass
    assert open_files() == before


async def test_timer_falls_back_to_the_event_loop_without_file_descriptors(monkeypatch: pytest.MonkeyPatch) -> None:
    class Exhausted:
        def timerfd_create(self, *_: int) -> int:
            return -1

    monkeypatch.setattr(module, "_LIBRARY", Exhausted())

    fired = asyncio.Event()
    with timer(SHORT, fired.set):
        await fired.wait()
