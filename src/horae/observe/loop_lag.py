"""Measures the event loop's lag: how late a timer fires, sampled four times a second."""

from __future__ import annotations

from typing import Final

from ..clock import Clock
from . import catalogue
from .counters import Figures

EVERY: Final = 0.25


async def watch_lag(clock: Clock, figures: Figures) -> None:
    """Sample the lag until cancelled."""
    lag = figures.histogram(catalogue.LAG)
    while True:
        due = clock.steady() + EVERY
        await clock.pause(EVERY)
        lag.add(clock.steady() - due)
