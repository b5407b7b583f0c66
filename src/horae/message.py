"""Message: one sentence in English and Chinese, with placeholders and English number agreement."""

from __future__ import annotations

from typing import NamedTuple, Self

from .choices import Language
from .plural import apply_number_agreement
from .typography import full_width


class _Pair(NamedTuple):
    en: str
    zh: str


class Message(_Pair):
    """A message in two languages, with `{placeholders}` for facts; a fact may be a message itself."""

    __slots__ = ()

    def __new__(cls, en: str, zh: str) -> Self:
        return super().__new__(cls, en, full_width(zh))

    def in_language(self, language: Language, **facts: object) -> str:
        if not facts:
            return (self.en if language == "en" else self.zh).format()
        texts = {
            name: fact.in_language(language) if isinstance(fact, Message) else fact for name, fact in facts.items()
        }
        return (apply_number_agreement(self.en, texts) if language == "en" else self.zh).format(**texts)
