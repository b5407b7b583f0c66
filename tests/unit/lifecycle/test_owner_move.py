"""A task of an owner that moves is held without events, and released as if it had only waited."""

from __future__ import annotations

from datetime import timedelta

import pytest

from horae.lifecycle.chain import OccurrenceEnd, follow_link
from horae.lifecycle.control.owner_move import hold_task, is_held, release_task
from horae.model.chain_row import ChainState
from horae.model.change import Change, Facts, facts_after
from horae.model.entry import EntryKind, EntryState
from horae.model.events.event import EventKind
from horae.model.origin import Origin, RootOccurrence
from horae.model.run import RunState
from horae.model.task import NEW_TASK_STATUS, Pause, PauseCause, TaskState, TaskStatus
from horae.schedule import After, Link, Now
from horae.testing.factories import HOUR, MINUTE, NOON, a_run, a_task, an_entry, an_extra_entry


def held(facts: Facts) -> Facts:
    change = hold_task(facts, NOON)
    assert change is not None
    assert change.events == ()
    return facts_after(facts, change)


def released(facts: Facts, after: timedelta = MINUTE) -> Facts:
    return facts_after(facts, release_task(facts, NOON, NOON + after))


def test_active_task_is_held_once_and_released_as_it_was() -> None:
    task = a_task()
    facts = Facts(task, NEW_TASK_STATUS, (an_entry(task, due=NOON + HOUR),))
    asleep = held(facts)
    assert asleep.status.state is TaskState.PAUSED
    assert is_held(asleep)
    assert not is_held(facts)
    assert hold_task(asleep, NOON) is None
    assert released(asleep) == facts


@pytest.mark.parametrize("state", [EntryState.TIMED, EntryState.READY, EntryState.HELD, EntryState.PARKED])
def test_entries_in_every_state_sleep_and_become_claimable(state: EntryState) -> None:
    task = a_task()
    waiting = an_extra_entry(task, state=state, lane="press" if state is EntryState.PARKED else None)
    asleep = held(Facts(task, NEW_TASK_STATUS, (waiting,)))
    assert [(entry.state, entry.lane) for entry in asleep.entries] == [(EntryState.ASLEEP, None)]
    assert [entry.state for entry in released(asleep).entries] == [EntryState.TIMED]


def test_next_occurrence_that_came_due_meanwhile_has_waited() -> None:
    task = a_task()
    entries = (an_entry(task, due=NOON + MINUTE), an_extra_entry(task, due=NOON))
    woken = released(held(Facts(task, NEW_TASK_STATUS, entries)), after=HOUR).entries
    assert [(entry.kind, entry.waited) for entry in woken] == [(EntryKind.NEXT, True), (EntryKind.MANUAL, False)]


def test_next_occurrence_that_was_overdue_before_is_not_excused() -> None:
    task = a_task()
    (woken,) = released(held(Facts(task, NEW_TASK_STATUS, (an_entry(task, due=NOON - MINUTE),)))).entries
    assert not woken.waited


def test_paused_task_keeps_its_pause_and_only_its_end_wakes() -> None:
    task = a_task()
    status = TaskStatus(TaskState.PAUSED, pause=Pause(NOON, PauseCause.REQUESTED, until=NOON + HOUR))
    resume = an_entry(task, slot="resume", kind=EntryKind.RESUME, due=NOON + HOUR)
    facts = Facts(task, status, (an_entry(task, state=EntryState.ASLEEP), resume))
    asleep = held(facts)
    assert {entry.state for entry in asleep.entries} == {EntryState.ASLEEP}
    assert is_held(asleep)
    assert released(asleep) == facts


def test_waiting_run_keeps_its_deadline_and_holds_the_move() -> None:
    task = a_task()
    run = a_run(task)
    deadline = an_entry(task, slot="deadline", kind=EntryKind.DEADLINE, run_id=run.id)
    asleep = held(Facts(task, NEW_TASK_STATUS, (deadline,), (run,)))
    assert asleep.entries == (deadline,)
    assert hold_task(asleep, NOON) is None
    assert not is_held(asleep)


def test_task_whose_last_run_ended_meanwhile_is_completed_at_its_release() -> None:
    task = a_task(schedule=Now())
    asleep = held(Facts(task, NEW_TASK_STATUS))
    change = release_task(asleep, NOON, NOON + MINUTE)
    assert change.status is not None
    assert change.status.state is TaskState.COMPLETED
    assert [event.kind for event in change.events] == [EventKind.TASK_COMPLETED]


def test_ended_task_keeps_its_state_and_its_requested_run() -> None:
    task = a_task()
    over = TaskStatus(TaskState.COMPLETED, ended=NOON)
    facts = Facts(task, over, (an_extra_entry(task),))
    assert released(held(facts)) == facts
    assert hold_task(Facts(task, over), NOON) is None
    assert release_task(Facts(task, over), NOON, NOON) == Change()


def test_chained_occurrence_of_a_held_task_waits_for_its_release() -> None:
    task = a_task(schedule=After((Link("tsk_a"),)))
    asleep = held(Facts(task, NEW_TASK_STATUS))
    root = RootOccurrence("tsk_a", Origin.SCHEDULED, NOON)
    end = OccurrenceEnd("tsk_a", (task.id,), root, RunState.SUCCEEDED, "run_1", NOON)
    change = follow_link(asleep, None, end, ("tsk_a",), None).change
    assert [entry.state for entry in change.put] == [EntryState.ASLEEP]
    assert [row.state for row in change.chain_rows] == [ChainState.FIRED]
    assert change.new_runs == ()
    woken = released(facts_after(asleep, change))
    assert [entry.state for entry in woken.entries] == [EntryState.TIMED]
