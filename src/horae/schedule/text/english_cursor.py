"""Tokenizer for English text, and the cursor over its tokens with the primitives of the parser."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal

from ...errors import InvalidSchedule
from ..refusals import refuse
from .draft import Draft
from .english_words import NUMBER_WORDS, RATE_WORDS, TENS, VOCABULARY, WEEKDAYS

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


_END = Token("mark", "", -1)


class Cursor:
    """Each reader advances past the tokens that it recognises, and does not move otherwise."""

    def __init__(self, text: str, offset: int) -> None:
        self._offset = offset
        self._length = len(text)
        self._tokens = tokenize(text, offset)
        self._index = 0
        self.draft = Draft()
        self.last_word = ""

    @property
    def is_done(self) -> bool:
        return self._index >= len(self._tokens)

    @property
    def place(self) -> int:
        return self._length + self._offset if self.is_done else self._tokens[self._index].place

    @property
    def shown(self) -> str:
        return "" if self.is_done else self._tokens[self._index].text

    def peek(self, ahead: int = 0) -> Token:
        index = self._index + ahead
        return self._tokens[index] if index < len(self._tokens) else _END

    def peek_word(self, ahead: int = 0) -> str:
        return self.peek(ahead).word

    def take_words(self, *words: str) -> bool:
        """Consume exactly these words if they come next."""
        if any(self.peek_word(ahead) != word for ahead, word in enumerate(words)):
            return False
        self._index += len(words)
        return True

    def take(self, *words: str) -> str | None:
        if self.peek_word() and self.peek_word() in words:
            return self.next_word()
        return None

    def next_word(self) -> str:
        self.last_word = self.peek_word()
        self._index += 1
        return self.last_word

    def need_word(self, *words: str) -> str:
        found = self.take(*words)
        if found is None:
            raise refuse("word_expected", self.place, value=self.shown, wanted=", ".join(words))
        return found

    def take_kind(self, kind: TokenKind) -> Token | None:
        token = self.peek()
        if token.kind != kind or token is _END:
            return None
        self._index += 1
        return token

    def mark_ahead(self, *marks: str, ahead: int = 0) -> bool:
        token = self.peek(ahead)
        return token.kind == "mark" and token is not _END and token.text in marks

    def skip_mark(self, *marks: str) -> bool:
        found = self.mark_ahead(*marks)
        self._index += found
        return found

    def take_separator(self, *kinds: str, words: Collection[str] = ()) -> bool:
        """Consume a comma or `and` if another item of the same list follows."""
        ahead = int(self.mark_ahead(",", "&"))
        if self.peek_word(ahead) == "and":
            ahead += 1
        follows = self.peek(ahead)
        if ahead and (follows.kind in kinds or (follows.word and follows.word in words)):
            self._index += ahead
            return True
        return False

    def number_before(self, words: Collection[str]) -> bool:
        return self.peek().kind == "number" and self.peek_word(1) in words

    def whole_number(self) -> int:
        place, token = self.place, self.take_kind("number")
        if token is None or not token.text.isdigit() or len(token.text) > 10:
            raise refuse("whole_number_expected", place, value=token.text if token else self.shown)
        return int(token.text)

    def refuse_unknown(self) -> InvalidSchedule:
        """The refusal of the current word: known but misplaced, similar to a known word, or unknown."""
        word = self.shown
        folded = word.lower()
        if folded in RATE_WORDS:
            return refuse("which_times", self.place, word=word)
        if folded in VOCABULARY:
            return refuse("misplaced_word", self.place, word=word)
        # Suggest only similar words with the same first letter: a wrong suggestion is worse than none.
        close = [each for each in get_close_matches(folded, VOCABULARY, n=3, cutoff=0.75) if each[0] == folded[:1]]
        if close and len(folded) > 2:
            return refuse("unknown_word", self.place, word=word, nearest=close[0])
        return refuse("not_understood", self.place, word=word)
