"""Clock changes of a zone, read with the standard library from the files of the tzdata package alone."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from zoneinfo import ZoneInfo

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WEEK = timedelta(days=7)
SECOND = timedelta(seconds=1)
# No two clocks of one zone are further apart than this, also across the date line.
WIDEST = timedelta(hours=27)
YEARS = 8  # of the portions in which changes are found


@dataclass(frozen=True, slots=True)
class Change:
    """One moment at which the clocks of a zone were set, with the offsets of both sides."""

    instant: datetime
    before: timedelta
    after: timedelta

    @property
    def jump(self) -> timedelta:
        return self.after - self.before

    @property
    def last_reading(self) -> datetime:
        """What the clocks would have shown at the change had nobody touched them."""
        return self.instant.replace(tzinfo=None) + self.before

    @property
    def first_reading(self) -> datetime:
        return self.instant.replace(tzinfo=None) + self.after


def zone_names() -> tuple[str, ...]:
    return tuple((resources.files("tzdata") / "zones").read_text(encoding="ascii").split())


def _file(name: str) -> Traversable:
    return resources.files("tzdata").joinpath("zoneinfo", *name.split("/"))


@cache
def zone(name: str) -> ZoneInfo:
    # From the package's own file: ZoneInfo(name) would prefer the tree of the operating system.
    with _file(name).open("rb") as stream:
        return ZoneInfo.from_file(stream, key=name)


def offset_at(name: str, instant: datetime) -> timedelta:
    offset = instant.astimezone(zone(name)).utcoffset()
    assert offset is not None
    return offset


def reading_at(name: str, instant: datetime) -> datetime:
    """What the wall clock shows at an instant."""
    return instant.astimezone(zone(name)).replace(tzinfo=None, fold=0)


def changes_between(name: str, start: datetime, end: datetime) -> list[Change]:
    """Every change of the offset from `start` until before `end`, oldest first."""
    portions = range(start.year // YEARS, end.year // YEARS + 1)
    return [change for portion in portions for change in _changes(name, portion) if start <= change.instant < end]


@cache
def _changes(name: str, portion: int) -> tuple[Change, ...]:
    start = datetime(portion * YEARS, 1, 1, tzinfo=UTC)
    end = datetime((portion + 1) * YEARS, 1, 1, tzinfo=UTC)
    written = _written_transitions(name)
    by_rule = _found_by_probing(name, max([start - SECOND, *written[-1:]]), end - SECOND)
    instants = [*(instant for instant in written if start <= instant < end), *by_rule]
    found = (Change(instant, offset_at(name, instant - SECOND), offset_at(name, instant)) for instant in instants)
    return tuple(change for change in found if change.before != change.after)


@cache
def _written_transitions(name: str) -> list[datetime]:
    """The transition times that the file spells out, from 1970: those of its second, 64-bit block."""
    content = _file(name).read_bytes()
    second = 44 + _block_length(content, 0, time_size=4)
    assert content[second : second + 4] == b"TZif"
    count = _counts(content, second)[3]
    seconds: tuple[int, ...] = struct.unpack_from(f">{count}q", content, second + 44)
    return [EPOCH + timedelta(seconds=number) for number in seconds if number >= 0]


def _counts(content: bytes, start: int) -> tuple[int, ...]:
    """isutcnt, isstdcnt, leapcnt, timecnt, typecnt, charcnt."""
    return struct.unpack_from(">6l", content, start + 20)


def _block_length(content: bytes, start: int, time_size: int) -> int:
    universal, standard, leaps, times, types, characters = _counts(content, start)
    return times * (time_size + 1) + types * 6 + characters + leaps * (time_size + 4) + standard + universal


@cache
def _follows_a_yearly_rule(name: str) -> bool:
    """Whether the last line of the file says how the clocks go on changing, which takes a comma."""
    return b"," in _file(name).read_bytes().splitlines()[-1]


def _found_by_probing(name: str, after: datetime, until: datetime) -> Iterator[datetime]:
    """After its last written transition a zone follows a yearly rule, whose two changes are months apart."""
    left = after
    while left < until and _follows_a_yearly_rule(name):
        right = min(left + WEEK, until)
        if offset_at(name, left) != offset_at(name, right):
            yield _exact_change(name, left, right)
        left = right


def _exact_change(name: str, left: datetime, right: datetime) -> datetime:
    old = offset_at(name, left)
    while right - left > SECOND:
        middle = left + timedelta(seconds=(right - left) // SECOND // 2)
        if offset_at(name, middle) == old:
            left = middle
        else:
            right = middle
    return right


def is_near_change(name: str, instant: datetime, within: timedelta) -> bool:
    return any(abs(change.instant - instant) <= within for change in _around(name, instant, within + SECOND))


def _around(name: str, instant: datetime, reach: timedelta) -> list[Change]:
    return changes_between(name, instant - reach, instant + reach)


def instants_reading(name: str, wall: datetime) -> list[datetime]:
    """All instants, oldest first, at which the wall clock shows this: none in a gap, two in a fold."""
    as_if_utc = wall.replace(tzinfo=UTC)
    offsets = {offset_at(name, as_if_utc)}
    for change in _around(name, as_if_utc, 2 * WIDEST):
        offsets |= {change.before, change.after}
    return sorted(as_if_utc - offset for offset in offsets if offset_at(name, as_if_utc - offset) == offset)


def gap_over(name: str, wall: datetime) -> Change | None:
    """The forward change that jumped over a reading which no instant has."""
    as_if_utc = wall.replace(tzinfo=UTC)
    for change in _around(name, as_if_utc, WIDEST):
        if change.last_reading <= wall < change.first_reading:
            return change
    return None
