"""Structured fields of a schedule: they write the text, are filled from it, and keep what they do not show."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from horae import parse, preview
from horae.console.tasks.schedule_fields import cron_of, fields_of, text_of_fields
from horae.errors import Refusal
from horae.schedule import Calendar

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("every 5m", {"kind": "every", "interval": "5m"}),
        ("every day at 9:00 and 17:30", {"kind": "daily", "times": "09:00, 17:30"}),
        ("every weekday at 9am", {"kind": "weekly", "times": "09:00", "days": "MON,TUE,WED,THU,FRI"}),
        ("on the last day of every month at 8:00", {"kind": "monthly", "times": "08:00", "day": "-1"}),
        ("2026-12-24 18:00", {"kind": "once", "at": "2026-12-24T18:00"}),
        ("0 9 * * 1-5", {"kind": "cron", "cron": "0 9 * * 1-5"}),
        ("every 10m between 9:00 and 18:00", {"kind": ""}),
        ("every 2 weeks on friday at 9:00", {"kind": ""}),
        ("every weekday at 9am and saturday at 11am", {"kind": ""}),
    ],
)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_fields_are_filled_from_the_text_and_write_it_again(text: str, fields: dict[str, str], language: str) -> None:
    schedule = parse(text, zone="Asia/Shanghai", now=NOW)
    found = fields_of(schedule)
    shown = {name.removeprefix("schedule."): value for name, value in found.items()}
    assert shown | fields == shown
    assert shown.keys() - fields.keys() <= {"cron"}
    if fields["kind"]:
        days = found.get("schedule.days", "").split(",")
        written = text_of_fields(found, days, "zh" if language == "zh" else "en", schedule)
        assert parse(written, zone="Asia/Shanghai", now=NOW) == schedule


def test_fields_keep_the_window_the_repeats_and_the_jitter_of_the_text() -> None:
    before = parse("every day at 9:00 until 2027-01-01, 10 times, jitter 1m", zone="UTC", now=NOW)
    written = text_of_fields({"schedule.kind": "daily", "schedule.times": "10:15"}, [], "en", before)
    after = parse(written, zone="UTC", now=NOW)
    assert (after.end, after.repeat, after.jitter) == (before.end, before.repeat, before.jitter)
    assert "10:15" in written


@pytest.mark.parametrize(
    ("texts", "field"),
    [
        ({"kind": ""}, "schedule.kind"),
        ({"kind": "every"}, "schedule.interval"),
        ({"kind": "daily"}, "schedule.times"),
        ({"kind": "weekly", "times": "09:00"}, "schedule.days"),
        ({"kind": "monthly", "times": "09:00", "day": "40"}, "schedule.day"),
        ({"kind": "once", "at": "tomorrow"}, "schedule.at"),
        ({"kind": "cron"}, "schedule.cron"),
    ],
)
def test_missing_field_is_refused_by_its_name(texts: dict[str, str], field: str) -> None:
    with pytest.raises(Refusal) as refused:
        text_of_fields({f"schedule.{name}": value for name, value in texts.items()}, [], "en")
    assert refused.value.facts["name"] == field


@pytest.mark.parametrize(
    "text",
    [
        "every day at 09:15",
        "every day at 9:00 and 17:00",
        "every weekday at 9am",
        "every monday, wednesday and sunday at 07:30",
        "on the 1st and 15th of every month at 8:00",
    ],
)
def test_cron_of_a_calendar_has_the_same_fires(text: str) -> None:
    calendar = parse(text, zone="Europe/Berlin", now=NOW)
    assert isinstance(calendar, Calendar)
    expression = cron_of(calendar)
    assert expression is not None
    fires = [preview(each, zone="Europe/Berlin", after=NOW, limit=400) for each in (text, expression)]
    assert fires[0] == fires[1]


@pytest.mark.parametrize("text", ["every day at 9:00 and 17:30", "on the 31st of every month at 8:00", "every 10s"])
def test_schedule_that_cron_says_otherwise_has_no_expression(text: str) -> None:
    assert "schedule.cron" not in fields_of(parse(text, zone="UTC", now=NOW))
