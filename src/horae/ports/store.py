"""The store port: a durable priority queue together with its history; one call is one transaction.

Every write has three steps: load the facts of a task, call a pure decision, apply the change that it returns. A
decision is total and pure and may be called again, so a store may also reserve, decide outside the transaction and
commit with a check.

A run is inserted once. An insert whose run id is already in the ledger is ignored in every call: the row is not written
again, the run does not start, and the event for its insert is not written; the rest of the change is applied. That
attempt at that occurrence was made already, and a clock that was set back must not keep a caller from cancelling or
resuming a task. A decision on a claim is called again with facts that say so (`made`), because it must not count on a
run that does not start.

Losing a race is a return value. Exceptions (`StoreError`) are for broken guarantees.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple, Protocol, TypeAlias

from ..model.chain_row import ChainRow
from ..model.change import Change, ControlDecision, Facts, FireDecision, RunDecision, SettleDecision
from ..model.counts import Counts
from ..model.events.event import NumberedEvent
from ..model.lanes.idle import YieldReason, YieldRequest
from ..model.lanes.lane import LaneLine, LaneQueue, LaneUse
from ..model.lanes.node_labels import LabelPairs
from ..model.lanes.rate import RateChange
from ..model.origin import RootOccurrence
from ..model.outcome import Settlement
from ..model.page import Page
from ..model.reason import Reason
from ..model.record import RecordWrite
from ..model.run import Run, RunState
from ..model.task import PauseCause, Task, TaskState


class Claimed(NamedTuple):
    """A run that now belongs to the claiming node, with everything that is needed to execute it."""

    task: Task
    run: Run


class Claim(NamedTuple):
    """Result of one claim. `more`: something claimable is still due; `next_due` is the head of the agenda."""

    runs: tuple[Claimed, ...] = ()
    decided: int = 0
    more: bool = False
    next_due: datetime | None = None


class RouteQueue(NamedTuple):
    """Queue of entries whose task requires labels (`model/lanes/route.py`); `due` is the earliest instant in it."""

    name: str
    due: datetime


class Admission(NamedTuple):
    """Result of `admit`: how many entries were unparked, and the queues of all routes with labels, by name."""

    unparked: int = 0
    queues: tuple[RouteQueue, ...] = ()


class Node(NamedTuple):
    """A process with an engine. `home` names its machine and process, so that another process can see that it is gone.

    `renewals` rises with each renewal of the lease: other nodes detect on their own clocks that it stands still. The
    fields after it are informational, except `draining`: a draining node claims nothing more, and leaves when it
    executes nothing.
    """

    id: str
    home: str
    version: str
    joined: datetime
    renewed: datetime
    renewals: int = 0
    host: str = ""
    """Host name of its machine."""
    load: int = 0
    """Number of runs that it executed at its last renewal."""
    capacity: int = 0
    """The most runs that it executes at once."""
    offset: timedelta = timedelta(0)
    """Correction of its machine's clock towards the store's clock."""
    draining: bool = False
    labels: LabelPairs = ()
    """Labels that tasks may require (`where`), by name; one of them is the name of the node."""


class CancelRequest(NamedTuple):
    """Request to a node to end one of its runs."""

    run_id: str
    reason: Reason


class LeaseRenewal(NamedTuple):
    """Result of a lease renewal. `held` False: other nodes declared this node dead and have taken over its runs.

    `now` is the store's own clock, read during the call; nodes correct theirs to it. It is None where all nodes are on
    one machine and share its clock, as with memory and SQLite. `draining`: an operator asked the node to leave.
    """

    held: bool
    cancel_requests: tuple[CancelRequest, ...] = ()
    nodes: tuple[Node, ...] = ()
    next_due: datetime | None = None
    now: datetime | None = None
    draining: bool = False
    yield_requests: tuple[YieldRequest, ...] = ()
    """Requests to idle runs of the node; each is repeated until its run has ended or is no longer idle."""


LinkObserver: TypeAlias = Callable[[Sequence[Change]], None]
"""Gets the changes of linked tasks: a store decides them itself, within the transaction of their predecessors."""


class Agenda(Protocol):
    """Operations of the dispatcher, the settler and the lease keeper."""

    async def claim_due(self, now: datetime, node: str, room: int, decide: FireDecision) -> Claim:
        """Claim a batch of due entries, never early: at most one entry of a task, and at most `room` runs.

        While everything that is due fits into a batch, the order is priority, due, the task that was added first, slot.
        Otherwise owners alternate, each with its own entries in that order, as far as the store has looked ahead.

        One transaction: a fencing token above all earlier ones, the facts of each entry's task, the decision, its
        change. Returns an empty claim when other nodes were faster, or when the node holds no lease.
        """

    async def start(self, claims: Sequence[tuple[str, int]], now: datetime) -> frozenset[str]:
        """Move runs from `claimed` to `running`, by (run, token): the third write of `at_most_once`.

        Returns the ids of the runs that may start.
        """

    async def settle(self, batch: Sequence[Settlement], decide: SettleDecision) -> frozenset[str]:
        """End (or hand over) runs, each fenced by its token.

        Returns the run ids whose token was stale: nothing was written for these.
        """

    async def release(self, claims: Sequence[tuple[str, int]], decide: RunDecision) -> frozenset[str]:
        """Give runs back before their end, by (run, token): an early recovery. Returns the ids with a stale token."""

    async def declare_idle(self, run_id: str, token: int, since: datetime | None) -> YieldReason | None:
        """Record that a live run is idle in its lanes since an instant, fenced by its token; None: it is idle no longer.

        Returns why it should yield, if an entry of higher priority or of another owner waits already. From then on the
        write that parks such an entry asks it to yield, and a renewal of its node returns the request. A run that changes
        its state is no longer idle. A repeated call changes nothing, and neither does one with a stale token.
        """

    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        """End up to `limit` runs of a node whose lease stopped at `renewals`, and drop its row with the last of them.

        Returns the number of recovered runs; None when the node has renewed since, or is gone already.
        """

    async def claim_queued(
        self, now: datetime, node: str, room: int, decide: FireDecision, queues: Collection[str]
    ) -> Claim:
        """Claim like `claim_due`, from these queues of routes alone: entries of tasks that require labels.

        Owners take turns, each with its own entries by priority, then due. `more` and `next_due` are those of the queues.
        """

    async def admit(self, routes: Collection[str]) -> Admission:
        """Make entries claimable that are parked for a node that serves one of these routes, and return all queues of routes.

        It is called periodically, so it must cost next to nothing when no entry waits.
        """

    async def held(self, node: str) -> tuple[tuple[str, int], ...]:
        """Return the runs that a node holds according to the store, as (run, token), by run.

        The cost grows with the number of live runs, not with the ledger.
        """

    async def join(self, node: Node) -> None:
        """Register a new node with its lease; the whole row is written."""

    async def renew_lease(
        self, node: str, now: datetime, load: int = 0, offset: timedelta = timedelta(0)
    ) -> LeaseRenewal:
        """Renew the lease: one write, however many runs it covers. `load` and `offset` are informational."""

    async def leave(self, node: str) -> None:
        """Remove a node that shuts down; its remaining runs must have been released before."""

    async def next_due(self) -> datetime | None:
        """Return the head of the agenda, without changing anything."""

    def observe_links(self, observer: LinkObserver) -> None:
        """Call the observer after each commit of this store object that changed tasks which run after others."""


class TaskFilter(NamedTuple):
    """Conditions on tasks, all of which must hold. `owner` None matches all owners.

    In every list and count an owner may also be a scope (`model/accounts/system_owner.py`): all owners without system tasks,
    or the system tasks of all owners. By id, and in the runs of one task, an owner also reads its system tasks.
    """

    owner: str | None = None
    states: frozenset[TaskState] | None = None
    name: str | None = None
    lane: str | None = None
    """One of the lanes of the task."""
    labels: tuple[tuple[str, str], ...] = ()
    text: str | None = None
    """Substring of the name, ignoring case."""
    kind: str | None = None
    """Kind of the target."""
    prefix: str | None = None
    """Prefix of the task id."""
    failing: bool = False
    """Only active tasks whose last occurrence failed; an index holds exactly these."""
    pause_cause: PauseCause | None = None
    """Only tasks that are paused for this cause; an index has them."""


class RunFilter(NamedTuple):
    owner: str | None = None
    task_id: str | None = None
    states: frozenset[RunState] | None = None
    since: datetime | None = None
    """Planned at or after this instant; a span counts by its last occurrence."""
    until: datetime | None = None
    """Planned at or before this instant; a span counts by its first occurrence."""


class WaitingCounts(NamedTuple):
    """Entries that are due and not started, each counted up to a bound.

    `overdue` could be claimed and was not, `parked` waits for a lane slot, `stranded` waits for a node that can run it, or has its labels.
    """

    overdue: int = 0
    parked: int = 0
    stranded: int = 0


MAX_COUNTED: Final = 1_000


class Book(Protocol):
    """Operations of the service: write tasks, and read tasks and the ledger."""

    async def add(self, changes: Sequence[Change]) -> None:
        """Insert new tasks, all or none; among equals, tasks that were added first come first."""

    @property
    def kind(self) -> str:
        """Kind of the store: `memory`, `sqlite`, `postgres`, `mysql` or `redis`."""

    @property
    def shares_transactions(self) -> bool:
        """Whether the store supports `add_using`."""

    async def add_using(self, connection: object, changes: Sequence[Change], on_end: Callable[[], None]) -> None:
        """Insert new tasks, all or none, within an open transaction on a connection that the caller owns.

        Commits nothing, and changes nothing of the connection. A refusal (a key that is taken, an object that is no
        connection, a connection without a transaction or to another database) leaves the transaction as it was, and
        usable. `on_end` is called on this event loop soon after the transaction has ended, committed or not: something
        may be due. A store whose commit sends the wake-up notification by itself need not call it.
        """

    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        """Decide on one task, apply the change and return the facts after it. None for an absent or foreign task."""

    async def upsert(self, owner: str, key: str, decide: Callable[[Facts | None], Change]) -> Facts:
        """Create or edit the task with this natural key; concurrent calls end with one task."""

    async def facts(self, task_id: str, owner: str | None) -> Facts | None:
        """Return one task with its agenda entries and live runs; its lanes say nothing about entries that wait in them."""

    async def find(self, owner: str, key: str) -> Facts | None:
        """Return one task by its natural key."""

    async def tasks(self, task_filter: TaskFilter, after: str | None = None, limit: int = 100) -> Page[Facts]:
        """Return a page of tasks in the order in which they were added; the facts carry no lanes."""

    async def count_tasks(self, task_filter: TaskFilter, limit: int) -> int:
        """Count the tasks of a filter up to a limit, without reading them."""

    async def run(self, run_id: str, owner: str | None) -> Run | None: ...

    async def runs(self, run_filter: RunFilter, after: str | None = None, limit: int = 100) -> Page[Run]:
        """Return a page of runs, newest planned instant first."""

    async def chain(self, root: RootOccurrence) -> tuple[ChainRow, ...]:
        """Return the rows of all tasks for one root occurrence, in the order in which the tasks were added."""

    async def chain_rows(self, task_id: str, until: datetime, limit: int) -> tuple[ChainRow, ...]:
        """Return the rows of a task that were updated up to an instant, newest first."""

    async def task_ids(self, prefix: str, owner: str | None, limit: int) -> tuple[str, ...]:
        """Return ids of tasks that begin with a prefix, sorted: an index range scan, whatever the number of tasks."""

    async def run_ids(self, prefix: str, owner: str | None, limit: int) -> tuple[str, ...]:
        """Return up to `limit` ids of runs that begin with a prefix, sorted.

        The prefix covers at least a minute of planned instants (`model/ids.py`), so that the index range is small.
        """

    async def upcoming(self, owner: str | None, limit: int = 20) -> tuple[Facts, ...]:
        """Return the tasks with the soonest due entries, soonest first; the facts carry no lanes."""

    async def latest(self, task_ids: Sequence[str]) -> dict[str, Run]:
        """Return the newest run of each of these tasks that has one. The caller checks the right to see the tasks."""

    async def outcomes(
        self, task_ids: Sequence[str], limit: int, since: datetime | None = None
    ) -> dict[str, tuple[Run, ...]]:
        """Return up to `limit` of the newest runs of each of these tasks that has one, newest first, for charts.

        Their results, errors and inputs are left out: they may be large. `since` leaves out runs planned before it. The caller
        checks the right to see the tasks.
        """

    async def task_names(self, task_ids: Sequence[str], owner: str | None) -> dict[str, str]:
        """Return the names of these tasks by id, without absent and foreign ones: one read, however many there are."""

    async def counts(self, owner: str | None, hours: Collection[int]) -> Counts:
        """Return the counters (`model/counts.py`) of one owner, or (None) of all owners, in these hours."""

    async def output_bytes(self, owner: str) -> int:
        """Bytes (UTF-8) of the results, errors, inputs and log lines that are kept for the runs of one owner.

        It reads every run of the owner, so callers cache it (`service/accounts/stored_output.py`).
        """

    async def waiting(self, owner: str | None, now: datetime) -> WaitingCounts:
        """Count the entries that are due and not started, up to a bound."""

    async def stranded(self, owner: str | None, now: datetime, limit: int = 20) -> tuple[Facts, ...]:
        """Return tasks with a due entry that waits for a node that serves its route; the facts carry no lanes."""

    async def lanes(self) -> tuple[LaneUse, ...]:
        """Return every lane that has a limit or a live run, by name."""

    async def lane_queues(self) -> tuple[LaneQueue, ...]:
        """Return every lane in which due entries wait for a slot, by name; entries that wait for a node do not count."""

    async def queued(self, lane: str, limit: int = 20) -> tuple[Facts, ...]:
        """Return the tasks whose entries wait for a slot of this lane, by priority, then by due; without lane use.

        Owners take turns when a slot becomes free, so the first of the list need not be the first to get one.
        """

    async def lane_line(self, lane: str, limit: int = 10_000) -> LaneLine:
        """Return up to `limit` entries that wait for a slot of this lane, by priority, then due (`model/lanes/lane.py`
        has the order of turns)."""

    async def lane_runs(self, lane: str, limit: int = 20) -> tuple[Run, ...]:
        """Return up to `limit` live runs that hold a slot of this lane, by id."""

    async def nodes(self) -> tuple[Node, ...]:
        """Return every node that holds a lease, as of its last renewal, by id."""

    async def drain(self, node: str, *, draining: bool = True, attached_records: Sequence[RecordWrite] = ()) -> bool:
        """Ask a node to claim nothing more from its next renewal on, or to claim again. False: there is no such node.

        Here and below, `attached_records` are written in the same transaction. If another writer was faster
        with one of them, nothing is written: a `Conflict` with the code `record_changed`.
        """

    async def set_lane(
        self,
        name: str,
        limit: int | None,
        *,
        rate: RateChange = "keep",
        attached_records: Sequence[RecordWrite] = (),
    ) -> None:
        """Limit a lane to so many runs at once from now on; runs that have started may end first.

        Without a limit it keeps the one that it has, or gets one that bounds nothing. A new rate counts the starts that were
        kept under the former one; None removes the rate, and its starts are forgotten.
        """

    async def block_owner(
        self, owner: str, reason: Reason | None, *, attached_records: Sequence[RecordWrite] = ()
    ) -> None:
        """Block all runs of an owner, or in the lane of an agent, for that reason; None unblocks.

        Where both are blocked, the owner's reason counts.
        """


class Feed(Protocol):
    """The event log: numbered, and no event with a lower number ever appears after a higher one was read."""

    async def events(self, after: int, limit: int = 1_000, owner: str | None = None) -> tuple[NumberedEvent, ...]:
        """Return the next events after a number, oldest first."""

    async def last_event(self) -> int:
        """Return the highest number that a reader could have seen; 0 when there is none."""

    async def owner_event_counts(self, owners: Collection[str], until: int) -> dict[str, int]:
        """Count the events of each owner up to a number, including those that retention has removed.

        With `until` 0: count the removed ones.
        """


class TrimResult(NamedTuple):
    """Result of one retention batch.

    `more`: there may be more to remove now; `after` is the cursor to continue from, now or the next time.
    """

    runs: int = 0
    tasks: int = 0
    events: int = 0
    more: bool = False
    after: str | None = None


class Upkeep(Protocol):
    """Operations of the janitor and of operators."""

    async def trim(self, before: datetime, keep_runs: int, limit: int, after: str | None = None) -> TrimResult:
        """Remove a small batch of ended runs: those planned and ended before an instant, and those beyond `keep_runs`.

        Of the ended runs of a task, the newest `keep_runs` are kept. A task that ended before the instant is removed
        after its last run; entries and runs that are live, queued or still to come never are. `after` None looks at
        everything. With the cursor of an earlier result, only tasks with events since then need be counted: in an idle
        store this must cost next to nothing.
        """

    async def check(self) -> tuple[str, ...]:
        """Return every integrity problem of the data; empty when there is none."""

    async def backup(self, path: str, progress: Callable[[int, int], None] | None = None) -> None:
        """Write a consistent copy to `path` while the store is in use."""

    async def read_metadata(self, name: str) -> str | None:
        """Return a fact about the deployment, such as the newest zone data seen."""

    async def write_metadata(self, name: str, value: str) -> None:
        """Store such a fact."""


class Store(Agenda, Book, Feed, Upkeep, Protocol):
    """The whole store of tasks and runs, opened and closed as one."""

    async def open(self) -> None:
        """Make the store ready; safe to call again."""

    async def close(self) -> None:
        """Finish accepted writes, then release all resources; safe to call twice."""


class Terms(NamedTuple):
    """Durations that all nodes of one deployment share."""

    lease: timedelta = timedelta(seconds=15)
    poll_ceiling: timedelta = timedelta(seconds=10)

    @property
    def renewal(self) -> timedelta:
        return self.lease / 4

    @property
    def solo_renewal(self) -> timedelta:
        """Interval of a node that holds no run and knows no other node: there is nothing that could be taken over."""
        return self.lease / 2

    @property
    def self_stop(self) -> timedelta:
        """A node that could not renew its lease for so long stops its runs, before another node may take them over."""
        return self.lease - self.lease / 4


DEFAULT_TERMS: Final = Terms()
