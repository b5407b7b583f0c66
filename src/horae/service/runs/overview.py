"""Overview of a deployment (state, lateness, failures, upcoming tasks) from a fixed number of indexed reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from ...clock import Clock
from ...model.accounts.principal import Principal, Scope
from ...model.change import Facts
from ...model.counts import (
    NO_HOUR,
    OUTCOME_PREFIX,
    STATE_PREFIX,
    Counts,
    HourSummary,
    Lateness,
    hour_of,
    summarize_hours,
    summarize_lateness,
)
from ...model.entry import CLAIMABLE, EntryState
from ...model.lanes.lane import LaneUse
from ...model.lanes.route import is_queue, is_route
from ...model.reason import Reason
from ...model.refusals import refuse
from ...model.run import LIVE_STATES, Run
from ...model.task import PauseCause, TaskState
from ...ports.full_store import FullStore
from ...ports.journal import Progress, parse_progress
from ...ports.node_records import ClockStep, SettlementDelay, load_agreed_lease, load_clock_steps, load_settlement_delay
from ...ports.store import MAX_COUNTED, Node, RunFilter, TaskFilter, WaitingCounts
from ..accounts.rights import refuse_agent
from .outage_reviews import OutageReview, OutageReviews

ON_TIME_LIMIT: Final = timedelta(seconds=1)
_HOURS: Final = 24
_MAX_SHOWN: Final = 20
_MAX_HOURS: Final = 62 * _HOURS
_MICROSECOND: Final = timedelta(microseconds=1)


class NeedKind(StrEnum):
    FAILED = "failed"
    """The task has given up."""
    FAILING = "failing"
    """Its last occurrences failed, and it is still active."""
    ORPHANED = "orphaned"
    """The code that declared it is gone."""
    AWAITING_APPROVAL = "awaiting_approval"
    PREDECESSOR_DELETED = "predecessor_deleted"
    """A task that it ran after was deleted, so it is paused."""
    GATE_FAILED = "gate_failed"
    """Its gate failed so often that it is paused."""
    STRANDED = "stranded"
    """Due, and no running node can run it."""
    OVERDUE = "overdue"
    """Due, and no node has claimed it."""
    OWNER_REVOKED = "owner_revoked"
    """No run of it starts: its owner was revoked or is a viewer, or its agent has lost its last token."""


_KIND_OF_CAUSE: Final = {
    PauseCause.ORPHANED: NeedKind.ORPHANED,
    PauseCause.AWAITING_APPROVAL: NeedKind.AWAITING_APPROVAL,
    PauseCause.PREDECESSOR_DELETED: NeedKind.PREDECESSOR_DELETED,
    PauseCause.GATE_FAILED: NeedKind.GATE_FAILED,
}
"""Causes of a pause that a person has to remove."""


class _Counted(NamedTuple):
    """The first tasks of a filter, and the number of all of them up to a bound."""

    tasks: tuple[Facts, ...]
    number: int


class Need(NamedTuple):
    """A task that needs the attention of a person."""

    kind: NeedKind
    facts: Facts


class RunningDetail(NamedTuple):
    """`progress` is None if the target has reported none."""

    task: str
    progress: Progress | None


class Overview(NamedTuple):
    """`outcomes` counts runs that ended in the current hour and the 24 before it, by state, or state and reason."""

    at: datetime
    tasks: dict[TaskState, int]
    outcomes: dict[str, int]
    lateness: Lateness
    waiting: WaitingCounts
    running: tuple[Run, ...]
    upcoming: tuple[Facts, ...]
    needs: tuple[Need, ...]
    lanes: tuple[LaneUse, ...]
    nodes: tuple[Node, ...]
    alive: bool
    """Whether any node is alive; also for principals that may not see the nodes."""
    settlement_delay: SettlementDelay = SettlementDelay()
    """Time from the end of a run to the commit that records it, in the last five minutes."""
    clock_steps: tuple[ClockStep, ...] = ()
    """Of the last day; for admins only."""
    hours: tuple[HourSummary, ...] = ()
    """The current hour and the 24 before it, oldest first."""
    running_details: Mapping[str, RunningDetail] = MappingProxyType({})
    """Task name and progress of the runs in `running`, by run id."""
    outage: OutageReview | None = None
    """The newest outage of the last day, unless the caller has dismissed it."""
    needs_counts: Mapping[NeedKind, int] = MappingProxyType({})
    """Number of tasks of each kind of need, also of those that `needs` leaves out; up to 1,000."""

    @property
    def on_time(self) -> float | None:
        """Share of runs that started within a second of their due instant; None without runs."""
        return self.lateness.on_time / self.lateness.total if self.lateness.total else None


class Overviews:
    def __init__(self, book: FullStore, clock: Clock, outage_reviews: OutageReviews | None = None) -> None:
        self._book = book
        self._clock = clock
        self._outage_reviews = outage_reviews

    async def now(self, principal: Principal) -> Overview:
        """Return the current overview, with a fixed number of indexed reads. Only an admin sees lanes and nodes."""
        refuse_agent(principal, "overviews")
        principal.require_scope(Scope.READ)
        book, scope, now = self._book, principal.list_scope, self._clock.now()
        is_admin = principal.owner_filter is None
        hour = hour_of(now)
        counts = await book.counts(scope, [NO_HOUR, *range(hour - _HOURS, hour + 1)])
        upcoming = await book.upcoming(scope, _MAX_SHOWN)
        # One query per state: many paused tasks must not hide a failed one.
        states = {state: counts.get((NO_HOUR, STATE_PREFIX + state), 0) for state in TaskState}
        failed = await self._load_tasks(scope, TaskState.FAILED, states, _MAX_SHOWN)
        paused = await self._load_paused(scope, states)
        failing = await self._load_counted(TaskFilter(scope, failing=True))
        stranded = await book.stranded(scope, now, _MAX_SHOWN)
        running = await book.runs(RunFilter(scope, states=LIVE_STATES), limit=_MAX_SHOWN)
        paused_tasks = tuple(facts for found in paused.values() for facts in found.tasks)
        needs = find_needs((*failed, *stranded, *paused_tasks, *failing.tasks, *upcoming), now)
        known = {NeedKind.FAILED: states[TaskState.FAILED], NeedKind.FAILING: failing.number}
        nodes = await book.nodes()
        lease = await load_agreed_lease(book)
        return Overview(
            now,
            states,
            _sum_outcomes(counts),
            summarize_lateness(counts, ON_TIME_LIMIT),
            await book.waiting(scope, now),
            running.items,
            upcoming,
            needs,
            await book.lanes() if is_admin else (),
            nodes if is_admin else (),
            any(now - node.renewed <= lease for node in nodes),
            await load_settlement_delay(book, scope, now),
            await load_clock_steps(book, now) if is_admin else (),
            summarize_hours(counts, range(hour - _HOURS, hour + 1), ON_TIME_LIMIT),
            await self._load_details(running.items),
            None if self._outage_reviews is None else await self._outage_reviews.latest(principal),
            _count_needs(needs, known | {kind: found.number for kind, found in paused.items()}),
        )

    async def _load_details(self, running: tuple[Run, ...]) -> dict[str, RunningDetail]:
        names = await self._book.task_names([run.task_id for run in running], None)
        lines = await self._book.newest_progress([run.id for run in running])
        progress = {run_id: parse_progress(line.text) for run_id, line in lines.items()}
        return {run.id: RunningDetail(names.get(run.task_id, run.task_id), progress.get(run.id)) for run in running}

    async def hours(self, principal: Principal, since: datetime, until: datetime) -> tuple[HourSummary, ...]:
        """Return the outcomes of each hour from that of `since` to the last one that begins before `until`.

        Hours that are older than the counters are empty.
        """
        refuse_agent(principal, "overviews")
        principal.require_scope(Scope.READ)
        if since.tzinfo is None or until.tzinfo is None:
            raise refuse("naive_instant", value=since if since.tzinfo is None else until)
        hours = range(hour_of(since), hour_of(until - _MICROSECOND) + 1)
        if not 1 <= len(hours) <= _MAX_HOURS:
            raise refuse("bad_period", since=since.isoformat(), until=until.isoformat(), most=f"{_MAX_HOURS}h")
        return summarize_hours(await self._book.counts(principal.list_scope, hours), hours, ON_TIME_LIMIT)

    async def _load_tasks(
        self, scope: str | None, state: TaskState, counted: Mapping[TaskState, int], most: int
    ) -> tuple[Facts, ...]:
        """Return tasks in a state. Without any, the query is skipped: it would scan the tasks of all owners."""
        if not counted[state]:
            return ()
        return (await self._book.tasks(TaskFilter(scope, frozenset({state})), limit=most)).items

    async def _load_paused(self, scope: str | None, counted: Mapping[TaskState, int]) -> dict[NeedKind, _Counted]:
        """Return the tasks whose cause of the pause needs a person: one query per cause, independent of other paused tasks."""
        if not counted[TaskState.PAUSED]:
            return {}
        return {
            kind: await self._load_counted(TaskFilter(scope, pause_cause=cause))
            for cause, kind in _KIND_OF_CAUSE.items()
        }

    async def _load_counted(self, task_filter: TaskFilter) -> _Counted:
        page = await self._book.tasks(task_filter, limit=_MAX_SHOWN)
        if page.after is None:
            return _Counted(page.items, len(page.items))
        return _Counted(page.items, await self._book.count_tasks(task_filter, MAX_COUNTED))


def _sum_outcomes(counts: Counts) -> dict[str, int]:
    outcomes: dict[str, int] = {}
    for (_, name), number in sorted(counts.items()):
        if name.startswith(OUTCOME_PREFIX):
            outcome = name.removeprefix(OUTCOME_PREFIX)
            outcomes[outcome] = outcomes.get(outcome, 0) + number
    return outcomes


def find_needs(tasks: tuple[Facts, ...], now: datetime) -> tuple[Need, ...]:
    """Return the tasks that need the attention of a person, each once, at most `_MAX_SHOWN` of each kind."""
    needs: dict[str, Need] = {}
    numbers = Counter[NeedKind]()
    for facts in tasks:
        kind = _need_kind(facts, now)
        if kind is not None and facts.task.id not in needs and numbers[kind] < _MAX_SHOWN:
            needs[facts.task.id] = Need(kind, facts)
            numbers[kind] += 1
    return tuple(needs.values())


def _count_needs(needs: tuple[Need, ...], known: Mapping[NeedKind, int]) -> dict[NeedKind, int]:
    """Return the number of needs by kind. `known` numbers are larger where not all tasks of a kind were read.

    A failing task that is shown for another need, such as an overdue one, is not counted twice.
    """
    counts = Counter(need.kind for need in needs)
    others = sum(1 for need in needs if need.kind is not NeedKind.FAILING and _is_failing(need.facts))
    for kind, number in known.items():
        counts[kind] = max(counts[kind], number - others if kind is NeedKind.FAILING else number)
    return {kind: counts[kind] for kind in NeedKind if counts[kind]}


def _is_failing(facts: Facts) -> bool:
    return facts.status.state is TaskState.ACTIVE and facts.status.failures > 0


_OVERDUE_AFTER: Final = timedelta(seconds=30)
_UNCLAIMED_AFTER: Final = timedelta(seconds=10)
"""Time after which an entry that requires labels counts as stranded: a node with them would have claimed it."""


def _need_kind(facts: Facts, now: datetime) -> NeedKind | None:
    standing = facts.status
    if standing.state is TaskState.FAILED:
        return NeedKind.FAILED
    if standing.pause is not None:
        return _KIND_OF_CAUSE.get(standing.pause.cause)
    if facts.block_reason is Reason.OWNER_REVOKED and standing.state is TaskState.ACTIVE:
        return NeedKind.OWNER_REVOKED
    if any(entry.state is EntryState.PARKED and is_route(entry.lane) for entry in facts.entries):
        return NeedKind.STRANDED
    if any(is_queue(entry.lane) and now - entry.due > _UNCLAIMED_AFTER for entry in facts.entries):
        return NeedKind.STRANDED
    if any(entry.state in CLAIMABLE and now - entry.due > _OVERDUE_AFTER for entry in facts.entries):
        return NeedKind.OVERDUE
    return NeedKind.FAILING if standing.failures else None
