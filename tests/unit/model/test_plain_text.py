"""Plain text: no escape sequences, control characters or direction overrides are left."""

from __future__ import annotations

import pytest

from horae.model.text.plain_text import cut, first_line, plain_line, plain_text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("\x1b[31mred\x1b[0m and \x1b]0;title\x07bell", "red and bell"),
        ("10 %\r50 %\r100 %", "100 %"),
        ("one\r\ntwo\nthree\u2028four", "one\ntwo\nthree\nfour"),
        ("a\u202eb\u2066c\x00d\te", "abcd\te"),
        ("漢字 🌱", "漢字 🌱"),
    ],
)
def test_text_is_shown_as_a_terminal_shows_it_at_last(text: str, plain: str) -> None:
    assert plain_text(text) == plain


def test_line_breaks_within_a_line_are_marked() -> None:
    assert plain_line("one\ntwo\n") == "one ⏎ two"
    assert plain_line("ascii only") == "ascii only"


def test_first_line_is_the_first_that_shows_something() -> None:
    assert first_line("\n \x1b[0m\n  disk full \nTraceback") == "disk full"
    assert first_line("\x1b[0m") == ""


def test_stored_text_has_no_terminal_sequences_and_no_direction_controls() -> None:
    assert plain_text("\x1b[31mred\x1b[0m \x1b]8;;http://x\x07link\x1b]8;;\x07") == "red link"
    assert plain_text("a\x9b31mb\x00\tc\r\nd\x1b") == "ab\tc\nd"
    assert plain_text("a\u202eb\u2066") == "ab"
    assert plain_text("\ud800") == "?"


def test_long_text_is_cut_at_lines_or_characters() -> None:
    assert cut("short\ntext", 100, 2) == "short\ntext"
    assert cut("a\nb\nc", 100, 2) == "a\nb …"
    assert cut("x" * 20, 10, 2) == "x" * 10 + " …"
