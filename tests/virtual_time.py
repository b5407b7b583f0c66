"""Async tests in virtual time: a test that takes the `clock` fixture runs on an event loop whose time is that clock."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping

import pytest

from horae.testing.factories import NOON
from horae.virtual_time import VirtualClock, VirtualLoop

LoopFactory = Callable[[], asyncio.AbstractEventLoop]


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> Mapping[str, LoopFactory]:
    del config
    if "clock" in getattr(item, "fixturenames", ()):
        return {"virtual": lambda: VirtualLoop(VirtualClock(NOON))}
    return {"real": asyncio.new_event_loop}


@pytest.fixture
async def clock() -> VirtualClock:
    """The clock of the running loop. It starts at noon and jumps to the next timer when the loop is idle."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop.clock
