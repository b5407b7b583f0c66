"""Measures the event loop's lag: how late a timer fires, sampled four times a second."""

from __future__ import annotations

from typing import Final

from ..clock import Clock
from . import metric_definitions
from .counters import MetricSet

SAMPLE_SECONDS: Final = 0.25


async def watch_lag(clock: Clock, figures: MetricSet) -> None:
    """Sample the lag until cancelled."""
    lag = figures.histogram(metric_definitions.LOOP_LAG)
    while True:
        due = clock.steady() + SAMPLE_SECONDS
        await clock.pause(SAMPLE_SECONDS)
        lag.add(clock.steady() - due)
