"""NanoClaw spellings: meaning, fires, round trips."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from horae import InvalidSchedule
from horae.schedule import Calendar, Cron, Every, Now, Once, Past, first, iterate
from horae.schedule import next as next_of
from horae.schedule.compat import Translation, nanoclaw

BERLIN = "Europe/Berlin"
SHANGHAI = "Asia/Shanghai"


def instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def spelled(kind: str, value: Any) -> dict[str, Any]:
    return {"schedule_type": kind, "schedule_value": value}


@pytest.mark.parametrize(
    ("value", "zone", "after", "fires"),
    [
        # a Friday, 10:00 in Shanghai: Monday is next
        ("0 9 * * 1-5", SHANGHAI, "2026-02-27T02:00Z", ["2026-03-02T01:00Z", "2026-03-03T01:00Z"]),
        # in cron, months without a 31st have none: nothing is clamped
        ("0 9 31 * *", BERLIN, "2026-01-31T08:00Z", ["2026-03-31T07:00Z", "2026-05-31T07:00Z"]),
        # 02:30 does not exist on 29 March, and comes twice on 25 October
        ("30 2 * * *", BERLIN, "2026-03-28T12:00Z", ["2026-03-29T01:00Z", "2026-03-30T00:30Z"]),
        ("30 2 * * *", BERLIN, "2026-10-24T12:00Z", ["2026-10-25T00:30Z", "2026-10-26T01:30Z"]),
        ("@daily", SHANGHAI, "2026-02-27T02:00Z", ["2026-02-27T16:00Z"]),
    ],
)
def test_cron_fires_in_the_zone_of_the_installation(value: str, zone: str, after: str, fires: list[str]) -> None:
    schedule = nanoclaw.read(spelled("cron", value), zone=zone).schedule
    past = Past(anchor=instant(after))

    found = [each for _, each in zip(fires, iterate(schedule, past.anchor, past), strict=False)]

    assert found == [instant(each) for each in fires]


@pytest.mark.parametrize("value", ["3600000", 3600000, 3600000.0, " 3600000 ", "+3600000"])
def test_an_interval_counts_from_the_end_of_a_run(value: Any) -> None:
    schedule = nanoclaw.read(spelled("interval", value), zone=SHANGHAI).schedule
    created = Past(anchor=instant("2026-02-24T09:00Z"))

    assert schedule == Every(timedelta(hours=1), "end")
    assert first(schedule, created) == instant("2026-02-24T10:00Z")
    ended = replace(created, last_end=instant("2026-02-24T10:05Z"))
    assert next_of(schedule, instant("2026-02-24T10:05Z"), ended) == instant("2026-02-24T11:05Z")


@pytest.mark.parametrize(
    ("value", "zone", "fires", "notes"),
    [
        ("2026-03-01T15:00:00", SHANGHAI, "2026-03-01T07:00Z", ["compat_once_local"]),
        ("2026-02-03T15:30:00Z", SHANGHAI, "2026-02-03T15:30Z", ["compat_once_instant"]),
        ("2026-02-03T15:30:00.250+08:00", BERLIN, "2026-02-03T07:30:00.250Z", ["compat_once_instant"]),
        ("2026-03-29T02:30:00", BERLIN, "2026-03-29T01:00Z", ["compat_once_local", "compat_gap"]),
        ("2026-10-25T02:30:00", BERLIN, "2026-10-25T00:30Z", ["compat_once_local", "compat_fold"]),
        ("2026-02-28T23:59:59", BERLIN, "2026-02-28T22:59:59Z", ["compat_once_local"]),
    ],
)
def test_once_is_understood_with_and_without_a_suffix(value: str, zone: str, fires: str, notes: list[str]) -> None:
    read = nanoclaw.read(spelled("once", value), zone=zone)

    assert first(read.schedule, Past(anchor=instant("2026-01-01T00:00Z"))) == instant(fires)
    assert [each.code for each in read.notes] == notes


def test_note_explains_the_reading_in_both_languages() -> None:
    (note,) = nanoclaw.read(spelled("once", "2026-03-01T15:00:00"), zone=SHANGHAI).notes

    assert (
        note.english == "Understood as local time: 2026-03-01 15:00:00 in Asia/Shanghai, which is 2026-03-01T07:00:00Z."
    )
    assert note.chinese == "按当地时间理解：Asia/Shanghai 的 2026-03-01 15:00:00，即 2026-03-01T07:00:00Z。"


def test_a_time_that_has_passed_is_due_at_creation() -> None:
    created = Past(anchor=instant("2026-04-01T00:00Z"))

    assert (
        first(nanoclaw.read(spelled("once", "2026-03-01T15:00:00"), zone=SHANGHAI).schedule, created) == created.anchor
    )


@pytest.mark.parametrize(
    ("mapping", "code"),
    [
        ({}, "compat_missing"),
        ({"schedule_type": "cron"}, "compat_missing"),
        ({"schedule_type": "weekly", "schedule_value": "1"}, "compat_unknown_choice"),
        ({"schedule_type": ["cron"], "schedule_value": "1"}, "compat_unknown_choice"),
        (spelled("cron", 5), "compat_not_text"),
        (spelled("cron", "0 0 30 2 *"), "never"),
        (spelled("cron", ""), "empty"),
        (spelled("cron", "* " * 600), "too_long"),
        (spelled("interval", "0"), "compat_bad_milliseconds"),
        (spelled("interval", -5), "compat_bad_milliseconds"),
        (spelled("interval", "1e6"), "compat_bad_milliseconds"),
        (spelled("interval", "3600000ms"), "compat_bad_milliseconds"),
        (spelled("interval", 1.5), "compat_bad_milliseconds"),
        (spelled("interval", float("nan")), "compat_bad_milliseconds"),
        ({"schedule_type": "interval", "schedule_value": True}, "compat_bad_milliseconds"),
        (spelled("interval", 10**5000), "compat_bad_milliseconds"),
        (spelled("interval", "9" * 18), "compat_bad_milliseconds"),
        (spelled("once", "2026-03-01"), "compat_not_a_time"),
        (spelled("once", "tomorrow"), "compat_not_a_time"),
        (spelled("once", "2026-02-30T10:00:00"), "compat_not_a_time"),
        (spelled("once", 1772348400000), "compat_not_text"),
        ("cron", "compat_not_a_mapping"),
    ],
)
def test_invalid_input_is_refused_with_a_code_and_a_hint(mapping: Any, code: str) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        nanoclaw.read(mapping, zone=SHANGHAI)

    assert refused.value.code == code
    assert refused.value.hint
    assert refused.value.in_language("zh").hint


def test_a_day_that_a_zone_never_had_is_refused() -> None:
    with pytest.raises(InvalidSchedule, match="never"):
        nanoclaw.read(spelled("once", "2011-12-30T12:00:00"), zone="Pacific/Apia")


def test_the_rest_of_the_message_belongs_to_others() -> None:
    message = {"prompt": "news", "context_mode": "group", "targetJid": object(), **spelled("interval", "60000")}

    assert nanoclaw.write(nanoclaw.read(message, zone=SHANGHAI), zone=SHANGHAI) == spelled("interval", "60000")


ZONES = st.sampled_from([BERLIN, SHANGHAI, "UTC", "America/New_York"])
MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2200, 1, 1))
EXPRESSIONS = st.sampled_from(["0 9 * * *", "0 9 * * MON-fri", " */5  * * * * ", "@hourly", "30 0 9 L * *"])
INTERVALS = st.integers(1, 10**12)
SPELLINGS = st.one_of(
    st.builds(spelled, st.just("cron"), EXPRESSIONS),
    st.builds(spelled, st.just("interval"), INTERVALS | INTERVALS.map(str) | INTERVALS.map(" {:+d} ".format)),
    st.builds(
        lambda at, timespec, suffix: spelled("once", at.isoformat(timespec=timespec) + suffix),
        MOMENTS,
        st.sampled_from(["minutes", "seconds", "milliseconds", "microseconds"]),
        st.sampled_from(["", "Z", "+08:00", "-0330"]),
    ),
)


@given(SPELLINGS, ZONES)
def test_round_trip_loses_nothing(mapping: dict[str, Any], zone: str) -> None:
    read = nanoclaw.read(mapping, zone=zone)

    assert repr(nanoclaw.write(read, zone=zone)) == repr(mapping)
    # and when the spelling is forgotten, the meaning still comes through
    again = nanoclaw.read(nanoclaw.write(Translation(read.schedule, read.policies), zone=zone), zone=zone)
    assert (again.schedule, again.policies) == (read.schedule, read.policies)


@given(
    st.one_of(
        st.builds(Cron, EXPRESSIONS),
        st.builds(lambda length: Every(timedelta(milliseconds=length), "end"), INTERVALS),
        st.builds(Once, MOMENTS | MOMENTS.map(lambda at: at.replace(tzinfo=UTC))),
    ),
    ZONES,
)
def test_every_expressible_schedule_round_trips(schedule: Cron | Every | Once, zone: str) -> None:
    found = nanoclaw.read(nanoclaw.write(Translation(schedule), zone=zone), zone=zone).schedule

    assert found.with_defaults(zone) == schedule.with_defaults(zone)


@pytest.mark.parametrize(
    ("translation", "code", "told"),
    [
        (Translation(Now()), "compat_no_kind", "now"),
        (Translation(Calendar(unit="day", at=(datetime(2026, 1, 1, 9).time(),))), "compat_no_kind", "calendar"),
        (Translation(Cron("0 9 * * *", zone="Asia/Tokyo")), "compat_lost", "zone"),
        (Translation(Cron("0 9 * * *", repeat=3)), "compat_lost", "repeat"),
        (Translation(Every(timedelta(hours=1))), "compat_lost", "from"),
        (Translation(Every(timedelta(microseconds=1500), "end")), "compat_lost", "interval"),
        (Translation(Every(timedelta(hours=1), "end", jitter=timedelta(seconds=5))), "compat_lost", "jitter"),
        (Translation(Every(timedelta(hours=1), "end"), {"overlap": "queue"}), "compat_lost", "overlap"),
        (Translation(Every(timedelta(hours=1), "end"), state={"counted": 3}), "compat_lost", "counted"),
    ],
)
def test_inexpressible_schedule_is_refused_by_name(translation: Translation, code: str, told: str) -> None:
    with pytest.raises(InvalidSchedule) as refused:
        nanoclaw.write(translation, zone=SHANGHAI)

    assert refused.value.code == code
    assert told in refused.value.message
