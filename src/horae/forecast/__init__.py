"""What a set of tasks will do: the real engine on a clock that jumps, and a report of what it met.

candidate  a task as it is to be tried          stage     the engine, its store and its time, for one forecast
witness    a store that tells what was decided  tally     what is counted on the way: tasks, lanes, crowds
report     what came of it, as values           findings  what a person should look at, and what to do about it
"""

from __future__ import annotations

from .report import Finding, LaneForecast, Report, TaskForecast
from .request import Candidate
from .simulation import MOST_ROWS, forecast

__all__ = ["MOST_ROWS", "Candidate", "Finding", "LaneForecast", "Report", "TaskForecast", "forecast"]
