"""Check of turns in lanes: owners alternate, and no run overtakes an entry that waits (see `watched_store.py`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.simulation.checks.task_history import TaskHistory
from tests.simulation.checks.violation import Violation
from tests.simulation.evidence import Evidence


def check_turns(evidence: Evidence, _stories: Mapping[str, TaskHistory]) -> Iterator[Violation]:
    for problem in evidence.lane_problems:
        yield Violation("turn", problem)
