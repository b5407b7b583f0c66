"""Harness for hostile tasks: one node with well-behaved neighbour tasks; outcomes are read from the store's runs."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from horae import Horae
from horae.model.limits import ERROR_CHARACTERS, LOG_LINES, RESULT_BYTES
from tests.faults.client import RUN_EVERY_INSTANT, from_now
from tests.faults.hostile_node import app_on, scratch_of
from tests.faults.ledger import read
from tests.faults.oracle import Series
from tests.faults.process_stats import Memory, memory_of, open_sockets, survivors
from tests.faults.processes import Worker
from tests.faults.store_snapshot import instant, query
from tests.faults.testbed import Testbed, wait_until
from tests.faults.worker_config import WorkerConfig

_T = TypeVar("_T")

LATE_SECONDS: Final = 2.0
"""Largest allowed lateness of a neighbour task (F12)."""
GROWTH_MEGABYTES: Final = 80.0
"""Largest allowed growth of the node's memory. 40 to 65 were seen: how many runs overlap at the peak depends on the machine."""
PATIENCE: Final = 150.0
ORPHAN_SECONDS: Final = 5.0
_EVERY: Final = timedelta(seconds=1)
_FAR: Final = 3_600
_ENDS: Final = """
SELECT tasks.name, runs.id, runs.state, runs.reason, runs.error, runs.result, runs.attempt,
  (SELECT count(*) FROM lines WHERE lines.run_id = runs.id)
FROM runs JOIN tasks ON tasks.seq = runs.task WHERE runs.live = 0 ORDER BY runs.seq
"""
_STARTS: Final = """
SELECT planned, due, started, runs.state, attempt FROM runs JOIN tasks ON tasks.seq = runs.task
WHERE tasks.name = ? ORDER BY planned, attempt
"""


class Case(NamedTuple):
    """`contains` is part of the error or the result. With `settles` False only the test ends the case."""

    name: str
    target: str | Mapping[str, Any]
    state: str
    reason: str | None = None
    contains: str = ""
    timeout: float = 30.0
    settles: bool = True


class End(NamedTuple):
    run: str
    state: str
    reason: str | None
    error: str | None
    result: str | None
    attempt: int
    lines: int


class Window(NamedTuple):
    first: datetime
    last: datetime

    def __contains__(self, at: object) -> bool:
        return isinstance(at, datetime) and self.first <= at <= self.last


class HostileNode(Worker):
    module = "tests.faults.hostile_node"


class HostileHarness:
    """A node whose neighbour tasks have run once, so that it has loaded what ordinary work needs."""

    def __init__(self, testbed: Testbed, nodes: list[Worker], *, supervised: bool = False) -> None:
        self.testbed = testbed
        self.nodes = nodes
        self.down = 0.0
        """Seconds without a running node."""
        self._supervised = supervised
        self.first = from_now(0.5)
        self._call_app(self._add_neighbours)
        self.wait_for_neighbours(self.first + _EVERY)
        self.before = memory_of(self.node.pid)
        self.sockets = open_sockets(self.node.pid)

    @property
    def node(self) -> Worker:
        return self.nodes[-1]

    def run_cases(self, cases: Sequence[Case], meanwhile: Callable[[], None] = lambda: None) -> Window:
        """Run all cases at once; return when each has ended and the neighbours have run again."""
        began = from_now(0)
        self._call_app(lambda app: _add(app, cases))
        pending = {case.name for case in cases if case.settles}
        wait_until(
            lambda: pending <= self._finished(), PATIENCE, "all ends but those that the test brings about", every=0.1
        )
        meanwhile()
        wait_until(lambda: {case.name for case in cases} <= self._finished(), PATIENCE, "the last end", every=0.1)
        self.wait_for_neighbours(from_now(0))
        return Window(began, from_now(0))

    def ends(self) -> dict[str, list[End]]:
        found: dict[str, list[End]] = defaultdict(list)
        for name, *rest in query(self.testbed, _ENDS):
            if name not in NEIGHBOURS:
                found[name].append(End(*rest))
        return dict(found)

    def _finished(self) -> set[str]:
        """Return the tasks that have ended, not counting lost attempts; restart a dead node if supervised."""
        if self._supervised and not self.node.alive:
            began = from_now(0)
            self.nodes.append(_started(self.testbed))
            self.down += (from_now(0) - began).total_seconds()
        return {name for name, ends in self.ends().items() if ends[-1].state != "lost"}

    def wait_for_neighbours(self, last: datetime) -> None:
        def caught_up() -> bool:
            rows = [query(self.testbed, _STARTS, (name,)) for name in NEIGHBOURS]
            return all(each and instant(each[-1][0]) >= last - _EVERY and each[-1][3] == "succeeded" for each in rows)

        wait_until(caught_up, PATIENCE, "both neighbours", every=0.05)

    # --- checks: each returns one sentence per violation --------------------------------------------------------------

    def find_leftovers(self) -> list[str]:
        """Find processes, connections and files that outlived their run."""
        runs = [end.run for ends in self.ends().values() for end in ends]
        try:
            wait_until(lambda: not survivors(self.testbed.folder, runs), ORPHAN_SECONDS, "no process left")
        except AssertionError:
            return [f"a process is left: {each}" for each in survivors(self.testbed.folder, runs)]
        found = [f"a file is left: {each}" for each in sorted(scratch_of(self.testbed).iterdir())]
        more = open_sockets(self.node.pid) - self.sockets
        return [*found, *([f"{more} sockets more than before"] if more > 0 else [])]

    def find_disturbances(self, window: Window, late: float = LATE_SECONDS) -> list[str]:
        """Find neighbour instants without exactly one run, or with a late start."""
        return [each for name in NEIGHBOURS for each in self._find_disturbances(name, window, late)]

    def find_unserved(self, window: Window) -> list[str]:
        """Find neighbour instants that did not succeed exactly once; lost attempts before the success are allowed."""
        found: list[str] = []
        for name in NEIGHBOURS:
            done = [at for at, state, _ in self._starts(name) if state == "succeeded"]
            found += [f"{name}: {done.count(at)} times at {at}" for at in self._instants(window) if done.count(at) != 1]
        return found

    def latest_start(self, window: Window) -> float:
        return max(late for name in NEIGHBOURS for planned, _, late in self._starts(name) if planned in window)

    def memory_growth(self) -> Memory:
        """Return the growth of resident memory, and the growth at the peak."""
        now = memory_of(self.node.pid)
        return Memory(now.resident - self.before.resident, now.peak - self.before.resident)

    def _find_disturbances(self, name: str, window: Window, late: float) -> Iterator[str]:
        found = [each for each in self._starts(name) if each[0] in window]
        planned = [at for at, _, _ in found]
        yield from (f"{name}: nothing ran at {at}" for at in self._instants(window) if at not in planned)
        yield from (f"{name}: twice at {at}" for at in set(planned) if planned.count(at) > 1)
        yield from (f"{name}: {state} at {at}" for at, state, _ in found if state != "succeeded")
        yield from (f"{name}: {by:.2f} s late at {at}" for at, _, by in found if not 0 <= by <= late)
        if name == "note":
            effects = [mark.planned for mark in read(self.testbed.ledger) if mark.phase == "effect"]
            yield from (f"{name}: {effects.count(at)} effects at {at}" for at in planned if effects.count(at) != 1)

    def _instants(self, window: Window) -> list[datetime]:
        """Return the instants that came due in the window, except in its last second."""
        instants = (self.first + _EVERY * number for number in range(_FAR))
        return [at for at in instants if at in window and at <= window.last - _EVERY]

    def _starts(self, name: str) -> list[tuple[datetime, str, float]]:
        """Return (planned, state, lateness in seconds) of each run of a neighbour."""
        rows = query(self.testbed, _STARTS, (name,))
        return [
            (instant(planned), state, (started - due) / 1e6 if started is not None else float("inf"))
            for planned, due, started, state, _ in rows
        ]

    def _call_app(self, call: Callable[[Horae], Awaitable[_T]]) -> _T:
        async def open_and_call() -> _T:
            async with app_on(self.testbed, engine=False) as app:
                return await call(app)

        return asyncio.run(open_and_call())

    async def _add_neighbours(self, app: Horae) -> None:
        when = Series(self.first, _EVERY, _FAR).when
        for name, target in NEIGHBOURS.items():
            await app.schedule(target, when, name=name, **RUN_EVERY_INSTANT)  # type: ignore[arg-type]


NEIGHBOURS: Final[Mapping[str, str | dict[str, Any]]] = {"note": "note", "say": {"kind": "event", "say": "still here"}}


async def _add(app: Horae, cases: Sequence[Case]) -> None:
    for case in cases:
        await app.schedule(case.target, "now", name=case.name, retries=0, timeout=case.timeout)


@contextmanager
def harness(folder: Path, *, supervised: bool = False) -> Iterator[HostileHarness]:
    """Start a node and its neighbours; with `supervised`, a node that dies is restarted while cases run."""
    testbed = Testbed.on_file(folder)
    scratch_of(testbed).mkdir()
    nodes = [_started(testbed)]
    try:
        yield HostileHarness(testbed, nodes, supervised=supervised)
    finally:
        for node in nodes:
            node.clean_up()


def _started(testbed: Testbed) -> Worker:
    node = HostileNode(WorkerConfig(str(testbed.folder), testbed.url))
    try:
        node.expect("ready")
    except BaseException:
        node.clean_up()
        raise
    return node


def find_differences(case: Case, ends: Sequence[End]) -> list[str]:
    """Compare the end of a case with its expectation, and the size of its error, result and log with their limits."""
    if len(ends) != 1:
        return [f"{len(ends)} ends: {ends}"]
    (end,) = ends
    text = f"{end.error or ''}{end.result or ''}"
    wrong = [f"{end.state}, {end.reason}: {text[:300]}"] if (end.state, end.reason) != (case.state, case.reason) else []
    wrong += [] if case.contains in text else [f"it contains {text[:300]!r}"]
    wrong += [f"an error of {len(end.error)}"] if end.error and len(end.error) > ERROR_CHARACTERS else []
    wrong += [f"a result of {len(end.result)}"] if end.result and len(end.result.encode()) > RESULT_BYTES else []
    return wrong + ([f"{end.lines} lines"] if end.lines > LOG_LINES + 1 else [])
