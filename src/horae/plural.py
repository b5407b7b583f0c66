"""English number agreement: a sentence that is written in the plural takes the singular where its count is 1."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

_IRREGULAR: Final = {"entries": "entry"}
NOUNS: Final = frozenset(
    {
        "agents", "arguments", "bytes", "changes", "characters", "dates", "days", "entries", "errors", "functions",
        "groups", "hours", "instants", "jobs", "keys", "lanes", "letters", "levels", "lines", "minutes", "nodes",
        "numbers", "occurrences", "pairs", "periods", "requests", "rows", "runs", "seats", "seconds", "secrets",
        "starts", "streams", "tasks", "texts", "things", "times", "tokens", "values", "warnings", "webhooks",
        "weeks",
    }
)  # fmt: skip
"""Plural nouns that sentences count."""
VERBS: Final = {
    "are": "is", "were": "was", "have": "has", "wait": "waits", "tell": "tells", "start": "starts", "do": "does",
    "need": "needs", "come": "comes", "use": "uses",
}  # fmt: skip
"""Verbs behind a count."""
PRONOUNS: Final = {"them": "it", "their": "its"}
_COUNTED: Final = re.compile(
    r"(?P<count>\{(?P<place>\w+)(?::[^{}]*)?\})"
    rf"(?P<noun>(?: (?!(?:{'|'.join((*VERBS, *NOUNS))})\b)[a-z-]+){{0,2}}? (?:{'|'.join(NOUNS)})\b)?"
    r"(?P<of> of \{\w+\})?"
    rf"(?P<verb> (?:{'|'.join(VERBS)})\b)?"
    r"(?P<rest>[^{}]*)"
)
_PRONOUN: Final = re.compile(rf"\b(?:{'|'.join(PRONOUNS)})\b")


def agree(template: str, facts: Mapping[str, object]) -> str:
    """The English template with nouns and verbs in the singular behind every place whose fact is the number 1."""
    ones = frozenset(name for name, fact in facts.items() if type(fact) is int and fact == 1)
    return _agreed(template, ones) if ones else template


@lru_cache(maxsize=1_024)
def _agreed(template: str, ones: frozenset[str]) -> str:
    return _COUNTED.sub(lambda found: _singular(found) if found["place"] in ones else found.group(), template)


def _singular(found: re.Match[str]) -> str:
    before, _, noun = (found["noun"] or "").rpartition(" ")
    counted = f"{before} {_IRREGULAR.get(noun, noun.removesuffix('s'))}" if noun else ""
    verb = (found["verb"] or "").strip()
    rest = found["rest"]
    if noun or verb:
        rest = _PRONOUN.sub(lambda each: PRONOUNS[each.group()], rest)
    return f"{found['count']}{counted}{found['of'] or ''}{f' {VERBS[verb]}' if verb else ''}{rest}"
