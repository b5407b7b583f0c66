"""Documents of lanes, and the document of the owners that are limited or blocked."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ....model.lanes.rate import Rate, StartsAt
from ....model.reason import Reason
from ...codec.json_codecs import decode, encode, instant_of, microseconds_of

_MICROSECOND: Final = timedelta(microseconds=1)


class LaneDocument(NamedTuple):
    """A lane with all that a decision reads of it; its idle runs are a record.

    Every transaction that parks or unparks an entry of the lane writes it, so it also guards the sets of parked entries.
    """

    limit: int | None = None
    """None: no limit was set."""
    rate: Rate | None = None
    starts: tuple[StartsAt, ...] = ()
    """The last starts of a lane with a rate, oldest first."""
    wake_at: datetime | None = None
    last_owner: str = ""
    """Owner that got the last slot."""
    taken: int = 0
    """Live runs in the lane."""
    offered: int = 0
    """Unparked entries that have not been claimed yet."""
    parked: int = 0
    """Entries that wait for a slot."""

    @property
    def is_unused(self) -> bool:
        """Whether the document holds nothing but the owner of the last slot."""
        return self._replace(last_owner="") == _UNUSED


_UNUSED: Final = LaneDocument()


def encode_lane(lane: LaneDocument) -> str:
    rate = None if lane.rate is None else [lane.rate.starts, lane.rate.period // _MICROSECOND]
    starts = [[microseconds_of[at], number] for at, number in lane.starts]
    wake_at = None if lane.wake_at is None else microseconds_of[lane.wake_at]
    return encode([lane.limit, rate, starts, wake_at, lane.last_owner, lane.taken, lane.offered, lane.parked])


def decode_lane(text: str | None) -> LaneDocument:
    if text is None:
        return _UNUSED
    limit, rate, starts, wake_at, *rest = decode(text)
    return LaneDocument(
        limit,
        None if rate is None else Rate(rate[0], rate[1] * _MICROSECOND),
        tuple([StartsAt(instant_of[at], number) for at, number in starts]),
        None if wake_at is None else instant_of[wake_at],
        *rest,
    )


class OwnerLimits(NamedTuple):
    """Lanes of owners that have a limit, and the reasons of blocked owners and lanes of agents."""

    lanes: frozenset[str] = frozenset()
    blocked: Mapping[str, Reason] = {}

    @property
    def is_empty(self) -> bool:
        return not self.lanes and not self.blocked


NO_LIMITS: Final = OwnerLimits()


def encode_limits(limits: OwnerLimits) -> str | None:
    return None if limits.is_empty else encode([sorted(limits.lanes), dict(limits.blocked)])


def decode_limits(text: str | None) -> OwnerLimits:
    if text is None:
        return NO_LIMITS
    names, blocked = decode(text)
    return OwnerLimits(frozenset(names), {name: Reason(reason) for name, reason in blocked.items()})
