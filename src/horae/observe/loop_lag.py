"""How late the event loop is: it is asked to do something at a time, and looked when it did."""

from __future__ import annotations

from typing import Final

from ..clock import Clock
from . import catalogue
from .counters import Figures

EVERY: Final = 0.25


async def watch_lag(clock: Clock, figures: Figures) -> None:
    """Until it is cancelled."""
    lag = figures.histogram(catalogue.LAG)
    while True:
        due = clock.steady() + EVERY
        await clock.pause(EVERY)
        lag.add(clock.steady() - due)
