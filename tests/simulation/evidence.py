"""Evidence of a simulation: store rows, events, the ledger of the targets, and the recorded history."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from horae.model.change import Facts
from horae.model.events.event import NumberedEvent
from horae.model.run import Origin, Run
from horae.ports.store import Terms
from tests.simulation.drafts import Traits
from tests.simulation.history import History


class Occurrence(NamedTuple):
    task_id: str
    origin: Origin
    planned: datetime


@dataclass(frozen=True)
class Evidence:
    """`recovered` is how all tasks stood when faults had been over for a lease and a poll ceiling; the rest is the end.

    Plain numbers are points of the steady clock, instants are the machine's wall clock.
    """

    seed: int
    terms: Terms
    quiet: float
    ended: float
    now: datetime
    history: History
    traits: Mapping[str, Traits]
    recovered: tuple[Facts, ...]
    recovered_at: datetime
    nodes_up: frozenset[str]
    facts: Mapping[str, Facts]
    runs: Mapping[str, Run]
    events: tuple[NumberedEvent, ...]
    doubts: tuple[str, ...]
    complaints: tuple[str, ...]
    lane_problems: tuple[str, ...] = ()
    """Slots of lanes that were given against the rule of turns; only a watched store knows."""

    @cached_property
    def occurrences(self) -> dict[Occurrence, list[Run]]:
        """The rows of each occurrence, in order of their attempts; older occurrences of a task first."""
        grouped: dict[Occurrence, list[Run]] = defaultdict(list)
        for run in sorted(self.runs.values(), key=lambda run: (run.task_id, run.planned, run.attempt)):
            grouped[Occurrence(run.task_id, run.origin, run.planned)].append(run)
        return dict(grouped)

    @property
    def last_number(self) -> int:
        return self.events[-1].number if self.events else 0

    @cached_property
    def instants(self) -> int:
        """Number of occurrences, including those of spans."""
        firsts = (rows[0] for rows in self.occurrences.values())
        return sum(1 if run.span is None else run.span.count for run in firsts)
