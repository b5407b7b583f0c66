"""What the name of a run tells: an index over all names would be written at a place of its own for every run of a burst."""

from __future__ import annotations

from typing import Final

_PREFIX: Final = "run_"
_DIGITS: Final = 12
_EARLIEST: Final = -(2**63)


def instants_in(run_id: str) -> tuple[int, int] | None:
    """The thousand microseconds that the id of a run names; what is planned before 1970 bears the first of them."""
    digits = run_id[len(_PREFIX) : len(_PREFIX) + _DIGITS]
    if not run_id.startswith(_PREFIX) or len(digits) < _DIGITS or not set(digits) <= set("0123456789abcdef"):
        return None
    start = int(digits, 16) * 1000
    return (start or _EARLIEST), start + 999
