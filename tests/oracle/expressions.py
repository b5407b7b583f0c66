"""Draws cron expressions of every shape of the dialect, most of them near a wanted reading of the wall clock."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from random import Random

from .cron_reader import MONTH_NAMES, WEEKDAY_NAMES

Draw = Callable[[Random, "Span"], str]
Shapes = tuple[tuple[int, Draw], ...]


@dataclass(frozen=True, slots=True)
class Span:
    """What one field can hold, and the number that it should hold more often than not."""

    lowest: int
    highest: int
    wanted: int
    usual_steps: tuple[int, ...]
    names: tuple[str, ...] = ()

    def value(self, random: Random) -> int:
        return self.wanted if random.random() < 0.8 else random.randint(self.lowest, self.highest)

    def written(self, random: Random, value: int) -> str:
        if self.names and random.random() < 0.4:
            name = self.names[(value - self.lowest) % len(self.names)]
            return random.choice((name, name, name.lower(), name.title()))
        return f"{value:02}" if random.random() < 0.04 else str(value)


def star(_: Random, __: Span) -> str:
    return "*"


def single(random: Random, span: Span) -> str:
    return span.written(random, span.value(random))


def several(random: Random, span: Span) -> str:
    others = [random.randint(span.lowest, span.highest) for _ in range(random.randint(1, 3))]
    return ",".join(span.written(random, value) for value in [span.value(random), *others])


def stretch(random: Random, span: Span) -> str:
    first, last = _around(random, span)
    return f"{span.written(random, first)}-{_end(random, span, last)}"


def stepped_stretch(random: Random, span: Span) -> str:
    first, last = _around(random, span)
    return f"{first}-{_end(random, span, last)}/{_step(random, last - first)}"


def open_step(random: Random, span: Span) -> str:
    first = random.randint(span.lowest, span.wanted)
    return f"{span.written(random, first)}/{_step(random, span.highest - first)}"


def star_step(random: Random, span: Span) -> str:
    return f"*/{random.choice(span.usual_steps)}"


def star_then_single(random: Random, span: Span) -> str:
    return f"{star_step(random, span)},{single(random, span)}"


def single_then_star(random: Random, span: Span) -> str:
    """Holds a star but does not start with one, which is what counts."""
    return f"{single(random, span)},{star_step(random, span)}"


def last_day(_: Random, __: Span) -> str:
    return "L"


def last_working_day(_: Random, __: Span) -> str:
    return "LW"


def before_last_day(random: Random, span: Span) -> str:
    """Any distance from the end, often the one that reaches the wanted day in one of the longer months."""
    near = min(max(random.choice((30, 31)) - span.wanted, 1), 30)
    return f"L-{random.choice((near, near, random.randint(1, 30)))}"


def working_day(random: Random, span: Span) -> str:
    edge = random.choice((1, 2, 28, 29, 30, 31))
    near = min(max(span.wanted + random.randint(-2, 2), 1), 31)
    return f"{random.choice((edge, near, near))}W"


def mixed_days(random: Random, span: Span) -> str:
    items = [single(random, span), random.choice(("L", "LW", before_last_day(random, span), working_day(random, span)))]
    random.shuffle(items)
    return ",".join(items)


def nth_weekday(random: Random, span: Span) -> str:
    return f"{single(random, span)}#{random.randint(1, 5)}"


def last_weekday(random: Random, span: Span) -> str:
    return f"{span.value(random)}{random.choice(('L', '#L'))}"


def mixed_weekdays(random: Random, span: Span) -> str:
    return f"{single(random, span)},{random.choice((nth_weekday, last_weekday))(random, span)}"


def until_sunday(random: Random, span: Span) -> str:
    first = random.randint(1, 6)
    return f"{span.written(random, first)}-{random.choice(('SUN', 'sun', '7'))}"


def working_week(random: Random, _: Span) -> str:
    return random.choice(("1-5", "MON-FRI", "mon-fri"))


def _around(random: Random, span: Span) -> tuple[int, int]:
    return random.randint(span.lowest, span.wanted), random.randint(span.wanted, span.highest)


def _end(random: Random, span: Span, last: int) -> str:
    # "SUN" at the end of a range is 7, at its beginning 0: `SUN-SUN` would be the whole week.
    return str(last) if last % 7 == 0 else span.written(random, last)


def _step(random: Random, room: int) -> int:
    """Mostly a step that fits; one that does not must be refused."""
    return random.randint(1, max(1, min(room, 12)) if random.random() < 0.97 else room + 3)


PINNED: Shapes = (
    (40, single),
    (12, several),
    (10, stretch),
    (6, stepped_stretch),
    (5, open_step),
    (2, single_then_star),
)
FLOWING: Shapes = ((10, star), (12, star_step), (2, star_then_single))
MONTH_DAYS: Shapes = (
    (12, single), (8, several), (5, stretch), (3, stepped_stretch), (2, open_step), (4, star_step), (1, star_then_single),
    (1, single_then_star), (6, last_day), (5, before_last_day), (5, last_working_day), (8, working_day), (5, mixed_days),
)  # fmt: skip
WEEKDAYS: Shapes = (
    (10, working_week), (8, single), (6, several), (6, stretch), (4, until_sunday), (3, stepped_stretch), (2, open_step),
    (4, star_step), (1, star_then_single), (1, single_then_star), (6, nth_weekday), (5, last_weekday), (3, mixed_weekdays),
)  # fmt: skip
MONTHS: Shapes = (
    (80, star),
    (5, single),
    (6, several),
    (4, stretch),
    (2, stepped_stretch),
    (1, open_step),
    (2, star_step),
)
SECONDS: Shapes = ((6, single), (3, several), (1, stretch), (3, star_step), (1, star))
DAY_FIELDS = ((42, "neither"), (22, "weekday"), (18, "month day"), (14, "both"), (4, "date"))


def draw_expression(random: Random, near: datetime) -> str:
    """Five fields, or six with seconds first."""
    fields = [*_time_fields(random, near), *_day_fields(random, near)]
    if random.random() < 0.15:
        fields.insert(0, _one_of(random, SECONDS)(random, Span(0, 59, near.second, (10, 15, 20, 30))))
    return " ".join(fields)


def spoil(random: Random, expression: str) -> str:
    """Puts something into one field that no field accepts."""
    fields = expression.split()
    place = random.randrange(len(fields))
    fields[place] = random.choice(SPOILT)
    return " ".join(fields)


SPOILT = (
    "60", "99", "-1", "9-3", "*/0", "*/60", "*/99", "5/", "/5", "5-", "1,,2", ",1", "1,", "1#6", "1#0", "x", "MONDAY",
    "32W", "0W", "8L", "**", "*5", "1-2-3", "1/2/3", "1.5", "5-5/1", "30-31/5", "L-31", "L-0", "L-", "1-5#1", "#L", "#1", "W",
)  # fmt: skip


def _time_fields(random: Random, near: datetime) -> tuple[str, str]:
    minute = Span(0, 59, near.minute, (2, 5, 5, 7, 10, 15, 15, 20, 30))
    hour = Span(0, 23, near.hour, (2, 3, 4, 5, 6, 8, 12))
    flows = random.choices(("neither", "minute", "hour", "both"), (60, 12, 18, 10))[0]
    return (
        _one_of(random, FLOWING if flows in {"minute", "both"} else PINNED)(random, minute),
        _one_of(random, FLOWING if flows in {"hour", "both"} else PINNED)(random, hour),
    )


def _day_fields(random: Random, near: datetime) -> tuple[str, str, str]:
    month_day = Span(1, 31, near.day, (2, 2, 3, 5, 7, 10))
    month = Span(1, 12, near.month, (2, 3, 4, 6), tuple(MONTH_NAMES))
    weekday = Span(0, 6, near.isoweekday() % 7, (2, 2, 3), tuple(WEEKDAY_NAMES))
    if weekday.wanted == 0 and random.random() < 0.3:
        weekday = Span(0, 7, 7, (2, 3), tuple(WEEKDAY_NAMES))
    restricted = random.choices([name for _, name in DAY_FIELDS], [weight for weight, _ in DAY_FIELDS])[0]
    if restricted == "date":
        return str(near.day), str(near.month), "*"
    return (
        _one_of(random, MONTH_DAYS)(random, month_day) if restricted in {"month day", "both"} else "*",
        _one_of(random, MONTHS)(random, month),
        _one_of(random, WEEKDAYS)(random, weekday) if restricted in {"weekday", "both"} else "*",
    )


def _one_of(random: Random, shapes: Shapes) -> Draw:
    return random.choices([draw for _, draw in shapes], [weight for weight, _ in shapes])[0]
