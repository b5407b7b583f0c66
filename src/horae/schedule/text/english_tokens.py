"""Tokenizer for English text: tokens with their kind and position."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

from ..refusals import refuse
from .english_words import NUMBER_WORDS, TENS, WEEKDAYS

TokenKind = Literal["date", "time", "past", "offset", "duration", "ordinal", "number", "zone", "word", "mark"]

_UNITS: Final = "weeks?|w|days?|d|hours?|hrs?|h|minutes?|mins?|min|m|seconds?|secs?|s|milliseconds?|millis|msecs?|ms"
_PATTERNS: Final[tuple[tuple[TokenKind, str], ...]] = (
    ("date", r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?=$|[\sTt,;)\]])"),
    ("time", r"\d{1,2}:\d\d(?::\d\d(?:\.\d{1,6})?)?"),
    ("past", r":\d\d(?!\d)"),  # `at :30`
    ("offset", r"(?:[+-]\d\d:?\d\d|Z)(?=$|[\s,;)])"),
    ("zone", r"@?[A-Za-z][A-Za-z_]+(?:/[A-Za-z0-9_+-]+)+|@[A-Za-z][A-Za-z0-9_+-]*"),
    ("ordinal", r"\d+(?:st|nd|rd|th)(?![A-Za-z0-9])"),
    ("duration", rf"(?:\d{{1,12}}(?:\.\d{{1,6}})?(?:{_UNITS})){{1,5}}(?![A-Za-z0-9])"),
    ("number", r"\d+(?:\.\d+)?"),
    ("word", r"[A-Za-z]+(?:'s)?"),
    ("mark", r"[,;&()@–—~-]"),
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


def tokenize(text: str, offset: int = 0) -> list[Token]:
    """Split text into tokens, with number words as numbers; `offset` is its position in the text that the user typed."""
    tokens: list[Token] = []
    place, dated = 0, False
    while place < len(text):
        blank = _BLANK.match(text, place)
        if blank is None and tokens and tokens[-1].kind == "date":
            blank = _T_BETWEEN.match(text, place)  # 2026-03-01T15:00
        if blank is not None:
            place = blank.end()
            continue
        match = _TOKEN.match(text, place)
        if match is None:
            raise refuse("unknown_sign", place + offset, sign=text[place])
        kind: TokenKind = match.lastgroup  # type: ignore[assignment]
        dated = dated or kind == "date"
        tokens += _split_ambiguous(Token(kind, match.group(), place + offset), dated=dated)
        place = match.end()
    return _merge_number_words(tokens)


def _split_ambiguous(token: Token, *, dated: bool) -> list[Token]:
    """Split tokens with two readings: mon/wed/fri is no zone, and 9:00-17:00 has no offset."""
    parts = token.text.split("/")
    if token.kind == "zone" and all(part.lower() in WEEKDAYS for part in parts):
        places = [token.place + len("/".join(parts[:index])) + bool(index) for index in range(len(parts))]
        words = [
            [Token("mark", ",", place), Token("word", part, place)] for part, place in zip(parts, places, strict=True)
        ]
        return [each for pair in words for each in pair][1:]
    if token.kind == "offset" and token.text.startswith("-") and ":" in token.text and not dated:
        return [Token("mark", "-", token.place), Token("time", token.text[1:], token.place + 1)]
    return [token]


def _merge_number_words(tokens: list[Token]) -> list[Token]:
    """`five` is 5, `twenty-five` and `twenty five` are 25."""
    merged: list[Token] = []
    for token in tokens:
        ones = NUMBER_WORDS.get(token.word)
        dashed = len(merged) > 1 and merged[-1].text == "-" and merged[-2].text in TENS
        if ones is not None and ones < 10 and merged and (merged[-1].text in TENS or dashed):
            tens = merged.pop(-2 if dashed else -1)
            del merged[len(merged) - dashed :]
            merged.append(Token("number", str(int(tens.text) + ones), tens.place))
        elif ones is not None:
            merged.append(Token("number", str(ones), token.place))
        else:
            merged.append(token)
    return merged
