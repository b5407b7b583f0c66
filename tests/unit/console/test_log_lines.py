"""Log lines: filter by level and text, and the lines of the downloaded file."""

from __future__ import annotations

import pytest

from horae.console.log_lines import LogFilter, RunLog, file_line
from horae.ports.journal import Line, NumberedLine
from horae.testing.factories import HOUR, NOON
from tests.unit.service.service_harness import ADA, open_harness


@pytest.mark.parametrize(
    ("chosen", "levels"),
    [
        ("all", ["debug", "progress", "info", "output", "warning", "error"]),
        ("info", ["info", "output", "warning", "error"]),
        ("warning", ["warning", "error"]),
        ("error", ["error"]),
    ],
)
def test_level_shows_itself_and_those_above(chosen: str, levels: list[str]) -> None:
    every = ("debug", "progress", "info", "output", "warning", "error")
    lines = [Line("run_1", NOON, level, "x") for level in every]
    assert [line.level for line in lines if LogFilter(chosen).matches(line)] == levels


def test_text_is_found_without_regard_to_case_and_escapes() -> None:
    line = Line("run_1", NOON, "info", "Disk \x1b[31mFull\x1b[0m")
    assert LogFilter(text="disk full").matches(line)
    assert not LogFilter(text="31m").matches(line)


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-2", "@x", "\t=1"])
def test_no_line_of_the_file_begins_like_a_formula(text: str) -> None:
    content = file_line(NumberedLine(1, Line("run_1", NOON, "info", f"{text}\n=2")))
    assert content.startswith("2026-03-01T12:00:00.000Z INFO")
    assert content.count("\n") == 1


async def test_pages_continue_after_the_last_matching_line() -> None:
    async with open_harness() as harness:
        await harness.add()
        run = await harness.run_due(HOUR)
        await harness.store.write_lines(
            [Line(run.id, NOON, "error" if number % 10 == 0 else "info", f"line {number}") for number in range(95)]
        )
        log = RunLog(harness.runs, ADA, run.id)
        assert await log.total() == 95
        first = await log.page(0, 6, LogFilter("error"))
        assert [each.number for each in first.lines] == [1, 11, 21, 31, 41, 51]
        rest = await log.page(first.after or 0, 6, LogFilter("error"))
        assert ([each.number for each in rest.lines], rest.after) == ([61, 71, 81, 91], None)
        assert await log.numbers(LogFilter(text="line 9")) == (10, 91, 92, 93, 94, 95)
        whole = await log.page(90, 10, LogFilter())
        assert (len(whole.lines), whole.after) == (5, None)
        assert len((await log.page(0, 50, LogFilter(), max_characters=20)).lines) == 3
