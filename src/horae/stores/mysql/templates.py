"""Statement templates: the SQL text is parsed once and filled with literals at each call.

$1          the first value; a list becomes its members, separated by commas
$1()        a list as rows of one column; $1+2: lists as columns of rows
$1?         TRUE if the value is not None
$1^         the largest member of a list
$1*4  $1-1  a number computed here, where the server accepts no expression
$nulls      as many rows of NULL as the first value says
[[ … ]]     a query for each member of the first value, available as $each; UNION ALL of their rows
;           the next statement is sent in the same round trip
;;          the next statement is sent only if the one before returned rows, available as $found
{rows}      the rows to write; {selects}: the same as a query; {column_2}: the distinct values of one column
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from ..codec.rows import Row
from .literals import render_list, render_literal, render_rows

_EACH: Final = re.compile(r"\[\[(.*?)\]\]")
_PLACEHOLDER: Final = re.compile(r"\$(\d+(?:\+\d+)*|found(?:_\d+)?|each|nulls)(\?|\(\)|\^|[*-]\d+)?")
_ROWS: Final = re.compile(r"\{(rows|selects|column)(?:_(\d+))?\}")


class TemplateArguments(NamedTuple):
    """Arguments of a template: values, rows of the statement before it, and the number of values per row."""

    values: Sequence[Any] = ()
    previous_rows: Sequence[Row] = ()
    width: int = 1

    @property
    def columns(self) -> list[Sequence[Any]]:
        return [self.values[position :: self.width] for position in range(self.width)]


Part: TypeAlias = str | Callable[[TemplateArguments], str]


class Template:
    """Statements of one round trip. Inserted values are never parsed for placeholders."""

    def __init__(self, text: str) -> None:
        self._parts: list[Part] = _split(
            _EACH, text, lambda match: _render_each(Template(match[1])), _parse_placeholders
        )

    def render(self, arguments: TemplateArguments) -> str:
        return "".join([part if isinstance(part, str) else part(arguments) for part in self._parts])


def parse_templates(text: str) -> list[Template]:
    return [Template(piece.strip()) for piece in text.split(";;")]


def _split(
    pattern: re.Pattern[str],
    text: str,
    inside: Callable[[re.Match[str]], Part],
    outside: Callable[[str], list[Part]],
) -> list[Part]:
    parts: list[Part] = []
    before = 0
    for match in pattern.finditer(text):
        parts += outside(text[before : match.start()])
        parts.append(inside(match))
        before = match.end()
    return parts + outside(text[before:])


def _parse_placeholders(text: str) -> list[Part]:
    return _split(_PLACEHOLDER, text, lambda match: _render_placeholder(match[1], match[2]), _parse_rows)


def _parse_rows(text: str) -> list[Part]:
    return _split(_ROWS, text, lambda match: _render_rows(match[1], match[2]), lambda plain: [plain])


def _render_each(template: Template) -> Part:
    def render(arguments: TemplateArguments) -> str:
        return " UNION ALL ".join(
            [template.render(arguments._replace(previous_rows=((each,),))) for each in arguments.values[0]]
        )

    return render


def _render_placeholder(name: str, modifier: str | None) -> Part:
    if name.startswith("found"):
        return _render_found(name.removeprefix("found").removeprefix("_"))
    if name == "each":
        return _render_member
    if name == "nulls":
        return lambda arguments: ",".join(["(NULL)"] * arguments.values[0])
    positions = [int(number) - 1 for number in name.split("+")]
    if len(positions) > 1 or modifier == "()":
        return lambda arguments: render_rows([arguments.values[position] for position in positions])
    return _render_value(positions[0], modifier)


def _render_member(arguments: TemplateArguments) -> str:
    ((member,),) = arguments.previous_rows
    return render_literal(member)


def _render_value(position: int, modifier: str | None) -> Part:
    if modifier is None:
        return lambda arguments: render_list(arguments.values[position])
    if modifier == "?":
        return lambda arguments: "FALSE" if arguments.values[position] is None else "TRUE"
    if modifier == "^":
        return lambda arguments: render_literal(max(arguments.values[position], default=None))
    operand = int(modifier[1:])
    if modifier[0] == "*":
        return lambda arguments: render_literal(arguments.values[position] * operand)
    return lambda arguments: render_literal(arguments.values[position] - operand)


def _render_found(column: str) -> Part:
    if column:
        position = int(column) - 1
        return lambda arguments: render_list([row[position] for row in arguments.previous_rows])
    return lambda arguments: render_rows(list(zip(*arguments.previous_rows, strict=True)))


def _render_rows(form: str, column: str | None) -> Part:
    if form == "rows":
        return lambda arguments: render_rows(arguments.columns)
    if form == "selects":
        return _render_selects
    position = int(column or 0) - 1
    return lambda arguments: render_list(list(dict.fromkeys(arguments.columns[position])))


def _render_selects(arguments: TemplateArguments) -> str:
    """Return the rows as a UNION ALL of SELECTs; the columns are named c1, c2 and so on."""
    first, *rest = zip(*arguments.columns, strict=True)
    first_row = ",".join([f"{render_literal(value)} AS c{position}" for position, value in enumerate(first, 1)])
    return " UNION ALL ".join(
        [f"SELECT {row}" for row in (first_row, *(",".join(map(render_literal, row)) for row in rest))]
    )
