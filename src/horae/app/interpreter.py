"""What an open app asks of Python: to look for garbage seldom, and to let a thread that waits have its turn soon."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_SELDOM: Final = (20_000, 10, 10)
"""Net allocations between looks: a node makes many values and hardly any cycles, and at the usual 700 it looks a lot."""
_SOON: Final = 0.0005
"""Seconds. A claim changes threads a dozen times: beside a thread that computes, at the usual 5 ms each, it is 0.1 s late."""
_AT_ONCE: Final = 0.0001
"""In a process of our own. Whoever writes holds the file while it waits for its turn: at half a millisecond, that was two
thirds of the time that a group of new tasks held it."""


class Interpreter:
    """Shared by all apps of a process, as these settings are: there is no smaller place for them.

    Who has chosen numbers of their own keeps them.
    """

    def __init__(self) -> None:
        self._apps = 0
        # Each as it was before, and as it became.
        self._garbage: tuple[tuple[int, int, int], tuple[int, int, int]] | None = None
        self._switch: tuple[float, float] | None = None
        self._undisturbed = 0

    def opened(self) -> None:
        self._apps += 1
        if self._apps > 1:
            return
        garbage, switch = gc.get_threshold(), sys.getswitchinterval()
        if gc.isenabled() and 0 < garbage[0] < _SELDOM[0]:
            gc.set_threshold(*_SELDOM)
            self._garbage = garbage, gc.get_threshold()
        if switch > _SOON:
            sys.setswitchinterval(_SOON)
            self._switch = switch, sys.getswitchinterval()

    def settled(self) -> None:
        """For a process that is ours alone and will live long: all that is there now is there to stay, and need not be
        looked at again; and nobody else's threads are asked to give way so often."""
        gc.collect()
        gc.freeze()
        if sys.getswitchinterval() > _AT_ONCE:
            sys.setswitchinterval(_AT_ONCE)

    def closed(self) -> None:
        self._apps -= 1
        if self._apps:
            return
        # As Python tells it, which is not always as it was told.
        if self._garbage is not None and gc.get_threshold() == self._garbage[1]:
            gc.set_threshold(*self._garbage[0])
        if self._switch is not None and sys.getswitchinterval() == self._switch[1]:
            sys.setswitchinterval(self._switch[0])
        self._garbage = self._switch = None

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Not one look for garbage: among the values of a hundred thousand tasks, none of which is, one takes 0.1 s."""
        if not self._undisturbed and not gc.isenabled():
            yield
            return
        self._undisturbed += 1
        gc.disable()
        try:
            yield
        finally:
            self._undisturbed -= 1
            if not self._undisturbed:
                gc.enable()


interpreter: Final = Interpreter()
