"""Finds the `horae` commands of the pages, in code spans and code blocks, and parses them without running them.

Rules for what is no literal command:
- Shell syntax: a comment, and whatever follows `|`, `>`, `<`, `&`, `&&`, `||` or `;`, belongs to the shell. Each part between
  them is a command of its own if it begins with `horae`, behind assignments of variables.
- Placeholders: a word in capitals, in `<…>` or with `…`, and `$(…)` stand for any value, `a|b|c` for one of the words, and
  `[…]` for something that may be left out.
- A code span may name a command by its beginning, so that arguments may be missing there, but not in a code block.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

import click

from tests.docs.hint_commands import MISTAKE, ROOT
from tests.docs.pages import ROOT as REPOSITORY

_FENCE: Final = re.compile(r"^ *```(\w*)$")
_SPAN: Final = re.compile(r"(`+)(.+?)\1(?!`)")
_OPERATORS: Final = frozenset({"|", ">", ">>", "<", "&", "&&", "||", ";", "2>&1"})
_ASSIGNMENT: Final = re.compile(r"[A-Z_][A-Z0-9_]*=.*")
_ALTERNATIVES: Final = re.compile(r"[a-z-]+(?:\|[a-z-]+)+")
_PLACEHOLDER: Final = re.compile(r"[A-Z][A-Z_|.-]*|<[^<>]+>|.*…")
_SUBSTITUTION: Final = re.compile(r"\$\([^()]*\)")
_INCOMPLETE: Final = re.compile(r"Missing |.* requires an argument\.$")
# What a placeholder stands for where a number or a choice is wanted; the first that the parser takes is right.
_SAMPLES: Final = ("report", "3", "2026-11-18T09:00:00Z", "https://horae.example")
_SHELL: Final = ("sh", "bash", "console")


class Command(NamedTuple):
    """`words` are those after `horae`."""

    place: str
    words: list[str]
    in_block: bool

    @property
    def shown(self) -> str:
        return f"{self.place}: horae {shlex.join(self.words)}"


def pages() -> list[Path]:
    return sorted([*REPOSITORY.glob("README*.md"), *(REPOSITORY / "docs").glob("*.md")])


def commands_of(text: str, page: str) -> Iterator[Command]:
    language: str | None = None
    pending, begun = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if fence is not None:
            language = fence[1] if language is None else None
            pending = ""
        elif language is None:
            for span in _SPAN.finditer(line):
                yield from (Command(f"{page}:{number}", words, in_block=False) for words in _horae_words(span[2]))
        elif language in _SHELL:
            if not pending:
                begun = number
                line = _typed(line, language)
            pending += line
            if pending.endswith("\\"):
                pending = pending[:-1]
            elif not _is_open(pending):
                yield from (Command(f"{page}:{begun}", words, in_block=True) for words in _horae_words(pending))
                pending = ""
            else:
                pending += "\n"


def _typed(line: str, language: str) -> str:
    """In a console only lines behind the prompt are typed."""
    if language == "console" and not line.lstrip().startswith("$ "):
        return ""
    return line.strip().removeprefix("$ ")


def _is_open(text: str) -> bool:
    """Whether a quote is still open at the end."""
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return True
    return False


def _horae_words(text: str) -> Iterator[list[str]]:
    parts: list[list[str]] = [[]]
    text = _SUBSTITUTION.sub("VALUE", text)
    if _is_open(text):
        return
    for word in shlex.split(text, comments=True):
        if word in _OPERATORS:
            parts.append([])
        else:
            parts[-1].append(word.removesuffix(";"))
            if word.endswith(";"):
                parts.append([])
    for part in parts:
        while part and _ASSIGNMENT.fullmatch(part[0]):
            part.pop(0)
        if len(part) > 1 and part[0].rpartition("/")[2] == "horae":
            yield [_without_brackets(word) for word in part[1:]]


def _without_brackets(word: str) -> str:
    return word if " " in word else word.removeprefix("[").removesuffix("]")


def mistake_in(command: Command) -> str | None:
    """Return the error of the parser, or None when one reading of the placeholders is valid."""
    if _PLACEHOLDER.fullmatch(command.words[0]):
        return None
    mistakes: list[str | None] = []
    alternatives = [word.split("|") if _ALTERNATIVES.fullmatch(word) else [word] for word in command.words]
    for words in product(*alternatives):
        found = [_parsed(list(reading), in_block=command.in_block) for reading in _readings(words)]
        mistakes.append(None if None in found else found[0])
    return next((each for each in mistakes if each is not None), None)


def _readings(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    choices = [_SAMPLES if _PLACEHOLDER.fullmatch(word) else (word,) for word in words]
    yield from product(*choices)


def _parsed(words: list[str], *, in_block: bool) -> str | None:
    try:
        _parse(words)
    except MISTAKE as mistake:
        message = str(mistake.format_message()) if hasattr(mistake, "format_message") else str(mistake)
        return None if _INCOMPLETE.match(message) and not in_block else message
    return None


def _parse(words: list[str]) -> None:
    """As the command line does it, up to the point at which the command would run."""
    command, rest, parent, name = ROOT, words, None, "horae"
    while True:
        if hasattr(command, "resolve_command") and not rest:
            return  # the name of a group alone
        try:
            context: Any = command.make_context(name, list(rest), parent=parent)
        except click.exceptions.Exit:  # --help and --version end here
            return
        if not hasattr(command, "resolve_command"):
            return
        rest = [*context._protected_args, *context.args]
        if not rest:
            return
        name, command, rest = command.resolve_command(context, rest)
        parent = context
