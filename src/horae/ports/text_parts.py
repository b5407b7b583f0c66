"""Splits a text into parts that a chat service accepts: at a paragraph, line, sentence or space, never inside a character; pure."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple


class TextLimit(NamedTuple):
    """Longest text of one message. `measure` counts as the service does, and adds up over characters."""

    most: int
    measure: Callable[[str], int] = len

    def allows(self, text: str) -> bool:
        return self.measure(text) <= self.most


def utf16_length(text: str) -> int:
    """Count UTF-16 code units: characters outside the basic plane, such as most emoji, count twice."""
    return len(text) + sum(character > "\uffff" for character in text)


def json_length(text: str) -> int:
    """Count the UTF-8 bytes of a text inside a JSON string."""
    return len(json.dumps(text, ensure_ascii=False).encode(errors="surrogatepass")) - 2


_PARAGRAPH: Final = re.compile(r"\n\n")
_LINE: Final = re.compile(r"\n")
_SENTENCE: Final = re.compile(r"[.!?…]+[\"'”’)\]]*(?=\s)|[。！？；…]+[”’」』）】]*")
_SPACE: Final = re.compile(r"\s|(?<=\S)(?=\s)|[，、：]")
_PREFERENCES: Final = (_PARAGRAPH, _LINE, _SENTENCE, _SPACE)
_JOINER: Final = "\u200d"
_MARKS: Final = frozenset({"Mn", "Mc", "Me"})


def split_text(text: str, limit: TextLimit) -> tuple[str, ...]:
    """Return the parts of a text, in order. Joined they are the text.

    Parts without any visible character are left out, because services refuse them.
    """
    return tuple(part for part in _parts(text, limit) if part.strip())


def _parts(text: str, limit: TextLimit) -> Iterator[str]:
    start = 0
    while start < len(text):
        end = _longest(text, start, limit)
        if end < len(text):
            end = _cut(text, start, end)
        yield text[start:end]
        start = end


def _longest(text: str, start: int, limit: TextLimit) -> int:
    """Return the largest end of a part that begins at `start`; a part has at least one character."""
    low, high = start + 1, min(len(text), start + limit.most)
    if limit.allows(text[start:high]):
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if limit.allows(text[start:middle]):
            low = middle
        else:
            high = middle - 1
    return low


def _cut(text: str, start: int, end: int) -> int:
    """Return where the part ends: at the last good place in its second half, so that no part is tiny."""
    half = start + (end - start) // 2
    for pattern in _PREFERENCES:
        # One more character is visible, because a sentence and a word end before a space.
        cuts = [found.end() for found in pattern.finditer(text, half, end + 1) if half < found.end() <= end]
        for cut in reversed(cuts):
            if _is_boundary(text, cut):
                return cut
    return next((cut for cut in range(end, half, -1) if _is_boundary(text, cut)), end)


def _is_boundary(text: str, cut: int) -> bool:
    """Whether a reader sees a new character at `cut`: no accent, joined emoji, skin tone, flag or line end is torn."""
    before, after = text[cut - 1], text[cut]
    if before == _JOINER or _extends(after) or (before == "\r" and after == "\n"):
        return False
    if _is_flag_letter(before) and _is_flag_letter(after):
        first = cut
        while first > 0 and _is_flag_letter(text[first - 1]):
            first -= 1
        return (cut - first) % 2 == 0
    return True


def _extends(character: str) -> bool:
    return (
        character == _JOINER
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
        or unicodedata.category(character) in _MARKS
    )


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
