"""Delays and intervals as Python values: seconds, `timedelta` and bare text, where one of the two is meant."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from horae import Horae, InvalidSchedule, InvalidTask, parse
from horae.testing import TimeTravel

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


async def _note(number: int = 0) -> int:
    return number


def an_app() -> Horae:
    app = Horae("memory://", zone="UTC")
    app.task(name="note")(_note)
    return app


@pytest.mark.parametrize(
    ("delay", "seconds"),
    [
        (5, 5),
        (0.5, 0.5),
        (timedelta(minutes=5), 300),
        (timedelta(days=1, hours=2), 26 * 3600),
        (timedelta(microseconds=1500), 0.002),
        ("5s", 5),
        ("1h30m", 5400),
        ("PT5M", 300),
        ("10 minutes", 600),
        ("5分钟", 300),
        ("in 20m", 1200),
        (0, 0),
        (START + timedelta(hours=1), 3600),
    ],
)
def test_later_takes_a_delay(delay: Any, seconds: float) -> None:
    app = an_app()
    note = app.task(name="later")(_note)
    with TimeTravel(app, START) as time:
        task = time.run(note.later(delay, number=7))
        time.travel("2d")
        (run,) = time.runs(task)
        assert (run.planned - START).total_seconds() == seconds
        assert run.result == 7


@pytest.mark.parametrize("delay", [-1, -0.5, timedelta(seconds=-1), float("nan"), True])
def test_later_refuses_values_that_are_not_delays(delay: Any) -> None:
    app = an_app()
    note = app.task(name="later")(_note)
    with TimeTravel(app, START) as time, pytest.raises(InvalidTask) as refusal:
        time.run(note.later(delay))
    assert refusal.value.code == "bad_duration"


def test_timedelta_of_a_declaration_is_an_interval() -> None:
    app = Horae("memory://", zone="UTC")
    tick = app.task(timedelta(minutes=5), name="tick")(_note)
    with TimeTravel(app, START) as time:
        time.travel("31m")
        assert len(time.ran(tick)) == 6
    assert "every 5 minutes" in repr(tick)


def test_declared_interval_of_zero_is_refused() -> None:
    with pytest.raises(InvalidSchedule):
        Horae("memory://").task(timedelta(0), name="tick")(_note)


@pytest.mark.parametrize("when", [timedelta(minutes=5), 300, "5m", "5 minutes"])
def test_schedule_refuses_a_bare_duration_and_names_both_readings(when: Any) -> None:
    app = an_app()
    with TimeTravel(app, START) as time, pytest.raises(InvalidSchedule) as refusal:
        time.run(app.schedule("note", when))
    assert refusal.value.code == "bare_duration"
    for text in (refusal.value.facts["delay"], refusal.value.facts["interval"]):
        parse(str(text), zone="UTC", now=START)
        assert f'"{text}"' in refusal.value.hint


@pytest.mark.parametrize(("text", "hint"), [("5分钟", "“5分钟后”或“每5分钟”"), ("90s", "“in 90s”或“every 90s”")])
def test_bare_duration_in_text_names_both_readings(text: str, hint: str) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        parse(text, zone="UTC")
    assert hint in refusal.value.in_language("zh").hint


def test_decorator_called_with_the_function_takes_options_too() -> None:
    app = Horae("memory://", zone="UTC")
    note: Any = app.task(_note, name="other", retries=1)  # type: ignore[call-overload]
    assert (note.name, note.declaration.options.retries) == ("other", 1)
