"""Log formatter for the terminal of a node: time of day, sign and message like the lines about runs, wrapped."""

from __future__ import annotations

import logging
import sys
from copy import copy
from functools import partial
from typing import Final

from ...choices import Language
from ...observe.logs import TextFormatter
from ...runtime.observability import configure_log
from ...settings import Settings
from .line_breaks import wrap_cell
from .printer import Printer
from .styled_text import Cell, Style, StyledText, render_cell, terminal_width

TEXT_COLUMN: Final = 16
"""Column where the message begins, behind the time of day and a sign."""


def configure_node_log(out: Printer, settings: Settings, zone: str | None = None, *, failures: bool = True) -> None:
    """Configure logging; the short form goes to a terminal only, files and pipes get the complete one."""
    configure_log(settings, zone, failures=failures, on_terminal=None if out.json else partial(TerminalFormatter, out))


class TerminalFormatter(TextFormatter):
    """`11:04:27.345  ! this node claims nothing more`: the time of day, a sign for the level, the message."""

    def __init__(self, out: Printer, zone: str) -> None:
        super().__init__("%(message)s", zone)
        self._out = out

    def format(self, record: logging.LogRecord) -> str:
        record = _in_language(record, self._out.language)
        time = self.formatTime(record).split()[1]
        head: list[str | StyledText] = [StyledText(time, "dim"), "  ", _sign(record.levelno), " "]
        lines: list[Cell] = []
        for text in self.format_lines(record):
            lines += wrap_cell([*head, text], terminal_width(), TEXT_COLUMN)
            head = [" " * TEXT_COLUMN]
        colour = self._out.has_colour(sys.stderr)
        return "\n".join(render_cell(line, colour=colour) for line in lines)


def _in_language(record: logging.LogRecord, language: Language) -> logging.LogRecord:
    """Return the record with its Chinese text (`extra={"chinese": …}`) if that is the language."""
    chinese = getattr(record, "chinese", None)
    if language == "en" or not isinstance(chinese, str):
        return record
    translated = copy(record)
    translated.msg, translated.args = chinese, ()
    return translated


def _sign(level: int) -> StyledText:
    sign, style = _SIGNS[0 if level >= logging.ERROR else 1 if level >= logging.WARNING else 2]
    return StyledText(sign, style)


_SIGNS: Final[tuple[tuple[str, Style], ...]] = (("✕", "bad"), ("!", "odd"), ("·", "dim"))
