"""Translation of stored English sentences to Chinese: a template matches the sentence and its facts fill the Chinese one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from string import Formatter
from typing import Final, NamedTuple

from ...typography import full_width

_ANY_TEXT: Final = ".+?"


class SentencePattern(NamedTuple):
    english: re.Pattern[str]
    chinese: str

    def translate(self, text: str) -> tuple[str, dict[str, str]] | None:
        """Return the Chinese template and the facts in `text`; None where `text` is another sentence."""
        match = self.english.fullmatch(text)
        return None if match is None else (self.chinese, match.groupdict())


def sentence_pattern(english: str, chinese: str, facts: Mapping[str, str]) -> SentencePattern:
    """Compile a pattern. `facts` are regular expressions for `{placeholders}` by name; others match any text."""
    parts, seen = [], set[str]()
    for text, name, _, _ in Formatter().parse(english):
        parts.append(re.escape(text))
        if name in seen:
            parts.append(f"(?P={name})")
        elif name is not None:
            seen.add(name)
            parts.append(f"(?P<{name}>{facts.get(name, _ANY_TEXT)})")
    return SentencePattern(re.compile("".join(parts)), full_width(chinese))


def translate(text: str, patterns: Iterable[SentencePattern], nested: str, causes: Mapping[str, str]) -> str:
    """Return `text` in Chinese by the first pattern that matches, else unchanged. The placeholder `nested` holds another
    sentence, one of `causes` or of the patterns."""
    patterns = tuple(patterns)
    for each in patterns:
        translation = each.translate(text)
        if translation is not None:
            chinese, facts = translation
            if nested in facts:
                cause = facts[nested]
                facts[nested] = causes.get(cause) or translate(cause, patterns, nested, causes)
            return chinese.format_map(facts)
    return text


def placeholders(template: str) -> set[str]:
    """Return the names of the `{placeholders}` of a template."""
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}
