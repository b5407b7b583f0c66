"""Exception hierarchy of Horae.

HoraeError
├── Refusal                 a request that cannot be done: a stable code, a message and a hint, in two languages
│   ├── InvalidSchedule     a schedule that cannot be understood, or that can never fire
│   ├── InvalidTask         a task whose parts do not fit: payload too large, policy out of range, unknown target
│   ├── UnknownAttribute    an attribute of another scheduler library that Horae does not have (an AttributeError)
│   ├── NotFound            no such task or run; the same answer for one of another owner
│   ├── Conflict            the state of a task or run does not allow the request now
│   ├── NotAuthenticated    the caller is unknown: no token, or one that is not valid (any more)
│   ├── NotAllowed          the caller is known and lacks the right
│   └── TooMuch             more than a limit allows, for now or at once
└── StoreError              the store failed, and nothing of the request was written
    ├── StoreUnavailable    the store cannot be reached, or is closed
    │   ├── StoreReadOnly   the store takes no writes: a standby, or a disk mounted read-only
    │   ├── UnknownStore    an address that names no store (a Refusal too)
    │   ├── UnusableStore   a store that refuses this use: wrong password, too old, read-only (a Refusal too)
    │   ├── ServerUnreachable   the Horae server that owns the store does not answer, or not as Horae (a Refusal too)
    │   └── UnfitNode       this machine may not run a node: its clock is too far from the store's (a Refusal too)
    ├── StoreFull           no space left for another write
    └── StoreDamaged        an integrity check failed, or the file is no Horae store
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Self

from .choices import Language


class Sentence(NamedTuple):
    """Message of an error and a hint that says what would work, in one language."""

    message: str
    hint: str


class HoraeError(Exception):
    """Root of all exceptions that Horae raises."""


class Refusal(HoraeError):
    """Request that cannot be done: a stable code for programs, a message and a hint for people, in two languages.

    `position` is an index into `source`, the text at fault, where there is one.
    """

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
        """Return a copy whose `position` points into `source`, the full text that the user typed."""
        moved = None if self.position is None else min(self.position + offset, len(source))
        return type(self)(self.code, self.sentences, position=moved, source=source, facts=self.facts)

    def __reduce__(self) -> tuple[Callable[..., Refusal], tuple[object, ...]]:
        """Pickle and copy call an exception with positional arguments; these are keyword-only."""
        return _rebuild, (type(self), self.code, self.sentences, self.position, self.source, self.facts)


def _rebuild(
    kind: type[Refusal],
    code: str,
    sentences: Mapping[Language, Sentence],
    position: int | None,
    source: str | None,
    facts: Mapping[str, object],
) -> Refusal:
    return kind(code, sentences, position=position, source=source, facts=facts)


class InvalidSchedule(Refusal, ValueError):
    """Schedule that cannot be parsed, or that can never fire."""


class InvalidTask(Refusal, ValueError):
    """Task whose parts do not fit together."""


class UnknownAttribute(Refusal, AttributeError):
    """Attribute of another scheduler library that Horae does not have; `hasattr` is False."""


class NotFound(Refusal, LookupError):
    """No such task or run. A task or run of another owner gives exactly the same answer."""


class Conflict(Refusal):
    """The state of the task or run does not allow the request now."""


class NotAuthenticated(Refusal):
    """The caller is unknown: no token, or one that is not valid."""


class NotAllowed(Refusal):
    """The caller is known and lacks the right to do this."""


class TooMuch(Refusal):
    """Limit exceeded. `facts["retry_after"]` is the number of seconds to wait, where waiting helps."""


class StoreError(HoraeError):
    """The store failed: nothing of the request was written, unless the message says that the outcome is unknown."""


class StoreUnavailable(StoreError):
    """The store cannot be reached, or is closed."""


class StoreReadOnly(StoreUnavailable):
    """The store answers reads but takes no writes."""


class UnknownStore(Refusal, StoreUnavailable):
    """Address that names no kind of store."""


class ServerUnreachable(Refusal, StoreUnavailable):
    """HTTP server that does not answer, or whose answer is not that of a Horae server."""


class UnfitNode(Refusal, StoreUnavailable):
    """Machine that may not run a node on this store, for example because of its clock."""


class UnusableStore(Refusal, StoreUnavailable):
    """Store that cannot be used as it is; the message says why. Nothing was changed."""


class StoreFull(StoreError):
    """No space is left for another write; reads still work."""


class StoreDamaged(StoreError):
    """Failed integrity check, or a file that is no Horae store."""
