"""The command that goes on where a page ended: all that was asked for is said again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..messages import messages
from .printer import Printer
from .shown_store import command_line


def offer_more(out: Printer, command: str, said: Mapping[str, Any], after: object) -> None:
    """`said` are the options as they were given; what was not given is left out."""
    parts = command.split()
    for name, value in said.items():
        parts += _option(name, value)
    out.note(messages.MORE, command=command_line(out, *parts, "--after", str(after)))


def _option(name: str, value: Any) -> list[str]:
    """A name without dashes is that of an argument."""
    if value is None or value is False:
        return []
    if value is True:
        return [name]
    values = value if isinstance(value, list | tuple) else [value]
    return [part for each in values for part in ([name, str(each)] if name.startswith("-") else [str(each)])]
