"""How often Python looks for garbage while an app is open: seldom, for a node makes many values and hardly any cycles."""

from __future__ import annotations

import gc
from typing import Final

_SELDOM: Final = (20_000, 20, 20)
"""Net allocations between looks. At Python's usual 700 a busy node spends a tenth of its time looking."""


class Tidiness:
    """Shared by all apps of a process. Who has chosen a number of their own keeps it."""

    def __init__(self) -> None:
        self._open = 0
        self._before: tuple[int, int, int] | None = None

    def opened(self) -> None:
        self._open += 1
        before = gc.get_threshold()
        if self._open == 1 and 0 < before[0] < _SELDOM[0] and gc.isenabled():
            self._before = before
            gc.set_threshold(*_SELDOM)

    def closed(self) -> None:
        self._open -= 1
        if self._open == 0 and self._before is not None:
            if gc.get_threshold() == _SELDOM:
                gc.set_threshold(*self._before)
            self._before = None


tidiness: Final = Tidiness()
