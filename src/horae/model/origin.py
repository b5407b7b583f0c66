"""Origin of an occurrence: what caused it, and for a chained one its root occurrence and the runs that it follows."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from .ids import from_microseconds, to_microseconds


class Origin(StrEnum):
    SCHEDULED = "scheduled"
    MANUAL = "manual"
    BACKFILL = "backfill"
    CHAIN = "chain"
    """The end of a predecessor's occurrence."""


AUTOMATIC: Final = frozenset({Origin.SCHEDULED, Origin.CHAIN})
"""Origins of occurrences that no caller requested one by one."""


class RootOccurrence(NamedTuple):
    """The occurrence that a chain began with. All attempts at it are one root."""

    task_id: str
    origin: Origin
    planned: datetime

    @property
    def key(self) -> str:
        return f"{self.task_id}/{self.origin.value}/{to_microseconds(self.planned)}"

    @classmethod
    def from_key(cls, key: str) -> RootOccurrence:
        task_id, origin, planned = key.rsplit("/", 2)
        return cls(task_id, Origin(origin), from_microseconds(int(planned)))


class ChainPlace(NamedTuple):
    """Place of an occurrence in its chain. `root` None: it is the root itself. `parents` are the runs whose end started it.

    `fires` is False for a requested run whose end starts no successor.
    """

    root: RootOccurrence | None = None
    parents: tuple[str, ...] = ()
    fires: bool = True


NO_SUCCESSORS: Final = ChainPlace(fires=False)
"""Place of a requested run that starts no successor."""
