"""Styled text for a terminal: display width, ANSI styles for our own text, control characters of users replaced."""

from __future__ import annotations

from collections.abc import Sequence
from shutil import get_terminal_size
from typing import Final, Literal, NamedTuple, TypeAlias
from unicodedata import east_asian_width


def display_width(text: str) -> int:
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def terminal_width() -> int:
    """Return COLUMNS, else the width of the terminal, else 80."""
    return get_terminal_size().columns


def pad(text: str, width: int) -> str:
    return text + " " * max(0, width - display_width(text))


Style: TypeAlias = Literal["", "good", "bad", "odd", "dim", "bold"]
_CODES: Final[dict[Style, str]] = {"good": "32", "bad": "31", "odd": "33", "dim": "2", "bold": "1"}


class StyledText(NamedTuple):
    text: str
    style: Style = ""


Cell: TypeAlias = "str | StyledText | Sequence[str | StyledText]"
"""Content of a table cell or line: text, a styled text, or a sequence of both."""
StyledCharacter: TypeAlias = tuple[str, Style]


def replace_unprintable(text: str) -> str:
    """Replace characters that a terminal would interpret: escapes, cursor moves, changes of direction."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


def printable_lines(text: str) -> list[str]:
    """Return the lines of a text that others wrote; further lines are indented, so that none looks like the beginning of
    another text."""
    first, *others = text.replace("\r\n", "\n").strip("\n").split("\n")
    return [replace_unprintable(first), *(f"    {replace_unprintable(line)}" for line in others)]


def to_pieces(cell: Cell) -> tuple[StyledText, ...]:
    parts: Sequence[str | StyledText] = (cell,) if isinstance(cell, str | StyledText) else cell
    styled = (part if isinstance(part, StyledText) else StyledText(part) for part in parts)
    return tuple(StyledText(replace_unprintable(text), style) for text, style in styled)


def cell_width(cell: Cell) -> int:
    return sum(display_width(piece.text) for piece in to_pieces(cell))


def cell_text(cell: Cell) -> str:
    return "".join(piece.text for piece in to_pieces(cell))


def render_cell(cell: Cell, *, colour: bool) -> str:
    if not colour:
        return cell_text(cell)
    return "".join(_paint(piece) for piece in to_pieces(cell))


def truncate_cell(cell: Cell, width: int) -> tuple[StyledText, ...]:
    """Return the cell shortened to `width` columns, at the end of a word, with an ellipsis where something is missing."""
    whole = to_pieces(cell)
    if cell_width(whole) <= width:
        return whole
    pieces: list[StyledText] = []
    left = width - 1
    for text, style in whole:
        shown = _whole_words(text, _beginning(text, left))
        pieces.append(StyledText(shown + ("" if shown == text else "…"), style))
        left -= display_width(shown)
        if shown != text:
            break
    return tuple(pieces)


def to_characters(cell: Cell) -> list[StyledCharacter]:
    return [(character, style) for text, style in to_pieces(cell) for character in text]


def join_characters(characters: Sequence[StyledCharacter]) -> tuple[StyledText, ...]:
    """Join neighbours of one style, and remove spaces at the end."""
    pieces: list[StyledText] = []
    for character, style in characters:
        if pieces and pieces[-1].style == style:
            pieces[-1] = StyledText(pieces[-1].text + character, style)
        else:
            pieces.append(StyledText(character, style))
    if pieces:
        pieces[-1] = StyledText(pieces[-1].text.rstrip(" "), pieces[-1].style)
    return tuple(pieces)


def _whole_words(text: str, beginning: str) -> str:
    """Return the beginning up to the end of a word; unchanged if it holds no space."""
    if len(beginning) == len(text) or " " in (text[len(beginning)], beginning[-1:]):
        return beginning.rstrip(" ") if len(beginning) < len(text) else beginning
    end = beginning.rfind(" ")
    return beginning[:end].rstrip(" ") if end > 0 else beginning


def _beginning(text: str, width: int) -> str:
    taken = 0
    for number, sign in enumerate(text):
        taken += display_width(sign)
        if taken > width:
            return text[:number]
    return text


def _paint(piece: StyledText) -> str:
    code = _CODES.get(piece.style)
    return piece.text if code is None or not piece.text else f"\x1b[{code}m{piece.text}\x1b[0m"
