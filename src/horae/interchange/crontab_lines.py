"""Crontab line parser: separates comments, variable settings, and schedules with a command."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from .import_result import RejectedItem, make_excerpt
from .notes import note
from .refusals import refuse

MAX_LINES: Final = 10_000
MAX_VARIABLES: Final = 100
MAX_VARIABLE_CHARACTERS: Final = 32_768
Variables: TypeAlias = Mapping[str, str]

_VARIABLE: Final = re.compile(r"""("[^"]*"|'[^']*'|[^\s="']+)[ \t]*=[ \t]*(.*)""")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_BLANKS: Final = re.compile(r"[ \t]+")
# Comments that are no title: a line that is commented out, a heading of the columns, a ruler.
_COMMENTED_OUT: Final = re.compile(r"@[a-z]+\s|(?:[-\d*/,~]+\s+){2}", re.IGNORECASE)
_COLUMN_HEADING: Final = re.compile(r"\bdom\b|\bdow\b", re.IGNORECASE)


class CrontabLine(NamedTuple):
    """A schedule with a command; `variables` are those set above it, `title` is the comment directly above."""

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


def parse_lines(text: str, user: str | None) -> Iterator[CrontabLine | RejectedItem]:
    """Yield the schedule lines of a crontab, and the lines that cannot be parsed.

    `user` is the owner of the crontab; None where each line names its user in a column. Raises a refusal above the limits.
    """
    lines = text.split("\n")
    if len(lines) > MAX_LINES:
        raise refuse("import_too_many", most=MAX_LINES, things="lines")
    variables: Variables = MappingProxyType({})
    above: str | None = None
    for number, raw in enumerate(lines, start=1):
        line = raw.strip()
        comment, above = above, _comment_title(line)
        setting = _VARIABLE.fullmatch(line)
        if not line or line.startswith("#"):
            continue
        if setting is None:
            yield _parse_line(number, line, user, comment, variables)
        elif (name := _unquote(setting[1])) and _NAME.fullmatch(name):
            variables = _add_variable(variables, name, _unquote(setting[2]))
        else:
            yield RejectedItem(
                f"line {number}", make_excerpt(line), note("cron_bad_variable", name=_unquote(setting[1]))
            )


def _parse_line(
    number: int, line: str, user: str | None, title: str | None, variables: Variables
) -> CrontabLine | RejectedItem:
    schedule_fields = 1 if line.startswith("@") else 5
    fields = schedule_fields + (user is None)
    parts = _BLANKS.split(line, fields)
    if len(parts) < fields:
        names = "min hour day month weekday" + (" user" if user is None else "")
        return RejectedItem(f"line {number}", make_excerpt(line), note("cron_not_a_line", wanted=names))
    command = parts[fields] if len(parts) > fields else ""
    line_user = parts[schedule_fields] if user is None else user
    return CrontabLine(
        number, line, " ".join(parts[:schedule_fields]), line_user, user is None, command, title, variables
    )


def _add_variable(variables: Variables, name: str, value: str) -> Variables:
    """Add a variable; refuses too many, since every task stores all of them."""
    merged = MappingProxyType({**variables, name: value})
    if len(merged) > MAX_VARIABLES or sum(map(len, merged.values())) > MAX_VARIABLE_CHARACTERS:
        raise refuse("import_too_many", most=MAX_VARIABLES, things="variables")
    return merged


def _comment_title(line: str) -> str | None:
    """The title that a comment gives to the line below it; None if the line is no such comment."""
    if not line.startswith("#"):
        return None
    text = line.strip("#-=*~ \t")
    has_letters = any(letter.isalnum() for letter in text)
    return (
        text
        if has_letters and not _COMMENTED_OUT.match(line.lstrip("# \t")) and not _COLUMN_HEADING.search(text)
        else None
    )


def _unquote(text: str) -> str:
    is_quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return text[1:-1] if is_quoted else text
