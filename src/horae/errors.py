"""Every exception that Horae raises, as one tree.

HoraeError
├── Refusal                 something that was asked cannot be done: a stable code, a sentence and a hint, in two languages
│   ├── InvalidSchedule     a schedule that cannot be understood, or that can never fire
│   ├── InvalidTask         a task whose parts do not fit: payload too large, policy out of range, unknown target
│   ├── UnknownAttribute    an attribute that the library does not have, but another scheduler (an AttributeError)
│   ├── NotFound            no such task or run; a foreign one answers exactly alike
│   ├── Conflict            it is there, but its state does not allow this now
│   ├── NotAuthenticated    nobody knows who is asking: no token, or one that is not valid (any more)
│   ├── NotAllowed          who is asking may not do this
│   └── TooMuch             more than a limit allows, for now or at once
└── StoreError              the store broke a promise, and nothing of the request was kept
    ├── StoreUnavailable    it cannot be reached, or is closed
    │   ├── StoreReadOnly   it answers, but takes no writes: a standby, or a disk that was mounted so
    │   ├── UnknownStore    its address names no store (a Refusal too)
    │   ├── UnusableStore   it is there, but not for us: wrong password, too old, read-only (a Refusal too)
    │   ├── ServerUnreachable   a server that has it does not answer, or not as ours do (a Refusal too)
    │   └── UnfitNode       this machine may not take part: its clock is too far from the store's (a Refusal too)
    ├── StoreFull           no space left for another write
    └── StoreDamaged        an integrity check failed, or the file is not ours
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Self

from .choices import Language


class Sentence(NamedTuple):
    """What went wrong and what would work instead, in one language."""

    message: str
    hint: str


class HoraeError(Exception):
    """The root: catching this catches everything that Horae raises."""


class Refusal(HoraeError):
    """A stable code for programs, a sentence and a hint for people, a place in the text where there is one."""

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

    def located(self, source: str, offset: int = 0) -> Self:
        """The same refusal, pointing into the text that the person typed."""
        place = None if self.position is None else min(self.position + offset, len(source))
        return type(self)(self.code, self.sentences, position=place, source=source, facts=self.facts)

    def __reduce__(self) -> tuple[Callable[..., Refusal], tuple[object, ...]]:
        """Exceptions are copied by their arguments, and these have names."""
        return _again, (type(self), self.code, self.sentences, self.position, self.source, self.facts)


def _again(
    kind: type[Refusal],
    code: str,
    sentences: Mapping[Language, Sentence],
    position: int | None,
    source: str | None,
    facts: Mapping[str, object],
) -> Refusal:
    return kind(code, sentences, position=position, source=source, facts=facts)


class InvalidSchedule(Refusal, ValueError):
    """A schedule that cannot be understood, or that can never fire."""


class InvalidTask(Refusal, ValueError):
    """A task whose parts do not fit together."""


class UnknownAttribute(Refusal, AttributeError):
    """An attribute that the library does not have, but another scheduler; `hasattr` is False."""


class NotFound(Refusal, LookupError):
    """No such task or run. What belongs to somebody else answers exactly alike."""


class Conflict(Refusal):
    """It is there, but its state does not allow this now."""


class NotAuthenticated(Refusal):
    """Nobody knows who is asking."""


class NotAllowed(Refusal):
    """It is known who is asking, and they may not do this."""


class TooMuch(Refusal):
    """More than a limit allows. `facts["retry_after"]`, in seconds, says when it may be asked again, where waiting helps."""


class StoreError(HoraeError):
    """The store broke a promise: nothing of the request was kept, unless the message says that it cannot know."""


class StoreUnavailable(StoreError):
    """It cannot be reached, or it is closed."""


class StoreReadOnly(StoreUnavailable):
    """It answers, but takes no writes; reads go on."""


class UnknownStore(Refusal, StoreUnavailable):
    """An address that names no store that there could be."""


class ServerUnreachable(Refusal, StoreUnavailable):
    """A server that was asked over HTTP is not there, or cannot be understood."""


class UnfitNode(Refusal, StoreUnavailable):
    """The store is there, but a node on this machine may not take part as it is."""


class UnusableStore(Refusal, StoreUnavailable):
    """A store that cannot be used as it is, and why: nothing was changed."""


class StoreFull(StoreError):
    """No space is left for another write; reads go on."""


class StoreDamaged(StoreError):
    """An integrity check failed, or what was opened is not a store of ours."""
