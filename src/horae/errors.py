"""Every exception that Horae raises, as one tree.

HoraeError
└── InvalidSchedule     a schedule that cannot be understood, or that can never fire
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from .choices import Language


class Sentence(NamedTuple):
    """What went wrong and what would work instead, in one language."""

    message: str
    hint: str


class HoraeError(Exception):
    """The root: catching this catches everything that Horae refuses."""


class InvalidSchedule(HoraeError, ValueError):  # noqa: N818 - the public name says what it is about
    """A refusal: a stable code for programs, a sentence and a hint for people, a place in the text."""

    def __init__(
        self,
        code: str,
        sentences: Mapping[Language, Sentence],
        *,
        position: int | None = None,
        source: str | None = None,
        facts: Mapping[str, object] | None = None,
    ) -> None:
        self.code = code
        self.facts = dict(facts or {})
        self.sentences = dict(sentences)
        self.position = position
        self.source = source
        super().__init__(f"{self.message} {self.hint}".strip())

    @property
    def message(self) -> str:
        return self.sentences["en"].message

    @property
    def hint(self) -> str:
        return self.sentences["en"].hint

    def in_language(self, language: Language) -> Sentence:
        return self.sentences[language]

    def located(self, source: str, offset: int = 0) -> InvalidSchedule:
        """The same refusal, pointing into the text that the person typed."""
        place = None if self.position is None else min(self.position + offset, len(source))
        return InvalidSchedule(self.code, self.sentences, position=place, source=source, facts=self.facts)

    def __reduce__(self) -> tuple[Callable[..., InvalidSchedule], tuple[object, ...]]:
        """Exceptions are copied by their arguments, and these have names."""
        return _again, (self.code, self.sentences, self.position, self.source, self.facts)


def _again(
    code: str,
    sentences: Mapping[Language, Sentence],
    position: int | None,
    source: str | None,
    facts: Mapping[str, object],
) -> InvalidSchedule:
    return InvalidSchedule(code, sentences, position=position, source=source, facts=facts)
