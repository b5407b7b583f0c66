"""Texts with several schedules, in English and Chinese: what is one schedule stays one, and each part may be refused."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any, Literal

import pytest
from hypothesis import assume, given, settings

import horae
from horae.schedule import AnyOf, Schedule, to_json
from horae.schedule.any_of import MAX_SCHEDULES
from horae.schedule.text import parse_text
from horae.schedule.text.lists import MAX_SEPARATORS
from tests.sizes import sized
from tests.strategies import lists

NOW = datetime(2026, 11, 18, 12, tzinfo=UTC)  # a Wednesday


def parse(text: str, zone: str | None = "Asia/Shanghai") -> Schedule:
    return horae.parse(text, zone=zone, now=NOW)


def texts_of(schedule: Schedule) -> list[str]:
    assert isinstance(schedule, AnyOf), schedule
    return [horae.describe(part) for part in schedule.schedules]


@pytest.mark.parametrize(
    "text",
    [
        "every day at 9am and 5pm",
        "Mon and Fri at 9am",
        "every 1 hour and 5 minutes",
        "every hour and a half",
        "on the 1st and 15th at 8:00",
        "every 10m between 9:00 and 18:00",
        "every day at 9:00 except 2026-12-25 and 2026-12-26",
        "every day; at 9am",
        "every day, every monday at 9am",
        "每天9点和17点",
        "每周一和周三9点",
        "每月1号和15号9点",
        "周一、周三、周五9点以及18点",
        "in January and July on the 1st at 9:00",
    ],
)
def test_what_is_one_schedule_stays_one(text: str) -> None:
    assert not isinstance(parse(text), AnyOf)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("every monday at 9am and friday at 10am", ["every Monday at 09:00", "every Friday at 10:00"]),
        ("every mon at 9am & on friday at 10am", ["every Monday at 09:00", "every Friday at 10:00"]),
        ("every mon at 9am as well as fri at 10am", ["every Monday at 09:00", "every Friday at 10:00"]),
        ("every mon at 9am, and also fri at 10am", ["every Monday at 09:00", "every Friday at 10:00"]),
        ("every mon at 9am; fri at 10am", ["every Monday at 09:00", "every Friday at 10:00"]),
        (
            "every monday at 9:00 and friday and saturday at 11:00",
            ["every Monday at 09:00", "every Friday and Saturday at 11:00"],
        ),
        ("every day at 9:00 and monday at 10:00 and 12:00", ["every day at 09:00", "every Monday at 10:00 and 12:00"]),
        ("every day at 9:00 and 12:00 and monday at 10:00", ["every day at 09:00 and 12:00", "every Monday at 10:00"]),
        (
            "every 10m between 9:00 and 18:00 and sat at 11:00",
            ["every 10 minutes between 09:00 and 18:00", "every Saturday at 11:00"],
        ),
        ("every hour and every 5 minutes", ["every hour", "every 5 minutes"]),
        ("every 1 hour and 5 minutes and every day at 9am", ["every 1 hour 5 minutes", "every day at 09:00"]),
        (
            "on the 1st at 9:00 and the 15th at 10:00",
            ["on the 1st of every month at 09:00", "on the 15th of every month at 10:00"],
        ),
        ("now and every day at 9am", ["now", "every day at 09:00"]),
        ("24 Dec at 6pm and 1 Jan at 9am", ["at 2026-12-24 18:00", "at 2027-01-01 09:00"]),
        ("every monday at 9am and tomorrow at 10am", ["every Monday at 09:00", "at 2026-11-19 10:00"]),
        ("每周一9点和周五10点", ["every Monday at 09:00", "every Friday at 10:00"]),
        (
            "每周一9点、周三10点和周五11点",
            ["every Monday at 09:00", "every Wednesday at 10:00", "every Friday at 11:00"],
        ),
        ("每月1号9点以及15号10点", ["on the 1st of every month at 09:00", "on the 15th of every month at 10:00"]),
        ("工作日9点，以及周末11点", ["Monday to Friday at 09:00", "every Saturday and Sunday at 11:00"]),
        ("每天9点；每5分钟", ["every day at 09:00", "every 5 minutes"]),
        ("每天9点外加明天10点", ["every day at 09:00", "at 2026-11-19 10:00"]),
    ],
)
def test_each_side_of_and_is_a_schedule(text: str, parts: list[str]) -> None:
    assert texts_of(parse(text)) == parts


@pytest.mark.parametrize(
    ("text", "modifiers"),
    [
        ("every mon at 9am and fri at 10am until 2027-01-01", {"end": "2027-01-01"}),
        ("every mon at 9am and fri at 10am, 5 times, with jitter up to 30s", {"repeat": 5, "jitter": "PT30S"}),
        (
            "every mon at 9am and fri at 10am; from 2026-12-01, including skipped, 3 times",
            {"start": "2026-12-01", "repeat": 3, "counting": "planned"},
        ),
        ("every mon at 9am and 2026-12-24 10:00, 5 times", {"repeat": 5}),
        ("每周一9点和周五10点，共5次", {"repeat": 5}),
        ("every mon at 9am and fri at 10am, gap skip, fold both", {"gap": "skip", "fold": "both"}),
    ],
)
def test_modifiers_at_the_end_belong_to_the_list(text: str, modifiers: dict[str, Any]) -> None:
    shape = to_json(parse(text))
    shared = {key: value for key, value in shape.items() if key not in ("kind", "schedules", "zone")}
    assert shared == modifiers
    assert all(set(part) <= {"kind", "unit", "every", "on", "at"} for part in shape["schedules"])


def test_zone_at_the_end_is_that_of_all_schedules_without_one() -> None:
    schedule = parse("every day at 9am and tomorrow at 10am New York time")
    assert isinstance(schedule, AnyOf)
    assert schedule.zone == "America/New_York"
    assert [part.zone for part in schedule.parts] == ["America/New_York"] * 2
    other = parse("every day at 9am London time and sat at 10am")
    assert isinstance(other, AnyOf)
    assert (other.zone, [part.zone for part in other.schedules]) == ("Asia/Shanghai", ["Europe/London", None])


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("every day at 9am and sat at 10am", False),
        ("every day at 9am and sat at 10am Berlin time", True),
        ("every day at 9am London time and sat at 10am", False),
        ("every day at 9am London time and sat at 10am; Berlin time", True),
    ],
)
def test_text_names_the_zone_if_every_schedule_has_a_named_one(text: str, *, named: bool) -> None:
    assert parse_text(text, zone="UTC", now=NOW).named_zone is named


def test_notes_of_all_parts_are_kept() -> None:
    reading = parse_text("工作日9点以及周六3点", zone="UTC", now=NOW)
    assert [note.split()[0] for note in reading.notes] == ["working_days", "early_hour"]
    assert not reading.relative
    assert parse_text("every day at 9am and tomorrow at 10am", zone="UTC", now=NOW).relative


@pytest.mark.parametrize(
    ("text", "code", "position"),
    [
        ("every weekday at 9am and at 11am", "list_time_alone", 25),
        ("every weekday at 9am and fish", "not_understood", 25),
        ("every weekday at 9am and sat at 25:00", "no_such_time", 32),
        ("every weekday at 9am and sat at 11am and fish", "not_understood", 41),
        ("every weekday at 9am and", "empty", 24),
        ("every weekday at 9am; fish; sat at 11am", "not_understood", 22),
        ("every year on 1 Jan at 9am and 1 Jul at 9am", "list_day_unclear", 31),
        ("every mon at 9am until 2027-01-01 and sat at 11am", "list_modifier", 0),
        ("every mon at 9am and every 5m after end", "list_from_end", 21),
        ("tomorrow at 9am and friday at 10am", "once_or_weekly", 20),
        ("fish and every day at 9am", "not_understood", 0),
        ("每周一9点和25点", "no_such_time", 6),
        ("每年1月1日9点和7月1日9点", "list_day_unclear", 9),
        ("每周一9点和鱼", "not_understood", 6),
    ],
)
def test_the_part_that_is_wrong_is_refused_at_its_place(text: str, code: str, position: int) -> None:
    with pytest.raises(horae.InvalidSchedule) as refusal:
        parse(text)
    assert (refusal.value.code, refusal.value.position) == (code, position)
    assert refusal.value.source == text
    assert "pointer" not in refusal.value.facts


def test_choices_are_whole_lists() -> None:
    with pytest.raises(horae.InvalidSchedule) as refusal:
        parse("tomorrow at 9am and friday at 10am")
    choices = refusal.value.facts["choices"]
    assert isinstance(choices, list)
    assert "tomorrow at 9am and every friday at 10am" in choices
    assert all(isinstance(parse(each), AnyOf) for each in choices)


@pytest.mark.parametrize("text", ["every year on 1 Jul at 9am", "每年7月1日9点"])
def test_hint_of_a_day_without_a_year_works_as_written(text: str) -> None:
    left = "every monday at 9am and " if text.isascii() else "每周一9点和"
    with pytest.raises(horae.InvalidSchedule) as refusal:
        parse(left + text.removeprefix("every year on ").removeprefix("每年"))
    assert text in refusal.value.hint
    assert isinstance(parse(left + text), AnyOf)


@pytest.mark.parametrize(
    "text",
    [
        "every weekday at 9am and 11am",
        "周一至周五 9:00、11:00",
        "every weekday at 9am and saturday at 11am, 5 times",
        "周一至周五 9:00 以及每周六 11:00，共 5 次",
    ],
)
def test_examples_of_hints_work_as_written(text: str) -> None:
    assert parse(text) is not None


def test_json_text_may_be_a_list() -> None:
    assert parse('["every weekday at 9am", "every sat at 11am"]') == parse("every weekday at 9am and sat at 11am")
    with pytest.raises(horae.InvalidSchedule) as refusal:
        parse('["every weekday at 9am", "fish"]')
    assert refusal.value.code == "not_understood"
    assert refusal.value.message.startswith("Schedule 2 of the list: ")
    assert "pointer" not in refusal.value.facts, "the request has one text"


def test_list_in_a_request_is_refused_with_the_pointer_of_its_part() -> None:
    for when, pointer in (
        (["every day at 9am", "sat at 11am"], "/1"),
        (["every day at 9am", ["every day at 10am"]], "/1"),
        (["every day at 9am", 5], "/1"),
        ({"kind": "any_of", "schedules": ["every day at 9am", "fish"]}, "/schedules/1"),
        ({"kind": "any_of", "schedules": ["every day at 9am", "every day at 10am 3 times"]}, "/schedules/1"),
    ):
        with pytest.raises(horae.InvalidSchedule) as refusal:
            horae.parse(when, zone="UTC", now=NOW)  # type: ignore[arg-type]
        assert refusal.value.facts["pointer"] == pointer


def test_texts_of_a_list_may_be_several_schedules_themselves() -> None:
    assert horae.parse(["every mon at 9am and tue at 10am", "every wed at 11am"], zone="UTC") == horae.parse(
        "every mon at 9am; tue at 10am; wed at 11am", zone="UTC"
    )


def test_too_many_schedules_are_refused() -> None:
    many = "; ".join(f"every day at 09:{minute:02}" for minute in range(MAX_SCHEDULES + 1))
    with pytest.raises(horae.InvalidSchedule) as refusal:
        parse(many)
    assert refusal.value.code == "list_too_long"
    assert refusal.value.position == many.rindex("every")
    sixteen = parse(many.rpartition(";")[0])
    assert isinstance(sixteen, AnyOf)
    assert len(sixteen.schedules) == MAX_SCHEDULES


@pytest.mark.parametrize("word", ["and", ", ", "和", "、"])
def test_long_text_of_separators_is_refused_quickly(word: str) -> None:
    for number in (MAX_SEPARATORS - 1, MAX_SEPARATORS + 1, 400):
        text = f"every mon at 9am {word} " + f" {word} ".join(["fri"] * number)
        began = time.process_time()
        with pytest.raises(horae.InvalidSchedule):
            parse(text[:2000])
        assert time.process_time() - began < 2


def test_list_whose_schedules_have_many_commas_is_read() -> None:
    months = "、".join(f"{month} 月" for month in range(1, 13))
    times = "、".join(f"{hour:02}:00" for hour in range(20))
    schedule = horae.parse(f"每年 {months}的 1 日 {times}以及每天 21:30")
    assert isinstance(schedule, AnyOf)
    assert len(schedule.schedules) == 2


@pytest.mark.parametrize("language", ["en", "zh"])
def test_description_of_a_list_parses_back(language: Literal["en", "zh"]) -> None:
    @settings(max_examples=sized(80, soak=3_000), deadline=None)
    @given(lists())
    def check(schedule: Schedule | None) -> None:
        assume(schedule is not None)
        assert schedule is not None
        sentence = horae.describe(schedule, language=language)
        assert horae.parse(sentence) == schedule, sentence

    check()
