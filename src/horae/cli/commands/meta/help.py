"""`horae help` and `horae version`: help topics, the help of a command, and the version."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import click

from ....version import __version__
from ...command import Command
from ...output.printer import Printer, write

_LABEL: Final = re.compile(r"\S+(?: \S+)* {2,}")
_SENTENCE_ENDS: Final = frozenset(".:;。：；)）")


@click.command("help", cls=Command)
@click.argument("topic", required=False, metavar="[TOPIC|COMMAND]", help="Without a topic: list the topics.")
def explain_topic(out: Printer, *, topic: str | None) -> None:
    """Explain a topic: schedules, zones, queries, json, exit-codes; or a command."""
    import sys  # noqa: PLC0415 - only to print
    from difflib import get_close_matches  # noqa: PLC0415 - only for a mistyped topic

    from ....model.refusals import refuse  # noqa: PLC0415
    from ...command_table import ALIASES, COMMANDS  # noqa: PLC0415
    from ...messages.help_topics import TOPICS  # noqa: PLC0415
    from ...output.command_hints import command_line  # noqa: PLC0415

    if topic is None:
        text = "".join(f"{command_line(out, 'help', name)}\n" for name in TOPICS)
    elif topic in TOPICS:
        text = TOPICS[topic].in_language(out.language)
    elif ALIASES.get(topic, topic) in COMMANDS:
        text = _command_help(ALIASES.get(topic, topic))
    else:
        known = [*TOPICS, *COMMANDS]
        near = get_close_matches(topic, known, 1)
        allowed = [*near, *(each for each in known if each not in near)]
        raise refuse("bad_choice", name="topic", value=topic, allowed=", ".join(allowed))
    if out.json:
        out.data({"topic": topic, "text": text})
    else:
        lines = _wrap_topic(text) if out.on_terminal and topic in TOPICS else text.splitlines()
        for line in lines:
            write(sys.stdout, line)


def _wrap_topic(text: str) -> Iterator[str]:
    """Wrap a topic to the terminal width; columns stay aligned and commands stay whole."""
    from ...output.line_breaks import wrap_cell  # noqa: PLC0415 - few commands need it
    from ...output.styled_text import (  # noqa: PLC0415
        cell_text,
        display_width,
        terminal_width,
    )

    for line in _join_sentences(text.splitlines()):
        label = _LABEL.match(line)
        hang = display_width(label.group()) if label is not None else 2 if line.startswith("horae ") else 0
        yield from (cell_text(part) for part in wrap_cell(line, terminal_width(), hang))


def _join_sentences(lines: list[str]) -> list[str]:
    """Join the lines of one sentence."""
    found: list[str] = []
    for line in lines:
        before = found[-1] if found else ""
        continues = before and line and before[-1] not in _SENTENCE_ENDS and not _LABEL.match(before)
        if continues and not _LABEL.match(line) and not before.startswith("horae "):
            found[-1] = before + line if before[-1] > "\u2e80" else f"{before} {line}"
        else:
            found.append(line)
    return found


def _command_help(name: str) -> str:
    from ...main import app  # noqa: PLC0415 - main imports this module

    found = app.get_command(click.Context(app), name)
    assert found is not None  # noqa: S101 - the name is in the table of commands
    return found.get_help(click.Context(found, info_name=f"horae {name}", **app.context_settings)) + "\n"


@click.command("version", cls=Command)
def version(out: Printer) -> None:
    """Show the version."""
    if out.json:
        out.data({"version": __version__})
    elif out.quiet:
        out.ids([__version__])
    else:
        out.line(f"horae {__version__}")
