"""Planted defects for the simulation, at least one per guarantee: each check is shown to fail."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextvars import Context
from datetime import datetime, timedelta
from itertools import takewhile
from typing import Any, Final, NamedTuple

import pytest

from horae.engine import active_run, dispatcher
from horae.engine.active_run import ActiveRun
from horae.engine.keeper import Lease
from horae.lifecycle import (
    agenda,
    conclude,
    event_rows,
    fire,
    missed,
    occurrence,
    occurrence_end,
    overlap,
    plan,
    recover,
    settle,
    start_deadline,
)
from horae.lifecycle.control import control
from horae.lifecycle.control import pause as pause_module
from horae.lifecycle.missed import BacklogAccount
from horae.model.change import Change, Facts
from horae.model.entry import Entry, EntryState
from horae.model.events.event import Event, EventKind
from horae.model.inputs import effective_payload, placeholders
from horae.model.lanes.lane import LaneUse
from horae.model.reason import Reason
from horae.model.run import LIVE_STATES, Run, RunState
from horae.model.task import Task, TaskStatus
from horae.ports.store import Claim, Claimed
from horae.schedule import any_of
from horae.schedule.rules import Rule
from horae.schedule.union_rule import UnionRule
from horae.stores.memory.agenda import MemoryAgenda
from horae.stores.memory.data import Data
from horae.stores.memory.entries import Entries
from horae.stores.memory.events import Events
from horae.stores.memory.queries import MemoryBook
from horae.stores.memory.store import MemoryFeed
from tests.simulation.history import History

SECOND: Final = timedelta(seconds=1)


class Defect(NamedTuple):
    """`breaks` are the guarantees under which it may be found; `seed` is the one that is tried first."""

    name: str
    breaks: frozenset[str]
    plant: Callable[[pytest.MonkeyPatch], None]
    seed: int = 0


def _overlap_ignored(patch: pytest.MonkeyPatch) -> None:
    for module in (fire, occurrence):
        patch.setattr(module, "must_wait", lambda _facts, _entry: False)


def _retries_never_count(patch: pytest.MonkeyPatch) -> None:
    for module in (overlap, occurrence):
        patch.setattr(module, "blocking_retries", lambda _facts: ())


def _start_deadline_ignored(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(fire, "is_too_late", lambda *_: False)
    patch.setattr(occurrence, "skip_late_starts", lambda account, _now: account)
    # The entry of the deadline would come due for ever, because nothing is skipped by it.
    for module in (conclude, fire, pause_module):
        patch.setattr(module, "with_start_deadline", lambda _facts, change: change)


def _input_is_lost(patch: pytest.MonkeyPatch) -> None:
    def retry_entry(*args: Any, **named: Any) -> Entry:
        return agenda.retry_entry(*args, **named)._replace(input=None)

    patch.setattr(recover, "retry_entry", retry_entry)


def _input_is_lost_at_a_retry(patch: pytest.MonkeyPatch) -> None:
    def retry_entry(*args: Any, **named: Any) -> Entry:
        return agenda.retry_entry(*args, **named)._replace(input=None)

    patch.setattr(settle, "retry_entry", retry_entry)


def _no_start_deadline_in_lanes(patch: pytest.MonkeyPatch) -> None:
    """Parked entries are not found at their deadline, and start when their lane has room, however late that is."""
    is_too_late = start_deadline.is_too_late

    def too_late(task: Task, entry: Entry, now: datetime) -> bool:
        return task.lane is None and is_too_late(task, entry, now)

    patch.setattr(start_deadline, "_WAITING_STATES", frozenset({EntryState.HELD}))
    for module in (start_deadline, fire):
        patch.setattr(module, "is_too_late", too_late)


def _placeholders_of_the_first_attempt(patch: pytest.MonkeyPatch) -> None:
    values = placeholders._values

    def first_values(task: Task, run: Run, key: str, previous: str | None) -> dict[str, str]:
        return values(task, run._replace(attempt=1), key, previous)

    patch.setattr(placeholders, "_values", first_values)


def _placeholders_without_the_stretch(patch: pytest.MonkeyPatch) -> None:
    values = placeholders._values

    def values_of_one(task: Task, run: Run, key: str, previous: str | None) -> dict[str, str]:
        return values(task, run._replace(span=None), key, previous)

    patch.setattr(placeholders, "_values", values_of_one)


def _placeholders_not_filled(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(effective_payload, "fill_placeholders", lambda task, *_: task)


def _missed_elsewhere_is_dropped(patch: pytest.MonkeyPatch) -> None:
    first_unaccounted = plan._first_unaccounted
    patch.setattr(plan, "_first_unaccounted", lambda task, status, _, now: first_unaccounted(task, status, None, now))


def _past_with(patch: pytest.MonkeyPatch, **forgotten: Any) -> None:
    check_past = plan._check_past
    patch.setattr(plan, "_check_past", lambda past, now: check_past(past, now)._replace(**forgotten))


def _counted_elsewhere_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    _past_with(patch, counted=0)


def _old_grid_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    _past_with(patch, created=None)


def _last_end_elsewhere_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    _past_with(patch, last_end=None)


class _EachScheduleCounts(UnionRule):
    """Instants that two schedules share are two occurrences, a microsecond apart."""

    def __init__(self, parts: Sequence[Rule]) -> None:
        self.rules = tuple(parts)

    def after(self, instant: int) -> int | None:
        is_shared = sum(rule.after(instant - 1) == instant for rule in self.rules) > 1
        return instant + 1 if is_shared else super().after(instant)

    def iterate(self, after: int) -> Iterator[int]:
        following = self.after(after)
        while following is not None:
            yield following
            following = self.after(following)

    def count(self, after: int, until: int) -> int | None:
        return sum(1 for _ in takewhile(lambda each: each <= until, self.iterate(after)))


def _equal_instants_run_twice(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(any_of, "UnionRule", _EachScheduleCounts)


def _lanes_not_counted(patch: pytest.MonkeyPatch) -> None:
    for module in (fire, occurrence):
        patch.setattr(module, "full_lane", lambda _facts, _entry: None)
    patch.setattr(fire, "fast_claim", lambda *_: None)


def _turns_not_taken(patch: pytest.MonkeyPatch) -> None:
    first_parked = Entries.first_parked

    def first_by_priority(self: Entries, lane: str, most: int, _last_owner: str) -> list[Entry]:
        return self.parked(lane)[: max(0, most)] if most > 0 else first_parked(self, lane, most, "")

    patch.setattr(Entries, "first_parked", first_by_priority)


def _newcomers_overtake(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LaneUse, "is_taken", property(lambda self: self.is_full))


def _token_not_checked(patch: pytest.MonkeyPatch) -> None:
    def held(self: MemoryAgenda, run_id: str, _token: int) -> Run | None:
        run = self._data.runs.get(run_id)
        return run if run is not None and run.live else None

    patch.setattr(MemoryAgenda, "_live_run", held)


def _ends_are_not_final(patch: pytest.MonkeyPatch) -> None:
    def held(self: MemoryAgenda, run_id: str, token: int) -> Run | None:
        run = self._data.runs.get(run_id)
        return run if run is not None and run.token == token else None

    patch.setattr(MemoryAgenda, "_live_run", held)
    patch.setattr(Data, "_update_run", lambda self, run: self.runs.write(run.id, run))


def _missed_are_dropped(patch: pytest.MonkeyPatch) -> None:
    def forgetful(facts: Facts, entry: Entry, token: int, claim: Any) -> Change:
        change = fire.fire(facts, entry, token, claim)
        skipped = {run.id for run in change.new_runs if run.state is RunState.SKIPPED}
        return change._replace(
            new_runs=tuple(run for run in change.new_runs if run.id not in skipped),
            events=tuple(event for event in change.events if event.run_id not in skipped),
        )

    patch.setattr(dispatcher, "fire", forgetful)


def _claimed_a_second_early(patch: pytest.MonkeyPatch) -> None:
    slice_of = MemoryAgenda._select_slice
    patch.setattr(MemoryAgenda, "_select_slice", lambda self, now: slice_of(self, now + SECOND))
    claim_due = MemoryAgenda.claim_due

    async def eager(self: MemoryAgenda, now: datetime, node: str, room: int, decide: Any) -> Claim:
        claim = await claim_due(self, now, node, room, decide)
        soon = None if claim.next_due is None else claim.next_due - SECOND
        return claim._replace(next_due=soon)

    patch.setattr(MemoryAgenda, "claim_due", eager)


def _recovered_while_alive(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(History, "is_gone", lambda _self, _life: True)


def _works_on_without_a_lease(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Lease, "is_held", True)
    patch.setattr(Lease, "seconds_left", 1e9)


def _new_key_for_each_attempt(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ActiveRun, "key", property(lambda self: f"{self.run.task_id}/{self.run.planned}/{self.run.attempt}"))


def _events_are_lost(patch: pytest.MonkeyPatch) -> None:
    append = Events.append

    def careless(self: Events, event: Event) -> None:
        if event.kind is not EventKind.RUN_TIMED_OUT:
            append(self, event)

    patch.setattr(Events, "append", careless)


def _feed_skips(patch: pytest.MonkeyPatch) -> None:
    events = MemoryFeed.events

    async def hasty(self: MemoryFeed, after: int, limit: int = 1_000, owner: str | None = None) -> Any:
        return (await events(self, after, limit, owner))[: limit - 1 if limit < 1_000 else limit][after > 0 :]

    patch.setattr(MemoryFeed, "events", hasty)


def _pause_ignored(patch: pytest.MonkeyPatch) -> None:
    pause = control.pause
    patch.setattr(control, "pause", lambda facts, now, **how: pause(facts, now, **how)._replace(put=()))
    patch.setattr(fire, "_may_run", lambda _facts, _entry: True)
    patch.setattr(fire, "fast_claim", lambda *_: None)


def _at_most_once_tried_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recover, "_is_requeued", occurrence_end.may_retry)


def _retries_without_end(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Run, "tries", property(lambda _self: 0))


def _lost_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(recover, "_is_requeued", lambda _facts, _run: False)


def _failed_is_not_tried_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(settle, "_retry_at", lambda *_: None)


def _acknowledged_but_not_written(patch: pytest.MonkeyPatch) -> None:
    async def amnesiac(self: MemoryBook, task_id: str, owner: str | None, decide: Any) -> Facts | None:
        with self._data.lock:
            facts = self._data.facts(task_id, owner)
            if facts is not None:
                decide(facts)
            return facts

    patch.setattr(MemoryBook, "change", amnesiac)


def _gives_up_late(patch: pytest.MonkeyPatch) -> None:
    after = occurrence_end._status_after

    def lenient(standing: Any, ended: Run, now: datetime) -> Any:
        counted = after(standing, ended, now)
        return counted._replace(failures=max(0, counted.failures - 1)) if counted.failures == 1 else counted

    patch.setattr(occurrence_end, "_status_after", lenient)


def _started_twice(patch: pytest.MonkeyPatch) -> None:
    """The store returns a claimed run again: two nodes execute it."""
    claim_due = MemoryAgenda.claim_due

    async def generous(self: MemoryAgenda, now: datetime, node: str, room: int, decide: Any) -> Claim:
        claim = await claim_due(self, now, node, room, decide)
        others = [
            Claimed(self._data.tasks[run.task_id], run)
            for run in self._data.runs
            if run.state in LIVE_STATES and run.node not in (None, node)
        ]
        return claim._replace(runs=(*claim.runs, *others[: room - len(claim.runs)]))

    patch.setattr(MemoryAgenda, "claim_due", generous)


def _parked_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Data, "_unpark_first", lambda _self, _lane, _count: None)


def _notifies_each_time(patch: pytest.MonkeyPatch) -> None:
    """A notice decided from the current state alone repeats for the same incident."""

    def noticed(_facts: Facts, task: Task, standing: TaskStatus, now: datetime, *_: object) -> tuple[Event, ...]:
        failing = event_rows.is_failing(task, standing)
        return (Event(EventKind.TASK_FAILING, now, task.owner, task.id),) if failing else ()

    patch.setattr(occurrence_end, "failure_events", noticed)


def _repeats_for_ever(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BacklogAccount, "status_after", lambda self, _given, _planned: self.status)


def _the_newest_is_merged_too(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(missed, "_plan_latest", lambda pile, skips: missed.CatchUpPlan((*skips, (pile.span, Reason.MERGED))))


def _jitter_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(agenda, "due", lambda _schedule, planned, _task_id, _past: planned)


def _a_wrong_reason(patch: pytest.MonkeyPatch) -> None:
    class Mixed:
        MISSED_SKIPPED = Reason.OVERLAP
        STALE = Reason.STALE
        MERGED = Reason.MERGED

    patch.setattr(missed, "Reason", Mixed)


def _skips_in_another_transaction(patch: pytest.MonkeyPatch) -> None:
    """Skip rows are written in another transaction, a second later."""
    apply = Data.apply

    def tell(self: Data, task_id: str, rest: Change) -> None:
        with self.transaction():
            apply(self, task_id, rest)

    def torn(self: Data, task_id: str, change: Change) -> None:
        late = {run.id for run in change.new_runs if not run.live}
        rest = Change(
            new_runs=tuple(run for run in change.new_runs if run.id in late),
            events=tuple(event for event in change.events if event.run_id in late),
        )
        born = tuple(run for run in change.new_runs if run.live)
        events = tuple(event for event in change.events if event.run_id not in late)
        apply(self, task_id, change._replace(new_runs=born, events=events))
        if late:
            asyncio.get_running_loop().call_later(1, tell, self, task_id, rest, context=Context())

    patch.setattr(Data, "apply", torn)


def _owner_not_checked(patch: pytest.MonkeyPatch) -> None:
    facts = Data.facts

    def open_to_all(self: Data, task_id: str, _owner: str | None = None, *, lanes: bool = True) -> Facts | None:
        return facts(self, task_id, None, lanes=lanes)

    patch.setattr(Data, "facts", open_to_all)


def _events_not_filtered_by_owner(patch: pytest.MonkeyPatch) -> None:
    events = MemoryFeed.events

    async def indiscreet(self: MemoryFeed, after: int, limit: int = 1_000, _owner: str | None = None) -> Any:
        return await events(self, after, limit, None)

    patch.setattr(MemoryFeed, "events", indiscreet)


def _errors_of_any_length(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(active_run, "shorten", lambda text, _most: text)


def _capacity_ignored(patch: pytest.MonkeyPatch) -> None:
    claim_due = MemoryAgenda.claim_due

    async def lavish(self: MemoryAgenda, now: datetime, node: str, room: int, decide: Any) -> Claim:
        return await claim_due(self, now, node, room + 100, decide)

    patch.setattr(MemoryAgenda, "claim_due", lavish)


DEFECTS: Final = (
    Defect("overlap is ignored", frozenset({"6", "1"}), _overlap_ignored, seed=1),
    Defect("retries never count as running", frozenset({"6"}), _retries_never_count, seed=3),
    Defect("start_within is ignored", frozenset({"start"}), _start_deadline_ignored),
    Defect("lanes are not counted", frozenset({"6"}), _lanes_not_counted),
    Defect("two turns of one owner in a row", frozenset({"turn"}), _turns_not_taken),
    Defect("a newcomer overtakes a waiter", frozenset({"turn"}), _newcomers_overtake),
    Defect("a stale token is accepted", frozenset({"5"}), _token_not_checked, seed=1),
    Defect("an ended run ends again", frozenset({"5", "7"}), _ends_are_not_final),
    Defect("missed instants are dropped", frozenset({"3"}), _missed_are_dropped),
    Defect("claimed a second early", frozenset({"4"}), _claimed_a_second_early),
    Defect("taken for dead while alive", frozenset({"1", "6"}), _recovered_while_alive, seed=2),
    Defect("goes on without a lease", frozenset({"1", "6"}), _works_on_without_a_lease),
    Defect("one run handed out twice", frozenset({"1", "6"}), _started_twice),
    Defect("an input is lost with its run", frozenset({"input"}), _input_is_lost, seed=1),
    Defect("an input is lost at a retry", frozenset({"input"}), _input_is_lost_at_a_retry, seed=1),
    Defect(
        "placeholders have the values of the first attempt",
        frozenset({"placeholder"}),
        _placeholders_of_the_first_attempt,
    ),
    Defect("placeholders do not know the stretch", frozenset({"placeholder"}), _placeholders_without_the_stretch),
    Defect("placeholders are not filled", frozenset({"placeholder"}), _placeholders_not_filled),
    Defect("what was missed elsewhere is dropped", frozenset({"3"}), _missed_elsewhere_is_dropped),
    Defect("what was counted elsewhere is forgotten", frozenset({"repeat"}), _counted_elsewhere_is_forgotten),
    Defect("the grid of a task that began elsewhere is forgotten", frozenset({"3"}), _old_grid_is_forgotten),
    Defect("the last end elsewhere is forgotten", frozenset({"3"}), _last_end_elsewhere_is_forgotten),
    Defect("no start deadline in a lane", frozenset({"start"}), _no_start_deadline_in_lanes),
    Defect("equal instants of two schedules run twice", frozenset({"3"}), _equal_instants_run_twice),
    Defect("a new key for each attempt", frozenset({"key"}), _new_key_for_each_attempt),
    Defect("an event is not written", frozenset({"7", "11"}), _events_are_lost),
    Defect("a reader of events misses some", frozenset({"11"}), _feed_skips),
    Defect("a pause is ignored", frozenset({"paused"}), _pause_ignored),
    Defect("at most once is tried again", frozenset({"at_most_once", "retry"}), _at_most_once_tried_again),
    Defect("retries without end", frozenset({"retry"}), _retries_without_end),
    Defect("a lost run is forgotten", frozenset({"retry"}), _lost_is_forgotten),
    Defect("a failed run is not tried again", frozenset({"retry"}), _failed_is_not_tried_again),
    Defect("acknowledged, but not written", frozenset({"8"}), _acknowledged_but_not_written),
    Defect("gives up too late", frozenset({"give_up"}), _gives_up_late),
    Defect("a failure notice each time", frozenset({"notice"}), _notifies_each_time),
    Defect("a freed lane slot unparks nothing", frozenset({"3"}), _parked_for_ever),
    Defect("repeats for ever", frozenset({"repeat"}), _repeats_for_ever),
    Defect("the newest is merged too", frozenset({"missed", "reason"}), _the_newest_is_merged_too, seed=2),
    Defect("jitter is forgotten", frozenset({"4"}), _jitter_forgotten),
    Defect("a wrong reason", frozenset({"reason"}), _a_wrong_reason),
    Defect("skips are written in another transaction", frozenset({"2"}), _skips_in_another_transaction),
    Defect("owner is not checked", frozenset({"9"}), _owner_not_checked),
    Defect("events are not filtered by owner", frozenset({"9"}), _events_not_filtered_by_owner),
    Defect("errors of any length are kept", frozenset({"10"}), _errors_of_any_length),
    Defect("capacity is ignored", frozenset({"10"}), _capacity_ignored, seed=7),
)
