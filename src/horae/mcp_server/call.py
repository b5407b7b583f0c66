"""One call of a tool: who asks, in which language, and what is told back."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from ..choices import Language
from ..clock import Clock
from ..model.accounts.principal import Principal
from ..service.service import Service
from ..service.tasks.default_zone import AssumedZone
from .messages import Words

Said: TypeAlias = Mapping[str, Any]
"""The arguments of a call, looked at: known names, each of the right type; what is null is not there."""

_CHINESE: Final = re.compile("[\u3400-\u9fff]")
_PLACE: Final = "\ue003"
"""Where a name goes; a private character, so that no sentence has it."""


def _unchanged(text: str) -> str:
    return text


_MOST_CALLERS: Final = 1_000


class House(NamedTuple):
    """What the tools work on. `anybody` says whether an engine is there to run what is due, where that is known.

    `assumed` is the zone of callers whose owner has none, where this process runs on the machine of the person it works for;
    a receipt that rests on it says so. `complete` puts into each command of a text how the person who reads it calls the program
    and reaches this store; a server over HTTP cannot know that, and leaves texts unchanged.
    """

    service: Service
    clock: Clock
    anybody: Callable[[], Awaitable[bool]] | None = None
    assumed: AssumedZone | None = None
    complete: Callable[[str], str] = _unchanged


class Call(NamedTuple):
    house: House
    who: Principal
    language: Language = "en"

    @property
    def service(self) -> Service:
        return self.house.service

    @property
    def clock(self) -> Clock:
        return self.house.clock

    def complete(self, text: str) -> str:
        return self.house.complete(text)

    def told(self, words: Words, *, name: str = "", **facts: object) -> str:
        """The sentence with its commands completed. The name of a task is put in afterwards: it may look like a command."""
        return self.complete(words.told(self.language, name=_PLACE, **facts)).replace(_PLACE, name)


class Told(NamedTuple):
    """What a tool answers: values for programs, and one line for whoever reads."""

    data: dict[str, Any]
    line: str


Tool: TypeAlias = Callable[[Call, Said], Awaitable[Told]]


_FREE_TEXTS: Final = ("do", "name", "reason")
_ENGLISH: Final = re.compile(r"[A-Za-z]{2,}[ ,]+[A-Za-z]{2,}")


def language_in(said: Said) -> Language | None:
    """The language that the texts of a call are written in. None where they tell nothing: ids and schedules such as
    `every 5m` are the same for readers of any language."""
    if any(isinstance(each, str) and _CHINESE.search(each) for each in said.values()):
        return "zh"
    texts = [each for each in map(said.get, _FREE_TEXTS) if isinstance(each, str)]
    return "en" if any(_ENGLISH.search(each) for each in texts) else None


class LanguageMemory:
    """The language that each caller used last, for calls whose texts tell nothing. The oldest callers are dropped."""

    def __init__(self) -> None:
        self._languages: dict[tuple[str, str | None], Language] = {}

    def choose(self, who: Principal, said: Said, default: Language, *, is_stated: bool) -> Language:
        """`is_stated`: the client named `default` itself, by an option or a header."""
        found, key = language_in(said), (who.actor, who.agent)
        if is_stated:
            return "zh" if found == "zh" else default
        known = self._languages.pop(key, default)
        self._languages[key] = found or known
        if len(self._languages) > _MOST_CALLERS:
            del self._languages[next(iter(self._languages))]
        return found or known
