from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from playwright.async_api import expect

from tests.console.chromium import started_chromium
from tests.console.console_server import Console, serve_console

expect.set_options(timeout=20_000)
"""Milliseconds: a machine may run several browsers at once."""


@pytest.fixture(scope="session")
def chromium() -> Iterator[str]:
    with started_chromium() as address:
        yield address


@pytest.fixture
async def console(chromium: str) -> AsyncIterator[Console]:
    """Serve the console on an empty store in memory."""
    async with serve_console(chromium) as served:
        yield served
