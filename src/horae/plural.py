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
        "numbers", "occurrences", "owners", "pairs", "periods", "requests", "rows", "runs", "seats", "seconds", "secrets",
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
    rf"(?P<of> of \{{(?P<whole>\w+)\}}(?P<of_noun>(?: [a-z-]+){{0,2}}? (?:{'|'.join(NOUNS)})\b)?)?"
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
    return _COUNTED.sub(lambda found: _of_one(found, ones), template)


def _of_one(found: re.Match[str], ones: frozenset[str]) -> str:
    """`{done} of {total} tasks`: the noun agrees with the number that it stands behind."""
    of_noun = found["of_noun"]
    of = found["of"] or ""
    if of_noun and found["whole"] in ones:
        of = of.removesuffix(of_noun) + _singular_noun(of_noun)
    if found["place"] in ones:
        return _singular(found, of)
    return found.group().replace(found["of"], of, 1) if of else found.group()


def _singular_noun(text: str) -> str:
    before, _, noun = text.rpartition(" ")
    return f"{before} {_IRREGULAR.get(noun, noun.removesuffix('s'))}"


def _singular(found: re.Match[str], of: str) -> str:
    noun = found["noun"]
    counted = _singular_noun(noun) if noun else ""
    verb = (found["verb"] or "").strip()
    rest = found["rest"]
    if noun or verb:
        rest = _PRONOUN.sub(lambda each: PRONOUNS[each.group()], rest)
    return f"{found['count']}{counted}{of}{f' {VERBS[verb]}' if verb else ''}{rest}"
