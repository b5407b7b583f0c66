"""Derives every expectation of the kit a second time, by brute force, from the standard library and `tzdata` alone.

    python -m conformance.derive                                  check all case files
    python -m conformance.derive "30 2 * * *" America/New_York 2026-03-07T12:00:00Z 2026-03-09T12:00:00Z

It is slow on purpose: it looks at every minute (or second) of a window and asks what the wall clock showed.
"""

from __future__ import annotations

import argparse
import json
import sys
import zoneinfo
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib import resources
from pathlib import Path

from conformance.wall_rules import EVERY, Rule, parse_interval, parse_rule

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
LARGEST_REPLACED_GAP = timedelta(hours=3)
CASES = Path(__file__).parent / "cases"


@dataclass(frozen=True, slots=True)
class Change:
    at: datetime
    before: timedelta
    after: timedelta

    @property
    def jump(self) -> timedelta:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Clock:
    """The wall clock of one zone over one window, wall times being UTC datetimes that are read as local ones."""

    zone: zoneinfo.ZoneInfo
    changes: tuple[Change, ...]
    offsets: frozenset[timedelta]

    def wall(self, instant: datetime) -> datetime:
        return instant + _offset(self.zone, instant)

    def readings(self, wall: datetime) -> list[datetime]:
        """Every instant at which the clock showed this: none in a gap, two in a fold."""
        return sorted({wall - offset for offset in self.offsets if self.wall(wall - offset) == wall})


def derive_fires(case: Mapping[str, object]) -> list[datetime]:
    """The instants in (after, until] at which the case's expression fires."""
    expression, zone = str(case["expression"]), load_zone(str(case["zone"]))
    after, until = parse_instant(str(case["after"])), parse_instant(str(case["until"]))
    if expression.startswith(EVERY):
        return list(_stepped(after, until, parse_interval(expression)))
    rule = parse_rule(expression)
    clock = _watch(zone, after.replace(microsecond=0) - 2 * DAY, until + 2 * DAY)
    found: set[datetime] = set()
    for start in _days(after, until):
        if any(rule.matches_day((start + DAY * shift).date()) for shift in (-1, 0, 1)):
            found.update(_fires_of_day(rule, clock, start, str(case.get("fold", "first"))))
    if not rule.flowing:
        found.update(_replacements(rule, clock, str(case.get("gap", "next"))))
    return sorted(instant for instant in found if after < instant <= until)


@cache
def load_zone(name: str) -> zoneinfo.ZoneInfo:
    """From the tzdata package only: the system's own tree has no version."""
    with resources.files("tzdata").joinpath("zoneinfo", *name.split("/")).open("rb") as data:
        return zoneinfo.ZoneInfo.from_file(data, key=name)


def _fires_of_day(rule: Rule, clock: Clock, start: datetime, fold: str) -> Iterator[datetime]:
    whole_minutes = rule.seconds == {0} and all(not offset.seconds % 60 for offset in clock.offsets)
    step = timedelta(minutes=1) if whole_minutes else SECOND
    for number in range(DAY // step):
        instant = start + number * step
        wall = clock.wall(instant)
        if rule.matches(wall) and (rule.flowing or _chosen(instant, clock.readings(wall), fold)):
            yield instant


def _chosen(instant: datetime, readings: list[datetime], fold: str) -> bool:
    return {"first": instant == readings[0], "last": instant == readings[-1], "both": True}[fold]


def _replacements(rule: Rule, clock: Clock, gap: str) -> Iterator[datetime]:
    for change in clock.changes:
        if gap == "skip" or not timedelta(0) < change.jump < LARGEST_REPLACED_GAP:
            continue
        for number in range(change.jump // SECOND):
            lost = change.at + change.before + number * SECOND
            if rule.matches(lost):
                yield change.at if gap == "next" else lost - change.before


def _watch(zone: zoneinfo.ZoneInfo, start: datetime, end: datetime) -> Clock:
    changes: list[Change] = []
    offsets = {_offset(zone, start)}
    step = timedelta(minutes=30)
    for number in range((end - start) // step + 1):
        earlier = start + number * step
        before, after = _offset(zone, earlier), _offset(zone, earlier + step)
        if before != after:
            changes.append(Change(_exact(zone, earlier, earlier + step), before, after))
            offsets.add(after)
    return Clock(zone, tuple(changes), frozenset(offsets))


def _exact(zone: zoneinfo.ZoneInfo, earlier: datetime, later: datetime) -> datetime:
    """The first whole second with the later offset."""
    low, high = earlier, later
    while high - low > SECOND:
        middle = low + timedelta(seconds=int((high - low).total_seconds()) // 2)
        low, high = (middle, high) if _offset(zone, middle) == _offset(zone, earlier) else (low, middle)
    return high


def _offset(zone: zoneinfo.ZoneInfo, instant: datetime) -> timedelta:
    return instant.astimezone(zone).utcoffset() or timedelta(0)


def _days(after: datetime, until: datetime) -> Iterator[datetime]:
    start = datetime.combine(after.date(), datetime.min.time(), UTC)
    while start <= until:
        yield start
        start += DAY


def _stepped(after: datetime, until: datetime, interval: timedelta) -> Iterator[datetime]:
    instant = after + interval
    while instant <= until:
        yield instant
        instant += interval


def parse_instant(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def format_instant(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")


def never_comes(rule: Rule) -> bool:
    """Gregorian days repeat after 400 years, weekdays included."""
    first = date(2000, 1, 1).toordinal()
    return not any(rule.matches_day(date.fromordinal(first + number)) for number in range(146_097))


def is_refused(expression: str) -> bool:
    try:
        if expression.startswith(EVERY):
            parse_interval(expression)
            return False
        return never_comes(parse_rule(expression))
    except ValueError:
        return True


def _disagreements() -> Iterator[str]:
    for path in sorted(CASES.glob("*.json")):
        cases = json.loads(path.read_text(encoding="utf-8"))
        for case in cases["fires"]:
            for asked in (case, *({**case, **other} for other in case.get("otherwise", ()))):
                derived = [format_instant(instant) for instant in derive_fires(asked)]
                if derived != asked["fires"]:
                    yield f"{path.name} {case['id']}: the file says {asked['fires']}, derived {derived}"
        yield from (
            f"{path.name} {case['id']}: not refused" for case in cases["refused"] if not is_refused(case["expression"])
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "question", nargs="*", help="expression zone after until; without it all case files are checked"
    )
    parser.add_argument("--gap", default="next", choices=("next", "shift", "skip"))
    parser.add_argument("--fold", default="first", choices=("first", "last", "both"))
    given = parser.parse_args()
    if not given.question:
        found = list(_disagreements())
        print("\n".join(found) or "every case agrees")
        return 1 if found else 0
    if len(given.question) != len(("expression", "zone", "after", "until")):
        parser.error("a question is: expression zone after until")
    expression, zone, after, until = given.question
    case = {
        "expression": expression,
        "zone": zone,
        "after": after,
        "until": until,
        "gap": given.gap,
        "fold": given.fold,
    }
    print("\n".join(format_instant(instant) for instant in derive_fires(case)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
