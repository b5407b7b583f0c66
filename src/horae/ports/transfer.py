"""Moving: everything that a store holds, as values that any other store can take, part by part and page by page.

A store is moved while no node works on it, so nothing changes while it is read. What is carried in a second time changes
nothing: whoever was interrupted goes on from the last page that surely arrived, or from any before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple, Protocol, TypeAlias, TypeVar

from ..model.change import Facts
from ..model.events.event import Numbered
from ..model.page import Page
from ..model.reason import Reason
from ..model.run import LIVE, Run, RunState
from .journal import NumberedLine
from .records import Record
from .store import Node


class Part(StrEnum):
    """In the order in which they are carried: each stands only on those before it."""

    MARKS = "marks"
    REMEMBERED = "remembered"
    RECORDS = "records"
    LANES = "lanes"
    BARRED = "barred"
    NODES = "nodes"
    TALLIES = "tallies"
    TASKS = "tasks"
    RUNS = "runs"
    LINES = "lines"
    EVENTS = "events"


class Mark(NamedTuple):
    """The highest number that was ever given: what is numbered from now on comes after it, also where all of it is gone."""

    name: str
    number: int


TOKEN_MARK: Final = "token"  # noqa: S105 - the number of a claim, nothing secret
EVENT_MARK: Final = "event"


class Remembered(NamedTuple):
    name: str
    value: str


class LaneLimit(NamedTuple):
    name: str
    limit: int


class Barred(NamedTuple):
    owner: str
    reason: Reason


class Tally(NamedTuple):
    """One running count; `owner` is empty for everybody's."""

    owner: str
    hour: int
    name: str
    number: int


Parcel: TypeAlias = (
    Mark | Remembered | Record | LaneLimit | Barred | Node | Tally | Facts | Run | NumberedLine | Numbered
)
"""One thing on its way. A task comes as its facts: with its standing, its entries and its live runs, without lanes, and
without what its owner is barred for; an entry in its owner's queue comes as a timed one. Runs by themselves have ended.
Nodes are those that left their rows behind: somebody must see them stand still, to recover what they carried."""

ENDED: Final = frozenset(RunState) - LIVE

_P = TypeVar("_P")


class Moving(Protocol):
    async def stock(self) -> dict[Part, int]:
        """How many parcels there are of each part."""

    async def carry_out(self, part: Part, after: str | None = None, limit: int = 500) -> Page[Parcel]:
        """The next parcels of a part, tasks in the order in which they were added."""

    async def carry_in(self, part: Part, parcels: Sequence[Parcel]) -> None:
        """Write them as they are, in one transaction: nothing is decided, counted or told.

        Numbers of events and lines stay. A task that is there is replaced, with its entries and its live runs, and keeps
        its place; a run that has ended, a line or an event that is there stays; anything else is replaced.
        """


def only(kind: type[_P], parcels: Sequence[Parcel]) -> list[_P]:
    """Parcels of the part that they were said to be of."""
    found: list[_P] = [each for each in parcels if isinstance(each, kind)]
    if len(found) != len(parcels):
        raise TypeError(f"not all of these parcels are of the kind {kind.__name__}")
    return found
