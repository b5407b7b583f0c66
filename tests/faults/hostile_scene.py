"""One node, well-behaved neighbours on it, and hostile work beside them: what became of each is read from the ledger."""

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
from tests.faults.client import EVERYTHING, soon
from tests.faults.evidence import instant, query
from tests.faults.hostile_node import app_on, scratch_of
from tests.faults.hostile_surroundings import Memory, memory_of, open_sockets, survivors
from tests.faults.ledger import read
from tests.faults.oracle import Series
from tests.faults.orders import Orders
from tests.faults.place import Place, until
from tests.faults.processes import Worker

_T = TypeVar("_T")

LATE_SECONDS: Final = 2.0
"""What a neighbour of a hostile task has to put up with at most (F12)."""
GROWTH_MEGABYTES: Final = 64.0
"""How much larger a node may be after all of it than it was before."""
PATIENCE: Final = 60.0
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
    """`says` stands in the error or in the result. With `settles` False nothing ends it but the test itself."""

    name: str
    target: str | Mapping[str, Any]
    state: str
    reason: str | None = None
    says: str = ""
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


class Stage:
    """A node that is warm: its neighbours have run, so that what it needs for ordinary work it has."""

    def __init__(self, place: Place, nodes: list[Worker], *, supervised: bool = False) -> None:
        self.place = place
        self.nodes = nodes
        self.down = 0.0
        """For how many seconds nobody was there."""
        self._supervised = supervised
        self.first = soon(0.5)
        self._ask(self._add_neighbours)
        self.neighbours_until(self.first + _EVERY)
        self.before = memory_of(self.node.pid)
        self.sockets = open_sockets(self.node.pid)

    @property
    def node(self) -> Worker:
        return self.nodes[-1]

    def play(self, cases: Sequence[Case], meanwhile: Callable[[], None] = lambda: None) -> Window:
        """All of them at once; over when each has ended, and the neighbours have had another turn."""
        began = soon(0)
        self._ask(lambda app: _add(app, cases))
        wanted = {case.name for case in cases if case.settles}
        until(lambda: wanted <= self._over(), PATIENCE, "all ends but those that the test brings about", every=0.1)
        meanwhile()
        until(lambda: {case.name for case in cases} <= self._over(), PATIENCE, "the last end", every=0.1)
        self.neighbours_until(soon(0))
        return Window(began, soon(0))

    def ends(self) -> dict[str, list[End]]:
        found: dict[str, list[End]] = defaultdict(list)
        for name, *rest in query(self.place, _ENDS):
            if name not in NEIGHBOURS:
                found[name].append(End(*rest))
        return dict(found)

    def _over(self) -> set[str]:
        """The tasks that have come to their end, lost attempts left aside; a node that has died is started again."""
        if self._supervised and not self.node.alive:
            began = soon(0)
            self.nodes.append(_started(self.place))
            self.down += (soon(0) - began).total_seconds()
        return {name for name, ends in self.ends().items() if ends[-1].state != "lost"}

    def neighbours_until(self, last: datetime) -> None:
        def caught_up() -> bool:
            rows = [query(self.place, _STARTS, (name,)) for name in NEIGHBOURS]
            return all(each and instant(each[-1][0]) >= last - _EVERY and each[-1][3] == "succeeded" for each in rows)

        until(caught_up, PATIENCE, "both neighbours", every=0.05)

    # --- what must hold, as sentences about what does not --------------------------------------------------------------

    def left_behind(self) -> list[str]:
        """Processes, connections and files that belong to nobody any more."""
        runs = [end.run for ends in self.ends().values() for end in ends]
        try:
            until(lambda: not survivors(self.place.folder, runs), ORPHAN_SECONDS, "no process left")
        except AssertionError:
            return [f"a process is left: {each}" for each in survivors(self.place.folder, runs)]
        found = [f"a file is left: {each}" for each in sorted(scratch_of(self.place).iterdir())]
        more = open_sockets(self.node.pid) - self.sockets
        return [*found, *([f"{more} sockets more than before"] if more > 0 else [])]

    def disturbed(self, window: Window, late: float = LATE_SECONDS) -> list[str]:
        """What is wrong with the neighbours: an instant without its one run, or one that began too late."""
        return [each for name in NEIGHBOURS for each in self._disturbed(name, window, late)]

    def unserved(self, window: Window) -> list[str]:
        """Where nodes die, an attempt may be lost, and another one follows: each instant succeeds once all the same."""
        found: list[str] = []
        for name in NEIGHBOURS:
            done = [at for at, state, _ in self._starts(name) if state == "succeeded"]
            found += [f"{name}: {done.count(at)} times at {at}" for at in self._instants(window) if done.count(at) != 1]
        return found

    def latest_start(self, window: Window) -> float:
        return max(late for name in NEIGHBOURS for planned, _, late in self._starts(name) if planned in window)

    def grown(self) -> Memory:
        """How much it has grown by, and by how much it had at most."""
        now = memory_of(self.node.pid)
        return Memory(now.resident - self.before.resident, now.peak - self.before.resident)

    def _disturbed(self, name: str, window: Window, late: float) -> Iterator[str]:
        found = [each for each in self._starts(name) if each[0] in window]
        planned = [at for at, _, _ in found]
        yield from (f"{name}: nothing ran at {at}" for at in self._instants(window) if at not in planned)
        yield from (f"{name}: twice at {at}" for at in set(planned) if planned.count(at) > 1)
        yield from (f"{name}: {state} at {at}" for at, state, _ in found if state != "succeeded")
        yield from (f"{name}: {by:.2f} s late at {at}" for at, _, by in found if not 0 <= by <= late)
        if name == "note":
            effects = [mark.planned for mark in read(self.place.ledger) if mark.phase == "effect"]
            yield from (f"{name}: {effects.count(at)} effects at {at}" for at in planned if effects.count(at) != 1)

    def _instants(self, window: Window) -> list[datetime]:
        """What came due in it, but for the last second."""
        instants = (self.first + _EVERY * number for number in range(_FAR))
        return [at for at in instants if at in window and at <= window.last - _EVERY]

    def _starts(self, name: str) -> list[tuple[datetime, str, float]]:
        """When it was planned, how it ended, and how late it began in seconds."""
        rows = query(self.place, _STARTS, (name,))
        return [
            (instant(planned), state, (started - due) / 1e6 if started is not None else float("inf"))
            for planned, due, started, state, _ in rows
        ]

    def _ask(self, question: Callable[[Horae], Awaitable[_T]]) -> _T:
        async def asking() -> _T:
            async with app_on(self.place, engine=False) as app:
                return await question(app)

        return asyncio.run(asking())

    async def _add_neighbours(self, app: Horae) -> None:
        when = Series(self.first, _EVERY, _FAR).when
        for name, target in NEIGHBOURS.items():
            await app.schedule(target, when, name=name, **EVERYTHING)  # type: ignore[arg-type]


NEIGHBOURS: Final[Mapping[str, str | dict[str, Any]]] = {"note": "note", "say": {"kind": "event", "say": "still here"}}


async def _add(app: Horae, cases: Sequence[Case]) -> None:
    for case in cases:
        await app.schedule(case.target, "now", name=case.name, retries=0, timeout=case.timeout)


@contextmanager
def stage(folder: Path, *, supervised: bool = False) -> Iterator[Stage]:
    """With `supervised`, a node that dies is started again while a play goes on."""
    place = Place.on_file(folder)
    scratch_of(place).mkdir()
    nodes = [_started(place)]
    try:
        yield Stage(place, nodes, supervised=supervised)
    finally:
        for node in nodes:
            node.bury()


def _started(place: Place) -> Worker:
    node = HostileNode(Orders(str(place.folder), place.url))
    try:
        node.expect("ready")
    except BaseException:
        node.bury()
        raise
    return node


def differs(case: Case, ends: Sequence[End]) -> list[str]:
    """What is not as it should be with the end of a case; within bounds is part of that."""
    if len(ends) != 1:
        return [f"{len(ends)} ends: {ends}"]
    (end,) = ends
    told = f"{end.error or ''}{end.result or ''}"
    wrong = [f"{end.state}, {end.reason}: {told[:300]}"] if (end.state, end.reason) != (case.state, case.reason) else []
    wrong += [] if case.says in told else [f"it says {told[:300]!r}"]
    wrong += [f"an error of {len(end.error)}"] if end.error and len(end.error) > ERROR_CHARACTERS else []
    wrong += [f"a result of {len(end.result)}"] if end.result and len(end.result.encode()) > RESULT_BYTES else []
    return wrong + ([f"{end.lines} lines"] if end.lines > LOG_LINES + 1 else [])
