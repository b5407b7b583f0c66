"""One tool call: its context, caller and language, and its result."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from ..choices import Language
from ..clock import Clock
from ..message import Message
from ..model.accounts.principal import Principal
from ..service.service import Service
from ..service.tasks.default_zone import AssumedZone

Arguments: TypeAlias = Mapping[str, Any]
"""Checked arguments of a call: known names, values of the right type, nulls removed."""

_CHINESE: Final = re.compile("[\u3400-\u9fff]")
_NAME_PLACEHOLDER: Final = "\ue003"
"""Stands for the name of a task; a private-use character that no message contains."""


def _unchanged(text: str) -> str:
    return text


_MAX_CALLERS: Final = 1_000


class ToolContext(NamedTuple):
    """Shared state of the tools. `has_engine` returns whether a node is alive, where that is known.

    `assumed` is the zone of callers whose owner has none, where this process runs on the machine of its user; a receipt
    that depends on it says so. `complete` adds to each command of a text the options with which its reader reaches this
    store; an HTTP server cannot know them and leaves texts unchanged.
    """

    service: Service
    clock: Clock
    has_engine: Callable[[], Awaitable[bool]] | None = None
    assumed: AssumedZone | None = None
    complete: Callable[[str], str] = _unchanged


class Call(NamedTuple):
    context: ToolContext
    principal: Principal
    language: Language = "en"

    @property
    def service(self) -> Service:
        return self.context.service

    @property
    def clock(self) -> Clock:
        return self.context.clock

    def complete(self, text: str) -> str:
        return self.context.complete(text)

    def render(self, words: Message, *, name: str = "", **facts: object) -> str:
        """Render a message with its commands completed. The name of a task is inserted afterwards, since it may look
        like a command."""
        return self.complete(words.in_language(self.language, name=_NAME_PLACEHOLDER, **facts)).replace(
            _NAME_PLACEHOLDER, name
        )


class ToolResult(NamedTuple):
    """Result of a tool: structured data for programs, and one line of text."""

    data: dict[str, Any]
    line: str


Tool: TypeAlias = Callable[[Call, Arguments], Awaitable[ToolResult]]


_FREE_TEXTS: Final = ("do", "name", "reason")
_ENGLISH: Final = re.compile(r"[A-Za-z]{2,}[ ,]+[A-Za-z]{2,}")


def detect_language(arguments: Arguments) -> Language | None:
    """Return the language in which the texts of a call are written. None if they do not tell: ids and schedules such as
    `every 5m` are the same in every language."""
    if any(isinstance(each, str) and _CHINESE.search(each) for each in arguments.values()):
        return "zh"
    texts = [each for each in map(arguments.get, _FREE_TEXTS) if isinstance(each, str)]
    return "en" if any(_ENGLISH.search(each) for each in texts) else None


class LanguageMemory:
    """Last language of each caller, for calls whose texts do not tell. The oldest callers are dropped."""

    def __init__(self) -> None:
        self._languages: dict[tuple[str, str | None], Language] = {}

    def choose(self, principal: Principal, arguments: Arguments, default: Language, *, is_stated: bool) -> Language:
        """`is_stated`: the client named `default` itself, by an option or a header."""
        detected, key = detect_language(arguments), (principal.actor, principal.agent)
        if is_stated:
            return "zh" if detected == "zh" else default
        last_used = self._languages.pop(key, default)
        self._languages[key] = detected or last_used
        if len(self._languages) > _MAX_CALLERS:
            del self._languages[next(iter(self._languages))]
        return detected or last_used
