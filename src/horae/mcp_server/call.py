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

Said: TypeAlias = Mapping[str, Any]
"""The arguments of a call, looked at: known names, each of the right type; what is null is not there."""

_CHINESE: Final = re.compile("[\u3400-\u9fff]")


class House(NamedTuple):
    """What the tools work on. `anybody` says whether an engine is there to run what is due, where that is known.

    `assumed` is the zone of callers whose owner has none, where this process runs on the machine of the person it works for;
    a receipt that rests on it says so.
    """

    service: Service
    clock: Clock
    anybody: Callable[[], Awaitable[bool]] | None = None
    assumed: AssumedZone | None = None


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


class Told(NamedTuple):
    """What a tool answers: values for programs, and one line for whoever reads."""

    data: dict[str, Any]
    line: str


Tool: TypeAlias = Callable[[Call, Said], Awaitable[Told]]


def language_of(said: Said, otherwise: Language) -> Language:
    """Who writes Chinese is answered in Chinese."""
    return "zh" if any(isinstance(each, str) and _CHINESE.search(each) for each in said.values()) else otherwise
