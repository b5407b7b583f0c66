"""The missed policy, for an hourly task from noon that is claimed late."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from horae.model.policy import Missed
from horae.model.run import Span
from horae.model.task import TaskState
from horae.schedule import Cron, Every, Now, Once
from tests.unit.lifecycle.task_world import CEILING, HOUR, MICROSECOND, MINUTE, SECOND, World, hour

SKIP, LATEST, ALL, MERGE = Missed("skip"), Missed("latest"), Missed("all"), Missed("merge")
TIMES_TWO = Every(interval=HOUR, repeat=2)
PLANNED_THREE = Every(interval=HOUR, repeat=3, counting="planned")


@pytest.mark.parametrize(
    ("missed", "found", "ledger", "agenda"),
    [
        # One instant, found in time: no missed policy has a say.
        (SKIP, hour(13), ["13:00 running"], ["next 14:00 timed"]),
        (SKIP, hour(13) + CEILING, ["13:00 running"], ["next 14:00 timed"]),
        # One instant, older than the poll ceiling.
        (SKIP, hour(13) + CEILING + MICROSECOND, ["13:00 skipped missed_skipped"], ["next 14:00 timed"]),
        (LATEST, hour(13) + 11 * SECOND, ["13:00 running"], ["next 14:00 timed"]),
        (MERGE, hour(13) + 11 * SECOND, ["13:00 running"], ["next 14:00 timed"]),
        (ALL, hour(13) + 11 * SECOND, ["13:00 running"], ["next 14:00 timed"]),
        # More than one, the newest of them in time.
        (SKIP, hour(14), ["13:00..14:00 x2 skipped missed_skipped"], ["next 15:00 timed"]),
        (LATEST, hour(14), ["13:00 skipped merged", "14:00 running"], ["next 15:00 timed"]),
        (MERGE, hour(14), ["13:00..14:00 x2 running"], ["next 15:00 timed"]),
        (ALL, hour(14), ["13:00 running"], ["waiting 14:00 held", "next 15:00 timed"]),
        # Many.
        (SKIP, hour(22.5), ["13:00..22:00 x10 skipped missed_skipped"], ["next 23:00 timed"]),
        (LATEST, hour(22.5), ["13:00..21:00 x9 skipped merged", "22:00 running"], ["next 23:00 timed"]),
        (MERGE, hour(22.5), ["13:00..22:00 x10 running"], ["next 23:00 timed"]),
        (ALL, hour(22.5), ["13:00 running"], ["waiting 14:00..22:00 held", "next 23:00 timed"]),
        # Older than `within` is stale; exactly as old is not.
        (
            Missed("latest", 3 * HOUR),
            hour(16.5),
            ["13:00 skipped stale", "14:00..15:00 x2 skipped merged", "16:00 running"],
            ["next 17:00 timed"],
        ),
        (
            Missed("merge", HOUR),
            hour(16),
            ["13:00..14:00 x2 skipped stale", "15:00..16:00 x2 running"],
            ["next 17:00 timed"],
        ),
        (Missed("merge", 30 * MINUTE), hour(14.25), ["13:00 skipped stale", "14:00 running"], ["next 15:00 timed"]),
        (Missed("latest", 20 * MINUTE), hour(15.5), ["13:00..15:00 x3 skipped stale"], ["next 16:00 timed"]),
        (
            Missed("all", 2 * HOUR),
            hour(15.5),
            ["13:00 skipped stale", "14:00 running"],
            ["waiting 15:00 held", "next 16:00 timed"],
        ),
        (Missed("skip", HOUR), hour(15.5), ["13:00..15:00 x3 skipped missed_skipped"], ["next 16:00 timed"]),
        # Only the newest `limit` are made up for, the oldest of them first.
        (Missed("all", limit=3), hour(15), ["13:00 running"], ["waiting 14:00..15:00 held", "next 16:00 timed"]),
        (
            Missed("all", limit=2),
            hour(17.5),
            ["13:00..15:00 x3 skipped missed_skipped", "16:00 running"],
            ["waiting 17:00 held", "next 18:00 timed"],
        ),
        (Missed("all", limit=1), hour(14.5), ["13:00 skipped missed_skipped", "14:00 running"], ["next 15:00 timed"]),
        (
            Missed("all", 3 * HOUR, limit=2),
            hour(17.5),
            ["13:00..14:00 x2 skipped stale", "15:00 skipped missed_skipped", "16:00 running"],
            ["waiting 17:00 held", "next 18:00 timed"],
        ),
    ],
)
def test_missed_backlog_by_policy(missed: Missed, found: datetime, ledger: list[str], agenda: list[str]) -> None:
    world = World(missed=missed).claim_at(found)
    assert world.ledger == ledger
    assert world.agenda == agenda


@pytest.mark.parametrize(
    ("schedule", "missed", "found", "ledger", "agenda", "counted"),
    [
        # `repeat` counts occurrences that are given a run: skipped ones use up none of it.
        (TIMES_TWO, SKIP, hour(17.5), ["13:00..17:00 x5 skipped missed_skipped"], ["next 18:00 timed"], 0),
        (TIMES_TWO, LATEST, hour(17.5), ["13:00..16:00 x4 skipped merged", "17:00 running"], ["next 18:00 timed"], 1),
        (TIMES_TWO, MERGE, hour(17.5), ["13:00..17:00 x5 running"], ["next 18:00 timed"], 1),
        # The schedule ends with its last repeat: what lies after it was never planned.
        (TIMES_TWO, ALL, hour(17.5), ["13:00 running"], ["waiting 14:00 held"], 2),
        (Every(interval=HOUR, repeat=1), ALL, hour(17.5), ["13:00 running"], [], 1),
        # `counting: planned` counts all of them, so the pile itself ends with the last.
        (PLANNED_THREE, SKIP, hour(14.5), ["13:00..14:00 x2 skipped missed_skipped"], ["next 15:00 timed"], 2),
        (PLANNED_THREE, SKIP, hour(17.5), ["13:00..15:00 x3 skipped missed_skipped"], [], 3),
        (PLANNED_THREE, LATEST, hour(17.5), ["13:00..14:00 x2 skipped merged", "15:00 running"], [], 3),
        (PLANNED_THREE, ALL, hour(17.5), ["13:00 running"], ["waiting 14:00..15:00 held"], 3),
        # A window that has closed meanwhile.
        (
            Every(interval=HOUR, end=hour(15)),
            LATEST,
            hour(20),
            ["13:00..14:00 x2 skipped merged", "15:00 running"],
            [],
            1,
        ),
    ],
)
def test_missed_backlog_of_a_bounded_schedule(
    schedule: Every, missed: Missed, found: datetime, ledger: list[str], agenda: list[str], counted: int
) -> None:
    world = World(schedule, missed=missed).claim_at(found)
    assert world.ledger == ledger
    assert world.agenda == agenda
    assert world.status.counted == counted
    done = not agenda and not world.live
    assert world.state is (TaskState.COMPLETED if done else TaskState.ACTIVE)


def test_used_repeats_are_not_given_again() -> None:
    world = World(Every(interval=HOUR, repeat=3), missed=ALL).claim_at(hour(13))
    world.settle()
    world.claim_at(hour(17.5))
    assert world.ledger == ["13:00 succeeded", "14:00 running"]
    assert world.agenda == ["waiting 15:00 held"]
    assert world.status.counted == 3


def test_two_due_occurrences_are_a_backlog_though_both_in_time() -> None:
    world = World(Every(interval=5 * SECOND)).claim_at(hour(12) + 11 * SECOND)
    assert world.ledger == ["12:00:05 skipped merged", "12:00:10 running"]


def test_once_is_run_however_late() -> None:
    world = World(Once(at=hour(13))).claim_at(hour(13) + timedelta(days=700))
    assert world.ledger == ["13:00 running"]
    assert world.agenda == []


def test_once_missed_policy_can_be_chosen() -> None:
    world = World(Once(at=hour(13)), missed=SKIP).claim_at(hour(14))
    assert world.ledger == ["13:00 skipped missed_skipped"]
    assert world.state is TaskState.COMPLETED


def test_now_is_due_at_once() -> None:
    world = World(Now()).claim_all()
    assert world.ledger == ["12:00 running"]
    assert world.live_run.lateness == timedelta(0)


def test_merged_run_has_its_span() -> None:
    world = World(missed=MERGE).claim_at(hour(15.5))
    assert world.live_run.span == Span(hour(13), hour(15), 3)
    assert (world.live_run.planned, world.live_run.due) == (hour(15), hour(15))


class TestJitter:
    """Late is later than due, and due is planned plus the task's share of the jitter."""

    schedule = Every(interval=HOUR, jitter=40 * MINUTE)

    def offset(self) -> timedelta:
        entry = World(self.schedule).next
        assert entry is not None
        assert MINUTE < entry.due - entry.planned < 40 * MINUTE
        return entry.due - entry.planned

    def test_an_instant_whose_jitter_still_runs_is_not_in_the_pile(self) -> None:
        at = hour(15) + self.offset() - MICROSECOND
        world = World(self.schedule, missed=LATEST).claim_at(at)
        assert world.ledger == ["13:00 skipped merged", "14:00 running"]
        assert world.next is not None
        assert world.next.planned == hour(15)
        assert world.next.due == hour(15) + self.offset()

    def test_an_instant_whose_jitter_has_run_is(self) -> None:
        world = World(self.schedule, missed=LATEST).claim_at(hour(15) + self.offset())
        assert world.ledger == ["13:00..14:00 x2 skipped merged", "15:00 running"]
        assert world.live_run.due == hour(15) + self.offset()

    def test_the_ceiling_counts_from_due(self) -> None:
        due = hour(13) + self.offset()
        assert World(self.schedule, missed=SKIP).claim_at(due + CEILING).live
        assert not World(self.schedule, missed=SKIP).claim_at(due + CEILING + MICROSECOND).live

    def test_within_counts_from_due(self) -> None:
        missed = Missed("latest", 3 * HOUR)
        found = hour(13) + self.offset() + 3 * HOUR
        assert World(self.schedule, missed=missed).claim_at(found).ledger[0] == "13:00..15:00 x3 skipped merged"
        assert World(self.schedule, missed=missed).claim_at(found + MICROSECOND).ledger[0] == "13:00 skipped stale"

    def test_nothing_is_early_where_the_gaps_are_uneven(self) -> None:
        """At 13:01 the jitter has a day of room, at 13:00 only a minute: the one is due long before the other."""
        schedule = Cron(expression="0,1 13 * * *", zone="UTC", jitter=40 * MINUTE)
        world = World(schedule, missed=LATEST)
        assert world.next is not None
        assert world.next.due < hour(13) + MINUTE
        world.claim_at(hour(13) + 150 * SECOND)
        assert world.ledger == ["13:00 running"]
        assert world.agenda == ["next 13:01 timed"]


class TestAfterWaiting:
    """What was met in time and had to wait for a seat is not missed; what passed meanwhile is."""

    @pytest.mark.parametrize(
        ("missed", "ledger", "agenda"),
        [
            (SKIP, ["13:00 running", "14:00..16:00 x3 skipped missed_skipped"], ["next 17:00 timed"]),
            (LATEST, ["13:00 running", "14:00..15:00 x2 skipped merged"], ["waiting 16:00 held", "next 17:00 timed"]),
            (MERGE, ["13:00 running"], ["waiting 14:00..16:00 x3 held", "next 17:00 timed"]),
            (ALL, ["13:00 running"], ["waiting 14:00..16:00 held", "next 17:00 timed"]),
        ],
    )
    def test_parked_for_hours(self, missed: Missed, ledger: list[str], agenda: list[str]) -> None:
        world = parked(missed).at(hour(16.5))
        world.others = 0
        world.fill_lane_slots()
        world.claim_all()
        assert world.ledger == ledger
        assert world.agenda == agenda

    def test_an_instant_found_late_but_wanted_does_not_grow_stale_in_the_queue(self) -> None:
        world = World(missed=Missed("latest", HOUR), lane="lane")
        world.others = 1
        world.claim_at(hour(13.5))
        assert world.agenda == ["next 13:00 parked"]
        world.at(hour(13) + 2 * HOUR - MINUTE)
        world.others = 0
        world.fill_lane_slots()
        assert world.claim_all().ledger == ["13:00 running"]
        assert world.agenda == ["waiting 14:00 held", "next 15:00 timed"]

    def test_the_last_repeat(self) -> None:
        world = World(Every(interval=HOUR, repeat=1), lane="lane", missed=ALL)
        world.others = 1
        world.claim_at(hour(13)).at(hour(16.5))
        world.others = 0
        world.fill_lane_slots()
        assert world.claim_all().ledger == ["13:00 running"]
        assert world.agenda == []

    def test_two_repeats(self) -> None:
        world = World(Every(interval=HOUR, repeat=2), lane="lane", missed=ALL)
        world.others = 1
        world.claim_at(hour(13)).at(hour(16.5))
        world.others = 0
        world.fill_lane_slots()
        assert world.claim_all().ledger == ["13:00 running"]
        assert world.agenda == ["waiting 14:00 held"]
        assert world.status.counted == 2


def parked(missed: Missed) -> World:
    """Met at 13:00 sharp, when its lane was full."""
    world = World(missed=missed, lane="lane")
    world.others = 1
    world.claim_at(hour(13))
    assert world.agenda == ["next 13:00 parked"]
    return world
