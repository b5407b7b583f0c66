"""Soak run: nodes under load and a nemesis for minutes or hours, then the checker's report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from horae.clock import SystemClock
from tests.cluster.injected_faults import takeovers, unprovoked
from tests.cluster.soak.faults import HARMLESS
from tests.cluster.soak.fleet import Fleet
from tests.cluster.soak.load import Load
from tests.cluster.soak.nemesis import Nemesis
from tests.cluster.soak.table_sizes import Size, sizes
from tests.cluster.stores import DatabaseServer, StoreKind
from tests.faults import ledger
from tests.faults.checker import find_violations
from tests.faults.store_snapshot import check_store, read_snapshot, wait_until_quiet
from tests.faults.testbed import Testbed, wait_until

POLL_SECONDS = 0.05
LOG_SECONDS = 10.0
MEASUREMENTS = 8
"""Number of table size measurements."""


@dataclass(frozen=True, slots=True)
class Plan:
    store: StoreKind
    seconds: float
    seed: int
    lease: float = 15.0
    nodes: int = 5
    longest: int = 40
    """Largest number of instants in a series."""


@dataclass(slots=True)
class Report:
    """`violations` is empty when every guarantee held."""

    violations: list[str] = field(default_factory=list)
    faults: dict[str, int] = field(default_factory=dict)
    takeovers: dict[str, list[float]] = field(default_factory=dict)
    sizes: list[tuple[float, list[Size]]] = field(default_factory=list)
    tasks: int = 0
    effects: int = 0
    repeated: int = 0


class Soak:
    def __init__(self, plan: Plan, testbed: Testbed, server: DatabaseServer | None, log: Callable[[str], None]) -> None:
        self._plan = plan
        self._place = testbed
        self._clock = SystemClock()
        self._log = log
        self._began = self._clock.steady()
        self._last_log = 0.0
        self._next_look = 0.0
        self._report = Report()
        self._lines = _Lines(testbed.ledger)
        self._fleet = Fleet(testbed, server, plan.nodes, plan.lease)

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
            self._fleet.restart_dead()
            self._measure_and_log(nemesis, load)
            self._clock.sleep(POLL_SECONDS)
        nemesis.stop()
        load.stop(60 + plan.lease)
        self._settle_down(load.last)
        return self._build_report(nemesis, load)

    def _settle_down(self, last: datetime) -> None:
        """Wait, after all faults are undone, until everything due has ended."""
        self._wait_for_nodes()
        wait_until_quiet(self._place, last, 240 + 4 * self._plan.lease, every=POLL_SECONDS * 4)

    def _wait_for_nodes(self) -> None:
        def all_ready() -> bool:
            self._fleet.restart_dead()
            return self._fleet.ready == self._plan.nodes

        wait_until(all_ready, 120, "all nodes", POLL_SECONDS)

    def _measure_and_log(self, nemesis: Nemesis, load: Load) -> None:
        if self._elapsed >= self._next_look and not self._fleet.is_database_down:
            self._next_look = self._elapsed + self._plan.seconds / MEASUREMENTS
            self._report.sizes.append((self._elapsed, sizes(self._place, self._plan.store)))
        if self._elapsed - self._last_log >= LOG_SECONDS:
            self._last_log = self._elapsed
            going = ", ".join(each.fault for each in nemesis.ongoing) or "nothing"
            self._log(
                f"{self._elapsed:6.0f} s  nodes {self._fleet.ready}/{self._plan.nodes}  tasks {len(load.acknowledged):,}"
                f"  effects {self._lines.effects():,}  faults {nemesis.counts.total()}  now: {going}"
            )

    def _build_report(self, nemesis: Nemesis, load: Load) -> Report:
        report, snapshot, marks = self._report, read_snapshot(self._place), ledger.read(self._place.ledger)
        dues, missing = load.dues(snapshot.rows)
        patience = timedelta(seconds=2 * self._plan.lease + 5)
        report.violations = [
            *missing,
            *self._fleet.deaths,
            *find_violations(dues, marks, snapshot),
            *unprovoked([hit for hit in nemesis.hits if hit.fault not in HARMLESS], marks, snapshot, patience),
            *check_store(self._place),
        ]
        report.sizes.append((self._elapsed, sizes(self._place, self._plan.store)))
        report.faults = dict(nemesis.counts)
        report.takeovers = takeovers(nemesis.hits, marks)
        happened = [(mark.task, mark.planned) for mark in marks if mark.phase == "effect"]
        report.tasks, report.effects = len(dues), len(happened)
        report.repeated = len(happened) - len(set(happened))
        return report


class _Lines:
    """Counts the effects in a growing ledger, reading only new bytes."""

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
