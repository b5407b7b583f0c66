"""The language in which people say what they look for: `state:failed,paused -kind:http label:team=ops "morning report"`.

A space says and, a comma or, a minus not; quotes keep spaces, commas and colons; words without a key are a text. What a key
means, and whether it can be answered, is not known here.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from .refusals import refuse

LONGEST: Final = 1_000
TEXT: Final = "text"
_KEY: Final = re.compile(r"([A-Za-z][A-Za-z0-9_.]*):")
_QUOTE: Final = '"'
_ESCAPE: Final = "\\"
_ESCAPED: Final = (_QUOTE, _ESCAPE)


class Term(NamedTuple):
    """One condition. `at` is where it stands, `places` where each of its values does; `bare` is text without a key, and
    without quotes: such words that follow each other are one text."""

    key: str
    values: tuple[str, ...]
    negated: bool = False
    at: int = 0
    places: tuple[int, ...] = ()
    bare: bool = False


def read_terms(source: str) -> tuple[Term, ...]:
    """What was said, term by term; a refusal that points to the place where it cannot be understood."""
    if len(source) > LONGEST:
        raise refuse("query_too_long", source, LONGEST, most=LONGEST)
    terms: list[Term] = []
    at = _after_spaces(source, 0)
    while at < len(source):
        term, at = _term(source, at)
        if terms and term.bare and terms[-1].bare:
            before = terms.pop()
            term = before._replace(values=(f"{before.values[0]} {term.values[0]}",))
        terms.append(term)
        at = _after_spaces(source, at)
    return tuple(terms)


def spelled(terms: tuple[Term, ...]) -> str:
    """A text that is read as these terms."""
    return " ".join(_spelled(term) for term in terms)


def _spelled(term: Term) -> str:
    if term.bare:
        return term.values[0]
    said = ",".join(_QUOTE + re.sub(r'(["\\])', r"\\\1", value) + _QUOTE for value in term.values)
    return f"{'-' if term.negated else ''}{term.key}:{said}"


def _after_spaces(source: str, at: int) -> int:
    while at < len(source) and source[at].isspace():
        at += 1
    return at


def _term(source: str, at: int) -> tuple[Term, int]:
    """The one that begins here, and where it ends."""
    # A minus that stands alone is a word.
    negated = source[at] == "-" and not source[at + 1 : at + 2].isspace() and at + 1 < len(source)
    start = at + negated
    key = _KEY.match(source, start)
    if key is not None:
        values, places, end = _values(source, key.end())
        return Term(key[1].lower(), values, negated, at, places), end
    value, end = _piece(source, start, "")
    if not value:
        raise refuse("query_unreadable", source, start, value=source[at:])
    bare = not negated and _QUOTE not in source[start:end]
    return Term(TEXT, (value,), negated, at, (start,), bare), end


def _values(source: str, at: int) -> tuple[tuple[str, ...], tuple[int, ...], int]:
    """All that stands behind a colon, with commas in between."""
    found: list[tuple[str, int]] = []
    while True:
        value, end = _piece(source, at, ",")
        if not value:
            raise refuse("query_unreadable", source, at, value=source[at:] or source)
        found.append((value, at))
        if source[end : end + 1] != ",":
            values, places = zip(*found, strict=True)
            return values, places, end
        at = end + 1


def _piece(source: str, at: int, stops: str) -> tuple[str, int]:
    """Up to the next space or stop that is not in quotes."""
    found: list[str] = []
    opened: int | None = None
    while at < len(source):
        letter = source[at]
        if opened is None and (letter.isspace() or letter in stops):
            break
        if letter == _QUOTE:
            opened = at if opened is None else None
        elif letter == _ESCAPE and opened is not None and source[at + 1 : at + 2] in _ESCAPED:
            at += 1
            found.append(source[at])
        else:
            found.append(letter)
        at += 1
    if opened is not None:
        raise refuse("query_unreadable", source, opened, value=source[opened:])
    return "".join(found), at
