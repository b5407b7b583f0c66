"""Forecast: runs a set of tasks on the real engine in virtual time and reports runs, skips, overlaps and lane use.

request          tasks, durations, span, limits          simulation         engine, store and clock of one forecast
recording_store  in-memory store that reports decisions  run_counts         counters per task and lane
report           the result as values                    findings           problems and warnings with hints
"""

from __future__ import annotations

from .report import Finding, LaneForecast, Report, TaskForecast
from .request import Candidate
from .simulation import MOST_ROWS, forecast

__all__ = ["MOST_ROWS", "Candidate", "Finding", "LaneForecast", "Report", "TaskForecast", "forecast"]
