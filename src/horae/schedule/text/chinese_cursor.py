"""Cursor over a Chinese phrase, with the primitives of the parser."""

from __future__ import annotations

import re
from typing import Final

from ..refusals import refuse
from .chinese_words import chinese_number
from .draft import Draft

_BLANK: Final = re.compile(r"\s*")
_LIST_MARK: Final = re.compile(r"\s*[、,和及与]\s*|\s*以及\s*")
_RANGE: Final = re.compile(r"\s*(?:到|至|-|–|—|~)\s*")


def any_word(words: object) -> str:
    """A regular expression alternative of words, longest first."""
    return "|".join(sorted(words, key=len, reverse=True))  # type: ignore[call-overload]


class Cursor:
    """Each reader advances past the text that it recognises, and does not move otherwise."""

    def __init__(self, text: str, offset: int) -> None:
        self._text = text
        self._offset = offset
        self._index = 0
        self.draft = Draft()

    @property
    def is_done(self) -> bool:
        self.skip_blank()
        return self._index >= len(self._text)

    @property
    def place(self) -> int:
        return self._index + self._offset

    @property
    def shown(self) -> str:
        return self._text[self._index : self._index + 8]

    def skip_blank(self) -> None:
        match = _BLANK.match(self._text, self._index)
        if match is not None:
            self._index = match.end()

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        self.skip_blank()
        found = pattern.match(self._text, self._index)
        if found is not None:
            self._index = found.end()
        return found

    def looking_at(self, pattern: re.Pattern[str]) -> bool:
        self.skip_blank()
        return pattern.match(self._text, self._index) is not None

    def take(self, *words: str) -> str | None:
        self.skip_blank()
        for word in sorted(words, key=len, reverse=True):
            if self._text.startswith(word, self._index):
                self._index += len(word)
                return word
        return None

    def take_separator(self) -> bool:
        return self.match(_LIST_MARK) is not None

    def range_follows(self) -> bool:
        return self.match(_RANGE) is not None

    def number(self, text: str) -> int:
        found = chinese_number(text)
        if found is None:
            raise refuse("whole_number_expected", self.place, value=text)
        return found
