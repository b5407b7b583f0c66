"""Compatibility parsers accept or refuse any value; no other exception escapes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from horae import InvalidSchedule
from horae.schedule import from_json, to_json
from horae.schedule.compat import Translation, dailyuse, fun_ai_station, nanoclaw, zero
from horae.schedule.refusals import CATALOGUE

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
Read = Callable[[Any], Translation]
Write = Callable[[Translation], dict[str, Any]]

READERS: dict[str, tuple[Read, Write]] = {
    "nanoclaw": (lambda x: nanoclaw.read(x, zone="Europe/Berlin"), lambda t: nanoclaw.write(t, zone="Europe/Berlin")),
    "fun_ai_station": (fun_ai_station.read, fun_ai_station.write),
    "dailyuse": (lambda x: dailyuse.read(x, zone="Europe/Berlin"), lambda t: dailyuse.write(t, zone="Europe/Berlin")),
    "zero": (lambda x: zero.read(x, now=NOW), zero.write),
}
VALID: dict[str, list[dict[str, Any]]] = {
    "nanoclaw": [
        {"schedule_type": "cron", "schedule_value": "0 9 * * 1-5"},
        {"schedule_type": "interval", "schedule_value": "3600000"},
        {"schedule_type": "once", "schedule_value": "2026-03-01T15:00:00"},
    ],
    "fun_ai_station": [
        {
            "schedule_type": "cron",
            "schedule_expr": "0 9 * * *",
            "timezone": "UTC",
            "next_run_at": None,
            "enabled": True,
        },
        {"schedule_type": "interval", "schedule_expr": "60", "next_run_at": "2026-03-01T15:00:00"},
        {"schedule_type": "once", "next_run_at": "2026-03-01T15:00:00", "timezone": "Asia/Shanghai"},
    ],
    "dailyuse": [
        {"scheduledTime": "2026-03-01T15:00:00Z", "recurrence": {"type": kind, "interval": 1, **fields}}
        for kind, fields in (
            ("NONE", {}),
            ("DAILY", {"endDate": "2027-01-01", "maxOccurrences": 3}),
            ("WEEKLY", {"daysOfWeek": [1, 2]}),
            ("MONTHLY", {"dayOfMonth": 31}),
            ("YEARLY", {}),
            ("CUSTOM", {"cronExpression": "0 9 * * *"}),
        )
    ],
    "zero": [
        {
            "plan_type": kind,
            "plan_value": 1,
            "plan_repet": 9,
            "plan_time": 5,
            "no_keep": False,
            "skip_set": 1,
            "skip_num": 0,
        }
        for kind in ("second", "week", "month")
    ],
}


class Odd:
    """Nothing that JSON knows."""

    def __repr__(self) -> str:
        raise RuntimeError

    __str__ = __repr__


DEEP: list[Any] = []
for _ in range(5000):
    DEEP = [DEEP]
# Not even these can be shown; they are tried one by one, since a failing property would have to print them.
UNPRINTABLE = (Odd(), DEEP, 10**5000, -(10**5000), {"plan_type": DEEP}, [Odd()])

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.integers(),
    st.sampled_from([2**63, 10**4000, -(2**31), 0, -1, 1e308, 32767, 32768, 253402300799, 10**18]),
    st.text(max_size=40),
    st.binary(max_size=8),
    st.decimals(),
    st.dates(),
    st.datetimes(),
    st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=14)), timezone(-timedelta(hours=12))])),
    st.sampled_from([date.min, date.max, datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]),
    st.sampled_from([object(), 1j, {1, 2}, "\x00", "\ud800", "9" * 5000, "٣", "²", "{value}", Decimal("NaN")]),
    st.sampled_from(
        ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "9999-12-27T23:59:59", "2026-03-01T24:00:00"]
    ),
    st.sampled_from(
        ["cron", "interval", "once", "DAILY", "CUSTOM", "time", "month", "week", "UTC", "0 9 * * *", "@daily"]
    ),
)
KEYS = sorted(
    {key for mappings in VALID.values() for mapping in mappings for key in mapping} | {"type", "no_skip", "real_repet"}
)
JUNK = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5) | st.integers(), inner, max_size=4)
    ),
    max_leaves=8,
)


def outcome(read: Read, given_value: Any) -> Translation | InvalidSchedule:
    try:
        return read(given_value)
    except InvalidSchedule as refusal:
        return refusal


def check(name: str, given_value: Any) -> None:
    read, write = READERS[name]
    found = outcome(read, given_value)
    if isinstance(found, InvalidSchedule):
        assert found.code in CATALOGUE
        assert len(str(found)) < 1000
        assert found.in_language("zh").message
    else:
        assert from_json(to_json(found.schedule)) == found.schedule
        assert set(write(found)) <= set(given_value)


@pytest.mark.parametrize("name", READERS)
@given(junk=JUNK)
def test_anything_at_all(name: str, junk: Any) -> None:
    check(name, junk)


@pytest.mark.parametrize("name", READERS)
@given(data=st.data())
def test_known_fields_with_junk_in_them(name: str, data: st.DataObject) -> None:
    mapping = dict(data.draw(st.sampled_from(VALID[name])))
    inner = mapping.get("recurrence")
    target = mapping
    if isinstance(inner, dict) and data.draw(st.booleans()):
        target = mapping["recurrence"] = dict(inner)
    key = data.draw(st.sampled_from(sorted(target)))
    if data.draw(st.booleans()):
        target[key] = data.draw(JUNK)
    else:
        del target[key]

    check(name, mapping)


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize("number", range(len(UNPRINTABLE)))
def test_unprintable_values_are_refused(name: str, number: int) -> None:
    check(name, UNPRINTABLE[number])
    for mapping in VALID[name]:
        for key in mapping:
            check(name, mapping | {key: UNPRINTABLE[number]})
        for key in mapping.get("recurrence", {}):
            check(name, mapping | {"recurrence": mapping["recurrence"] | {key: UNPRINTABLE[number]}})


@given(zone=st.text(max_size=20))
@example(zone="../../etc/passwd")
@example(zone="UTC\x00")
def test_unknown_zone_is_refused(zone: str) -> None:
    for name in ("cron", "interval"):
        check(
            "fun_ai_station",
            {"schedule_type": name, "schedule_expr": "60" if name == "interval" else "", "timezone": zone},
        )
    with pytest.raises(InvalidSchedule):
        nanoclaw.read({"schedule_type": "interval", "schedule_value": 60}, zone=zone + "?")
