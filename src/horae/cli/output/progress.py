"""Progress bar on a terminal; elsewhere one line for every tenth."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Final, Self

from .styled_text import display_width, replace_unprintable, terminal_width

_WIDTH: Final = 24
_NARROWEST: Final = 4


class ProgressBar:
    """Writes to standard error, apart from the data; redraws only when the shown value changes."""

    def __init__(self, title: str, total: int, *, shown: bool) -> None:
        self._title = replace_unprintable(title)
        self._total = max(1, total)
        self._shown = shown
        self._live = sys.stderr.isatty()
        self._last = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def update(self, done: int) -> None:
        self.show_share(done / self._total, f"{done:,}/{self._total:,}")

    def show_share(self, share: float, text: str = "") -> None:
        """Show a share between 0 and 1, with a short text."""
        percent = int(100 * min(1.0, max(0.0, share)))
        step = percent if self._live else percent // 10
        if not self._shown or step == self._last:
            return
        self._last = step
        text = f"  {percent:3d} %  {replace_unprintable(text)}".rstrip()
        room = terminal_width() - display_width(self._title) - display_width(text) - 3 if self._live else _WIDTH
        line = f"{self._title}  {_bar(percent, min(_WIDTH, max(_NARROWEST, room)))}{text}"
        sys.stderr.write(f"\r\x1b[2K{line}" if self._live else f"{line}\n")
        sys.stderr.flush()

    def clear(self) -> None:
        """Erase the bar, so that something else can be printed in its line."""
        if self._shown and self._live and self._last >= 0:
            sys.stderr.write("\r\x1b[2K")
            sys.stderr.flush()
            self._last = -1


def _bar(percent: int, width: int) -> str:
    full = round(width * percent / 100)
    return "█" * full + "░" * (width - full)
