"""Exported rows of a part: the decoder, and the key of a row, from which the cursor of the next page is made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from ...model.page import Page
from ...model.reason import Reason
from ...ports.journal import Line, NumberedLine
from ...ports.transfer import BlockedOwner, CounterValue, MetadataItem, Part, TransferItem
from ..transfer_pages import decode_position, encode_position
from .columns import decode_listed_run, run_number, run_occurrence
from .json_codecs import instant_of
from .message_rows import decode_exported_message
from .rows import Row, decode_chain_row, decode_record

_EARLIEST: Final = -(2**63)


class PartRows(NamedTuple):
    """`first_key` sorts before the keys of all rows."""

    decode: Callable[[Row], TransferItem]
    key: Callable[[Row], Row]
    first_key: Row

    def start_after(self, after: str | None) -> Row:
        """Return the key after which a page begins."""
        return decode_position(after, self.first_key)

    def build_page(self, rows: list[Row], limit: int) -> Page[TransferItem]:
        """Decode the rows of a page; a full page has a cursor, because there may be more."""
        cursor = encode_position(*self.key(rows[-1])) if len(rows) == limit else None
        return Page(tuple(map(self.decode, rows)), cursor)


def _decode_metadata(row: Row) -> MetadataItem:
    return MetadataItem(*row)


def _decode_blocked_owner(row: Row) -> BlockedOwner:
    owner, reason = row
    return BlockedOwner(owner, Reason(reason))


def _decode_counter(row: Row) -> CounterValue:
    return CounterValue(*row)


def decode_line(row: Row) -> NumberedLine:
    number, run_id, at, level, text = row
    return NumberedLine(number, Line(run_id, instant_of[at], level, text))


def _first_column(row: Row) -> Row:
    return tuple(row[:1])


def _record_key(row: Row) -> Row:
    kind, key, *_ = row
    return kind, key


def _counter_key(row: Row) -> Row:
    owner, hour, name, _ = row
    return hour, owner, name


def _line_key(row: Row) -> Row:
    number, run_id, *_ = row
    return run_id, number


def _chain_row_key(row: Row) -> Row:
    task, root, *_ = row
    return task, root


def _run_number_key(row: Row) -> Row:
    return (run_number(row),)


def _message_key(row: Row) -> Row:
    stream, number, *_ = row
    return stream, number


PART_ROWS: Final[dict[Part, PartRows]] = {
    Part.METADATA: PartRows(_decode_metadata, _first_column, ("",)),
    Part.RECORDS: PartRows(decode_record, _record_key, ("", "")),
    Part.BLOCKED_OWNERS: PartRows(_decode_blocked_owner, _first_column, ("",)),
    Part.COUNTERS: PartRows(_decode_counter, _counter_key, (_EARLIEST, "", "")),
    Part.CHAINS: PartRows(decode_chain_row, _chain_row_key, (_EARLIEST, "")),
    Part.LINES: PartRows(decode_line, _line_key, ("", 0)),
    Part.MESSAGES: PartRows(decode_exported_message, _message_key, (0, 0)),
}
"""Parts whose rows every SQL store reads in the same order of columns and keys."""
RUNS_BY_NUMBER: Final = PartRows(decode_listed_run, _run_number_key, (_EARLIEST,))
RUNS_BY_OCCURRENCE: Final = PartRows(decode_listed_run, run_occurrence, (_EARLIEST, _EARLIEST, 0, ""))
