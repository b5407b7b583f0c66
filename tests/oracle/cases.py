"""Draws stretches of time and questions in them from a seed; most stretches lie around a clock change."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from random import Random

from .cron_oracle import Fold, Gap, read_cached
from .cron_reader import ALIASES, Refused
from .expressions import draw_expression, spoil
from .zone_oracle import Change, changes_between, reading_at, zone_names

FIRST = datetime(1975, 1, 1, tzinfo=UTC)
LAST = datetime(2038, 1, 1, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MICROSECOND = timedelta(microseconds=1)
HOUR = timedelta(hours=1)

NEAR_SHARE = 0.92  # of the stretches in zones whose clocks were ever changed
REACHES = (3, 12, 30, 47)  # hours to either side of a change
LENGTHS = (6, 30, 72, 24 * 20, 24 * 200)  # hours of a stretch elsewhere
BUSY = 24  # candidates a day; the slow side of the comparison takes busy schedules in small portions
TOO_BUSY = 1500


@dataclass(frozen=True, slots=True)
class Stretch:
    """One schedule and a stretch of time in which questions are asked about it. `replay` draws it again."""

    replay: str
    expression: str
    zone: str
    gap: Gap
    fold: Fold
    start: datetime
    end: datetime

    @property
    def number(self) -> int:
        return int(self.replay.split(":")[1])


def stretches(seed: int, zones: Sequence[str] = ()) -> Iterator[Stretch]:
    """Without end, walking through all zones in an order of its own."""
    order = sorted(zones or zone_names())
    Random(seed).shuffle(order)
    number = 0
    while True:
        yield draw_stretch(f"{seed}:{number}:{order[number % len(order)]}")
        number += 1


def draw_stretch(replay: str) -> Stretch:
    zone = replay.split(":", 2)[2]
    random = Random(replay)
    first, last = _era(random)
    known = changes_between(zone, first, last)
    change = _choose(random, known) if known and random.random() < NEAR_SHARE else None
    middle = change.instant if change else _any_instant(random, first, last)
    near = _reading_near(random, change) if change else reading_at(zone, middle)
    expression = _not_too_busy(random, near)
    before, after = _reach(random, expression, near_change=change is not None)
    return Stretch(
        replay,
        expression,
        zone,
        gap=random.choice(("next", "next", "shift", "skip")),
        fold=random.choice(("first", "first", "last", "both")),
        start=max(middle - before, FIRST),
        end=middle + after,
    )


def _era(random: Random) -> tuple[datetime, datetime]:
    """The years that people plan in, and now and then a later year, which only a zone's yearly rule can tell."""
    if random.random() < 0.95:
        return FIRST, LAST
    first = LAST.replace(year=random.choice((2038, 2098, 2100, 2399, 2498, 2500, random.randint(2100, 9000))))
    return first, first.replace(year=first.year + 2)


def _choose(random: Random, known: Sequence[Change]) -> Change:
    """Changes by other amounts than the usual hour are few and worth more."""
    weights = [1 if abs(change.jump) == HOUR else 8 for change in known]
    return random.choices(known, weights)[0]


def _reading_near(random: Random, change: Change) -> datetime:
    """A reading in or shortly around the gap or fold, often on its very edge."""
    edges = sorted((change.last_reading, change.first_reading))
    if random.random() < 0.3:
        return random.choice(edges) + random.choice((-1, 0, 0, 0, 1)) * timedelta(minutes=random.choice((1, 30)))
    reading = edges[0] - 2 * HOUR + random.random() * (edges[1] - edges[0] + 4 * HOUR)
    grid = random.choice((1, 5, 15, 30, 60))
    return reading.replace(minute=reading.minute // grid * grid, microsecond=0)


def _not_too_busy(random: Random, near: datetime) -> str:
    special = random.random()
    if special < 0.01:
        return random.choice(list(ALIASES))
    if special < 0.03:
        return spoil(random, draw_expression(random, near))
    while True:
        expression = draw_expression(random, near)
        if not _is_pinned(expression) or _a_day(expression) <= TOO_BUSY:
            return expression


def _is_pinned(expression: str) -> bool:
    try:
        return not read_cached(expression).flowing
    except Refused:
        return True


def _a_day(expression: str) -> int:
    try:
        cron = read_cached(expression)
    except Refused:
        return 0
    return len(cron.seconds) * len(cron.minutes) * len(cron.hours)


def _reach(random: Random, expression: str, *, near_change: bool) -> tuple[timedelta, timedelta]:
    busy = _a_day(expression) > BUSY
    if near_change:
        reaches = REACHES[:2] if busy else REACHES
        return random.choice(reaches) * HOUR, random.choice(reaches) * HOUR
    lengths = len(LENGTHS) if _is_pinned(expression) else 3
    return timedelta(0), random.choice(LENGTHS[: 2 if busy else lengths]) * HOUR


def _any_instant(random: Random, start: datetime, end: datetime) -> datetime:
    instant = start + random.random() * (end - start)
    return instant if random.random() < 0.5 else instant.replace(microsecond=0)


def questions(stretch: Stretch, fires: Sequence[datetime], count: int) -> Iterator[datetime]:
    """Instants to ask `next` after: on fires and just beside them, on clock changes, and anywhere."""
    random = Random(f"questions {stretch.replay}")
    marks = [change.instant for change in changes_between(stretch.zone, stretch.start, stretch.end)]
    inside = fires[: bisect_left(fires, stretch.end)]
    for _ in range(count):
        kind = random.random()
        if kind < 0.5 and inside:
            instant = random.choice(inside) + random.choice(BESIDE)
        elif kind < 0.65 and marks:
            instant = random.choice(marks) + random.choice(AROUND_CHANGE)
        else:
            instant = _any_instant(random, stretch.start, stretch.end)
        instant = min(max(instant, stretch.start), stretch.end)
        yield instant if random.random() < 0.97 else instant.astimezone(ELSEWHERE)


BESIDE = (
    timedelta(0), timedelta(0), timedelta(0), -SECOND, -SECOND, -MICROSECOND, -MICROSECOND, SECOND, MICROSECOND,
    SECOND - MICROSECOND, -timedelta(minutes=1), -timedelta(seconds=30, microseconds=500_000),
)  # fmt: skip
AROUND_CHANGE = (
    timedelta(0), -SECOND, -MICROSECOND, MICROSECOND, SECOND, -HOUR, HOUR, -HOUR / 2, HOUR / 2, -HOUR - SECOND,
    HOUR - MICROSECOND, -2 * HOUR, 2 * HOUR,
)  # fmt: skip
ELSEWHERE = timezone(timedelta(hours=-4, minutes=-30))
