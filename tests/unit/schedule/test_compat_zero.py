"""Zero plans: every type, counters and skips, fires, round trips."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae import InvalidSchedule
from horae.schedule import Calendar, Cron, Every, Now, Once, Past, Schedule, first, iterate
from horae.schedule import next as next_of
from horae.schedule.compat import Translation, zero

BERLIN = "Europe/Berlin"
NOW = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)  # a Sunday
RETRY = {
    "attempts": 4,
    "backoff": "PT1S",
    "factor": 1,
    "max": "PT1S",
    "jitter": "none",
    "superseded_by_next": False,
}
SKIPPING = {"missed": {"policy": "skip"}, "overlap": "skip", "retry": RETRY, "give_up_after": 1}
KEEPING = SKIPPING | {"missed": {"policy": "all", "within": None}, "overlap": "queue_all"}


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def unix(text: str) -> int:
    return int(instant(text).timestamp())


def plan(kind: Any, value: Any = 0, repet: Any = -1, **fields: Any) -> dict[str, Any]:
    return {"plan_type": kind, "plan_value": value, "plan_repet": repet, **fields}


def fires(schedule: Schedule, past: Past, many: int) -> list[datetime]:
    return [each for _, each in zip(range(many), iterate(schedule, past.anchor, past), strict=False)]


@pytest.mark.parametrize(
    ("mapping", "schedule"),
    [
        (plan("none"), Now()),
        (plan(0), Now()),
        (plan("time", plan_time=unix("2026-04-01T00:00Z")), Once(instant("2026-04-01T00:00Z"))),
        (plan(2, 5), Every(timedelta(seconds=5))),
        (plan("minute", "5", "3"), Every(timedelta(minutes=5), repeat=3, counting="planned")),
        (plan("HOUR", 32767.0), Every(timedelta(hours=32767))),
        (plan("day", 1, 0), Every(timedelta(days=1), repeat=1, counting="planned")),
        (plan(5, 1, plan_time=unix("2026-04-01T00:00Z")), Every(timedelta(days=1), start=instant("2026-04-02T00:00Z"))),
        (plan("week", 0, plan_time=9 * 3600), Calendar(unit="week", on=(6,), at=(time(9),), zone="UTC")),
        (plan("week", 6, plan_time=9 * 3600), Calendar(unit="week", on=(5,), at=(time(9),), zone="UTC")),
        (plan("week", 1), Calendar(unit="week", on=(0,), at=(time(12, 0, 30),), zone="UTC")),
        (plan("month", 31, plan_time=1), Calendar(unit="month", on=(31,), at=(time(0, 0, 1),), zone="UTC")),
        (plan("month", 0, plan_time=1), Calendar(unit="month", on=(-1,), at=(time(0, 0, 1),), zone="UTC")),
        (plan("month", -1, plan_time=1), Calendar(unit="month", on=(-2,), at=(time(0, 0, 1),), zone="UTC")),
        (plan(7, -31, plan_time=1), Calendar(unit="month", on=(-31,), at=(time(0, 0, 1),), zone="UTC")),
    ],
)
def test_every_plan_type_has_its_schedule(mapping: dict[str, Any], schedule: Schedule) -> None:
    assert zero.read(mapping, now=NOW).schedule == schedule


@pytest.mark.parametrize(
    ("mapping", "zone", "expected"),
    [
        # the first run comes a delay after plan_time, or after the receipt
        (plan("hour", 2), "UTC", ["2026-03-01T14:00:30Z", "2026-03-01T16:00:30Z"]),
        (plan("hour", 2, plan_time=unix("2026-03-01T18:00Z")), "UTC", ["2026-03-01T20:00Z", "2026-03-01T22:00Z"]),
        # a Sunday at noon has just passed: the next is a week away, and a clock change moves it in UTC only
        (plan("week", 0, plan_time=unix("2026-01-01T12:00Z")), "UTC", ["2026-03-08T12:00Z", "2026-03-15T12:00Z"]),
        (
            plan("week", 0, plan_time=unix("2026-01-01T08:00Z")),
            BERLIN,
            ["2026-03-08T08:00Z", "2026-03-15T08:00Z", "2026-03-22T08:00Z", "2026-03-29T07:00Z"],
        ),
        (
            plan("week", 0, plan_time=unix("2026-01-01T01:30Z")),
            BERLIN,
            ["2026-03-08T01:30Z", "2026-03-15T01:30Z", "2026-03-22T01:30Z", "2026-03-29T01:00Z"],
        ),
        # month ends
        (
            plan("month", 31, plan_time=unix("2026-01-01T09:00Z")),
            "UTC",
            ["2026-03-31T09:00Z", "2026-04-30T09:00Z", "2026-05-31T09:00Z"],
        ),
        (plan("month", 0, plan_time=unix("2026-01-01T09:00Z")), BERLIN, ["2026-03-31T08:00Z", "2026-04-30T08:00Z"]),
        (plan("month", -1, plan_time=unix("2026-01-01T09:00Z")), "UTC", ["2026-03-30T09:00Z", "2026-04-29T09:00Z"]),
        (plan("month", -29, plan_time=unix("2026-01-01T09:00Z")), "UTC", ["2026-03-02T09:00Z", "2026-04-01T09:00Z"]),
        (plan("month", -31, plan_time=unix("2026-01-01T09:00Z")), "UTC", ["2026-04-01T09:00Z", "2026-05-01T09:00Z"]),
        (plan("month", 5, 1, plan_time=unix("2026-01-01T09:00Z")), "UTC", ["2026-03-05T09:00Z"]),
    ],
)
def test_plans_fire_when_they_should(mapping: dict[str, Any], zone: str, expected: list[str]) -> None:
    schedule = zero.read(mapping, now=NOW, zone=zone).schedule
    past = Past(anchor=NOW)

    assert fires(schedule, past, len(expected)) == [instant(each) for each in expected]
    assert first(schedule, past) == instant(expected[0])


@pytest.mark.parametrize("mapping", [plan("none"), plan("time"), plan("time", plan_time=-5)])
def test_plan_without_a_time_runs_at_once(mapping: dict[str, Any]) -> None:
    assert first(zero.read(mapping, now=NOW).schedule, Past(anchor=NOW)) == NOW


def test_a_time_that_has_passed_runs_only_with_no_keep() -> None:
    passed = plan("time", plan_time=unix("2026-02-01T00:00Z"))
    kept = zero.read(passed | {"no_keep": True}, now=NOW)
    dropped = zero.read(passed, now=NOW)

    assert first(kept.schedule, Past(anchor=NOW)) == NOW
    assert first(dropped.schedule, Past(anchor=NOW)) is None
    assert [each.code for each in dropped.notes] == ["compat_time_passed"]
    assert zero.write(replace(dropped, original=None)) == passed | {"plan_repet": 1, "no_keep": False, "skip_set": 0}


def test_planned_times_that_have_passed_count_unless_they_are_kept() -> None:
    begun = plan("hour", 1, 5, plan_time=unix("2026-03-01T09:30Z"))
    dropped = zero.read(begun, now=NOW)
    kept = zero.read(begun | {"no_keep": True}, now=NOW)
    over = zero.read(begun | {"plan_time": unix("2026-02-01T00:00Z")}, now=NOW)

    assert dropped.state == {"counted": 2, "skipped": 2}
    past = Past(anchor=NOW, counted=dropped.state["counted"])
    assert fires(dropped.schedule, past, 9) == [instant(f"2026-03-01T{hour}:30Z") for hour in (12, 13, 14)]
    assert [each.code for each in dropped.notes] == ["compat_past_skipped"]
    assert over.state == {"counted": 5, "skipped": 5}
    assert next_of(over.schedule, NOW, Past(anchor=NOW, counted=5)) is None
    assert kept.state == {}
    assert [each.code for each in kept.notes] == ["compat_past_kept"]
    assert "2 planned times have passed" in kept.notes[0].english
    assert "2026-03-01T10:30:00Z" in kept.notes[0].english


@pytest.mark.parametrize(
    ("fields", "policies", "state", "notes"),
    [
        ({}, SKIPPING, {}, []),
        ({"no_keep": False}, SKIPPING, {}, []),
        ({"no_keep": True}, KEEPING, {}, []),
        ({"no_skip": 1}, KEEPING, {}, []),
        ({"no_skip": "true", "no_keep": True}, KEEPING, {}, []),
        ({"skip_set": 0, "skip_num": 2, "real_repet": 7}, SKIPPING, {"counted": 7, "skipped": 2}, []),
        ({"skip_set": 3}, SKIPPING | {"skip_next": 3}, {}, ["compat_skipping"]),
        ({"skip_set": 3, "skip_num": 1}, SKIPPING | {"skip_next": 2}, {"skipped": 1}, ["compat_skipping"]),
        ({"skip_set": 3, "skip_num": 3}, SKIPPING, {"skipped": 3}, []),
        (
            {"skip_set": -1, "skip_num": 4},
            SKIPPING | {"paused": {"counting": True}},
            {"skipped": 4},
            ["compat_paused_counting"],
        ),
        ({"skip_set": -2, "skip_num": 2}, SKIPPING, {"retrying": 2}, ["compat_retrying"]),
        ({"plan_repet": 0}, SKIPPING, {}, ["compat_runs_once"]),
    ],
)
def test_keeping_skipping_pausing_and_retrying(
    fields: dict[str, Any], policies: dict[str, Any], state: dict[str, int], notes: list[str]
) -> None:
    read = zero.read(plan("hour", 1) | fields, now=NOW)

    assert read.policies == policies
    assert read.state == state
    assert [each.code for each in read.notes] == notes


@pytest.mark.parametrize(
    ("mapping", "code"),
    [
        ({}, "compat_missing"),
        (plan("year", 1), "compat_unknown_choice"),
        (plan(8, 1), "compat_unknown_choice"),
        ({"plan_type": True, "plan_value": 1}, "compat_unknown_choice"),
        (plan([], 1), "compat_unknown_choice"),
        ({"plan_type": "hour"}, "compat_missing"),
        *[(plan(kind, 0), "compat_out_of_range") for kind in ("second", "minute", "hour", "day")],
        (plan("hour", 32768), "compat_out_of_range"),
        (plan("hour", -1), "compat_out_of_range"),
        (plan("hour", 1.5), "compat_not_whole"),
        (plan("hour", float("inf")), "compat_not_whole"),
        (plan("week", 7), "compat_out_of_range"),
        (plan("week", -1), "compat_out_of_range"),
        (plan("month", 32), "compat_out_of_range"),
        (plan("month", -32), "compat_out_of_range"),
        (plan("hour", 1, -2), "compat_out_of_range"),
        (plan("hour", 1, 2**31 - 1), "bad_repeat"),
        (plan("hour", 1, skip_set=-3), "compat_out_of_range"),
        (plan("hour", 1, 3, skip_set=3), "compat_skip_all"),
        (plan("hour", 1, 0, skip_set=1), "compat_skip_all"),
        (plan("time", plan_time=1, skip_set=1), "compat_skip_all"),
        (plan("hour", 1, no_keep=True, no_skip=False), "compat_conflict"),
        (plan("hour", 1, no_keep=2), "compat_not_flag"),
        (plan("hour", 1, no_keep=10**5000), "compat_not_flag"),
        (plan("hour", 1, plan_time=10**12), "compat_out_of_range"),
        (plan("hour", 1, plan_time="2026-03-01"), "compat_not_whole"),
        (plan("hour", 1, real_repet=-1), "compat_out_of_range"),
        (plan("none", plan_value="x"), "compat_not_whole"),
        (b"plan", "compat_not_a_mapping"),
    ],
)
def test_invalid_input_is_refused(mapping: Any, code: str) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        zero.read(mapping, now=NOW)

    assert refused.value.code == code


def test_the_moment_of_receipt_is_an_instant() -> None:
    with pytest.raises(InvalidSchedule) as refused:
        zero.read(plan("hour", 1), now=NOW.replace(tzinfo=None))

    assert refused.value.code == "naive_instant"


def test_programs_may_have_their_numbers() -> None:
    assert zero.write(Translation(Every(timedelta(hours=36))), numbers=True)["plan_type"] == 4
    assert zero.write(Translation(Every(timedelta(hours=36))))["plan_type"] == "hour"


NAMES = ("none", "time", "second", "minute", "hour", "day", "week", "month")
ZONES = st.sampled_from(["UTC", BERLIN, "Asia/Kolkata", "America/New_York"])
NOWS = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
VALUES = {"week": st.integers(0, 6), "month": st.integers(-31, 31)} | dict.fromkeys(
    ("second", "minute", "hour", "day"), st.integers(1, 32767)
)


def written_as(number: int) -> st.SearchStrategy[Any]:
    return st.sampled_from([number, str(number), f" {number:+d}", float(number)])


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Any]:
    number = draw(st.integers(0, 7))
    name = NAMES[number]
    value = draw(VALUES.get(name, st.integers(-9, 9)))
    mapping: dict[str, Any] = {"plan_type": draw(st.sampled_from([number, str(number), name, name.upper()]))}
    mapping["plan_value"] = draw(written_as(value))
    repet = draw(st.sampled_from([-1, 0, 1, 5, 10**9]))
    single = number < 2 or repet == 0
    skips = st.integers(-2, 0 if single else repet - 1 if repet > 0 else 100)
    optional: dict[str, st.SearchStrategy[Any]] = {
        "plan_repet": written_as(repet),
        "plan_time": st.integers(-5, 5_000_000_000).flatmap(written_as),
        "no_keep": st.just(value=True) | st.sampled_from([1, "True"]),
        "skip_set": skips,
        "real_repet": st.integers(0, 9),
        "skip_num": st.integers(0, 9),
    }
    chosen = draw(st.sets(st.sampled_from(sorted(optional))) | st.just(set(optional)))
    if "plan_repet" not in chosen:
        chosen -= {"skip_set"}
    spelled = {key: draw(optional[key]) for key in sorted(chosen)}
    if "no_keep" in spelled and draw(st.booleans()):
        spelled["no_skip"] = spelled["no_keep"]
    return mapping | spelled


@given(plans(), NOWS, ZONES)
def test_round_trip_loses_nothing(mapping: dict[str, Any], now: datetime, zone: str) -> None:
    read = zero.read(mapping, now=now, zone=zone)
    back = zero.write(read, zone=zone)

    assert {key: repr(value) for key, value in back.items()} == {key: repr(value) for key, value in mapping.items()}
    plain = zero.write(replace(read, original=None), zone=zone)
    again = zero.read(plain, now=now, zone=zone)
    assert (again.schedule, again.policies, again.state) == (read.schedule, read.policies, read.state)


@st.composite
def expressible(draw: st.DrawFn) -> Schedule:
    repeat = draw(st.none() | st.integers(1, 10**9))
    limits: dict[str, Any] = {} if repeat is None else {"repeat": repeat, "counting": "planned"}
    at, zone = draw(st.times()).replace(microsecond=0), draw(ZONES)
    moment = draw(NOWS).replace(microsecond=0)
    match draw(st.sampled_from(["now", "once", "every", "week", "month"])):
        case "now":
            return Now()
        case "once":
            return Once(moment)
        case "every":
            unit = draw(st.sampled_from(["seconds", "minutes", "hours"]))
            interval = timedelta(**{unit: draw(st.integers(1, 32767))})
            return Every(interval, start=draw(st.none() | st.just(moment)), **limits)
        case "week":
            return Calendar(unit="week", on=(draw(st.integers(0, 6)),), at=(at,), zone=zone, **limits)
        case _:
            on = draw(st.integers(-31, 31).filter(bool))
            return Calendar(unit="month", on=(on,), at=(at,), zone=zone, **limits)


@given(expressible())
def test_every_expressible_schedule_round_trips(schedule: Schedule) -> None:
    zone = schedule.zone or "UTC"

    mapping = zero.write(Translation(schedule), zone=zone)

    assert zero.read(mapping, now=datetime(1980, 1, 1, tzinfo=UTC), zone=zone).schedule == schedule


NINE = (time(9),)


@pytest.mark.parametrize(
    ("translation", "code", "told"),
    [
        (Translation(Cron("0 9 * * *")), "compat_no_kind", "cron"),
        (Translation(Every(timedelta(hours=1), "end")), "compat_lost", "from"),
        (Translation(Every(timedelta(milliseconds=1500))), "compat_lost", "interval"),
        (Translation(Every(timedelta(seconds=32768))), "compat_out_of_range", "plan_value"),
        (Translation(Every(timedelta(hours=1), repeat=3)), "compat_lost", "counting"),
        (Translation(Every(timedelta(days=1), start=datetime(1970, 1, 1, 9, tzinfo=UTC))), "compat_lost", "start"),
        (Translation(Every(timedelta(days=1), start=datetime(2026, 1, 1, 9))), "compat_lost", "start"),
        (Translation(Once(datetime(2026, 1, 1, 9))), "compat_lost", "at"),
        (Translation(Once(NOW + timedelta(milliseconds=1))), "compat_lost", "at"),
        (Translation(Once(NOW, end=NOW + timedelta(hours=1))), "compat_lost", "end"),
        (Translation(Calendar(unit="day", at=NINE)), "compat_lost", "unit"),
        (Translation(Calendar(unit="week", on=(0, 2), at=NINE)), "compat_lost", "on"),
        (Translation(Calendar(unit="week", on=(0,), every=2, at=NINE)), "compat_lost", "every"),
        (Translation(Calendar(unit="week", on=(0,), at=(time(9), time(10)))), "compat_lost", "at"),
        (Translation(Calendar(unit="week", on=(0,), at=NINE, zone=BERLIN)), "compat_lost", "zone"),
        (Translation(Now(), {"missed": {"policy": "latest"}}), "compat_lost", "missed"),
        (Translation(Now(), {"paused": {"counting": False}}), "compat_lost", "paused"),
        (Translation(Now(), {"skip_next": "two"}), "compat_lost", "skip_next"),
        (
            Translation(Every(timedelta(hours=1)), {"paused": {"counting": True}, "skip_next": 2}),
            "compat_lost",
            "skip_next",
        ),
        (Translation(Every(timedelta(hours=1)), {"timeout": "PT5M"}), "compat_lost", "timeout"),
        (Translation(Every(timedelta(hours=1)), state={"unheard": 1}), "compat_lost", "unheard"),
    ],
)
def test_inexpressible_schedule_is_refused_by_name(translation: Translation, code: str, told: str) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        zero.write(translation)

    assert refused.value.code == code
    assert told in refused.value.message
