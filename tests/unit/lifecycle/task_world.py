"""In-memory world of one task: applies changes like a store and refuses invalid ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any, Final

from horae.lifecycle.control import control, edit
from horae.lifecycle.control.control import request_retry
from horae.lifecycle.fire import fire
from horae.lifecycle.plan import Draft, plan
from horae.lifecycle.recover import recover, release
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.change import Change, Facts
from horae.model.counts import counter_deltas
from horae.model.entry import CLAIMABLE, CONTROL_KINDS, NEXT_SLOT, Entry, EntryKind, EntryState
from horae.model.events.event import Event, EventKind
from horae.model.lanes.lane import LaneUse
from horae.model.lanes.route import is_route, route_of
from horae.model.outcome import Failed, Outcome, Settlement, Succeeded
from horae.model.policy import Policies, policies_for
from horae.model.reason import Reason
from horae.model.run import INITIAL_STATES, Origin, Run, RunState
from horae.model.run import TRANSITIONS as RUN_TRANSITIONS
from horae.model.task import TRANSITIONS as TASK_TRANSITIONS
from horae.model.task import Target, Task, TaskState, TaskStatus
from horae.schedule import Every, Schedule

NOON: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)
SECOND: Final = timedelta(seconds=1)
MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
HOURLY: Final = Every(interval=HOUR)
NODE: Final = "nod_1"
CEILING: Final = timedelta(seconds=10)
_WAKES: Final = (EventKind.TASK_RESUMED, EventKind.TASK_COMPLETED, EventKind.TASK_PAUSED)


class World:
    """Created at noon; tests move `now` and call every operation themselves."""

    def __init__(
        self,
        schedule: Schedule = HOURLY,
        *,
        lane: str | None = None,
        policies: Policies | None = None,
        **chosen: Any,
    ) -> None:
        self.now = NOON
        self.token = 0
        self.limit = 1
        self.others = 0
        """Live runs of other tasks in the same lane."""
        self.block_reason: Reason | None = None
        self.routes: frozenset[str] | None = None
        """Routes of the claiming node; None: all."""
        self.entries: dict[str, Entry] = {}
        self.runs: dict[str, Run] = {}
        self.events: list[Event] = []
        self.counts: Counter[str] = Counter()
        """Counters, summed over all hours."""
        self.deleted = False
        self.was_parallel = False
        """Parallel runs may still be live after an edit of the policy."""
        self.requested: set[tuple[Origin, datetime]] = set()
        """Occurrences with a requested retry."""
        self.eras: list[Era] = []
        self.moves: set[tuple[EntryKind, EntryState | None, EntryState | None]] = set()
        """Every transition of an entry, including creation and removal."""
        policies = policies_for(schedule, chosen) if policies is None else policies
        draft = Draft("ada", "a task", schedule, Target("function", ""), "{}", policies, lane=lane)
        change = plan(draft, "tsk_1", self.now)
        assert change.task is not None
        assert change.status is not None
        self.task: Task = change.task
        self.status: TaskStatus = change.status
        self.apply(change)

    # --- state --------------------------------------------------------------------------------------------------

    @property
    def live(self) -> tuple[Run, ...]:
        return tuple(run for run in self.runs.values() if run.live)

    @property
    def facts(self) -> Facts:
        entries = tuple(self.entries[slot] for slot in sorted(self.entries))
        lane = self.task.lane
        lanes = () if lane is None else (LaneUse(lane, self.limit, self._used_slots(lane)),)
        return Facts(self.task, self.status, entries, self.live, lanes, self.block_reason)

    @property
    def held_runs(self) -> tuple[Run, ...]:
        """Live runs that a node holds."""
        return tuple(run for run in self.live if run.node is not None)

    @property
    def highest_backfill(self) -> int:
        """Highest attempt of backfilled runs."""
        return max((run.attempt for run in self.runs.values() if run.origin is Origin.BACKFILL), default=0)

    @property
    def next(self) -> Entry | None:
        return self.entries.get(NEXT_SLOT)

    @property
    def state(self) -> TaskState:
        return self.status.state

    @property
    def due(self) -> list[Entry]:
        """Claimable entries in the order of a store."""
        found = [e for e in self.entries.values() if e.state in CLAIMABLE and e.due <= self.now]
        return sorted(found, key=lambda entry: (entry.due, entry.slot))

    def gave_up_before(self, resumed: Event) -> bool:
        """Whether the task was failed, not paused, when it was resumed."""
        before = takewhile(lambda event: event is not resumed, self.events)
        last = [event.kind for event in before if event.kind in (EventKind.TASK_FAILED, *_WAKES)]
        return bool(last) and last[-1] is EventKind.TASK_FAILED

    def queued(self, *kinds: EntryKind) -> list[Entry]:
        return sorted((e for e in self.entries.values() if e.kind in kinds), key=lambda entry: entry.planned)

    @property
    def ledger(self) -> list[str]:
        """Runs as `when state reason`, by planned instant and attempt; a span is `first..last x count`."""
        rows = sorted(self.runs.values(), key=lambda run: (run.planned, run.origin, run.attempt))
        return [" ".join([_row(run), run.state, *([] if run.reason is None else [run.reason])]) for run in rows]

    @property
    def agenda(self) -> list[str]:
        """Entries as `kind when state`; a range is `first..last`."""
        entries = sorted(self.entries.values(), key=lambda entry: (entry.planned, entry.slot))
        return [f"{entry.kind} {_place(entry)} {entry.state}" for entry in entries]

    # --- operations ----------------------------------------------------------------------------------------------

    def apply(self, change: Change) -> Change:
        slots = [entry.slot for entry in change.put]
        assert len(slots) == len(set(slots)), "one slot is put twice"
        assert not set(slots) & set(change.dropped), "a slot is put and dropped"
        self._check_events(change)
        for _, name, number in counter_deltas(self.status if self.eras else None, change):
            self.counts[name] += number
        self._define(change)
        for run in change.new_runs:
            assert run.id not in self.runs, f"{run.id} was born twice"
            assert run.state in INITIAL_STATES
            self.runs[run.id] = run
            assert not run.live or all(self._used_slots(lane) <= self.limit for lane in run.lanes), "no seat was free"
        for run in change.updated_runs:
            self._move(run)
        for run_id, reason in change.cancelled:
            assert self.runs[run_id].live
            self.runs[run_id] = self.runs[run_id]._replace(cancel=reason)
        for slot in change.dropped:
            self._replace_entry(slot, None)
        for entry in change.put:
            assert entry.state is not EntryState.READY, "only stores move entries there"
            assert entry.lane is None or entry.state not in (EntryState.HELD, EntryState.ASLEEP), "it waits for no seat"
            self._replace_entry(entry.slot, entry)
        self.events.extend(change.events)
        self.deleted = self.deleted or change.deleted
        self.fill_lane_slots()
        return change

    def _check_events(self, change: Change) -> None:
        """Assert an event for every start, skip, wait and end of a run, and for every new task state."""
        event_counts = Counter((event.kind, event.run_id) for event in change.events)
        for run in (*change.new_runs, *change.updated_runs):
            assert (run.ended is None) == run.live
            assert run.live or run.deadline is None
            assert run.span is None or run.planned == run.span.last
            begun = run.state in (RunState.CLAIMED, RunState.RUNNING)
            assert event_counts[EventKind.RUN_STARTED if begun else EventKind(f"run.{run.state}"), run.id] == 1
        if change.status is not None and change.status.state is not self.status.state:
            state = change.status.state
            # An edit that resumes a failed task writes two events; of a completed one, the edit event only.
            failed = self.status.state is TaskState.FAILED
            again = (EventKind.TASK_RESUMED,) if failed else (EventKind.TASK_RESUMED, EventKind.TASK_EDITED)
            kinds = again if state is TaskState.ACTIVE else (EventKind(f"task.{state}"),)
            assert sum(event_counts[kind, None] for kind in kinds) == 1

    def _define(self, change: Change) -> None:
        if change.task is not None:
            if not self.eras or change.task.schedule != self.task.schedule:
                self._new_era(change.task)
            self.was_parallel = self.was_parallel or self.task.policies.overlap == "parallel"
            self.task = change.task
        if change.status is not None:
            before, after = self.status.state, change.status.state
            assert before == after or after in TASK_TRANSITIONS[before], f"{before} became {after}"
            self.status = change.status

    def _new_era(self, task: Task) -> None:
        if self.eras:
            self.eras[-1].closed = None if self.next is None else self.now
        self.eras.append(Era(task, self.now if self.eras else None))

    def _move(self, run: Run) -> None:
        before = self.runs[run.id]
        assert before.live, "what has ended stays so"
        assert run.state is before.state or run.state in RUN_TRANSITIONS[before.state], f"{before.state}: {run.state}"
        assert run.token == before.token
        self.runs[run.id] = run

    def _replace_entry(self, slot: str, entry: Entry | None) -> None:
        """Another occurrence in the same slot counts as another entry."""
        before = self.entries.pop(slot, None)
        same = before is not None and entry is not None and before.planned == entry.planned
        if before is not None and (entry is None or not same):
            self.moves.add((before.kind, before.state, None))
        if entry is not None:
            self.moves.add((entry.kind, before.state if before is not None and same else None, entry.state))
            self.entries[slot] = entry

    def _used_slots(self, lane: str) -> int:
        return self.others + sum(lane in run.lanes for run in self.live)

    def fill_lane_slots(self) -> None:
        """Give free lane slots to parked entries, by due instant."""
        parked = (e for e in self.entries.values() if e.state is EntryState.PARKED and not is_route(e.lane))
        for entry in sorted(parked, key=lambda e: e.due):
            free = self.limit - self._used_slots(entry.lane or "")
            called = sum(e.lane == entry.lane and e.state in CLAIMABLE for e in self.entries.values())
            if free > called:
                self._replace_entry(entry.slot, entry._replace(state=EntryState.TIMED))

    def admit(self) -> World:
        """Admit the route: stranded entries become claimable."""
        route = route_of(self.task.target)
        for entry in [e for e in self.entries.values() if e.state is EntryState.PARKED and e.lane == route]:
            self._replace_entry(entry.slot, entry._replace(state=EntryState.TIMED, lane=None))
        return self

    # --- what happens ----------------------------------------------------------------------------------------------

    def at(self, instant: datetime) -> World:
        assert instant >= self.now
        self.now = instant
        return self

    def set_back(self, instant: datetime) -> World:
        """Set the clock back."""
        assert instant < self.now
        self.now = instant
        return self

    def advance(self, by: timedelta) -> World:
        return self.at(self.now + by)

    def decide(self, decision: Callable[[Facts], Change]) -> Change:
        """Call a decision twice and assert that both results are equal."""
        facts = self.facts
        change = decision(facts)
        assert change == decision(facts)
        return self.apply(change)

    def claim(self, entry: Entry | None = None) -> Change:
        """Claim the first due entry, or this one."""
        chosen = self.due[0] if entry is None else entry
        self.token += 1
        claimant = ClaimContext(NODE, self.now, CEILING, self.routes)
        change = self.decide(lambda facts: self._fire(facts, chosen, claimant))
        assert self.entries.get(chosen.slot) != chosen or change.updated_runs, "it would come due for ever"
        self._check_starts(change)
        return change

    def _fire(self, facts: Facts, entry: Entry, claimant: ClaimContext) -> Change:
        """Decide again with the existing run ids if the change repeats a run."""
        change = fire(facts, entry, self.token, claimant)
        made = frozenset(run.id for run in change.new_runs if run.id in self.runs)
        return fire(facts._replace(existing_run_ids=made), entry, self.token, claimant) if made else change

    def _check_starts(self, change: Change) -> None:
        """No run starts when its `start_within` is over, except those of a backfill."""
        within = self.task.policies.start_within
        started = [run for run in change.new_runs if run.live and run.origin is not Origin.BACKFILL]
        assert all(within is None or self.now < run.due + within for run in started), "started too late"

    def claim_all(self) -> World:
        while self.due:
            self.claim()
        return self

    def claim_at(self, instant: datetime) -> World:
        return self.at(instant).claim_all()

    def strand(self, entry: Entry | None = None) -> Change:
        """Claim the entry on a node without routes."""
        self.routes = frozenset()
        try:
            return self.claim(entry)
        finally:
            self.routes = None

    @property
    def live_run(self) -> Run:
        (run,) = self.live
        return run

    def settle(self, outcome: Outcome = Succeeded(), run: Run | None = None) -> Change:  # noqa: B008 - a frozen value
        run = self.live_run if run is None else run
        if run.state is RunState.CLAIMED and run.cancel is None:
            run = self.start(run)
        report = Settlement(run.id, run.token, outcome, run.started, self.now)
        return self.decide(lambda facts: settle(facts, run, report))

    def start(self, run: Run) -> Run:
        """The third write of `at_most_once`."""
        self._move(run._replace(state=RunState.RUNNING, started=self.now))
        return self.runs[run.id]

    def fail(self, run: Run | None = None, **how: Any) -> Change:
        return self.settle(Failed("no", **how), run)

    def lose(self, run: Run | None = None) -> Change:
        run = self.live_run if run is None else run
        return self.decide(lambda facts: recover(facts, run, self.now))

    def release(self, run: Run | None = None) -> Change:
        run = self.live_run if run is None else run
        return self.decide(lambda facts: release(facts, run, self.now))

    # --- what people wish ------------------------------------------------------------------------------------------

    def pause(self, **how: Any) -> Change:
        return self.decide(lambda facts: control.pause(facts, self.now, **how))

    def resume(self, **how: Any) -> Change:
        return self.decide(lambda facts: control.resume(facts, self.now, **how))

    def cancel(self) -> Change:
        return self.decide(lambda facts: control.cancel(facts, self.now))

    def delete(self) -> Change:
        return self.decide(lambda facts: control.delete(facts, self.now))

    def run_now(self) -> Change:
        return self.decide(lambda facts: control.run_now(facts, self.now))

    def skip_next(self, wanted: int) -> Change:
        return self.decide(lambda facts: control.skip_next(facts, wanted))

    def cancel_run(self, run: Run | None = None) -> Change:
        run_id = (self.live_run if run is None else run).id
        return self.decide(lambda facts: control.cancel_run(facts, run_id, self.now))

    def try_again(self, run: Run) -> Change:
        change = self.decide(lambda facts: request_retry(facts, run, self.now))
        self.requested.add((run.origin, run.planned))
        return change

    def edit(self, **fields: Any) -> Change:
        edited = self.task._replace(**fields)
        return self.decide(lambda facts: edit.edit(facts, edited, self.now))

    def backfill(self, first: datetime, last: datetime, attempts_before: int = 0) -> Change:
        return self.decide(lambda facts: edit.backfill(facts, first, last, self.now, attempts_before))

    def replan(self) -> Change:
        return self.decide(lambda facts: edit.replan(facts, self.now))


class Era:
    """The time of one schedule: what was planned after `since` (from the beginning: None) and, when over, by `closed`."""

    def __init__(self, task: Task, since: datetime | None) -> None:
        self.task = task
        self.since = since
        self.closed: datetime | None = None


def _row(run: Run) -> str:
    when = (
        clock(run.planned) if run.span is None else f"{clock(run.span.first)}..{clock(run.span.last)} x{run.span.count}"
    )
    return when + (f" #{run.attempt}" if run.attempt > 1 else "")


def _place(entry: Entry) -> str:
    when = clock(entry.due if entry.kind in CONTROL_KINDS else entry.planned)
    if entry.span is not None:
        when = f"{clock(entry.span.first)}..{when} x{entry.span.count}"
    if entry.through is not None:
        when += f"..{clock(entry.through)}"
    return when + (f" #{entry.attempt}" if entry.attempt > 1 else "")


def clock(instant: datetime) -> str:
    """`13:00`, as the tables say it; on the day after it is `+1d13:00`."""
    days = (instant.date() - NOON.date()).days
    text = f"{instant:%H:%M}" + (f":{instant:%S}" if instant.second else "")
    return (f"{days:+d}d" if days else "") + text + (f".{instant:%f}" if instant.microsecond else "")


def hour(number: float) -> datetime:
    """`hour(13)` is one o'clock on the day on which every world begins, `hour(37)` on the next."""
    return NOON + timedelta(hours=number - 12)
