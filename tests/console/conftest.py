from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

import pytest
import pytest_asyncio
from playwright.async_api import expect

from tests.console.chromium import started_chromium
from tests.console.console_server import Console, serve_in_tabs
from tests.console.tabs import Tabs, open_tabs

_SHARED_LOOP: Final = pytest.mark.asyncio(loop_scope="session")

expect.set_options(timeout=20_000)
"""Milliseconds: a machine may run several browsers at once."""


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests that use the browser on the event loop that is connected to it: the markers are read here first."""
    if "tabs" in metafunc.fixturenames:
        metafunc.definition.add_marker(_SHARED_LOOP, append=False)


def pytest_itemcollected(item: pytest.Item) -> None:
    if "tabs" in getattr(item, "fixturenames", ()):
        item.add_marker(_SHARED_LOOP, append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def tabs() -> AsyncIterator[Tabs]:
    """Start one headless Chromium per test process."""
    with started_chromium() as address:
        async with open_tabs(address) as opened:
            yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def console(tabs: Tabs) -> AsyncIterator[Console]:
    """Serve the console on an empty store in memory."""
    async with serve_in_tabs(tabs) as served:
        yield served
