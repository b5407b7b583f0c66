"""Protects the memory of the runner, which has the secrets, against other processes of its user: a model may start some."""

from __future__ import annotations

import ctypes
from typing import Final

_PR_SET_DUMPABLE: Final = 4


def protect_memory() -> None:
    """Forbid other processes of the same user to read the memory of this one, where the system can."""
    try:
        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    except (OSError, AttributeError):
        return
