"""Decoder for the rows of PostgreSQL's fast path: a due entry together with its task, and a live task with its entries."""

from __future__ import annotations

from typing import Final, NamedTuple

from ...model.entry import Entry
from ...model.task import Task, TaskStatus
from .json_codecs import decode
from .rows import ENTRY_WIDTH, TASK_WIDTH, Row, decode_entry, decode_status, decode_task

_ENTRY: Final = 4
_TASK: Final = _ENTRY + ENTRY_WIDTH
_VERSION: Final = _TASK + TASK_WIDTH
_PAYLOAD: Final = 7
_LANE: Final = 11


class DueRow(NamedTuple):
    """Row of `read_few_due`. Without a due entry there is one row, whose `number` is None at run time."""

    token: int
    next_timed: int | None
    ready: int | None
    is_unrestricted: bool
    """The owner has no limit and is not blocked."""
    number: int
    version: int
    entry: Row
    task: Row
    status: Row
    has_live_runs: bool
    entry_count: int

    @property
    def needs_general_path(self) -> bool:
        """Whether its start is never ordinary: it is one of a chain, in a lane, or of an owner with a limit or a block."""
        return self.entry[-1] is not None or self.task[_LANE] is not None or not self.is_unrestricted

    @property
    def has_payload(self) -> bool:
        """False for a long payload, which is not read."""
        return self.task[_PAYLOAD] is not None

    def decode_entry(self, task_id: str) -> Entry:
        return decode_entry(self.entry, task_id)

    def decode_task(self) -> Task:
        return decode_task(self.task)

    def decode_status(self) -> TaskStatus:
        return decode_status(self.status, 0)


def decode_due_row(row: Row) -> DueRow:
    token, next_timed, ready, is_unrestricted, number = row[: _ENTRY + 1]
    has_live_runs, entry_count = row[-2:]
    return DueRow(
        token,
        next_timed,
        ready,
        is_unrestricted,
        number,
        row[_VERSION],
        row[_ENTRY:_TASK],
        row[_TASK:_VERSION],
        row[_VERSION + 1 : -2],
        has_live_runs,
        entry_count,
    )


class LiveTaskRow(NamedTuple):
    """Row of `read_few_live`; `entries` is a JSON array of entry rows, None for an empty agenda."""

    number: int
    version: int
    entries: str | None

    def decode_entries(self, task_id: str) -> tuple[Entry, ...]:
        rows = () if self.entries is None else decode(self.entries)
        return tuple([decode_entry(tuple(row), task_id) for row in rows])


def decode_live_task_row(row: Row) -> LiveTaskRow:
    return LiveTaskRow(*row)
