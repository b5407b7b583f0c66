"""Cuts English text into tokens that know their place."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from ..refusals import refuse

TokenKind = Literal["date", "time", "offset", "duration", "ordinal", "number", "zone", "word", "mark"]

_PATTERNS: Final[tuple[tuple[TokenKind, str], ...]] = (
    ("date", r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?=$|[\sTt,;)\]])"),
    ("time", r"\d{1,2}:\d\d(?::\d\d(?:\.\d{1,6})?)?"),
    ("offset", r"(?:[+-]\d\d:?\d\d|Z)(?=$|[\s,;)])"),
    ("zone", r"@?[A-Za-z][A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+|@[A-Za-z][A-Za-z_]*"),
    ("ordinal", r"\d+(?:st|nd|rd|th)(?![A-Za-z0-9])"),
    (
        "duration",
        r"(?:\d+(?:\.\d+)?(?:weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|min|m|seconds?|secs?|s))+(?![A-Za-z0-9])",
    ),
    ("number", r"\d+(?:\.\d+)?"),
    ("word", r"[A-Za-z]+(?:'s)?"),
    ("mark", r"[,;&()–—~-]"),
)
_TOKEN: Final = re.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS), re.ASCII | re.IGNORECASE)
_T_BETWEEN: Final = re.compile(r"[Tt](?=\d)")
_BLANK: Final = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Token:
    kind: TokenKind
    text: str
    place: int

    @property
    def word(self) -> str:
        return self.text.lower() if self.kind == "word" else ""


def tokens_of(text: str) -> list[Token]:
    found: list[Token] = []
    place = 0
    while place < len(text):
        blank = _BLANK.match(text, place)
        if blank is None and found and found[-1].kind == "date":
            blank = _T_BETWEEN.match(text, place)  # 2026-03-01T15:00
        if blank is not None:
            place = blank.end()
            continue
        match = _TOKEN.match(text, place)
        if match is None:
            raise refuse("unknown_sign", place, sign=text[place])
        kind: TokenKind = match.lastgroup  # type: ignore[assignment]
        found.append(Token(kind, match.group(), place))
        place = match.end()
    return found
