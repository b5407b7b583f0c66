"""Text on its way to a terminal: what people named themselves is made inert, what we say may have a colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NamedTuple, TypeAlias

from .width import display_width

Style: TypeAlias = Literal["", "good", "bad", "odd", "dim", "bold"]
_CODES: Final[dict[Style, str]] = {"good": "32", "bad": "31", "odd": "33", "dim": "2", "bold": "1"}


class StyledText(NamedTuple):
    text: str
    style: Style = ""


Cell: TypeAlias = "str | StyledText | Sequence[str | StyledText]"
"""What stands in one place: plain text, one piece, or several side by side."""
StyledCharacter: TypeAlias = tuple[str, Style]


def replace_unprintable(text: str) -> str:
    """No character that a terminal would obey instead of showing it: escapes, cursor moves, changes of direction."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in text)


def to_pieces(cell: Cell) -> tuple[StyledText, ...]:
    parts: Sequence[str | StyledText] = (cell,) if isinstance(cell, str | StyledText) else cell
    found = (part if isinstance(part, StyledText) else StyledText(part) for part in parts)
    return tuple(StyledText(replace_unprintable(text), style) for text, style in found)


def cell_width(cell: Cell) -> int:
    return sum(display_width(piece.text) for piece in to_pieces(cell))


def cell_text(cell: Cell) -> str:
    return "".join(piece.text for piece in to_pieces(cell))


def render_cell(cell: Cell, *, colour: bool) -> str:
    if not colour:
        return cell_text(cell)
    return "".join(_paint(piece) for piece in to_pieces(cell))


def truncate_cell(cell: Cell, width: int) -> tuple[StyledText, ...]:
    """The beginning of it, with an ellipsis where something is missing."""
    whole = to_pieces(cell)
    if cell_width(whole) <= width:
        return whole
    kept: list[StyledText] = []
    left = width - 1
    for text, style in whole:
        shown = _whole_words(text, _beginning(text, left))
        kept.append(StyledText(shown + ("" if shown == text else "…"), style))
        left -= display_width(shown)
        if shown != text:
            break
    return tuple(kept)


def to_characters(cell: Cell) -> list[StyledCharacter]:
    return [(letter, style) for text, style in to_pieces(cell) for letter in text]


def join_characters(letters: Sequence[StyledCharacter]) -> tuple[StyledText, ...]:
    """Letters of one style in one piece; spaces at the end are left out."""
    found: list[StyledText] = []
    for letter, style in letters:
        if found and found[-1].style == style:
            found[-1] = StyledText(found[-1].text + letter, style)
        else:
            found.append(StyledText(letter, style))
    if found:
        found[-1] = StyledText(found[-1].text.rstrip(" "), found[-1].style)
    return tuple(found)


def _whole_words(text: str, beginning: str) -> str:
    """Up to the end of a word, unless the first one is longer than that or there are no spaces."""
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
