"""Text on a terminal: display width and line breaks."""

from __future__ import annotations

import pytest

from horae.cli.width import columns, wrapped


@pytest.mark.parametrize(
    ("text", "room", "lines"),
    [
        ("one two three", 20, ["one two three"]),
        ("one two three", 7, ["one two", "three"]),
        ("a " + "x" * 30 + " b", 10, ["a", "x" * 30, "b"]),
        ("", 10, [""]),
        ("一二三 四五六", 9, ["一二三", "四五六"]),
    ],
)
def test_text_breaks_between_words_and_long_words_stay_whole(text: str, room: int, lines: list[str]) -> None:
    assert wrapped(text, room) == lines


def test_parts_keep_their_separator_at_the_end_of_a_line() -> None:
    assert wrapped("first part · second part", 16, between=" · ") == ["first part ·", "second part"]
    assert columns("时区") == 4
