"""A task that is made with a past: its first entry is the first unaccounted occurrence, handled as after an outage."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horae.errors import InvalidTask, Refusal
from horae.lifecycle.plan import Draft, plan
from horae.model.change import Change
from horae.model.policy import MISSED_MODES, Missed, MissedMode, policies_for
from horae.model.task import Target, TaskPast
from horae.schedule import Cron, Every, Now, Once, Schedule
from tests.unit.lifecycle.task_world import HOUR, HOURLY, MINUTE, NOON, SECOND, World, hour

DAY_LATER = NOON + timedelta(days=1)


def born(past: TaskPast, schedule: Schedule = HOURLY, now: datetime = DAY_LATER, **chosen: Any) -> Change:
    draft = Draft("ada", "a task", schedule, Target("function", ""), "{}", policies_for(schedule, chosen), past=past)
    return plan(draft, "tsk_1", now)


def planned(change: Change) -> datetime:
    (entry,) = change.put
    assert entry.planned == entry.due
    return entry.planned


def world_of(change: Change, now: datetime) -> World:
    """A world whose only task was made by this change."""
    assert change.task is not None
    assert change.status is not None
    world = World(change.task.schedule, policies=change.task.policies)
    world.entries.clear()
    world.task, world.status = change.task, change.status
    world.at(now).entries.update((entry.slot, entry) for entry in change.put)
    return world


class TestFirstEntry:
    def test_first_missed_occurrence(self) -> None:
        change = born(TaskPast(created=NOON, missed_since=hour(15.5)))
        assert planned(change) == hour(16)
        assert change.task is not None
        assert change.task.created == NOON

    def test_occurrence_at_that_instant_is_missed(self) -> None:
        assert planned(born(TaskPast(created=NOON, missed_since=hour(16)))) == hour(16)

    def test_nothing_missed(self) -> None:
        assert planned(born(TaskPast(created=NOON + MINUTE))) == DAY_LATER + MINUTE

    def test_without_creation_the_anchor_is_now(self) -> None:
        assert planned(born(TaskPast(counted=2))) == DAY_LATER + HOUR

    def test_interval_from_the_end_counts_from_the_last_end(self) -> None:
        schedule = Every(interval=HOUR, since="end")
        assert planned(born(TaskPast(created=NOON, last_end=hour(15)), schedule)) == hour(16)
        assert planned(born(TaskPast(created=NOON), schedule)) == hour(13)

    def test_single_occurrence_that_was_missed(self) -> None:
        assert planned(born(TaskPast(created=NOON, missed_since=NOON), Once(at=hour(15)))) == hour(15)
        assert planned(born(TaskPast(created=NOON, missed_since=NOON), Now())) == NOON

    @pytest.mark.parametrize("schedule", [Once(at=hour(15)), Now(), Every(interval=HOUR, end=hour(20))])
    def test_nothing_is_left(self, schedule: Schedule) -> None:
        with pytest.raises(InvalidTask) as refusal:
            born(TaskPast(created=NOON), schedule)
        assert refusal.value.code == "never_fires"

    def test_counted_occurrences_use_up_the_repeats(self) -> None:
        schedule = Every(interval=HOUR, repeat=3)
        change = born(TaskPast(created=NOON, counted=2), schedule)
        assert change.status is not None
        assert change.status.counted == 2
        with pytest.raises(InvalidTask):
            born(TaskPast(created=NOON, counted=3), schedule)

    def test_instants_are_kept_in_utc(self) -> None:
        berlin = timezone(timedelta(hours=1))
        change = born(TaskPast(created=NOON.astimezone(berlin), last_end=hour(15).astimezone(berlin)))
        assert change.task is not None
        assert change.status is not None
        assert (change.task.created.tzinfo, change.status.last_end) == (UTC, hour(15))


class TestRefusals:
    @pytest.mark.parametrize(
        ("past", "name"),
        [
            (TaskPast(created=DAY_LATER + SECOND), "past.created"),
            (TaskPast(created=datetime(1969, 1, 1, tzinfo=UTC)), "past.created"),
            (TaskPast(created=NOON.replace(tzinfo=None)), "past.created"),
            (TaskPast(created="yesterday"), "past.created"),  # type: ignore[arg-type]
            (TaskPast(created=NOON, last_end=NOON - SECOND), "past.last_end"),
            (TaskPast(created=NOON, last_end=DAY_LATER + SECOND), "past.last_end"),
            (TaskPast(created=NOON, missed_since=NOON - SECOND), "past.missed_since"),
            (TaskPast(missed_since=NOON), "past.missed_since"),
        ],
    )
    def test_instants_out_of_order(self, past: TaskPast, name: str) -> None:
        with pytest.raises(InvalidTask) as refusal:
            born(past)
        assert (refusal.value.code, refusal.value.facts["name"]) == ("bad_past", name)

    @pytest.mark.parametrize("counted", [-1, True, "2"])
    def test_bad_count(self, counted: Any) -> None:
        with pytest.raises(InvalidTask) as refusal:
            born(TaskPast(created=NOON, counted=counted))
        assert refusal.value.code == "bad_number"


class TestMissedStretch:
    @pytest.mark.parametrize(
        ("mode", "ledger"),
        [
            ("skip", ["14:00..16:00 x3 skipped missed_skipped"]),
            ("latest", ["14:00..15:00 x2 skipped merged", "16:00 running"]),
            ("all", ["14:00 running"]),
            ("merge", ["14:00..16:00 x3 running"]),
        ],
    )
    def test_the_missed_policy_accounts_for_it(self, mode: MissedMode, ledger: list[str]) -> None:
        now = hour(16) + MINUTE
        change = born(TaskPast(created=NOON, missed_since=hour(13.5)), now=now, missed=Missed(mode))
        assert world_of(change, now).claim_all().ledger == ledger

    @settings(deadline=None)
    @given(
        schedule=st.sampled_from(
            [
                HOURLY,
                Cron(expression="0,20 * * * *", zone="UTC"),
                Every(interval=HOUR, repeat=6),
                Every(interval=HOUR, repeat=6, counting="planned"),
                Every(interval=HOUR, since="end"),
                Every(interval=HOUR, jitter=10 * MINUTE),
            ]
        ),
        mode=st.sampled_from(MISSED_MODES),
        ran=st.integers(0, 5),
        outage=st.integers(1, 400),
    )
    def test_same_as_after_an_outage(self, schedule: Schedule, mode: MissedMode, ran: int, outage: int) -> None:
        """A task that lived here and one that was brought here are treated alike."""
        lived = World(schedule, missed=Missed(mode, timedelta(hours=3)))
        for _ in range(ran):
            assert lived.next is not None
            lived.at(lived.next.due).claim(lived.next)
            lived.settle()
        since, before = lived.now, set(lived.runs)
        past = TaskPast(NOON, lived.status.counted, lived.status.last_end, since + SECOND)
        now = since + outage * MINUTE
        try:
            change = born(past, schedule, now, missed=Missed(mode, timedelta(hours=3)))
        except Refusal:
            assert lived.next is None
            return
        brought = world_of(change, now)
        assert brought.next == lived.next
        lived.at(now).claim_all()
        brought.claim_all()
        assert [lived.runs[name] for name in sorted(lived.runs.keys() - before)] == [
            run._replace(token=lived.runs[name].token) for name, run in sorted(brought.runs.items())
        ]
        assert brought.entries == lived.entries
