"""Random recurrence rules from a seed, with starts and an iterator over their instants."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

from horae.schedule.instants import wall_reading, wall_seconds
from horae.schedule.recurrence import RulePattern, parse_rule

_WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_FREQUENCIES = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY")


def wall(text: str) -> datetime:
    return datetime.fromisoformat(text)


def pattern(rule: str, start: datetime) -> RulePattern:
    return RulePattern(parse_rule(rule), wall_seconds(start))


def walk(pattern: RulePattern, after: datetime | None, most: int) -> list[datetime]:
    """The next so many occurrences after a wall time, or from the start."""
    found: list[datetime] = []
    local = pattern.start - 1 if after is None else wall_seconds(after)
    while len(found) < most and (following := pattern.next_local(local)) is not None:
        found.append(wall_reading(following))
        local = following
    return found


def random_rule(random: Random) -> str:
    freq = random.choice(_FREQUENCIES)
    parts = [f"FREQ={freq}"]
    if random.random() < 0.5:
        parts.append(f"INTERVAL={random.choice((2, 2, 3, 4, 5, 7, 10, 12, 13, 30, 45, 90))}")
    if random.random() < 0.3:
        parts.append(f"WKST={random.choice(_WEEKDAYS)}")
    parts += _day_parts(random, freq)
    parts += [
        f"{name}={_numbers(random, 0, most)}"
        for name, most in (("BYHOUR", 23), ("BYMINUTE", 59), ("BYSECOND", 59))
        if random.random() < 0.25
    ]
    if random.random() < 0.2:
        parts.append(f"BYSETPOS={_signed(random, 1, random.choice((2, 5, 12)))}")
    random.shuffle(parts)
    return ";".join(parts)


def _day_parts(random: Random, freq: str) -> list[str]:
    parts = []
    if random.random() < 0.3:
        parts.append(f"BYMONTH={_numbers(random, 1, 12)}")
    weeks = freq == "YEARLY" and random.random() < 0.25
    if weeks:
        parts.append(f"BYWEEKNO={_signed(random, 1, 53)}")
    if freq not in ("DAILY", "WEEKLY", "MONTHLY") and random.random() < 0.15:
        parts.append(f"BYYEARDAY={_signed(random, 1, 366)}")
    if freq != "WEEKLY" and random.random() < 0.3:
        parts.append(f"BYMONTHDAY={_signed(random, 1, 31)}")
    if random.random() < 0.4:
        parts.append(f"BYDAY={_weekdays(random, nth=freq in ('MONTHLY', 'YEARLY') and not weeks)}")
    return parts


def _weekdays(random: Random, *, nth: bool) -> str:
    names = random.sample(_WEEKDAYS, random.choice((1, 1, 2, 3, 5, 7)))
    if not nth or random.random() < 0.5:
        return ",".join(names)
    numbers = (1, 1, 2, 3, 4, 5, -1, -1, -2, -5) if random.random() < 0.9 else ("", 1, 20, -20, 53)
    return ",".join(f"{random.choice(numbers)}{name}" for name in names)


def _numbers(random: Random, low: int, high: int) -> str:
    return ",".join(str(random.randint(low, high)) for _ in range(random.choice((1, 1, 1, 2, 3, 6))))


def _signed(random: Random, low: int, high: int) -> str:
    numbers = (random.choice((1, 1, -1)) * random.randint(low, high) for _ in range(random.choice((1, 1, 2, 4))))
    return ",".join(map(str, numbers))


def random_start(random: Random) -> datetime:
    return wall("1995-01-01") + timedelta(
        days=random.randrange(12_000), seconds=random.choice((0, 32_400, 34_200, random.randrange(86_400)))
    )
