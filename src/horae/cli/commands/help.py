"""`horae help`: a topic on one screen, or what a command says of itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import typer

from ..command import command
from ..output.printer import Printer, write

_LABELLED: Final = re.compile(r"\S+(?: \S+)* {2,}")
_SENTENCE_ENDS: Final = frozenset(".:;。：；)）")


def register(app: typer.Typer) -> None:
    command(app, "help")(explain_topic)


def explain_topic(
    out: Printer,
    topic: str | None = typer.Argument(None, metavar="[TOPIC|COMMAND]", help="Without it: which topics there are."),
) -> None:
    """Explain a topic: schedules, zones, queries, json, exit-codes; or a command."""
    import sys  # noqa: PLC0415 - only to print
    from difflib import get_close_matches  # noqa: PLC0415 - only for what was mistyped

    from ...model.refusals import refuse  # noqa: PLC0415
    from ..command_table import ALIASES, COMMANDS  # noqa: PLC0415
    from ..messages.help_topics import TOPICS  # noqa: PLC0415
    from ..output.command_hints import command_line  # noqa: PLC0415

    if topic is None:
        text = "".join(f"{command_line(out, 'help', name)}\n" for name in TOPICS)
    elif topic in TOPICS:
        text = TOPICS[topic].in_language(out.language)
    elif ALIASES.get(topic, topic) in COMMANDS:
        text = _of_command(ALIASES.get(topic, topic))
    else:
        known = [*TOPICS, *COMMANDS]
        near = get_close_matches(topic, known, 1)
        allowed = [*near, *(each for each in known if each not in near)]
        raise refuse("bad_choice", name="topic", value=topic, allowed=", ".join(allowed))
    if out.json:
        out.data({"topic": topic, "text": text})
    else:
        lines = _laid_out(text) if out.on_terminal and topic in TOPICS else text.splitlines()
        for line in lines:
            write(sys.stdout, line)


def _laid_out(text: str) -> Iterator[str]:
    """A topic as wide as the terminal: columns stay columns, commands stay whole, sentences are broken anew."""
    from ..output.line_breaks import wrap_cell  # noqa: PLC0415 - few commands need it
    from ..output.styled_text import cell_text  # noqa: PLC0415
    from ..output.width import display_width, terminal_width  # noqa: PLC0415

    for line in _paragraphs(text.splitlines()):
        label = _LABELLED.match(line)
        hang = display_width(label.group()) if label is not None else 2 if line.startswith("horae ") else 0
        yield from (cell_text(part) for part in wrap_cell(line, terminal_width(), hang))


def _paragraphs(lines: list[str]) -> list[str]:
    """Lines of one sentence joined again."""
    found: list[str] = []
    for line in lines:
        before = found[-1] if found else ""
        goes_on = before and line and before[-1] not in _SENTENCE_ENDS and not _LABELLED.match(before)
        if goes_on and not _LABELLED.match(line) and not before.startswith("horae "):
            found[-1] = before + line if before[-1] > "\u2e80" else f"{before} {line}"
        else:
            found.append(line)
    return found


def _of_command(name: str) -> str:
    import click  # noqa: PLC0415

    from ..main import app  # noqa: PLC0415 - it loads us

    root: Any = typer.main.get_command(app)
    found = root.get_command(None, name)
    return str(found.get_help(click.Context(found, info_name=f"horae {name}"))) + "\n"
