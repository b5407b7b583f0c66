"""A repeat count for a schedule that fires once is refused, with a schedule that works."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

import pytest

from horae.choices import Language
from horae.errors import InvalidSchedule
from horae.schedule import Every, from_json, from_request
from horae.schedule.text import parse_text

NOW: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")


def test_number_of_times_for_what_fires_once_is_refused_with_a_schedule_that_works() -> None:
    for text in ("in 20 minutes 5 times", "now, 5 times", "tomorrow at 9am, 5 times", "20分钟后 共5次"):
        with pytest.raises(InvalidSchedule) as refusal:
            parse_text(text, zone="UTC", now=NOW)
        assert refusal.value.code == "repeats_once", text
        for language in LANGUAGES:
            hint = refusal.value.in_language(language).hint
            (offered,) = re.findall('["“]([^"”]+)["”]', hint)
            assert parse_text(offered, zone="UTC", now=NOW).schedule == Every(
                timedelta(minutes=20), zone="UTC", repeat=5
            )


def test_json_of_what_fires_once_has_no_number_of_times() -> None:
    once = {"kind": "once", "at": "2026-03-01T15:00:00Z"}
    for shape in (once | {"repeat": 2}, {"kind": "now", "repeat": 2}):
        with pytest.raises(InvalidSchedule) as refusal:
            from_request(shape)
        assert refusal.value.code == "repeats_once"
        assert from_json(shape).repeat == 2, "what is stored stays readable"
    assert from_request(once | {"repeat": 1}).repeat == 1


def test_time_that_comes_twice_may_run_twice() -> None:
    shape = {"kind": "once", "at": "2026-10-25T02:30:00", "zone": "Europe/Berlin", "fold": "both", "repeat": 2}
    assert from_request(shape).repeat == 2
