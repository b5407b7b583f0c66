"""English number agreement: message templates are written in the plural, and get the singular where a count is 1."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

_IRREGULAR: Final = {"addresses": "address", "entries": "entry", "processes": "process"}
NOUNS: Final = frozenset(
    {
        "addresses", "agents", "arguments", "attempts", "bytes", "callbacks", "changes", "characters", "dates", "days", "destinations", "entries", "errors", "functions",
        "groups", "hours", "instants", "jobs", "keys", "labels", "lanes", "letters", "levels", "lines", "links", "messages", "minutes", "nodes",
        "notices", "numbers", "occurrences", "owners", "pairs", "periods", "plans", "processes", "processors", "readers", "reminders", "replicas", "requests", "rows", "runs", "schedules", "seats", "seconds", "secrets",
        "starts", "stations", "streams", "tasks", "texts", "things", "times", "tokens", "turns", "values", "views", "warnings", "webhooks",
        "weeks",
    }
)  # fmt: skip
"""Plural nouns that templates count."""
VERBS: Final = {
    "are": "is", "were": "was", "have": "has", "wait": "waits", "publish": "publishes", "start": "starts", "do": "does",
    "need": "needs", "come": "comes", "use": "uses", "require": "requires",
}  # fmt: skip
"""Verbs that follow a count, plural to singular."""
PRONOUNS: Final = {"them": "it", "their": "its"}
_COUNTED: Final = re.compile(
    r"(?P<count>\{(?P<place>\w+)(?::[^{}]*)?\})"
    rf"(?P<noun>(?: (?!(?:{'|'.join((*VERBS, *NOUNS))})\b)[a-z-]+){{0,2}}? (?:{'|'.join(NOUNS)})\b)?"
    rf"(?P<of> of \{{(?P<whole>\w+)\}}(?P<of_noun>(?: [a-z-]+){{0,2}}? (?:{'|'.join(NOUNS)})\b)?)?"
    rf"(?P<verb> (?:{'|'.join(VERBS)})\b)?"
    r"(?P<rest>[^{}]*)"
)
_PRONOUN: Final = re.compile(rf"\b(?:{'|'.join(PRONOUNS)})\b")


def apply_number_agreement(template: str, facts: Mapping[str, object]) -> str:
    """Return the English template with singular nouns and verbs after every placeholder whose fact is the number 1."""
    ones = frozenset(name for name, fact in facts.items() if type(fact) is int and fact == 1)
    return _apply_agreement(template, ones) if ones else template


@lru_cache(maxsize=1_024)
def _apply_agreement(template: str, ones: frozenset[str]) -> str:
    return _COUNTED.sub(lambda match: _rewrite_match(match, ones), template)


def _rewrite_match(match: re.Match[str], ones: frozenset[str]) -> str:
    """Rewrite one match. In `{done} of {total} tasks` the noun agrees with the number in front of it."""
    of_noun = match["of_noun"]
    of = match["of"] or ""
    if of_noun and match["whole"] in ones:
        of = of.removesuffix(of_noun) + _singular_noun(of_noun)
    if match["place"] in ones:
        return _build_singular(match, of)
    return match.group().replace(match["of"], of, 1) if of else match.group()


def _singular_noun(text: str) -> str:
    before, _, noun = text.rpartition(" ")
    return f"{before} {_IRREGULAR.get(noun, noun.removesuffix('s'))}"


def _build_singular(match: re.Match[str], of: str) -> str:
    noun = match["noun"]
    counted = _singular_noun(noun) if noun else ""
    verb = (match["verb"] or "").strip()
    rest = match["rest"]
    if noun or verb:
        rest = _PRONOUN.sub(lambda each: PRONOUNS[each.group()], rest)
    return f"{match['count']}{counted}{of}{f' {VERBS[verb]}' if verb else ''}{rest}"
