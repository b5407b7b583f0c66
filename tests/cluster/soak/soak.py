"""Nodes under load and a nemesis, for minutes or hours, and a verdict at the end: the same code as in the tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from horae.clock import SystemClock
from tests.cluster.soak.faults import HARMLESS
from tests.cluster.soak.fleet import Fleet
from tests.cluster.soak.load import Load
from tests.cluster.soak.nemesis import Nemesis
from tests.cluster.soak.sizes import Size, sizes
from tests.cluster.stores import DatabaseServer, StoreKind
from tests.cluster.verdict import takeovers, unprovoked
from tests.faults import ledger
from tests.faults.checker import faults_in
from tests.faults.evidence import doubts, gather, until_quiet
from tests.faults.place import Place, until

LOOK_SECONDS = 0.05
TELL_SECONDS = 10.0
LOOKS = 8
"""How often the tables are measured in all."""


@dataclass(frozen=True, slots=True)
class Plan:
    store: StoreKind
    seconds: float
    seed: int
    lease: float = 15.0
    nodes: int = 5
    longest: int = 40
    """Instants of a series at most."""


@dataclass(slots=True)
class Report:
    """`wrong` is empty when every promise was kept."""

    wrong: list[str] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=dict)
    takeovers: dict[str, list[float]] = field(default_factory=dict)
    sizes: list[tuple[float, list[Size]]] = field(default_factory=list)
    tasks: int = 0
    effects: int = 0
    repeated: int = 0


class Soak:
    def __init__(self, plan: Plan, place: Place, server: DatabaseServer | None, tell: Callable[[str], None]) -> None:
        self._plan = plan
        self._place = place
        self._clock = SystemClock()
        self._tell = tell
        self._began = self._clock.steady()
        self._told = 0.0
        self._next_look = 0.0
        self._report = Report()
        self._lines = _Lines(place.ledger)
        self._fleet = Fleet(place, server, plan.nodes, plan.lease)

    def run(self) -> Report:
        try:
            return self._run()
        finally:
            self._fleet.close()

    @property
    def _elapsed(self) -> float:
        return self._clock.steady() - self._began

    def _run(self) -> Report:
        plan = self._plan
        self._wait_for_nodes()
        nemesis, load = Nemesis(self._fleet, plan.seed, plan.lease), Load(self._place, plan.seed, plan.longest)
        load.start()
        self._began = self._clock.steady()
        while self._elapsed < plan.seconds:
            nemesis.step()
            self._fleet.look()
            self._now_and_then(nemesis, load)
            self._clock.sleep(LOOK_SECONDS)
        nemesis.end()
        load.stop(60 + plan.lease)
        self._settle_down(load.last)
        return self._judge(nemesis, load)

    def _settle_down(self, last: datetime) -> None:
        """Everything is whole again: all that is due comes to its end."""
        self._wait_for_nodes()
        until_quiet(self._place, last, 240 + 4 * self._plan.lease, every=LOOK_SECONDS * 4)

    def _wait_for_nodes(self) -> None:
        def all_ready() -> bool:
            self._fleet.look()
            return self._fleet.ready == self._plan.nodes

        until(all_ready, 120, "all nodes", LOOK_SECONDS)

    def _now_and_then(self, nemesis: Nemesis, load: Load) -> None:
        if self._elapsed >= self._next_look and not self._fleet.down:
            self._next_look = self._elapsed + self._plan.seconds / LOOKS
            self._report.sizes.append((self._elapsed, sizes(self._place, self._plan.store)))
        if self._elapsed - self._told >= TELL_SECONDS:
            self._told = self._elapsed
            going = ", ".join(each.fault for each in nemesis.going) or "nothing"
            self._tell(
                f"{self._elapsed:6.0f} s  nodes {self._fleet.ready}/{self._plan.nodes}  tasks {len(load.acknowledged):,}"
                f"  effects {self._lines.effects():,}  faults {nemesis.counts.total()}  now: {going}"
            )

    def _judge(self, nemesis: Nemesis, load: Load) -> Report:
        report, evidence, marks = self._report, gather(self._place), ledger.read(self._place.ledger)
        dues, missing = load.dues(evidence.rows)
        patience = timedelta(seconds=2 * self._plan.lease + 5)
        report.wrong = [
            *missing,
            *self._fleet.deaths,
            *faults_in(dues, marks, evidence),
            *unprovoked([hit for hit in nemesis.hits if hit.fault not in HARMLESS], marks, evidence, patience),
            *doubts(self._place),
        ]
        report.sizes.append((self._elapsed, sizes(self._place, self._plan.store)))
        report.faults = dict(nemesis.counts)
        report.takeovers = takeovers(nemesis.hits, marks)
        happened = [(mark.task, mark.planned) for mark in marks if mark.phase == "effect"]
        report.tasks, report.effects = len(dues), len(happened)
        report.repeated = len(happened) - len(set(happened))
        return report


class _Lines:
    """Counts the effects in a ledger that grows, without reading it anew each time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._seen = 0
        self._effects = 0

    def effects(self) -> int:
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._seen)
                new = file.read()
            self._seen += len(new)
            self._effects += new.count(b'"effect"')
        return self._effects
