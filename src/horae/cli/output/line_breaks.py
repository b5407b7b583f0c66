"""Wraps lines for a terminal: between words and Chinese characters, never inside a word, a time or a command."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from ..command_table import ALIASES, COMMANDS
from .styled_text import Cell, StyledCharacter, cell_text, cell_width, display_width, join_characters, to_characters

NARROW_HANG: Final = 4
_INDENTS: Final = (NARROW_HANG, 2)
"""Smaller indents for a word that does not fit behind the requested one."""
_SPACE: Final[StyledCharacter] = (" ", "")
_NARROW: Final = 60
"""Columns below which deep indents would take too much of the line."""
_WEEKDAY: Final = r"(?:\b[A-Z][a-z]{2} |周. ?)?"
_TIME: Final = rf"{_WEEKDAY}\d{{4}}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?: ?[+-]\d\d:\d\d(?::\d\d)?| UTC|Z)?"
_AMOUNT: Final = r"p\d\d \d[\d.]*(?: ?(?:ms|s|m|h)\b)?|\d+ (?:秒|分钟|小时|天|次|个)|\d+ (?:ms|s|m|h|d|min|MB|GB|kB|%)(?![\w/])(?: \d+ (?:m|s|h)(?![\w/]))*"
# A quoted argument begins after a space or `=`; any other quote ends the command, as does a bracket, a comma or semicolon, a gap of two spaces, or the end of the text.
_WORD: Final = r"""(?:(?<=[ =])"[^"]*"|(?<=[ =])'[^']*'|[^\s'"“”`,;，；。、（）()·→]|,(?=\S)|;(?=\S))+"""
# The program as it was called: `.venv/bin/horae`, '/a folder/bin/horae', `python3.12 -m horae`. A path that is no program goes
# on with no option and no name of a command.
_PATH: Final = (
    r"""(?:'[^']*/horae'|[^\s'"“”`,;:，；：。、（）()]*/horae|(?:'[^']*'|[^\s'"“”`,;:，；：。、（）()]+) -m horae)"""
)
_CALLED: Final = rf"{_PATH}(?= (?:--|(?:{'|'.join((*COMMANDS, *ALIASES))})\b))"
_TOOLS: Final = "horae|pip install|chmod|pg_dump|mariadb-dump|mysqldump"
_COMMAND: Final = rf"(?<![\w/.:\"-])(?:{_CALLED}|{_TOOLS})(?: (?![·→|]){_WORD})+"
# A short Chinese word in a column of its own, such as 失败.
_CELL: Final = r"(?<= )[\u4e00-\u9fff]{2,4}(?=  | ·|$)"
# A name and its value in a line with parts: `retries 3 · timeout 5m`.
_PART: Final = r"(?<=· )[^\s·]+(?: [^\s·]+){1,2}(?= ·|$)"
_UNBREAKABLE: Final = re.compile(rf"(?P<command>{_COMMAND})|{_TIME}|{_AMOUNT}|{_PART}|{_CELL}")
_START: Final = re.compile(r" *(?:[✓✕!~+◐△⊘■○⧖→-] +)?")
_NEVER_FIRST: Final = frozenset("，。、；：！？）」』”’…·,.;:!?)]}%》")
_NEVER_LAST: Final = frozenset("（「『“‘([{《")


class _Unit(NamedTuple):
    """Characters that stay on one line, and the spaces before them."""

    gap: list[StyledCharacter]
    letters: list[StyledCharacter]

    @property
    def width(self) -> int:
        return _width(self.letters)


def wrap_cell(cell: Cell, room: int, hang: int = 0) -> list[Cell]:
    """Return the cell in lines of at most `room` columns; lines after the first begin with `hang` spaces.

    A word, time or command that does not fit behind the indent gets its own line with a smaller indent. One that is wider
    than the terminal is not broken, so that it can be copied.
    """
    if cell_width(cell) <= room:
        return [cell]
    hang = min(hang, NARROW_HANG) if is_narrow(room) else hang
    lines: list[list[StyledCharacter]] = []
    line: list[StyledCharacter] = []
    for atom in _split_units(cell, room):
        taken = _width(line) + len(atom.gap)
        indents = [each for each in (hang, *_INDENTS) if each <= hang and each + atom.width <= room]
        if taken + atom.width <= room or (not indents and _is_sign(line)):
            line += atom.gap + atom.letters  # a sign stays next to a word that fits nowhere
            continue
        if line:
            lines.append(line)
        line = [_SPACE] * (indents[0] if indents else min(hang, _INDENTS[-1])) + atom.letters
    lines.append(line)
    return [join_characters(each) for each in lines]


def is_narrow(room: int) -> bool:
    """Whether a terminal is too narrow to indent lines below a label."""
    return room < _NARROW


def find_indent(cell: Cell) -> int:
    """Return the column where the text of a line begins, behind leading spaces and a sign such as ✓ or !."""
    return display_width(_START.match(cell_text(cell)).group())  # type: ignore[union-attr]  # it also matches nothing


def longest_word(cell: Cell) -> int:
    """Return the width of the longest unbreakable part."""
    return max((atom.width for atom in _split_units(cell, 0)), default=0)


def _is_sign(line: Sequence[StyledCharacter]) -> bool:
    text = characters_text(line)
    return bool(text.strip()) and _START.fullmatch(f"{text} ") is not None


def characters_text(letters: Sequence[StyledCharacter]) -> str:
    return "".join(letter for letter, _ in letters)


def _width(letters: Sequence[StyledCharacter]) -> int:
    return display_width(characters_text(letters))


def _split_units(cell: Cell, room: int) -> list[_Unit]:
    """Split into words, times, amounts and commands; each Chinese character is a word, with its punctuation."""
    letters = to_characters(cell)
    text = cell_text(cell)
    # A long match that continues as prose is not a command, and may be broken.
    units = {
        each.start(): each.end()
        for each in _UNBREAKABLE.finditer(text)
        if display_width(each.group()) <= room or (room and each["command"] is not None and _ends(text, each.end()))
    }
    found: list[_Unit] = []
    gap: list[StyledCharacter] = []
    place = 0
    while place < len(text):
        if text[place] == " ":
            gap.append(letters[place])
            place += 1
            continue
        end = units.get(place) or _word_end(text, place, units)
        word = letters[place:end]
        if found and _joins(text, place, found[-1], gap, room - _width(word)):
            last = found.pop()
            found.append(_Unit(last.gap, last.letters + gap + word))
        else:
            found.append(_Unit(gap, word))
        gap, place = [], end
    return found


def _joins(text: str, place: int, last: _Unit, gap: Sequence[StyledCharacter], room: int) -> bool:
    """Whether the word at this place stays on the line of the one before: no space is between them, or one of both is a
    sign and there is room."""
    if not gap:
        return _is_unbroken(text, place)
    return len(gap) == 1 and (text[place] == "·" or _is_sign(last.letters)) and last.width + 1 <= room


def _ends(text: str, end: int) -> bool:
    """Whether a sentence or a column ends here."""
    rest = text[end : end + 2]
    return not rest.strip() or not rest[0].isspace()


def _word_end(text: str, place: int, units: Mapping[int, int]) -> int:
    if display_width(text[place]) == 2:
        return place + 1
    end = place + 1
    while end < len(text) and text[end] != " " and display_width(text[end]) == 1 and end not in units:
        end += 1
    return end


def _is_unbroken(text: str, place: int) -> bool:
    """Whether a break before this place, which no space precedes, is forbidden."""
    before, letter = text[place - 1], text[place]
    if before in _NEVER_LAST or (before in "\"'" and text[place - 2 : place - 1] in ("", " ")):
        return True
    # A full stop may also begin a word: `./horae.db`.
    if letter in _NEVER_FIRST and (letter not in ".-" or display_width(text[place + 1 : place + 2]) != 1):
        return True
    if letter in "\"'" and display_width(before) == 2:
        return text[place + 1 : place + 2] in ("", " ") or display_width(text[place + 1]) == 2
    return display_width(before) == 1 and display_width(letter) == 1
