"""English sentences recognized by their template, and shown in Chinese with the same facts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from string import Formatter
from typing import Final, NamedTuple

from ..typography import full_width

_ANY: Final = ".+?"


class SentencePattern(NamedTuple):
    english: re.Pattern[str]
    chinese: str

    def translate(self, text: str) -> tuple[str, dict[str, str]] | None:
        """The Chinese template and the facts in `text`; None where `text` is another sentence."""
        found = self.english.fullmatch(text)
        return None if found is None else (self.chinese, found.groupdict())


def sentence_pattern(english: str, chinese: str, facts: Mapping[str, str]) -> SentencePattern:
    """`facts` are regular expressions for `{places}` by name; other places take any text."""
    parts, seen = [], set[str]()
    for text, name, _, _ in Formatter().parse(english):
        parts.append(re.escape(text))
        if name in seen:
            parts.append(f"(?P={name})")
        elif name is not None:
            seen.add(name)
            parts.append(f"(?P<{name}>{facts.get(name, _ANY)})")
    return SentencePattern(re.compile("".join(parts)), full_width(chinese))


def translated(text: str, patterns: Iterable[SentencePattern], nested: str, causes: Mapping[str, str]) -> str:
    """`text` in Chinese by the first pattern that fits, else as it is. The place `nested` holds another sentence, one of
    `causes` or of the patterns."""
    patterns = tuple(patterns)
    for each in patterns:
        found = each.translate(text)
        if found is not None:
            chinese, facts = found
            if nested in facts:
                cause = facts[nested]
                facts[nested] = causes.get(cause) or translated(cause, patterns, nested, causes)
            return chinese.format_map(facts)
    return text


def places(template: str) -> set[str]:
    """The names of its `{places}`."""
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}
