"""Apps in virtual time, on a store in memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from horae import Horae
from horae.engine.settings import EngineSettings
from horae.simulation.virtual import VirtualClock, run_virtual
from horae.testing.factories import NOON

SETTINGS = EngineSettings(own_thread=False, fine_timer=False, upkeep_every=timedelta(days=1))


def an_app(clock: VirtualClock, **options: Any) -> Horae:
    return Horae("memory://", **{"zone": "UTC", "settings": SETTINGS, "clock": clock, **options})


def with_app(scene: Callable[[Horae, VirtualClock], Awaitable[None]], **options: Any) -> None:
    """Play a scene with an app that is not open yet."""
    clock = VirtualClock(NOON)

    async def play() -> None:
        await scene(an_app(clock, **options), clock)

    run_virtual(play(), clock)
