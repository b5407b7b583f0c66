"""Text on a terminal: display width and line breaks."""

from __future__ import annotations

import pytest

from horae.cli.output.line_breaks import wrap_cell
from horae.cli.output.styled_text import StyledText, cell_text, display_width

COMMAND = "horae rm tsk_01a1e71b0412ab34cd --yes"


@pytest.mark.parametrize(
    ("text", "room", "lines"),
    [
        ("one two three", 20, ["one two three"]),
        ("one two three", 7, ["one two", "three"]),
        ("a " + "x" * 30 + " b", 10, ["a", "x" * 30, "b"]),
        ("", 10, [""]),
        ("一二三 四五六", 9, ["一二三", "四五六"]),
        ("时区数据只来自，包。", 8, ["时区数据", "只来自，", "包。"]),
        ("没有,可用 horae", 9, ["没有,可用", "horae"]),
        (f"to undo it: {COMMAND}", 40, ["to undo it:", COMMAND]),
        (f"to undo it: {COMMAND}", 20, ["to undo it:", COMMAND]),
        ("planned Tue 2026-11-17 03:10 +00:00 here", 30, ["planned", "Tue 2026-11-17 03:10 +00:00", "here"]),
        ("first part · second part", 16, ["first part ·", "second part"]),
        ("see ./horae.db、./other.db", 16, ["see ./horae.db、", "./other.db"]),
    ],
)
def test_text_breaks_between_words_and_commands_stay_whole(text: str, room: int, lines: list[str]) -> None:
    assert [cell_text(line) for line in wrap_cell(text, room)] == lines


def test_lines_hang_below_the_first_and_a_long_word_moves_to_the_left() -> None:
    text = "  Undo   type " + COMMAND
    assert [cell_text(line) for line in wrap_cell(text, 70, 9)] == [text]
    assert [cell_text(line) for line in wrap_cell("  When   " + "word " * 14, 64, 9)][1].startswith(" " * 9 + "word")
    assert [cell_text(line) for line in wrap_cell(text, 41, 9)] == ["  Undo   type", "    " + COMMAND]


def test_colours_survive_a_break() -> None:
    first, second = wrap_cell(("a ", StyledText("red words", "bad")), 6)
    assert first == (StyledText("a "), StyledText("red", "bad"))
    assert second == (StyledText("words", "bad"),)


def test_a_chinese_character_takes_two_columns() -> None:
    assert display_width("时区") == 4


def test_quoted_command_ends_at_its_closing_quote() -> None:
    task = "tsk_01a1ea09be09e60a18494bae161e518f"
    text = f"Run it once more with 'horae run {task}', or give it a new schedule: horae edit {task} --when 'every day at 09:00'"
    lines = [cell_text(line) for line in wrap_cell(text, 80)]
    assert lines[0] == f"Run it once more with 'horae run {task}', or give"
    assert lines[-1] == f"horae edit {task} --when 'every day at 09:00'"
    assert max(map(len, lines)) <= 80
