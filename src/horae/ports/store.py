"""The store: a durable priority queue with the history beside it. One call is one transaction.

Every write has the same three steps: gather the facts of a task, ask a pure decision, apply the change that it says. The
decision is total and pure and may be asked again, so a store may also reserve, decide outside and commit with a check.
A run is born once. A birth whose id the ledger has already is ignored in every call: the row is not written again, the
run does not start, and the event that would tell of its birth is not written; all else of the change is. That attempt at
that occurrence was made, and a clock that was set back must keep nobody from cancelling or resuming a task. Whoever
decides on a claim is asked again with facts that say so (`made`): nothing may count on a run that does not start.
Losing a race is an answer. Exceptions (`StoreError`) are for broken promises.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple, Protocol

from ..model.change import Change, ControlDecision, Facts, FireDecision, RunDecision, SettleDecision
from ..model.counts import Counts
from ..model.events.event import Numbered
from ..model.lane import LaneUse
from ..model.outcome import Settlement
from ..model.page import Page
from ..model.reason import Reason
from ..model.record import Writing
from ..model.run import Run, RunState
from ..model.task import Task, TaskState


class Claimed(NamedTuple):
    """A run that now belongs to the node that asked, with all that is needed to carry it."""

    task: Task
    run: Run


class Claim(NamedTuple):
    """What came of one slice. `more` says that something claimable is still due; `next_due` is the head of the agenda."""

    runs: tuple[Claimed, ...] = ()
    decided: int = 0
    more: bool = False
    next_due: datetime | None = None


class Node(NamedTuple):
    """A process with an engine. `home` names the machine and process, so that a neighbour can see that it is gone.

    `renewals` rises with each renewal of its lease: others watch it stand still, on their own clocks. What follows it is
    for people to see, all but `draining`: a node that is told so claims nothing more, and goes when it carries nothing.
    """

    id: str
    home: str
    version: str
    joined: datetime
    renewed: datetime
    renewals: int = 0
    host: str = ""
    """The name of its machine."""
    load: int = 0
    """How many runs it carried when it last renewed."""
    capacity: int = 0
    """How many it carries at most."""
    offset: timedelta = timedelta(0)
    """What its machine's clock lacks against the store's."""
    draining: bool = False


class Order(NamedTuple):
    """Somebody wants a run of this node to end."""

    run_id: str
    reason: Reason


class Extension(NamedTuple):
    """The answer to a renewal. `held` False: others have taken this node for dead, and everything that it carried is theirs.

    `now` is the store's own clock, read during the call; nodes correct theirs to it. It is None where all nodes are on one
    machine and share its clock, as with memory and SQLite. `draining` tells the node that somebody wants it to go.
    """

    held: bool
    orders: tuple[Order, ...] = ()
    nodes: tuple[Node, ...] = ()
    next_due: datetime | None = None
    now: datetime | None = None
    draining: bool = False


class Agenda(Protocol):
    """What the dispatcher, the settler and the keeper call."""

    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        """Take up to a slice of what is due, never early, at most one entry of a task and `room` runs.

        While all that is due fits into a slice, it comes by priority, then due, then the task that was added first, then
        slot. When there is more, owners have their turns, each with its own entries in that order, as far as the store
        has looked ahead.

        Inside one transaction: a token that is higher than all before, the facts of each entry's task, the decision,
        its change. Empty when others were faster, or when the node holds no lease.
        """

    async def start(self, claims: Sequence[tuple[str, int]], now: datetime) -> frozenset[str]:
        """`claimed` becomes `running`, by (run, token): the third write of `at_most_once`. The runs that may start."""

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        """End (or hand on) runs, each fenced by its token. Returns the run ids whose token was stale: nothing was written."""

    async def release(self, claims: Sequence[tuple[str, int]], decide: RunDecision) -> frozenset[str]:
        """Give back runs before their end, by (run, token): recovery done early. Returns the stale ones."""

    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        """End up to `limit` runs of a node that stood still at `renewals`; the node's row goes with the last of them.

        The number of runs that were recovered; None when the node has renewed since, or is gone already.
        """

    async def admit(self, routes: Collection[str]) -> int:
        """What waits at these doors for a node that can run it is claimable again: a node that can is here. How many.

        Asked again and again, so it must cost next to nothing when nobody waits.
        """

    async def held(self, node: str) -> tuple[tuple[str, int], ...]:
        """What a node carries as the store sees it: (run, token), by run. It grows with what is live, not with the ledger."""

    async def join(self, node: Node) -> None:
        """A new process with an engine takes its lease; all of the row is written."""

    async def extend(self, node: str, now: datetime, load: int = 0, offset: timedelta = timedelta(0)) -> Extension:
        """Renew the lease: one write, however many runs it covers. `load` and `offset` are kept for people to see."""

    async def leave(self, node: str) -> None:
        """The node ends in good order; what it still carried must have been released before."""

    async def next_due(self) -> datetime | None:
        """The head of the agenda, without touching anything."""


class TaskFilter(NamedTuple):
    """Every condition that is given must hold. `owner` None sees everybody's."""

    owner: str | None = None
    states: frozenset[TaskState] | None = None
    name: str | None = None
    lane: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    text: str | None = None
    """Somewhere in the name, in upper or lower case alike."""
    kind: str | None = None
    """The kind of its target."""
    prefix: str | None = None
    """How its id begins."""


class RunFilter(NamedTuple):
    owner: str | None = None
    task_id: str | None = None
    states: frozenset[RunState] | None = None
    since: datetime | None = None
    """Planned at or after this instant; a stretch counts by its last one."""
    until: datetime | None = None
    """Planned at or before this instant; a stretch counts by its first one."""


class Waiting(NamedTuple):
    """`overdue` could be claimed and was not, `parked` waits for a seat in a lane, `stranded` for a node that can run it.
    Each is counted up to a bound."""

    overdue: int = 0
    parked: int = 0
    stranded: int = 0


COUNTED_UP_TO: Final = 1_000


class Book(Protocol):
    """What the service calls: tasks in and out, and the ledger read."""

    async def add(self, changes: Sequence[Change]) -> None:
        """New tasks, all or none; among equals, those that were added first come first."""

    @property
    def shares_transactions(self) -> bool:
        """Whether `add_using` can be asked for at all."""

    async def add_using(self, connection: object, changes: Sequence[Change], over: Callable[[], None]) -> None:
        """New tasks, all or none, within a transaction of a connection that somebody else has begun and will end.

        Nothing is committed here, and nothing of the connection is changed. What is refused (a key that is taken, a
        connection that is none, that has no transaction, or that leads elsewhere) leaves the transaction as it was, and
        usable. `over` is called on this event loop soon after the transaction has ended, either way: something may be
        due. A store whose commit rings by itself need not call it.
        """

    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        """Decide on one task and apply it; the facts after it. None when there is none, or it is somebody else's."""

    async def upsert(self, owner: str, key: str, decide: Callable[[Facts | None], Change]) -> Facts:
        """The task with this natural key, made or edited: two who try at once end with one task."""

    async def facts(self, task_id: str, owner: str | None) -> Facts | None:
        """One task with its agenda entries and live runs."""

    async def find(self, owner: str, key: str) -> Facts | None:
        """One task by its natural key."""

    async def tasks(self, wanted: TaskFilter, after: str | None = None, limit: int = 100) -> Page[Facts]:
        """In the order in which they were added; the facts carry no lanes."""

    async def run(self, run_id: str, owner: str | None) -> Run | None:
        """One run."""

    async def runs(self, wanted: RunFilter, after: str | None = None, limit: int = 100) -> Page[Run]:
        """Newest planned first."""

    async def task_ids(self, prefix: str, owner: str | None, limit: int) -> tuple[str, ...]:
        """Ids of tasks that begin with a prefix, sorted; a range of the index, whatever the number of tasks."""

    async def run_ids(self, prefix: str, owner: str | None, limit: int) -> tuple[str, ...]:
        """Up to `limit` ids of runs that begin with a prefix, sorted.

        The prefix names at least a minute of planned instants (`model/ids.py`), so that the range of the index is small.
        """

    async def upcoming(self, owner: str | None, limit: int = 20) -> tuple[Facts, ...]:
        """The tasks of which something comes due next, soonest first; the facts carry no lanes."""

    async def latest(self, task_ids: Sequence[str]) -> dict[str, Run]:
        """The newest row of each of these tasks, as far as they have one; who asks may see the tasks."""

    async def counts(self, owner: str | None, hours: Collection[int]) -> Counts:
        """The running counts (`model/counts.py`) of one owner, or (None) of everybody, in these hours."""

    async def output_bytes(self, owner: str) -> int:
        """Bytes (UTF-8) of the results, errors and log lines that are kept for the runs of one owner.

        It reads every run of the owner, so callers cache it (`service/accounts/stored_output.py`).
        """

    async def waiting(self, owner: str | None, now: datetime) -> Waiting:
        """What is due and does not start, counted up to a bound."""

    async def stranded(self, owner: str | None, limit: int = 20) -> tuple[Facts, ...]:
        """Tasks of which something waits at a door, for a node that can run it; the facts carry no lanes."""

    async def lanes(self) -> tuple[LaneUse, ...]:
        """Every lane that has a limit or somebody in it, by name."""

    async def nodes(self) -> tuple[Node, ...]:
        """Every node that holds a lease, as of its last renewal, by id."""

    async def drain(self, node: str, *, draining: bool = True, beside: Sequence[Writing] = ()) -> bool:
        """From its next renewal on it is told to claim nothing more (or that it may again). False: there is no such node.

        Here and below, `beside` are records that are written in the same transaction; when somebody else was faster with
        one of them, nothing is written: a `Conflict` with the code `record_changed`.
        """

    async def set_lane(self, name: str, limit: int, *, beside: Sequence[Writing] = ()) -> None:
        """At most so many at once from now on; what goes on already may end first."""

    async def bar(self, owner: str, reason: Reason | None, *, beside: Sequence[Writing] = ()) -> None:
        """Nothing of this owner, or in this lane of an agent, runs any more, for that reason; None lifts it. Where both are
        barred, the owner's reason counts."""


class Feed(Protocol):
    """The event log: numbered, and nothing with a lower number ever appears after a higher one was read."""

    async def events(self, after: int, limit: int = 1_000, owner: str | None = None) -> tuple[Numbered, ...]:
        """The next events after a number, oldest first."""

    async def last_event(self) -> int:
        """The highest number that a reader could have seen; 0 when there is none."""

    async def owner_event_counts(self, owners: Collection[str], until: int) -> dict[str, int]:
        """How many events each of these owners has up to a number, including those that retention has removed.

        With `until` 0: how many were removed.
        """


class Trimmed(NamedTuple):
    """`more` says that there may be more to remove now; `after` is where to go on, now or the next time."""

    runs: int = 0
    tasks: int = 0
    events: int = 0
    more: bool = False
    after: str | None = None


class Upkeep(Protocol):
    """What the janitor and an operator call."""

    async def trim(self, before: datetime, keep_runs: int, limit: int, after: str | None = None) -> Trimmed:
        """Remove what was planned and has ended before an instant, and all but the newest `keep_runs` that have ended
        of a task, in one small batch. Tasks that ended before it go after their last run; what is live, queued or still
        to come never does.

        `after` None looks at everything. With that of an earlier answer, only tasks of which something was told since
        need be counted: where nothing happens, this must cost next to nothing.
        """

    async def check(self) -> tuple[str, ...]:
        """Everything that is wrong with the data; empty when all is well."""

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> None:
        """A consistent copy while work goes on."""

    async def recall(self, name: str) -> str | None:
        """A fact about the deployment, such as the newest zone data seen."""

    async def remember(self, name: str, value: str) -> None:
        """Keep such a fact."""


class Store(Agenda, Book, Feed, Upkeep, Protocol):
    """All of it, opened and closed as one."""

    async def open(self) -> None:
        """Make it ready; safe to call again."""

    async def close(self) -> None:
        """Finish what was accepted, then let go; safe to call twice."""


class Terms(NamedTuple):
    """The numbers that nodes of one deployment share."""

    lease: timedelta = timedelta(seconds=15)
    poll_ceiling: timedelta = timedelta(seconds=10)

    @property
    def renewal(self) -> timedelta:
        return self.lease / 4

    @property
    def self_stop(self) -> timedelta:
        """A holder that could not renew for so long stops what it carries, before anybody may take it over."""
        return self.lease - self.lease / 4


STANDARD_TERMS: Final = Terms()
