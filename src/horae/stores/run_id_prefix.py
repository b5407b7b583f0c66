"""Planned instants that a run id encodes: a lookup by id uses the index on planned instants.

An index on all ids would write a separate page for every run of a burst, because ids end in random digits.
"""

from __future__ import annotations

from typing import Final

_PREFIX: Final = "run_"
_DIGITS: Final = 12
_EARLIEST: Final = -(2**63)
_LATEST: Final = 2**63 - 1


def planned_range_of_prefix(prefix: str) -> tuple[int, int] | None:
    """Return the range of planned instants (microseconds) of ids with this prefix; None if no id can have it."""
    digits = prefix[len(_PREFIX) : len(_PREFIX) + _DIGITS]
    if not prefix.startswith(_PREFIX) or not set(digits) <= set("0123456789abcdef"):
        return None
    start, end = int(digits.ljust(_DIGITS, "0"), 16) * 1000, int(digits.ljust(_DIGITS, "f"), 16) * 1000 + 999
    return (start or _EARLIEST), min(end, _LATEST)


def planned_range_of_id(run_id: str) -> tuple[int, int] | None:
    """Return the millisecond that a run id encodes as a range of microseconds; None if it encodes none.

    Ids of runs planned before 1970 encode zero, so its range starts at the earliest instant.
    """
    digits = run_id[len(_PREFIX) : len(_PREFIX) + _DIGITS]
    if not run_id.startswith(_PREFIX) or len(digits) < _DIGITS or not set(digits) <= set("0123456789abcdef"):
        return None
    start = int(digits, 16) * 1000
    return (start or _EARLIEST), start + 999
