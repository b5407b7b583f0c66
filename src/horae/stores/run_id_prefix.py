"""What the name of a run tells: an index over all names would be written at a place of its own for every run of a burst."""

from __future__ import annotations

from typing import Final

_PREFIX: Final = "run_"
_DIGITS: Final = 12
_EARLIEST: Final = -(2**63)
_LATEST: Final = 2**63 - 1


def instants_of_prefix(prefix: str) -> tuple[int, int] | None:
    """The planned instants (microseconds) of all runs whose id begins with a prefix; None if no id begins so."""
    digits = prefix[len(_PREFIX) : len(_PREFIX) + _DIGITS]
    if not prefix.startswith(_PREFIX) or not set(digits) <= set("0123456789abcdef"):
        return None
    start, end = int(digits.ljust(_DIGITS, "0"), 16) * 1000, int(digits.ljust(_DIGITS, "f"), 16) * 1000 + 999
    return (start or _EARLIEST), min(end, _LATEST)


def instants_in(run_id: str) -> tuple[int, int] | None:
    """The thousand microseconds that the id of a run names; what is planned before 1970 bears the first of them."""
    digits = run_id[len(_PREFIX) : len(_PREFIX) + _DIGITS]
    if not run_id.startswith(_PREFIX) or len(digits) < _DIGITS or not set(digits) <= set("0123456789abcdef"):
        return None
    start = int(digits, 16) * 1000
    return (start or _EARLIEST), start + 999
