"""Contract of the journal: log lines of runs in order, bounded, with a mark where the rest was cut."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from typing import Final

from .....model.limits import LOG_LINE_CHARACTERS, LOG_LINES
from .....ports.full_store import FullStore
from .....ports.journal import PROGRESS_WINDOW, Line, NumberedLine
from ....factories import MICROSECOND, NOON
from ..contract import Contract
from ..setup import start_run

_BATCH: Final = 10_000
"""Lines that are written and read at once where many are needed."""


def _lines(run_id: str, count: int, first: int = 0) -> list[Line]:
    return [Line(run_id, NOON + place * MICROSECOND, "info", f"line {place}") for place in range(first, first + count)]


async def _read_lines(store: FullStore, run_id: str, size: int = 300) -> list[NumberedLine]:
    """Read all lines, page by page."""
    found: list[NumberedLine] = []
    while page := await store.lines(run_id, found[-1].number if found else 0, size):
        found.extend(page)
    return found


class JournalContract(Contract):
    async def test_lines_are_read_in_write_order(self, store: FullStore) -> None:
        run = await start_run(store)
        lines = [
            Line(run.id, NOON + MICROSECOND, "info", "漢字 🌱\n'quoted'"),
            Line(run.id, NOON, "error", ""),
            Line(run.id, NOON, "progress", "0.5"),
        ]
        await store.write_lines(lines[:2])
        await store.write_lines(lines[2:])
        assert [numbered.line for numbered in await store.lines(run.id)] == lines

    async def test_a_reader_resumes_from_a_number(self, store: FullStore) -> None:
        run = await start_run(store)
        lines = _lines(run.id, 20)
        await store.write_lines(lines)
        said = await _read_lines(store, run.id, size=7)
        assert [numbered.line for numbered in said] == lines
        numbers = [numbered.number for numbered in said]
        assert numbers == sorted(set(numbers))
        assert await store.lines(run.id, numbers[-1]) == ()

    async def test_lines_of_one_run_are_not_read_with_another(self, store: FullStore) -> None:
        one, two = await start_run(store), await start_run(store)
        mixed = [line for pair in zip(_lines(one.id, 5), _lines(two.id, 5), strict=True) for line in pair]
        await store.write_lines(mixed)
        for run in (one, two):
            assert [numbered.line for numbered in await store.lines(run.id)] == _lines(run.id, 5)

    async def test_a_run_without_output_has_no_lines(self, store: FullStore) -> None:
        await store.write_lines([])
        assert await store.lines((await start_run(store)).id) == ()
        assert await store.lines("run_unknown") == ()

    async def test_the_last_line_has_the_number_of_lines(self, store: FullStore) -> None:
        one, two = await start_run(store), await start_run(store)
        assert (await store.last_line(one.id), await store.last_line("run_unknown")) == (0, 0)
        await store.write_lines([*_lines(one.id, 3), *_lines(two.id, 2)])
        await store.write_lines(_lines(one.id, 4))
        assert (await store.last_line(one.id), await store.last_line(two.id)) == (7, 2)
        assert [each.number for each in await store.lines(one.id)] == list(range(1, 8))

    async def test_lines_beyond_the_limit_are_replaced_by_one_truncation_mark(self, store: FullStore) -> None:
        """A run may log `LOG_LINES` lines whole; another run in the same batch is not cut."""
        loud, quiet = await start_run(store), await start_run(store)
        lines = _lines(loud.id, LOG_LINES + 100)
        for first in range(0, LOG_LINES, _BATCH):
            await store.write_lines(lines[first : min(first + _BATCH, LOG_LINES - 1)])
        await store.write_lines([*lines[LOG_LINES - 1 : LOG_LINES + 49], *_lines(quiet.id, 3)])
        await store.write_lines(lines[LOG_LINES + 49 :])
        said = [numbered.line for numbered in await _read_lines(store, loud.id, size=_BATCH)]
        assert said[:LOG_LINES] == lines[:LOG_LINES]
        assert len(said) == await store.last_line(loud.id) == LOG_LINES + 1
        assert said[-1].level == "warning"
        assert said[-1].text
        assert [numbered.line for numbered in await store.lines(quiet.id)] == _lines(quiet.id, 3)

    async def test_a_long_line_is_truncated(self, store: FullStore) -> None:
        run = await start_run(store)
        fits, too_long = "漢" * LOG_LINE_CHARACTERS, "字" * (LOG_LINE_CHARACTERS + 1)
        await store.write_lines([Line(run.id, NOON, "output", text) for text in (fits, too_long)])
        first, second = (numbered.line.text for numbered in await store.lines(run.id))
        assert first == fits
        assert len(second) == LOG_LINE_CHARACTERS
        assert too_long.startswith(second[:-1])

    async def test_lines_of_a_deleted_run_are_not_stored(self, store: FullStore) -> None:
        """Nothing would ever delete them."""
        run = await start_run(store)
        await store.write_lines([*_lines("run_unknown", 2), *_lines(run.id, 1)])
        assert await store.lines("run_unknown") == ()
        assert len(await store.lines(run.id)) == 1

    async def test_other_handles_read_the_lines(self, store: FullStore) -> None:
        run = await start_run(store)
        await store.write_lines(_lines(run.id, 1))
        async with self.another(store) as other:
            assert [numbered.line for numbered in await other.lines(run.id)] == _lines(run.id, 1)

    async def test_newest_progress_is_found_among_the_last_lines(self, store: FullStore) -> None:
        run, other = await start_run(store), await start_run(store)
        assert await store.newest_progress([run.id, other.id]) == {}
        progress = [Line(run.id, NOON, "progress", f"0.{place}") for place in range(1, 4)]
        await store.write_lines([*_lines(run.id, 5), *progress, *_lines(run.id, PROGRESS_WINDOW - 1)])
        await store.write_lines([Line(other.id, NOON, "progress", "0.9")])
        both = {run.id: progress[-1], other.id: Line(other.id, NOON, "progress", "0.9")}
        assert await store.newest_progress([run.id, other.id, "run_absent"]) == both
        assert await store.newest_progress([run.id]) == {run.id: progress[-1]}
        assert await store.newest_progress([]) == {}
        await store.write_lines(_lines(run.id, 1))
        assert await store.newest_progress([run.id]) == {}
