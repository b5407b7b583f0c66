"""The public functions: their signatures, their defaults, their refusals."""

from __future__ import annotations

import inspect
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from enum import StrEnum
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import horae
from horae.schedule import Cron, Schedule


class ZoneName(StrEnum):
    BERLIN = "Europe/Berlin"


AFTER = datetime(2026, 3, 7, 12, tzinfo=UTC)


def test_preview_takes_text_mapping_and_value_alike() -> None:
    text = "0 9 * * 1-5"
    mapping = {"kind": "cron", "expression": text}
    value = horae.parse(text, zone="UTC")
    wanted = [datetime(2026, 3, day, 9, tzinfo=UTC) for day in (9, 10, 11, 12, 13)]
    for asked in (text, mapping, value):
        assert horae.preview(asked, zone="UTC", after=AFTER) == wanted


def test_arguments_apply_only_where_the_value_has_none() -> None:
    value = Cron("30 2 * * *", zone="America/New_York", gap="shift")
    assert horae.preview(value, zone="UTC", after=AFTER, limit=1, gap="skip") == [
        datetime(2026, 3, 8, 7, 30, tzinfo=UTC)
    ]
    open_value = Cron("30 2 * * *")
    assert horae.preview(open_value, zone="America/New_York", after=AFTER, limit=1, gap="skip") == [
        datetime(2026, 3, 9, 6, 30, tzinfo=UTC)
    ]


def test_a_limit_of_one_is_the_first_of_many() -> None:
    for text in ("0 9 * * 1-5", "*/5 * * * *", "30 2 * * *", "0 0 L * *"):
        many = horae.preview(text, zone="America/New_York", after=AFTER, limit=4)
        assert horae.preview(text, zone="America/New_York", after=AFTER, limit=1) == many[:1]


def test_after_is_excluded_and_until_included() -> None:
    nine = datetime(2026, 3, 9, 9, tzinfo=UTC)
    fires = horae.preview("0 9 * * *", zone="UTC", after=nine, until=nine + timedelta(days=2), limit=None)
    assert fires == [nine + timedelta(days=1), nine + timedelta(days=2)]


def test_after_may_be_in_any_zone_and_answers_are_in_utc() -> None:
    shanghai = timezone(timedelta(hours=8))
    fires = horae.preview("0 9 * * *", zone="Asia/Shanghai", after=datetime(2026, 3, 9, 9, tzinfo=shanghai), limit=1)
    assert fires == [datetime(2026, 3, 10, 1, tzinfo=UTC)]
    assert fires[0].tzinfo is UTC


def test_limit_of_zero_returns_nothing() -> None:
    assert horae.preview("0 9 * * *", zone="UTC", after=AFTER, limit=0) == []


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"limit": None}, "limit_missing"),
        ({"limit": -1}, "bad_limit"),
        ({"zone": "Nowhere/Land"}, "unknown_zone"),
        ({"zone": 5}, "bad_value"),
        ({"zone": ["UTC"], "limit": 1}, "bad_value"),
        ({"limit": "5"}, "bad_limit"),
        ({"limit": 1.5}, "bad_limit"),
        ({"limit": 10**7}, "bad_limit"),
        ({"gap": [], "limit": 1}, "bad_choice"),
        ({"fold": {}, "limit": 2}, "bad_choice"),
        ({"after": "2026-03-09"}, "not_a_datetime"),
        ({"after": 5, "limit": 1}, "not_a_datetime"),
        ({"until": 5.0}, "not_a_datetime"),
        ({"gap": "perhaps"}, "bad_choice"),
        ({"fold": "perhaps"}, "bad_choice"),
        ({"gap": "perhaps", "limit": 1}, "bad_choice"),
        ({"after": datetime(2026, 3, 9)}, "naive_instant"),
        ({"after": datetime(2026, 3, 9), "limit": 1}, "naive_instant"),
        ({"until": datetime(2026, 3, 9)}, "naive_instant"),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, Any], code: str) -> None:
    plain: dict[str, Any] = {"zone": "UTC", "after": AFTER}
    with pytest.raises(horae.InvalidSchedule) as refusal:
        horae.preview("0 9 * * *", **(plain | arguments))
    assert refusal.value.code == code


@pytest.mark.parametrize("zone", [ZoneInfo("Europe/Berlin"), UTC, ZoneName.BERLIN])
def test_a_zone_may_be_more_than_plain_text(zone: Any) -> None:
    assert horae.parse("0 9 * * *", zone=zone).zone in ("Europe/Berlin", "UTC")
    assert horae.preview("0 9 * * *", zone=zone, after=AFTER, limit=1)


def test_both_ways_agree_at_the_edges_of_the_calendar() -> None:
    for after in (
        datetime.min.replace(tzinfo=UTC),
        datetime.max.replace(tzinfo=UTC),
        datetime(9999, 12, 27, tzinfo=UTC),
    ):
        many = horae.preview("0 9 * * *", zone="UTC", after=after, limit=2)
        assert horae.preview("0 9 * * *", zone="UTC", after=after, limit=1) == many[:1]


def test_invalid_instant_is_refused() -> None:
    for question in (horae.parse, horae.describe):
        with pytest.raises(horae.InvalidSchedule) as refusal:
            question("tomorrow at 9:00", zone="UTC", now="today")  # type: ignore[arg-type]
        assert refusal.value.code == "not_a_datetime"


def test_describe_refuses_other_languages() -> None:
    with pytest.raises(horae.InvalidSchedule) as refusal:
        horae.describe("every 5m", language="fr")  # type: ignore[arg-type]
    assert refusal.value.code == "bad_choice"


def test_parse_fills_in_the_zone_only_where_none_is_named() -> None:
    assert horae.parse("0 9 * * *", zone="Asia/Tokyo").zone == "Asia/Tokyo"
    assert horae.parse("0 9 * * * Europe/Berlin", zone="Asia/Tokyo").zone == "Europe/Berlin"
    assert horae.parse({"kind": "cron", "expression": "0 9 * * *", "zone": "UTC"}, zone="Asia/Tokyo").zone == "UTC"
    assert horae.parse("0 9 * * *").zone is None


def test_values_are_immutable_and_hashable() -> None:
    value = horae.parse("0 9 * * *", zone="UTC")
    with pytest.raises(AttributeError):
        value.zone = "Asia/Tokyo"  # type: ignore[misc]
    assert {value: 1}[horae.parse("0 9 * * *", zone="UTC")] == 1


def test_the_signatures_are_stable() -> None:
    assert list(inspect.signature(horae.parse).parameters) == ["text_or_mapping", "zone", "now"]
    assert list(inspect.signature(horae.preview).parameters) == [
        "schedule_or_text",
        "zone",
        "after",
        "until",
        "limit",
        "gap",
        "fold",
    ]
    assert list(inspect.signature(horae.describe).parameters) == ["schedule_or_text", "language", "zone", "now"]
    assert issubclass(horae.InvalidSchedule, ValueError)
    assert issubclass(type(horae.parse("now")), Schedule)


def test_importing_horae_pulls_in_no_web_database_or_client_library() -> None:
    script = "import sys, horae; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    heavy = {
        "click",
        "rich",
        "asyncio",
        "sqlite3",
        "apsw",
        "aiohttp",
        "fastapi",
        "pydantic",
        "http",
        "urllib",
        "socket",
        "ssl",
    }
    assert not heavy & set(found)
