"""Several schedules in one: the earliest of all, equal instants once, window, repeats and jitter for the whole."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from itertools import islice, pairwise
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import horae
from horae.schedule import (
    AnyOf,
    Calendar,
    Cron,
    Every,
    Now,
    Once,
    Past,
    RRule,
    Schedule,
    count,
    count_each,
    due,
    first,
    from_json,
    iterate,
    next,  # noqa: A004 - the product's own question
    to_json,
    union_rule,
)
from horae.schedule.any_of import MAX_SCHEDULES, make_any_of
from horae.schedule.instants import to_instant
from horae.schedule.union_rule import UnionRule
from tests.sizes import sized
from tests.strategies import instants, lists, modifiers, zones

WEEKDAYS = Calendar(unit="week", on=(0, 1, 2, 3, 4), at=(time(9),))
SATURDAY = Calendar(unit="week", on=(5,), at=(time(11),))
MORNING = datetime(2026, 11, 18, 6, tzinfo=UTC)
DAY = timedelta(days=1)
with_zone = lists(st.fixed_dictionaries({"zone": zones}))
with_modifiers = lists(modifiers.flatmap(lambda chosen: zones.map(lambda zone: {**chosen, "zone": zone})))


def fires_of_parts(schedule: AnyOf, after: datetime, until: datetime, past: Past) -> list[datetime]:
    """The union of the occurrences of all schedules, without repeats and window of the list."""
    return sorted({each for part in schedule.parts for each in iterate(part, after, past, until=until)})


# --- properties ------------------------------------------------------------------------------------------------------


@settings(max_examples=sized(120, soak=3_000), deadline=None)
@given(with_zone, instants)
def test_next_is_the_earliest_of_all_parts(schedule: Schedule | None, after: datetime) -> None:
    assume(isinstance(schedule, AnyOf))
    assert isinstance(schedule, AnyOf)
    past = Past(anchor=after - 3 * DAY)
    earliest = min((each for part in schedule.parts if (each := next(part, after, past))), default=None)
    assert next(schedule, after, past) == earliest


@settings(max_examples=sized(100, soak=2_000), deadline=None)
@given(with_modifiers, instants, st.integers(1, 40))
def test_listing_and_counting_agree_with_the_parts(schedule: Schedule | None, after: datetime, days: int) -> None:
    assume(isinstance(schedule, AnyOf))
    assert isinstance(schedule, AnyOf)
    plain = AnyOf(schedule.schedules, zone=schedule.zone, start=schedule.start, gap=schedule.gap, fold=schedule.fold)
    past, until = Past(anchor=after), after + timedelta(hours=days)
    listed = list(islice(iterate(plain, after, past, until=until), 4_000))
    assume(len(listed) < 4_000)
    assert listed == fires_of_parts(plain, after, until, past)
    assert count(plain, after, until, past) == len(listed)
    assert all(earlier < later for earlier, later in pairwise(listed))
    bounds = [to_instant(after), to_instant(after + (until - after) / 3), to_instant(until)]
    assert sum(count_each(plain, bounds, past)) == len(listed)


@settings(max_examples=sized(60, soak=1_000), deadline=None)
@given(with_zone, instants, st.integers(1, 12), st.integers(0, 12))
def test_repeats_count_occurrences_of_the_whole_list(
    schedule: Schedule | None, after: datetime, repeat: int, counted: int
) -> None:
    assume(isinstance(schedule, AnyOf))
    assert isinstance(schedule, AnyOf)
    endless = AnyOf(schedule.schedules, zone=schedule.zone)
    limited = AnyOf(schedule.schedules, zone=schedule.zone, repeat=repeat)
    left = max(0, repeat - counted)
    expected = list(islice(iterate(endless, after, Past(after)), left))
    assert list(iterate(limited, after, Past(after, counted))) == expected
    if expected:
        assert count(limited, after, expected[-1], Past(after, counted)) == len(expected)
    assert (next(limited, after, Past(after, counted)) is None) == (not expected)


@settings(max_examples=sized(60, soak=1_000), deadline=None)
@given(with_zone, instants)
def test_first_occurrence_is_the_earliest_first_one(schedule: Schedule | None, created: datetime) -> None:
    assume(isinstance(schedule, AnyOf))
    assert isinstance(schedule, AnyOf)
    past = Past(anchor=created)
    expected = min((each for part in schedule.parts if (each := first(part, past))), default=None)
    assert first(schedule, past) == expected


# --- merged tables ---------------------------------------------------------------------------------------------------


def test_weekly_schedules_of_one_zone_are_one_table() -> None:
    schedule = AnyOf((WEEKDAYS, SATURDAY, Cron("30 * * * *")), zone="Europe/Berlin")
    rule = schedule.rule(schedule.setting(), Past(MORNING))
    assert isinstance(rule, UnionRule)
    assert len(rule.rules) == 2, "the pinned ones share a table, the flowing cron has its own"


@pytest.mark.parametrize("seconds", [(1, 2), (2, 3), (300, 420), (1, 3600), (7, 11, 13), (60, 61)])
def test_intervals_are_counted_without_listing_them(seconds: tuple[int, ...]) -> None:
    schedule = AnyOf(tuple(Every(timedelta(seconds=each)) for each in seconds), zone="UTC")
    past = Past(MORNING)
    for hours in (0.01, 0.5, 2):
        until = MORNING + timedelta(hours=hours)
        assert count(schedule, MORNING, until, past) == len(list(iterate(schedule, MORNING, past, until=until)))


def test_a_century_of_two_dense_intervals_is_counted_by_arithmetic(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = AnyOf((Every(timedelta(seconds=1)), Every(timedelta(seconds=2))), zone="UTC")

    def fail(*_: object) -> Any:
        raise AssertionError("listed")

    monkeypatch.setattr("horae.schedule.union_rule._count_shared", fail)
    assert count(schedule, MORNING, MORNING + 36_500 * DAY, Past(MORNING)) == 36_500 * 86_400


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((Every(timedelta(seconds=1)), SATURDAY), 365 * 86_400),
        ((Every(timedelta(seconds=1)), Cron("* * * * * *")), 365 * 86_400),
        ((Every(timedelta(minutes=1)), Cron("*/5 * * * *"), Cron("30 2 * * *")), 365 * 1440),
        ((Every(timedelta(seconds=40)), Cron("* * * * *")), 365 * 1440 * 2),
    ],
)
def test_a_year_of_unlike_clocks_is_counted_by_their_common_period(
    parts: tuple[Schedule, ...], expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule, begin = AnyOf(parts, zone="Europe/Berlin"), MORNING.replace(minute=0)
    listed = []

    def note(rule: Any, others: list[Any], after: int, until: int) -> int:
        listed.append(rule.count(after, until))
        return list_shared(rule, others, after, until)

    list_shared = union_rule._list_shared
    monkeypatch.setattr(union_rule, "_list_shared", note)
    assert count(schedule, begin, begin + 365 * DAY, Past(begin - DAY)) == expected
    assert sum(listed) < 20_000, "a fraction of what was counted"


def test_a_step_of_a_listing_advances_only_what_fired() -> None:
    asked: list[int] = []

    class Rare:
        def after(self, instant: int) -> int | None:
            asked.append(instant)
            return None if instant >= 1_000_000 else 1_000_000

        def count(self, after: int, until: int) -> int | None:
            raise NotImplementedError

    class Often:
        def after(self, instant: int) -> int | None:
            return instant + 1

        def count(self, after: int, until: int) -> int | None:
            raise NotImplementedError

    assert list(islice(UnionRule([Rare(), Often()]).iterate(0), 500)) == list(range(1, 501))
    assert len(asked) == 1


# --- clock changes ---------------------------------------------------------------------------------------------------


def test_gap_and_fold_apply_to_each_schedule() -> None:
    """Berlin: 02:30 does not exist on 2026-03-29, and is twice on 2026-10-25."""
    schedule = AnyOf(
        (
            Calendar(at=(time(2, 30),), gap="shift", fold="both"),
            Calendar(at=(time(2, 45),), gap="skip", fold="last"),
        ),
        zone="Europe/Berlin",
    )
    spring = datetime(2026, 3, 29, tzinfo=UTC)
    autumn = datetime(2026, 10, 24, 23, tzinfo=UTC)
    assert list(iterate(schedule, spring, Past(spring), until=spring + timedelta(hours=12))) == [
        datetime(2026, 3, 29, 1, 30, tzinfo=UTC)
    ]
    assert list(iterate(schedule, autumn, Past(autumn), until=autumn + timedelta(hours=12))) == [
        datetime(2026, 10, 25, 0, 30, tzinfo=UTC),
        datetime(2026, 10, 25, 1, 30, tzinfo=UTC),
        datetime(2026, 10, 25, 1, 45, tzinfo=UTC),
    ]


def test_replacements_at_the_end_of_a_gap_are_one_occurrence() -> None:
    schedule = AnyOf((Calendar(at=(time(2, 15),)), Calendar(at=(time(2, 45),))), zone="Europe/Berlin")
    spring = datetime(2026, 3, 29, tzinfo=UTC)
    assert list(iterate(schedule, spring, Past(spring), until=spring + timedelta(hours=12))) == [
        datetime(2026, 3, 29, 1, tzinfo=UTC)
    ]


def test_each_schedule_may_have_its_own_zone() -> None:
    schedule = AnyOf(
        (Calendar(at=(time(9),), zone="Europe/London"), Calendar(at=(time(9),), zone="America/New_York")), zone="UTC"
    )
    assert list(iterate(schedule, MORNING, Past(MORNING), until=MORNING + DAY)) == [
        datetime(2026, 11, 18, 9, tzinfo=UTC),
        datetime(2026, 11, 18, 14, tzinfo=UTC),
    ]


# --- modifiers of the list -------------------------------------------------------------------------------------------


def test_window_applies_to_the_list_and_anchors_its_schedules() -> None:
    schedule = AnyOf(
        (Every(timedelta(hours=6)), Calendar(at=(time(7),))),
        zone="UTC",
        start=datetime(2026, 11, 20, 1),
        end=date(2026, 11, 20),
    )
    fires = list(iterate(schedule, MORNING, Past(MORNING)))
    assert [each.hour for each in fires] == [1, 7, 13, 19]
    assert {each.day for each in fires} == {20}
    assert first(schedule, Past(MORNING)) == fires[0]


def test_jitter_never_passes_the_next_occurrence_of_the_list() -> None:
    schedule = AnyOf((Calendar(at=(time(9),)), Calendar(at=(time(9, 1),))), zone="UTC", jitter=timedelta(hours=1))
    planned = next(schedule, MORNING, Past(MORNING))
    assert planned is not None
    offsets = [due(schedule, planned, f"tsk_{number}", Past(MORNING)) - planned for number in range(50)]
    assert max(offsets) < timedelta(minutes=1)
    assert len(set(offsets)) > 40


def test_now_and_once_are_due_at_creation_beside_what_repeats() -> None:
    schedule = AnyOf((Now(), Calendar(at=(time(6),))), zone="UTC")
    assert first(schedule, Past(MORNING)) == MORNING
    assert next(schedule, MORNING, Past(MORNING)) == MORNING + DAY
    past_instant = AnyOf((Once(MORNING - DAY), Calendar(at=(time(6),))), zone="UTC")
    assert first(past_instant, Past(MORNING)) == MORNING
    assert first(AnyOf((SATURDAY, Calendar(at=(time(6),))), zone="UTC"), Past(MORNING)) == MORNING + DAY, (
        "the instant of creation is no occurrence of a calendar"
    )


# --- normal form -----------------------------------------------------------------------------------------------------


def test_what_all_have_in_common_is_written_once() -> None:
    berlin = [Calendar(at=(time(hour),), zone="Europe/Berlin", gap="skip", fold="both") for hour in (9, 10)]
    schedule = AnyOf(tuple(berlin))
    assert (schedule.zone, schedule.gap, schedule.fold) == ("Europe/Berlin", "skip", "both")
    assert to_json(schedule) == {
        "kind": "any_of",
        "schedules": [
            {"kind": "calendar", "unit": "day", "every": 1, "at": ["09:00"]},
            {"kind": "calendar", "unit": "day", "every": 1, "at": ["10:00"]},
        ],
        "zone": "Europe/Berlin",
        "gap": "skip",
        "fold": "both",
    }
    assert AnyOf((berlin[0], Calendar(at=(time(10),))), zone="Europe/Berlin", gap="skip", fold="both") == schedule


def test_default_zone_is_that_of_schedules_without_one() -> None:
    schedule = AnyOf((Calendar(at=(time(9),)), Calendar(at=(time(9),), zone="Asia/Tokyo"))).with_defaults(
        "Europe/Berlin"
    )
    assert [part.zone for part in schedule.parts] == ["Europe/Berlin", "Asia/Tokyo"]


def test_same_schedule_twice_is_kept_once_and_a_list_of_one_is_that_schedule() -> None:
    assert AnyOf((WEEKDAYS, SATURDAY, WEEKDAYS)).schedules == (WEEKDAYS, SATURDAY)
    assert make_any_of([WEEKDAYS, WEEKDAYS], zone="UTC", repeat=3) == Calendar(
        unit="week", on=(0, 1, 2, 3, 4), at=(time(9),), zone="UTC", repeat=3
    )
    assert from_json({"kind": "any_of", "schedules": [to_json(SATURDAY)], "zone": "UTC"}) == SATURDAY.with_defaults(
        "UTC"
    )
    with pytest.raises(horae.InvalidSchedule) as refusal:
        AnyOf((SATURDAY, SATURDAY))
    assert refusal.value.code == "list_of_one"


def test_list_value_in_a_list_is_flattened() -> None:
    inner = AnyOf((WEEKDAYS, SATURDAY), zone="Asia/Tokyo")
    outer = AnyOf((inner, Cron("0 12 * * *")), zone="UTC")
    assert [(part.kind, part.zone) for part in outer.schedules] == [
        ("calendar", "Asia/Tokyo"),
        ("calendar", "Asia/Tokyo"),
        ("cron", None),
    ]


# --- refusals --------------------------------------------------------------------------------------------------------

DAILY = {"kind": "calendar", "at": ["09:00"]}


@pytest.mark.parametrize(
    ("mapping", "code", "pointer"),
    [
        ({"schedules": []}, "list_empty", None),
        ({"schedules": "every day at 9am"}, "bad_value", None),
        ({"schedules": [DAILY, 5]}, "bad_input", "/schedules/1"),
        ({"schedules": [DAILY, {"kind": "any_of", "schedules": [DAILY]}]}, "list_nested", "/schedules/1"),
        ({"schedules": [DAILY, [DAILY]]}, "list_nested", "/schedules/1"),
        ({"schedules": [DAILY, DAILY, {"kind": "cron", "expression": "0 25 * * *"}]}, "out_of_range", "/schedules/2"),
        ({"schedules": [DAILY, {"kind": "every", "interval": "PT5M", "from": "end"}]}, "list_from_end", "/schedules/1"),
        ({"schedules": [DAILY, {**DAILY, "repeat": 3}]}, "list_modifier", "/schedules/1"),
        ({"schedules": [DAILY, {**DAILY, "counting": "planned"}]}, "list_modifier", "/schedules/1"),
        ({"schedules": [{**DAILY, "at": [f"09:{each:02}"]} for each in range(17)]}, "list_too_long", None),
    ],
)
def test_list_that_cannot_be_is_refused_with_its_place(mapping: dict[str, Any], code: str, pointer: str | None) -> None:
    with pytest.raises(horae.InvalidSchedule) as refusal:
        from_json({"kind": "any_of", **mapping})
    assert refusal.value.code == code
    assert refusal.value.facts.get("pointer") == pointer
    if pointer is not None:
        number = int(pointer.rpartition("/")[2]) + 1
        assert refusal.value.message.startswith(f"Schedule {number} of the list: ")
        assert refusal.value.in_language("zh").message.startswith(f"列表中的第 {number} 条：")


def test_sixteen_schedules_are_the_most() -> None:
    parts = tuple(Calendar(at=(time(9, each),)) for each in range(MAX_SCHEDULES))
    assert len(AnyOf(parts, zone="UTC").schedules) == 16


def test_rule_of_a_list_is_cached_and_follows_the_anchor_only_where_it_matters() -> None:
    fixed = AnyOf((WEEKDAYS, Cron("0 12 * * *")), zone="UTC")
    assert fixed.rule(fixed.setting(), Past(MORNING)) is fixed.rule(fixed.setting(), Past(MORNING + DAY))
    anchored = AnyOf((WEEKDAYS, Every(timedelta(hours=1))), zone="UTC")
    assert next(anchored, MORNING, Past(MORNING - timedelta(minutes=10))) == MORNING + timedelta(minutes=50)
    assert next(anchored, MORNING, Past(MORNING - timedelta(minutes=20))) == MORNING + timedelta(minutes=40)


def test_recurrence_rule_keeps_its_gap_and_counts_from_the_start_of_the_list() -> None:
    rule = RRule("FREQ=DAILY;COUNT=2;BYHOUR=9;BYMINUTE=0;BYSECOND=0")
    schedule = AnyOf((rule, SATURDAY), zone="UTC", gap="next", start=date(2026, 11, 18))
    assert schedule.parts[0].gap == "skip"
    assert schedule.parts[1].gap == "next"
    assert [each.day for each in islice(iterate(schedule, MORNING - DAY, Past(MORNING - 9 * DAY)), 4)] == [
        18,
        19,
        21,
        28,
    ]
