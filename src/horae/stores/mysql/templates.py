"""Statements as templates: parsed once, and filled with literals for each call.

$1          the first value; a list becomes its members, between commas
$1()        a list as rows of one column; $1+2: lists as columns of rows
$1?         whether the value was given at all
$1*4  $1-1  a number, reckoned here, where the server takes no expression
$nulls      as many rows of nothing as the first value says
[[ … ]]     a query for each member of the first value, which is $each; all their rows
;           what follows goes to the server with what is before
;;          what follows goes there only if something was found before, which is $found
{rows}      rows that are written; {selects}: the same as a query; {column_2}: the values of one column
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ..codec.rows import Row
from .literals import in_brackets, listed, literal

_EACH: Final = re.compile(r"\[\[(.*?)\]\]")
_PLACE: Final = re.compile(r"\$(\d+(?:\+\d+)*|found(?:_\d+)?|each|nulls)(\?|\(\)|\^|[*-]\d+)?")
_WRITTEN: Final = re.compile(r"\{(rows|selects|column)(?:_(\d+))?\}")


class Given(NamedTuple):
    """What a statement is filled with: values of its own, what was found before it, rows of so many values."""

    values: Sequence[Any] = ()
    found: Sequence[Row] = ()
    width: int = 1

    @property
    def columns(self) -> list[Sequence[Any]]:
        return [self.values[place :: self.width] for place in range(self.width)]


Part: TypeAlias = "str | Callable[[Given], str]"


class Template:
    """Statements that go to the server together. What comes in with a value is never looked at again."""

    def __init__(self, text: str) -> None:
        self._parts: list[Part] = _split(_EACH, text, lambda found: _repeated(Template(found[1])), _places)

    def filled(self, given: Given) -> str:
        return "".join([part if isinstance(part, str) else part(given) for part in self._parts])


def templates(text: str) -> list[Template]:
    return [Template(piece.strip()) for piece in text.split(";;")]


def _split(
    pattern: re.Pattern[str],
    text: str,
    inside: Callable[[re.Match[str]], Part],
    outside: Callable[[str], list[Part]],
) -> list[Part]:
    parts: list[Part] = []
    before = 0
    for found in pattern.finditer(text):
        parts += outside(text[before : found.start()])
        parts.append(inside(found))
        before = found.end()
    return parts + outside(text[before:])


def _places(text: str) -> list[Part]:
    return _split(_PLACE, text, lambda found: _place(found[1], found[2]), _written)


def _written(text: str) -> list[Part]:
    return _split(_WRITTEN, text, lambda found: _rows_written(found[1], found[2]), lambda plain: [plain])


def _repeated(template: Template) -> Part:
    def every(given: Given) -> str:
        return " UNION ALL ".join([template.filled(given._replace(found=((each,),))) for each in given.values[0]])

    return every


def _place(name: str, how: str | None) -> Part:
    if name.startswith("found"):
        return _found(name.removeprefix("found").removeprefix("_"))
    if name == "each":
        return lambda given: literal(given.found[0][0])
    if name == "nulls":
        return lambda given: ",".join(["(NULL)"] * given.values[0])
    places = [int(number) - 1 for number in name.split("+")]
    if len(places) > 1 or how == "()":
        return lambda given: in_brackets([given.values[place] for place in places])
    return _single(places[0], how)


def _single(place: int, how: str | None) -> Part:
    if how is None:
        return lambda given: listed(given.values[place])
    if how == "?":
        return lambda given: "FALSE" if given.values[place] is None else "TRUE"
    if how == "^":
        return lambda given: literal(max(given.values[place], default=None))
    by = int(how[1:])
    if how[0] == "*":
        return lambda given: literal(given.values[place] * by)
    return lambda given: literal(given.values[place] - by)


def _found(column: str) -> Part:
    if column:
        place = int(column) - 1
        return lambda given: listed([row[place] for row in given.found])
    return lambda given: in_brackets(list(zip(*given.found, strict=True)))


def _rows_written(what: str, column: str | None) -> Part:
    if what == "rows":
        return lambda given: in_brackets(given.columns)
    if what == "selects":
        return _selects
    place = int(column or 0) - 1
    return lambda given: listed(list(dict.fromkeys(given.columns[place])))


def _selects(given: Given) -> str:
    """The columns have the names c1, c2 and so on."""
    first, *rest = zip(*given.columns, strict=True)
    named = ",".join([f"{literal(value)} AS c{place}" for place, value in enumerate(first, 1)])
    return " UNION ALL ".join([f"SELECT {row}" for row in (named, *(",".join(map(literal, row)) for row in rest))])
