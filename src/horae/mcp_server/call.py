"""One call of a tool: who asks, in which language, and what is told back."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from ..choices import Language
from ..clock import Clock
from ..model.principal import Principal
from ..service.assumed_zone import AssumedZone
from ..service.service import Service
from .words import Words

Said: TypeAlias = Mapping[str, Any]
"""The arguments of a call, looked at: known names, each of the right type; what is null is not there."""

_CHINESE: Final = re.compile("[\u3400-\u9fff]")
_PLACE: Final = "\ue003"
"""Where a name goes; a private character, so that no sentence has it."""


def _unchanged(text: str) -> str:
    return text


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


def language_of(said: Said, otherwise: Language) -> Language:
    """Who writes Chinese is answered in Chinese."""
    return "zh" if any(isinstance(each, str) and _CHINESE.search(each) for each in said.values()) else otherwise
