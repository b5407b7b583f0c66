"""Parser of the query language: `state:failed,paused -kind:http label:team=ops "morning report"`.

A space means and, a comma or, a minus not; quotes keep spaces, commas and colons; words without a key are a text. The
parser does not know which keys exist.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .refusals import refuse

MAX_CHARACTERS: Final = 1_000
TEXT: Final = "text"
_KEY: Final = re.compile(r"([A-Za-z][A-Za-z0-9_.]*):")
_QUOTE: Final = '"'
_ESCAPE: Final = "\\"
_ESCAPABLE: Final = (_QUOTE, _ESCAPE)


class Term(NamedTuple):
    """One condition.

    `at` is its offset, `places` are the offsets of its values. `bare`: text without a key and without quotes; adjacent
    bare words are one text.
    """

    key: str
    values: tuple[str, ...]
    negated: bool = False
    offset: int = 0
    value_offsets: tuple[int, ...] = ()
    is_bare: bool = False


def parse_query(source: str) -> tuple[Term, ...]:
    """Parse a query into terms; a refusal points to the offset that cannot be parsed."""
    if len(source) > MAX_CHARACTERS:
        raise refuse("query_too_long", source, MAX_CHARACTERS, most=MAX_CHARACTERS)
    terms: list[Term] = []
    at = _skip_spaces(source, 0)
    while at < len(source):
        term, at = _read_term(source, at)
        if terms and term.is_bare and terms[-1].is_bare:
            before = terms.pop()
            term = before._replace(values=(f"{before.values[0]} {term.values[0]}",))
        terms.append(term)
        at = _skip_spaces(source, at)
    return tuple(terms)


def render_query(terms: tuple[Term, ...]) -> str:
    """Return a query text that parses into these terms."""
    return " ".join(_spell_term(term) for term in terms)


def _spell_term(term: Term) -> str:
    if term.is_bare:
        return term.values[0]
    values = ",".join(_QUOTE + re.sub(r'(["\\])', r"\\\1", value) + _QUOTE for value in term.values)
    return f"{'-' if term.negated else ''}{term.key}:{values}"


def _skip_spaces(source: str, at: int) -> int:
    while at < len(source) and source[at].isspace():
        at += 1
    return at


def _read_term(source: str, at: int) -> tuple[Term, int]:
    """Return the term that begins here, and its end."""
    # A separate minus is a word.
    negated = source[at] == "-" and not source[at + 1 : at + 2].isspace() and at + 1 < len(source)
    start = at + negated
    key = _KEY.match(source, start)
    if key is not None:
        values, places, end = _read_values(source, key.end())
        return Term(key[1].lower(), values, negated, at, places), end
    value, end = _read_value(source, start, "")
    if not value:
        raise refuse("query_unreadable", source, start, value=source[at:])
    bare = not negated and _QUOTE not in source[start:end]
    return Term(TEXT, (value,), negated, at, (start,), bare), end


def _read_values(source: str, at: int) -> tuple[tuple[str, ...], tuple[int, ...], int]:
    """Return the values after a colon, separated by commas, with their offsets and the end."""
    pairs: list[tuple[str, int]] = []
    while True:
        value, end = _read_value(source, at, ",")
        if not value:
            raise refuse("query_unreadable", source, at, value=source[at:] or source)
        pairs.append((value, at))
        if source[end : end + 1] != ",":
            values, places = zip(*pairs, strict=True)
            return values, places, end
        at = end + 1


def _read_value(source: str, at: int, stops: str) -> tuple[str, int]:
    """Read up to the next space or stop character that is not in quotes."""
    characters: list[str] = []
    quote_at: int | None = None
    while at < len(source):
        character = source[at]
        if quote_at is None and (character.isspace() or character in stops):
            break
        if character == _QUOTE:
            quote_at = at if quote_at is None else None
        elif character == _ESCAPE and quote_at is not None and source[at + 1 : at + 2] in _ESCAPABLE:
            at += 1
            characters.append(source[at])
        else:
            characters.append(character)
        at += 1
    if quote_at is not None:
        raise refuse("query_unreadable", source, quote_at, value=source[quote_at:])
    return "".join(characters), at
