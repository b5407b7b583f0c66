"""All that the checks may look at: the store's rows and events, the targets' own ledger, and what was done to the world."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from ..model.change import Facts
from ..model.event import Numbered
from ..model.run import Origin, Run
from ..ports.store import Terms
from .drafts import Traits
from .history import History


class Occurrence(NamedTuple):
    task_id: str
    origin: Origin
    planned: datetime


class Evidence:
    def __init__(  # noqa: PLR0913 - one value with many parts
        self,
        seed: int,
        terms: Terms,
        quiet: float,
        ended: float,
        now: datetime,
        history: History,
        traits: Mapping[str, Traits],
        recovered: tuple[Facts, ...],
        nodes_up: frozenset[str],
        facts: tuple[Facts, ...],
        runs: tuple[Run, ...],
        events: tuple[Numbered, ...],
        doubts: tuple[str, ...],
    ) -> None:
        self.seed = seed
        self.terms = terms
        self.quiet = quiet
        self.ended = ended
        self.now = now
        self.history = history
        self.traits = traits
        self.recovered = recovered
        self.nodes_up = nodes_up
        self.facts = {each.task.id: each for each in facts}
        self.runs = {run.id: run for run in runs}
        self.events = events
        self.doubts = doubts

    @cached_property
    def occurrences(self) -> dict[Occurrence, list[Run]]:
        """The rows of each occurrence, in order of their attempts."""
        grouped: dict[Occurrence, list[Run]] = defaultdict(list)
        for run in sorted(self.runs.values(), key=lambda run: (run.task_id, run.planned, run.attempt)):
            grouped[Occurrence(run.task_id, run.origin, run.planned)].append(run)
        return dict(grouped)
