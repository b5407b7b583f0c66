"""Lanes with a rate in the SQL stores: reads and writes their starts, and the wake-up of the entries that wait.

The last n starts of a lane are rows of `lane_starts`, one for each instant, numbered in the order of the starts. So the starts
within a period are counted by two look-ups, and a claim writes one row, however many runs it starts and however large n is.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from ....model.ids import to_microseconds
from ....model.lanes.lane import LaneUse
from ....model.lanes.rate import Rate, StartsAt
from ....ports.transfer import LaneLimit
from ...codec.json_codecs import instant_of
from ...codec.rows import Row
from ...loaded_facts import LaneCounts, LaneRate
from ..connection import Statements
from .lane_queue import unpark_entries

if TYPE_CHECKING:
    from collections.abc import Iterable

_MICROSECOND: Final = timedelta(microseconds=1)
_EARLIEST: Final = -(2**62)
_PRUNING_INTERVAL: Final = 32
"""Starts that no longer count are removed each time that so many more have been recorded."""


def decode_rate(starts: int, period: int) -> Rate:
    return Rate(starts, timedelta(microseconds=period))


def encode_rate(rate: Rate | None) -> tuple[int | None, int | None]:
    return (None, None) if rate is None else (rate.starts, rate.period // _MICROSECOND)


async def read_starts_left(connection: Statements, lane: str, found: LaneRate, now: datetime | None) -> int:
    """Return how many starts the rate allows at this instant; None: at any instant, however early."""
    start = _EARLIEST if now is None else to_microseconds(now - found.rate.period)
    ((outside, first),) = await connection.query("starts_outside_period", lane, start)
    # Without a row there are no starts; starts before the first row no longer count.
    before = next((number for number in (outside, first) if number is not None), found.started)
    return max(0, found.rate.starts - (found.started - before))


async def read_next_start(connection: Statements, lane: str, found: LaneRate, reserved: int = 0) -> int | None:
    """Return the earliest instant of the start that follows `reserved` further ones; see `lifecycle.rate.next_start`."""
    number = found.started - found.rate.starts + reserved
    if number < 0:
        return None
    for at, first in await connection.query("start_at", lane, number):
        return None if first > number else at + found.rate.period // _MICROSECOND
    return None


async def write_starts(connection: Statements, lane: str, found: LaneRate, now: datetime) -> None:
    """Write the new starts of a claim; never earlier than the last one before."""
    at = max(to_microseconds(now), _EARLIEST if found.last_start is None else found.last_start)
    await connection.query("put_lane_starts", lane, at, found.started, found.new_starts)
    before, found.started = found.started, found.started + found.new_starts
    found.last_start, found.new_starts = at, 0
    if before // _PRUNING_INTERVAL != found.started // _PRUNING_INTERVAL:
        await connection.query("prune_lane_starts", lane, found.started - found.rate.starts)


async def offer_starts(connection: Statements, lane_state: LaneCounts, lane: str) -> None:
    """Unpark the entries that the lane has slots and starts for, and set the wake-up for the next one."""
    found = lane_state.rates[lane]
    written = (found.started, found.wake_at)
    if found.new_starts and lane_state.now is not None:
        await write_starts(connection, lane, found, lane_state.now)
    found.wake_at = None
    if lane_state.has_waiting(lane) and lane_state.free_slots(lane):
        left = await read_starts_left(connection, lane, found, None) if found.left is None else found.left
        count = min(lane_state.free_slots(lane), left - lane_state.offered(lane))
        if count > 0:
            await unpark_entries(connection, lane_state, lane, count)
        if lane_state.free_slots(lane) and await connection.query("first_parked", lane):
            found.wake_at = await read_next_start(connection, lane, found, lane_state.offered(lane))
    if (found.started, found.wake_at) != written:
        await connection.query("update_lane_rate", lane, found.started, found.last_start, found.wake_at)


async def wake_lanes(connection: Statements, lane_state: LaneCounts, lanes: Iterable[str], now: datetime) -> None:
    """Unpark entries of these locked lanes, as far as their wake-up is due: another node may have been first."""
    for lane in lanes:
        found = lane_state.rates.get(lane)
        if found is not None and found.wake_at is not None and found.wake_at <= to_microseconds(now):
            await offer_starts(connection, lane_state, lane)


async def set_rate(connection: Statements, lane: str, before: LaneRate | None, rate: Rate | None) -> None:
    """Set or remove the rate of a locked lane; the starts that were kept under the former rate stay."""
    if before is not None:
        await connection.query("prune_lane_starts", lane, before.started - before.rate.starts)
    if rate is None:
        await connection.query("drop_lane_starts", lane)
    elif before is not None:
        await connection.query("prune_lane_starts", lane, before.started - rate.starts)
    await connection.query("set_lane_rate", lane, *encode_rate(rate))


async def read_rate_use(connection: Statements, use: LaneUse, starts: int | None, period: int, started: int) -> LaneUse:
    """Return the use of a lane with its rate, for readers; `started` is the number of all its starts."""
    if starts is None:
        return use
    found = LaneRate(decode_rate(starts, period), started, None, None)
    at = await read_next_start(connection, use.name, found)
    return use._replace(rate=found.rate, next_start=None if at is None else instant_of[at])


async def export_lane(connection: Statements, row: Row) -> LaneLimit:
    """Return a lane with the starts that its rate counts."""
    name, limit, starts, period, started, wake_at = row
    if starts is None:
        return LaneLimit(name, limit)
    rows = await connection.query("lane_starts", name, started - starts)
    kept = tuple(StartsAt(instant_of[at], count) for at, count in rows)
    return LaneLimit(name, limit, decode_rate(starts, period), kept, None if wake_at is None else instant_of[wake_at])


async def import_rate(connection: Statements, lane: LaneLimit) -> None:
    """Write the rate of a lane and its starts, in place of those that it has."""
    await connection.query("drop_lane_starts", lane.name)
    await connection.query("set_lane_rate", lane.name, *encode_rate(lane.rate))
    if lane.rate is None:
        return
    number, last_start = 0, None
    for at, count in lane.starts:
        last_start = to_microseconds(at)
        await connection.query("put_lane_starts", lane.name, last_start, number, count)
        number += count
    wake_at = None if lane.wake_at is None else to_microseconds(lane.wake_at)
    await connection.query("update_lane_rate", lane.name, number, last_start, wake_at)
