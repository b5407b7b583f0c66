"""Shared parts of the compatibility parsers: notes, remembered spellings, lossless writing."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horae import InvalidSchedule
from horae.schedule import Calendar, Cron, Every, Hours, Now, NthWeekday, Once, Schedule, compat, refusals, to_json
from horae.schedule.compat import Note, Translation, dailyuse, fun_ai_station, nanoclaw, translation_notes, zero

BERLIN = "Europe/Berlin"
DOCUMENT = Path(__file__).parents[3] / "docs" / "compatibility.md"
SOURCES = {path: path.read_text(encoding="utf-8") for path in Path(compat.__file__).parent.glob("*.py")}


def used(prefix: str, beside: str) -> set[str]:
    text = "".join(source for path, source in SOURCES.items() if path.name != beside)
    return set(re.findall(rf'"({prefix}[a-z_]+)"', text))


def test_every_code_is_listed_and_every_listed_code_is_used() -> None:
    listed = translation_notes.note_codes() | {code for code in set(refusals.CATALOGUE) if code.startswith("compat_")}

    assert used("compat_", beside="notes.py") == listed
    assert translation_notes.note_codes().isdisjoint(set(refusals.CATALOGUE))
    # Those of the HTTP surfaces are in a section of their own, with a test of its own.
    before, _, http = DOCUMENT.read_text(encoding="utf-8").partition("## Over HTTP")
    assert set(re.findall(r"compat_[a-z_]+", before + http.partition("\n## Codes")[2])) == listed


def test_a_note_is_a_code_and_two_sentences() -> None:
    read = nanoclaw.read({"schedule_type": "once", "schedule_value": "2026-03-01T15:00:00Z"}, zone=BERLIN)
    code, english, chinese = read.notes[0]

    assert isinstance(read.notes[0], Note)
    assert code == "compat_once_instant"
    assert english.endswith("2026-03-01T15:00:00Z, which is 2026-03-01 16:00:00 in Europe/Berlin.")
    assert re.search(r"[\u4e00-\u9fff]", chinese)


def test_a_change_of_meaning_makes_the_old_spelling_worthless() -> None:
    read = nanoclaw.read({"schedule_type": "cron", "schedule_value": "@daily"}, zone=BERLIN)

    changed = replace(read, schedule=Cron("0 12 * * *", zone=BERLIN))

    assert nanoclaw.write(read, zone=BERLIN)["schedule_value"] == "@daily"
    assert nanoclaw.write(changed, zone=BERLIN)["schedule_value"] == "0 12 * * *"
    with pytest.raises(InvalidSchedule):
        nanoclaw.write(read, zone="Asia/Tokyo")


def test_returned_values_are_copies() -> None:
    mapping = {"scheduledTime": "2026-03-02T09:00:00", "recurrence": {"type": "WEEKLY", "daysOfWeek": [1]}}
    read = dailyuse.read(mapping, zone=BERLIN)
    dailyuse.write(read, zone=BERLIN)["recurrence"]["daysOfWeek"].append(2)
    mapping["recurrence"]["daysOfWeek"].append(3)  # type: ignore[index]

    assert dailyuse.write(read, zone=BERLIN)["recurrence"]["daysOfWeek"] == [1]


def test_a_spelling_of_one_system_is_not_written_to_another() -> None:
    read = nanoclaw.read({"schedule_type": "interval", "schedule_value": "60000"}, zone="UTC")

    assert fun_ai_station.write(read) == {"schedule_type": "interval", "schedule_expr": "60"}


def test_spelling_is_not_meaning() -> None:
    text, number = ({"schedule_type": "interval", "schedule_value": value} for value in ("60000", 60000))

    assert nanoclaw.read(text, zone=BERLIN) == nanoclaw.read(number, zone=BERLIN)


WALL = st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1))
MOMENTS = WALL | WALL.map(lambda at: at.replace(microsecond=0)) | WALL.map(lambda at: at.replace(tzinfo=UTC))
MODIFIERS: dict[str, st.SearchStrategy[Any]] = {
    "zone": st.sampled_from([BERLIN, "UTC", "Asia/Shanghai"]),
    "start": st.dates(date(1990, 1, 1), date(2200, 1, 1)) | MOMENTS,
    "end": st.dates(date(2201, 1, 3), date(2300, 1, 1)),
    "repeat": st.integers(1, 9),
    "counting": st.just("planned"),
    "jitter": st.just(timedelta(seconds=5)),
    "gap": st.sampled_from(["skip", "shift"]),
    "fold": st.just("last"),
}
MODIFIED = st.fixed_dictionaries({}, optional=MODIFIERS) | st.fixed_dictionaries({}, optional={"start": MOMENTS})
TIMES = st.lists(st.times().map(lambda at: at.replace(microsecond=0)), min_size=1, max_size=2).map(tuple)


@st.composite
def schedules(draw: st.DrawFn) -> Schedule:
    modifiers = draw(MODIFIED)
    every = draw(st.integers(1, 2))
    at = draw(TIMES)
    match draw(st.sampled_from(["now", "once", "every", "cron", "day", "week", "month", "year", "hours"])):
        case "now":
            return Now(**modifiers)
        case "once":
            return Once(draw(MOMENTS), **modifiers)
        case "every":
            length = draw(st.sampled_from([timedelta(milliseconds=1), timedelta(seconds=90), timedelta(days=40_00)]))
            return Every(length, draw(st.sampled_from(["grid", "end"])), **modifiers)
        case "cron":
            return Cron(draw(st.sampled_from(["0 9 * * *", "*/5 * * * * *"])), **modifiers)
        case "day":
            return Calendar(unit="day", every=every, at=at, **modifiers)
        case "week":
            return Calendar(unit="week", every=every, on=(0, 6)[: draw(st.integers(1, 2))], at=at, **modifiers)
        case "hours":
            return Calendar(unit="day", hours=Hours(time(9), time(18)), step=timedelta(minutes=10), **modifiers)
        case unit:
            on = draw(st.sampled_from([(1,), (31,), (-1,), (-31,), (1, 15), (NthWeekday(4, -1),)]))
            months = (draw(st.integers(1, 12)),) if unit == "year" else ()
            return Calendar(unit=unit, every=every, on=on, months=months, at=at, **modifiers)  # type: ignore[arg-type]


POLICIES = st.fixed_dictionaries(
    {},
    optional={
        "missed": st.sampled_from([{"policy": "skip"}, {"policy": "all", "within": None}, {"policy": "latest"}]),
        "overlap": st.sampled_from(["skip", "queue_all", "replace"]),
        "give_up_after": st.sampled_from([None, 1, 3]),
        "skip_next": st.integers(1, 3),
        "paused": st.fixed_dictionaries({"counting": st.booleans()}),
    },
)
Both = tuple[Callable[[Translation], dict[str, Any]], Callable[[dict[str, Any]], Translation]]
EARLY = datetime(1970, 1, 1, tzinfo=UTC)
DIALECTS: dict[str, Both] = {
    "nanoclaw": (lambda t: nanoclaw.write(t, zone=BERLIN), lambda x: nanoclaw.read(x, zone=BERLIN)),
    "fun_ai_station": (lambda t: fun_ai_station.write(t, zone=BERLIN), lambda x: fun_ai_station.read(x, zone=BERLIN)),
    "dailyuse": (lambda t: dailyuse.write(t, zone=BERLIN), lambda x: dailyuse.read(x, zone=BERLIN)),
    "zero": (lambda t: zero.write(t, zone=BERLIN), lambda x: zero.read(x, zone=BERLIN, now=EARLY)),
}


def outcome(
    write: Callable[[Translation], dict[str, Any]], translation: Translation
) -> dict[str, Any] | InvalidSchedule:
    try:
        return write(translation)
    except InvalidSchedule as refusal:
        return refusal


@pytest.mark.parametrize("name", DIALECTS)
@settings(max_examples=300)
@given(schedule=schedules(), policies=st.just({}) | POLICIES)
def test_any_schedule_is_written_without_loss_or_refused(
    name: str, schedule: Schedule, policies: dict[str, Any]
) -> None:
    write, read = DIALECTS[name]
    mapping = outcome(write, Translation(schedule, policies))
    if isinstance(mapping, InvalidSchedule):
        assert mapping.code.startswith("compat_")
        return
    found = read(mapping)

    assert to_json(found.schedule.with_defaults(BERLIN)) == to_json(schedule.with_defaults(BERLIN))
    assert {key: found.policies[key] for key in policies} == policies
