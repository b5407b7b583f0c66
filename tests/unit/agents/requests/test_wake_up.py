"""Wait that another part of the process can end early."""

from __future__ import annotations

import asyncio

import pytest

from horae.agents.requests.watcher import WakeUp
from horae.clock import SystemClock


async def _wait_again_and_again(wake_up: WakeUp) -> None:
    while True:
        await wake_up.wait(10)


@pytest.mark.parametrize("steps", range(6))
async def test_cancellation_is_never_lost(steps: int) -> None:
    """Cancelled at each step of the event loop after the wait was woken: also while it ends what it waited for."""
    wake_up = WakeUp(SystemClock())
    loop = asyncio.ensure_future(_wait_again_and_again(wake_up))
    for _ in range(3):
        await asyncio.sleep(0)  # noqa: TID251 - one step of the event loop
    wake_up.set()
    for _ in range(steps):
        await asyncio.sleep(0)  # noqa: TID251 - one step of the event loop
    loop.cancel()
    async with asyncio.timeout(5):
        await asyncio.wait({loop})
    assert loop.cancelled()
