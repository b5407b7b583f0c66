"""Cursor over the tokens of an English phrase, with the primitives of the parser."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from ...errors import InvalidSchedule
from ..refusals import refuse
from .draft import Draft
from .english_tokens import Token, TokenKind, tokenize
from .english_words import RATE_WORDS, VOCABULARY

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
