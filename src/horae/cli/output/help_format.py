"""Help formatter: wraps to the width of the terminal, counts Chinese characters as two columns, and truncates nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from ...choices import Language
from .line_breaks import wrap_cell
from .styled_text import cell_text, display_width, pad, terminal_width

_WIDEST: Final = 80
_GAP: Final = 2
_WIDEST_NAME: Final = 30
_NARROWEST_TEXT: Final = 24
"""Below this, a description is printed under its name."""
_DESCRIPTION_INDENT: Final = 6


class HelpFormatter:
    """Replaces the formatter of the command line library, with the same methods."""

    def __init__(self, language: Language = "en") -> None:
        self.width = min(terminal_width(), _WIDEST)
        self._layout: tuple[tuple[str, str], ...] = ()
        self._colon = ":"
        if language == "zh":
            from ..messages.help_chinese import LAYOUT  # noqa: PLC0415 - only Chinese needs the table

            self._layout, self._colon = LAYOUT, "："
        self._indent = 0
        self._lines: list[str] = []

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        text = self._translate(f"{prefix or 'Usage: '}{prog} {args}".rstrip())
        self._write(text, self._indent, hang=self._indent + 4)

    def write_heading(self, heading: str) -> None:
        self._write(f"{self._translate(f'{heading}:')[:-1]}{self._colon}", self._indent, hang=self._indent)

    def write_paragraph(self) -> None:
        if self._lines:
            self._lines.append("")

    def write_text(self, text: str) -> None:
        for number, paragraph in enumerate(text.split("\n\n")):
            if number:
                self.write_paragraph()
            self._write(" ".join(paragraph.split()), self._indent, hang=self._indent)

    def write_dl(self, rows: Sequence[tuple[str, str]], col_max: int = _WIDEST_NAME, col_spacing: int = _GAP) -> None:
        translated = [(self._translate(name), self._translate(" ".join(text.split()))) for name, text in rows]
        widest = min(max((display_width(name) for name, _ in translated), default=0), col_max)
        start = self._indent + widest + col_spacing
        under = self.width - start < _NARROWEST_TEXT
        if under:
            start = _DESCRIPTION_INDENT
        for name, text in translated:
            if under or display_width(name.rstrip()) > widest:
                self._write(name.rstrip(), self._indent, hang=self._indent + 4)
                if text:
                    self._write(text, start, hang=start)
            else:
                self._write(f"{pad(name, widest)}{' ' * col_spacing}{text}", self._indent, hang=start)

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        self.write_paragraph()
        self.write_heading(name)
        with self.indentation():
            yield

    @contextmanager
    def indentation(self) -> Iterator[None]:
        self._indent += _GAP
        try:
            yield
        finally:
            self._indent -= _GAP

    def getvalue(self) -> str:
        return "".join(f"{line}\n" for line in self._lines)

    def _write(self, text: str, indent: int, *, hang: int) -> None:
        self._lines += [cell_text(line).rstrip() for line in wrap_cell(f"{' ' * indent}{text}", self.width, hang)]

    def _translate(self, text: str) -> str:
        for english, chinese in self._layout:
            text = text.replace(english, chinese)
        return text


def command_rows(commands: Sequence[tuple[str, Any]]) -> list[tuple[str, str]]:
    """Return each command with the first line of its help, which is not truncated."""
    return [(name, (each.short_help or each.help or "").strip().partition("\n")[0]) for name, each in commands]
