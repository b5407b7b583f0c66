"""Tells the lines of a crontab apart: comments, variables, and schedules with a command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from .import_result import Unclear, excerpt
from .notes import note
from .refusals import refuse

MOST_LINES: Final = 10_000
MOST_VARIABLES: Final = 100
MOST_VARIABLE_LETTERS: Final = 32_768
Variables: TypeAlias = Mapping[str, str]

_VARIABLE: Final = re.compile(r"""("[^"]*"|'[^']*'|[^\s="']+)[ \t]*=[ \t]*(.*)""")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_BLANKS: Final = re.compile(r"[ \t]+")
# What a comment says that names nothing: a line that was switched off, the heading of the columns, a rule.
_SWITCHED_OFF: Final = re.compile(r"@[a-z]+\s|(?:[-\d*/,~]+\s+){2}", re.IGNORECASE)
_HEADING: Final = re.compile(r"\bdom\b|\bdow\b", re.IGNORECASE)


class Line(NamedTuple):
    """A schedule with a command. `variables` are those that were set above it, `title` the comment directly above."""

    number: int
    text: str
    expression: str
    user: str
    has_user: bool
    command: str
    title: str | None
    variables: Variables

    @property
    def source(self) -> str:
        return f"line {self.number}"


def lines_of(text: str, user: str | None) -> Iterator[Line | Unclear]:
    """`user` is whose crontab it is; None where each line says that in a column of its own."""
    lines = text.split("\n")
    if len(lines) > MOST_LINES:
        raise refuse("import_too_many", most=MOST_LINES, things="lines")
    variables: Variables = MappingProxyType({})
    above: str | None = None
    for number, raw in enumerate(lines, start=1):
        line = raw.strip()
        comment, above = above, _title(line)
        setting = _VARIABLE.fullmatch(line)
        if not line or line.startswith("#"):
            continue
        if setting is None:
            yield _line(number, line, user, comment, variables)
        elif (name := _bare(setting[1])) and _NAME.fullmatch(name):
            variables = _with(variables, name, _bare(setting[2]))
        else:
            yield Unclear(f"line {number}", excerpt(line), note("cron_bad_variable", name=_bare(setting[1])))


def _line(number: int, line: str, user: str | None, title: str | None, variables: Variables) -> Line | Unclear:
    wanted = 1 if line.startswith("@") else 5
    fields = wanted + (user is None)
    parts = _BLANKS.split(line, fields)
    if len(parts) < fields:
        names = "min hour day month weekday" + (" user" if user is None else "")
        return Unclear(f"line {number}", excerpt(line), note("cron_not_a_line", wanted=names))
    command = parts[fields] if len(parts) > fields else ""
    who = parts[wanted] if user is None else user
    return Line(number, line, " ".join(parts[:wanted]), who, user is None, command, title, variables)


def _with(variables: Variables, name: str, value: str) -> Variables:
    """Every task keeps all of them, so there is an end to it."""
    more = MappingProxyType({**variables, name: value})
    if len(more) > MOST_VARIABLES or sum(map(len, more.values())) > MOST_VARIABLE_LETTERS:
        raise refuse("import_too_many", most=MOST_VARIABLES, things="variables")
    return more


def _title(line: str) -> str | None:
    """What a comment would name the line below it."""
    if not line.startswith("#"):
        return None
    text = line.strip("#-=*~ \t")
    said = any(letter.isalnum() for letter in text)
    return text if said and not _SWITCHED_OFF.match(line.lstrip("# \t")) and not _HEADING.search(text) else None


def _bare(text: str) -> str:
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return text[1:-1] if quoted else text
