"""Records of the messages that a run has handled: their keys, and ranges that follow one another."""

from __future__ import annotations

from horae.model.handled import (
    CURSOR_KIND,
    HANDLED_KIND,
    HANDLED_RETENTION,
    Handled,
    cursor_key,
    handled_writes,
    read_handled,
    run_key,
)
from horae.model.messages import READER_CHARACTERS, STREAM_CHARACTERS, Cursor
from horae.testing.factories import MICROSECOND, NOON

RUN = "run_019ca9450a000000000000000000ab12"


def test_one_move_is_found_by_its_run_and_by_the_position_of_the_cursor() -> None:
    handled = Handled("chat:1", "漢字", 3, 7)
    by_run, by_cursor = (each.record for each in handled_writes("ada", RUN, handled, NOON))
    assert (by_run.kind, by_cursor.kind) == (HANDLED_KIND, CURSOR_KIND)
    assert by_run.key.startswith(run_key(RUN))
    assert by_cursor.key == cursor_key("ada", "chat:1", Cursor("漢字", 7, NOON))
    assert by_run.expires == by_cursor.expires == NOON + HANDLED_RETENTION
    assert read_handled([by_run]) == (handled,)


def test_keys_differ_by_owner_stream_reader_number_and_instant() -> None:
    cursor = Cursor("r", 7, NOON)
    keys = {
        cursor_key("ada", "a", cursor),
        cursor_key("bob", "a", cursor),
        cursor_key("ada", "b", cursor),
        cursor_key("ada", "a", cursor._replace(reader="s")),
        cursor_key("ada", "a", cursor._replace(number=8)),
        cursor_key("ada", "a", cursor._replace(moved=NOON + MICROSECOND)),
    }
    assert len(keys) == 6


def test_keys_of_the_longest_names_fit_into_every_store() -> None:
    longest = Handled("s" * STREAM_CHARACTERS, "r" * READER_CHARACTERS, 1, 2**53)
    assert all(len(write.record.key) < 200 for write in handled_writes("o" * 200, RUN, longest, NOON))


def test_ranges_that_follow_one_another_are_one() -> None:
    moves = [
        Handled("b", "r", 1, 1),
        Handled("a", "r", 4, 6),
        Handled("a", "r", 1, 3),
        Handled("a", "r", 9, 9),
        Handled("a", "s", 7, 8),
    ]
    records = [handled_writes("ada", RUN, each, NOON)[0].record for each in moves]
    assert read_handled(records) == (
        Handled("a", "r", 1, 6),
        Handled("a", "r", 9, 9),
        Handled("a", "s", 7, 8),
        Handled("b", "r", 1, 1),
    )
    assert read_handled([]) == ()
