"""Polling of asynchronous conditions, shared by the store tests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable


async def wait_until(holds: Callable[[], Awaitable[object]]) -> None:
    """Poll until `holds` returns something true; the test's timeout ends an endless wait."""
    while not await holds():
        await asyncio.get_running_loop().run_in_executor(None, lambda: None)
