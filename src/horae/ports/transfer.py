"""The transfer port: exports everything that a store holds as values that any other store can import, page by page.

A store is transferred while no node works on it, so nothing changes while it is read. Imports are idempotent: an
interrupted transfer continues from the last page that surely arrived, or from any before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple, Protocol, TypeAlias, TypeVar

from ..model.chain_row import ChainRow
from ..model.change import Facts
from ..model.events.event import NumberedEvent
from ..model.lanes.rate import Rate, StartsAt
from ..model.messages import Message, StreamState
from ..model.page import Page
from ..model.reason import Reason
from ..model.run import LIVE_STATES, Run, RunState
from .journal import NumberedLine
from .records import Record
from .store import Node


class Part(StrEnum):
    """Parts of a store in the order of their transfer: each depends only on those before it."""

    MARKS = "marks"
    METADATA = "metadata"
    RECORDS = "records"
    LANES = "lanes"
    BLOCKED_OWNERS = "blocked_owners"
    NODES = "nodes"
    COUNTERS = "counters"
    TASKS = "tasks"
    CHAINS = "chains"
    RUNS = "runs"
    LINES = "lines"
    EVENTS = "events"
    STREAMS = "streams"
    MESSAGES = "messages"


class HighWaterMark(NamedTuple):
    """The highest number that was ever assigned: later numbers come after it, even where all numbered rows are gone."""

    name: str
    number: int


TOKEN_MARK: Final = "token"  # noqa: S105 - the number of a claim, nothing secret
EVENT_MARK: Final = "event"


class MetadataItem(NamedTuple):
    name: str
    value: str


class LaneLimit(NamedTuple):
    """Limit and rate of a lane, with the starts that its rate counts, and the instant at which those that wait are woken."""

    name: str
    limit: int
    rate: Rate | None = None
    starts: tuple[StartsAt, ...] = ()
    wake_at: datetime | None = None


class BlockedOwner(NamedTuple):
    owner: str
    reason: Reason


class CounterValue(NamedTuple):
    """One counter; `owner` is empty for the counter of all owners."""

    owner: str
    hour: int
    name: str
    number: int


TransferItem: TypeAlias = (
    HighWaterMark
    | MetadataItem
    | Record
    | LaneLimit
    | BlockedOwner
    | Node
    | CounterValue
    | Facts
    | ChainRow
    | Run
    | NumberedLine
    | NumberedEvent
    | StreamState
    | Message
)
"""One item of a transfer.

A task comes as its facts: with its status, its entries and its live runs, without lanes, and without the reason for
which its owner is blocked; an entry in its owner's queue comes as a timed one. Separate runs have ended. Nodes are
those that left their rows behind: another node must see their lease stand still, to recover their runs.
"""

ENDED: Final = frozenset(RunState) - LIVE_STATES

_P = TypeVar("_P")


class Moving(Protocol):
    async def count_parts(self) -> dict[Part, int]:
        """Count the items of each part."""

    async def export_page(self, part: Part, after: str | None = None, limit: int = 500) -> Page[TransferItem]:
        """Return the next items of a part, tasks in the order in which they were added."""

    async def import_page(self, part: Part, parcels: Sequence[TransferItem]) -> None:
        """Write items as they are, in one transaction: without decisions, counters or events.

        Numbers of events and lines stay. An existing task is replaced, with its entries and its live runs, and keeps
        its place; an existing ended run, line or event stays; anything else is replaced.
        """


def require_type(kind: type[_P], parcels: Sequence[TransferItem]) -> list[_P]:
    """Return the items as the type of their part; raises TypeError when one is of another type."""
    items: list[_P] = [each for each in parcels if isinstance(each, kind)]
    if len(items) != len(parcels):
        raise TypeError(f"not all of these parcels are of the kind {kind.__name__}")
    return items
