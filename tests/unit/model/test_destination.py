"""Destination as a value: quiet hours by zone and over clock changes, pacing, and its record."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from horae.errors import Refusal
from horae.model.events.destination import (
    GATHER_TIME,
    MESSAGE_INTERVAL,
    Destination,
    Notice,
    Occasion,
    QuietHours,
    destination_from,
    destination_record,
    is_destination_name,
    notice_from,
    notice_json,
    parse_quiet_hours,
)
from horae.model.events.trigger_fields import Alert, alert_of

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NIGHT = parse_quiet_hours("22:00-07:00")


def a_destination(**fields: Any) -> Destination:
    return Destination("dst_1", "ada", "ops", "slack", "Slack", NOW, 7)._replace(**fields)


@pytest.mark.parametrize(
    ("quiet", "zone", "now", "until"),
    [
        ("22:00-07:00", "UTC", "2026-03-01T21:59:59", None),
        ("22:00-07:00", "UTC", "2026-03-01T22:00:00", "2026-03-02T07:00:00"),
        ("22:00-07:00", "UTC", "2026-03-02T06:59:59.999999", "2026-03-02T07:00:00"),
        ("22:00-07:00", "UTC", "2026-03-02T07:00:00", None),
        ("12:00-14:00", "UTC", "2026-03-01T11:59:59", None),
        ("12:00-14:00", "UTC", "2026-03-01T13:00:00", "2026-03-01T14:00:00"),
        ("12:00-14:00", "UTC", "2026-03-01T14:00:00", None),
        ("22:00-07:00", "Asia/Shanghai", "2026-03-01T14:00:00", "2026-03-01T23:00:00"),
        # The night of the clock change has an hour less, and an hour more.
        ("22:00-07:00", "Europe/Berlin", "2026-03-28T22:00:00", "2026-03-29T05:00:00"),
        ("22:00-07:00", "Europe/Berlin", "2026-10-24T21:00:00", "2026-10-25T06:00:00"),
        # The end is in the gap, and the end is shown twice.
        ("22:00-02:30", "Europe/Berlin", "2026-03-28T23:00:00", "2026-03-29T01:30:00"),
        ("22:00-02:30", "Europe/Berlin", "2026-10-24T21:00:00", "2026-10-25T00:30:00"),
        ("02:00-02:30", "Europe/Berlin", "2026-10-25T01:10:00", "2026-10-25T01:30:00"),
    ],
)
def test_quiet_hours_end(quiet: str, zone: str, now: str, until: str | None) -> None:
    instant = datetime.fromisoformat(now).replace(tzinfo=UTC)
    expected = None if until is None else datetime.fromisoformat(until).replace(tzinfo=UTC)
    assert parse_quiet_hours(quiet).until(instant, zone) == expected


@pytest.mark.parametrize("text", ["", "22-7", "24:00-07:00", "07:00-07:00", "7:60-8:00", None, 7])
def test_bad_quiet_hours_are_refused(text: object) -> None:
    with pytest.raises(Refusal) as refused:
        parse_quiet_hours(text)
    assert refused.value.code == "bad_quiet_hours"


def test_text_of_quiet_hours_parses_back() -> None:
    assert parse_quiet_hours("7:05 – 21:30").text == "07:05-21:30"
    assert parse_quiet_hours("07:05-21:30") == QuietHours(7 * 3600 + 300, 21 * 3600 + 1800)


def test_notice_is_due_after_gathering_and_pacing() -> None:
    assert a_destination().due(Occasion.FAILED, NOW) == NOW + GATHER_TIME
    paced = a_destination(last_notice_at=NOW)
    assert paced.due(Occasion.FAILED, NOW) == NOW + MESSAGE_INTERVAL
    assert paced.due(Occasion.FAILED, NOW + timedelta(hours=1)) == NOW + timedelta(hours=1) + GATHER_TIME


def test_reminder_is_due_at_once() -> None:
    assert a_destination(quiet=QuietHours(0, 86_399), last_notice_at=NOW).due(Occasion.REMINDER, NOW) == NOW


def test_notice_in_quiet_hours_is_due_at_their_end() -> None:
    late = NOW + timedelta(hours=11)
    assert a_destination(quiet=NIGHT).due(Occasion.OVERDUE, late) == NOW + timedelta(hours=19)


@pytest.mark.parametrize(
    "destination",
    [
        a_destination(),
        a_destination(
            quiet=NIGHT, zone="Asia/Shanghai", reminders=True, language="zh", failing_since=NOW, blocked=("key",)
        ),
        a_destination(last_at=NOW, last_ok=False, last_answer="no", last_notice_at=NOW),
    ],
)
def test_record_gives_the_destination_back(destination: Destination) -> None:
    assert destination_from(destination_record(destination)) == destination


def test_json_gives_the_notice_back() -> None:
    notice = Notice(Occasion.FAILED, "backup", "tsk_1", "run_1", NOW, "exit 1")
    assert notice_from(notice_json(notice)) == notice


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        ("{}", None),
        ('["compat"]', None),
        ('{"compat": 7}', None),
        ('{"compat": {"alertConfig": null}}', None),
        ('{"compat": {"alertConfig": {"methods": ["EMAIL"]}, "description": "x"}}', Alert(("email",), "x")),
        ('{"compat": {"alertConfig": {}}}', Alert((), "")),
    ],
)
def test_alert_of_a_payload(payload: str, expected: Alert | None) -> None:
    assert alert_of(payload) == expected


@pytest.mark.parametrize(
    ("name", "is_name"), [("ops", True), ("a.b-C_9", True), ("", False), ("a/b", False), (7, False)]
)
def test_names(name: object, is_name: bool) -> None:  # noqa: FBT001 - a parameter of the test
    assert is_destination_name(name) is is_name
