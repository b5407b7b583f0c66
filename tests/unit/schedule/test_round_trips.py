"""Canonical JSON and sentences in both languages parse back to the same value."""

from __future__ import annotations

import json
from typing import Literal

import pytest
from hypothesis import assume, given, settings

import horae
from horae.schedule import Schedule, from_json, to_json
from tests.sizes import sized
from tests.strategies import schedules


@settings(max_examples=sized(500, soak=1_500), deadline=None)
@given(schedules())
def test_canonical_json_comes_back_as_the_same_value(schedule: Schedule | None) -> None:
    assume(schedule is not None)
    assert schedule is not None
    through_text = json.loads(json.dumps(to_json(schedule)))
    assert from_json(through_text) == schedule
    assert to_json(from_json(through_text)) == to_json(schedule)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_sentence_is_understood_as_the_same_value(language: Literal["en", "zh"]) -> None:
    @settings(max_examples=sized(600, soak=2_500), deadline=None)
    @given(schedules())
    def said_and_heard(schedule: Schedule | None) -> None:
        assume(schedule is not None)
        assert schedule is not None
        sentence = horae.describe(schedule, language=language)
        assert horae.parse(sentence) == schedule, sentence

    said_and_heard()


@settings(max_examples=300, deadline=None)
@given(schedules())
def test_two_schedules_that_differ_have_sentences_that_differ(schedule: Schedule | None) -> None:
    assume(schedule is not None)
    assert schedule is not None
    other = from_json(to_json(schedule) | {"repeat": 3 if schedule.repeat != 3 else 4})
    assert horae.describe(other) != horae.describe(schedule)
    assert horae.describe(other, language="zh") != horae.describe(schedule, language="zh")


def test_a_cron_sentence_ends_with_its_source() -> None:
    said = horae.describe("0 9 * * 1-5", zone="Asia/Shanghai")
    assert said == "on Monday to Friday at 09:00, Asia/Shanghai (cron 0 9 * * 1-5)"
    assert (
        horae.describe("0 9 * * 1-5", zone="Asia/Shanghai", language="zh")
        == "周一至周五 09:00，Asia/Shanghai (cron 0 9 * * 1-5)"
    )


def test_words_that_contradict_their_source_are_refused() -> None:
    with pytest.raises(horae.InvalidSchedule) as refusal:
        horae.parse("every day at 09:00 (cron 0 5 * * *)", zone="UTC")
    assert refusal.value.code == "source_differs"
