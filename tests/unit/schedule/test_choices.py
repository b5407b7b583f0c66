"""A text with more than one meaning is refused with whole texts to choose from, each of which parses."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from horae.errors import InvalidSchedule
from horae.schedule.text import parse_text

TUESDAY = datetime(2026, 11, 17, 13, 0, tzinfo=UTC)
SATURDAY = datetime(2026, 11, 21, 13, 0, tzinfo=UTC)


def choices_of(text: str, now: datetime = TUESDAY) -> list[str]:
    with pytest.raises(InvalidSchedule) as caught:
        parse_text(text, zone="Asia/Shanghai", now=now)
    refusal = caught.value
    choices = refusal.facts["choices"]
    assert isinstance(choices, list)
    for each in choices:
        parse_text(each, zone="Asia/Shanghai", now=now)
        assert all(each in refusal.in_language(language).hint for language in ("en", "zh"))
    return choices


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("周五下午5点", ["每周五下午5点", "本周五下午5点", "下周五下午5点"]),
        ("星期三 8:45", ["每星期三 8:45", "本星期三 8:45", "下星期三 8:45"]),
        ("friday at 5pm", ["every friday at 5pm", "this friday at 5pm", "next friday at 5pm"]),
        ("at 17:30 on Monday", ["at 17:30 every Monday", "at 17:30 next Monday"]),
        ("周五", ["每周五9点", "本周五9点", "下周五9点"]),
        ("25号下午3点", ["每月25号下午3点", "本月25号下午3点", "下个月25号下午3点"]),
        ("明天半夜12点", ["2026-11-18 00:00", "2026-11-19 00:00"]),
        ("今晚12点", ["2026-11-18 00:00"]),
        ("tomorrow at midnight Europe/Berlin", ["2026-11-18 00:00 Europe/Berlin", "2026-11-19 00:00 Europe/Berlin"]),
        ("每天晚上12点", ["每天00:00"]),
        ("每天晚上12点半", ["每天00:30"]),
        ("每周五晚上12点", ["每周五00:00", "每周六 00:00"]),
        ("every day at 24:00", ["every day at 00:00"]),
        ("明天24点", ["2026-11-19 00:00"]),
    ],
)
def test_choices_keep_the_stated_hour_and_the_language_of_the_text(text: str, expected: list[str]) -> None:
    assert choices_of(text) == expected


def test_ambiguous_hour_is_offered_in_both_readings() -> None:
    found = choices_of("friday at 5")
    assert found[:2] == ["every friday at 05:00", "every friday at 17:00"]
    assert len(found) == 6


def test_day_that_has_passed_is_no_choice() -> None:
    assert choices_of("周五下午5点", SATURDAY) == ["每周五下午5点", "下周五下午5点"]


def test_long_text_keeps_the_general_hint() -> None:
    with pytest.raises(InvalidSchedule) as caught:
        parse_text(
            "friday at 17:00, except 2026-12-25, 2027-01-01, 2027-01-08, 2027-01-15 and 2027-01-22",
            zone="UTC",
            now=TUESDAY,
        )
    assert "choices" not in caught.value.facts
    assert "every friday at 17:00" in caught.value.hint
