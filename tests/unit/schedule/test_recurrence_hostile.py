"""Cost of sparse and far rules is bounded, and the far search equals iteration."""

from __future__ import annotations

from random import Random
from time import process_time

import pytest

from horae.errors import InvalidSchedule
from horae.schedule.days import YEARS_WITH_ALL_SHAPES, is_leap, new_year, weekday
from horae.schedule.instants import wall_reading, wall_seconds
from horae.schedule.recurrence import RulePattern, parse_rule
from horae.schedule.recurrence.strides import MAX_GAP_SECONDS, Rotation, first_common
from tests.unit.schedule.recurrence_rules import pattern, random_rule, random_start, walk, wall

BUDGET = 0.050  # seconds of CPU; the measured worst is a tenth of it

_HOURS = ",".join(map(str, range(24)))
_SIXTY = ",".join(map(str, range(60)))
_YEAR = ",".join(str(day) for day in range(-366, 367) if day)
_EVERY_SECOND = f"BYHOUR={_HOURS};BYMINUTE={_SIXTY};BYSECOND={_SIXTY}"

HOSTILE = [
    f"FREQ=SECONDLY;BYSECOND={_SIXTY};BYSETPOS=1",
    "FREQ=SECONDLY;INTERVAL=86399;BYMONTH=2;BYMONTHDAY=29",
    "FREQ=SECONDLY;INTERVAL=86399;BYHOUR=3;BYMINUTE=7;BYSECOND=11;BYDAY=MO,TU,WE,TH,FR,SA",
    "FREQ=SECONDLY;INTERVAL=86401;BYHOUR=3;BYMINUTE=7;BYSECOND=11;BYMONTH=2;BYMONTHDAY=29",
    "FREQ=SECONDLY;INTERVAL=86637;BYHOUR=0,1,2,3,4,5,6,7,8,9,10,11;BYMONTH=8,9",
    "FREQ=SECONDLY;INTERVAL=604801;BYDAY=TU",
    "FREQ=SECONDLY;INTERVAL=604800;BYDAY=TU",
    "FREQ=SECONDLY;INTERVAL=53399;BYSECOND=7;BYMINUTE=1,5,9,33;BYDAY=MO,WE,FR",
    "FREQ=SECONDLY;INTERVAL=7;BYDAY=MO;BYHOUR=0;BYMINUTE=0;BYSECOND=0,7,14,21,28,35,42,49,56",
    "FREQ=SECONDLY;INTERVAL=7889238;BYMONTH=2",
    "FREQ=SECONDLY;INTERVAL=127012;BYSECOND=26,37;BYMINUTE=33;BYDAY=MO,TU,WE,TH,FR,SA,SU",
    "FREQ=MINUTELY;BYDAY=MO;BYMONTH=1",
    "FREQ=MINUTELY;INTERVAL=1439;BYHOUR=4;BYMINUTE=4;BYMONTH=2;BYMONTHDAY=29",
    "FREQ=MINUTELY;INTERVAL=999999999;BYDAY=MO",
    "FREQ=HOURLY;INTERVAL=25;BYHOUR=4;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO",
    "FREQ=HOURLY;INTERVAL=169;BYDAY=TU",
    "FREQ=DAILY;INTERVAL=97;BYMONTH=2;BYMONTHDAY=29",
    "FREQ=DAILY;INTERVAL=1000;BYMONTH=2;BYMONTHDAY=29",
    "FREQ=DAILY;INTERVAL=773;BYMONTH=2;BYMONTHDAY=29;BYDAY=TU",
    f"FREQ=DAILY;{_EVERY_SECOND};BYSETPOS={_YEAR}",
    "FREQ=WEEKLY;INTERVAL=52;BYMONTH=2;BYDAY=MO",
    "FREQ=WEEKLY;INTERVAL=313;BYMONTH=2;BYDAY=MO",
    "FREQ=MONTHLY;BYMONTHDAY=1;BYDAY=2MO",
    "FREQ=MONTHLY;INTERVAL=4799;BYMONTHDAY=31;BYDAY=5FR",
    f"FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;{_EVERY_SECOND};BYSETPOS={_YEAR}",
    "FREQ=YEARLY;INTERVAL=97;BYWEEKNO=53;BYDAY=SU",
    "FREQ=YEARLY;BYWEEKNO=1;BYMONTH=7;BYDAY=MO",
    "FREQ=YEARLY;BYWEEKNO=1,2,3;BYMONTHDAY=1,2,3,4,5,29,30,31;BYMONTH=12,1,2;BYSETPOS=21",
    f"FREQ=YEARLY;BYYEARDAY={_YEAR};{_EVERY_SECOND};BYSETPOS={_YEAR}",
    f"FREQ=YEARLY;BYYEARDAY={_YEAR};BYDAY=53MO,53TU;BYSETPOS=2",
    "FREQ=YEARLY;INTERVAL=399;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO",
]
ASKED = [
    ("1970-01-01", "2026-11-01"),
    ("2026-01-05", "2026-01-05"),
    ("1999-12-31T23:59:59", "2100-01-01"),
    ("0001-01-01", "0001-01-01"),
    ("0001-01-01", "9999-01-01"),
]


def cost(text: str, start: int, after: int) -> float:
    """What it takes to answer, or to find out that there is no answer."""
    begin, code = process_time(), "rrule_never"
    try:
        RulePattern(parse_rule(text), start).next_local(after)
    except InvalidSchedule as refusal:
        code = refusal.code
    spent = process_time() - begin
    assert code == "rrule_never"
    return spent


@pytest.mark.parametrize(("start", "after"), ASKED)
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text[:70])
def test_hostile_rules_are_cheap(text: str, start: str, after: str) -> None:
    # The smaller of two: a busy machine can interrupt one of them.
    assert min(cost(text, wall_seconds(wall(start)), wall_seconds(wall(after))) for _ in range(2)) < BUDGET


def test_random_intervals_are_cheap() -> None:
    random = Random(7)
    for _ in range(1500):
        rule = ";".join(part for part in random_rule(random).split(";") if not part.startswith("INTERVAL"))
        rule += f";INTERVAL={int(10 ** random.uniform(0, 8.99))}"
        try:
            parse_rule(rule)
        except InvalidSchedule:
            continue
        start = wall_seconds(random_start(random))
        after = start + random.randrange(10**10)
        assert min(cost(rule, start, after) for _ in range(2)) < BUDGET, rule


def test_ten_thousand_days_are_walked_at_once() -> None:
    daily = pattern("FREQ=DAILY", wall("2000-01-01T09:00"))
    begin = process_time()

    found = walk(daily, None, 10_000)

    assert process_time() - begin < 0.5  # with datetimes made of each; the question itself takes a microsecond
    assert found[-1] == wall("2027-05-18T09:00")


@pytest.mark.parametrize("seed", range(300))
def test_sieve_equals_iteration(seed: int) -> None:
    random = Random(seed)
    circle = random.choice((1, 2, 7, 60, 365, 1440, random.randint(1, 3000), random.randint(1, 90_000)))
    size = random.randint(1, min(circle, 2000))
    density = random.choice((0.5, 0.05, 0.002, 0))
    table = bytes(random.random() < density for _ in range(size))
    days = bytes(random.random() < random.choice((0.5, 0.1)) for _ in range(random.randint(1, 4000)))
    rotation = Rotation(table, circle, random.randrange(circle), random.randrange(circle))

    places = ((rotation.begin + index * rotation.step) % circle for index in range(len(days)))
    good = (index for index, place in enumerate(places) if place < size and table[place] and days[index])

    assert first_common(days, rotation) == next(good, None)


def test_forty_successive_years_hold_every_shape_of_year() -> None:
    shapes = [(weekday(new_year(year)), *map(is_leap, (year - 1, year, year + 1))) for year in range(1, 900)]

    assert len(set(shapes)) == 28
    assert all(set(shapes[at : at + YEARS_WITH_ALL_SHAPES]) == set(shapes) for at in range(850))


SPARSE = [
    ("FREQ=SECONDLY;INTERVAL=86399;BYHOUR=3;BYMINUTE=7;BYSECOND=11", "2026-01-05", 86_399),
    ("FREQ=SECONDLY;INTERVAL=86399;BYHOUR=3;BYMINUTE=7;BYSECOND=11;BYDAY=MO,TU,WE,TH,FR,SA", "2026-01-05", 86_399),
    ("FREQ=SECONDLY;INTERVAL=86637;BYHOUR=0,1,2,3,4,5,6,7,8,9,10,11;BYMONTH=8,9", "2026-01-05", 86_637),
    ("FREQ=SECONDLY;INTERVAL=604931;BYDAY=TU,SU", "2026-01-05", 604_931),
    ("FREQ=MINUTELY;INTERVAL=1441;BYHOUR=23;BYDAY=SU", "2026-01-05", 1_441 * 60),
    ("FREQ=HOURLY;INTERVAL=25;BYHOUR=4;BYMONTH=2;BYMONTHDAY=29", "2026-01-05", 25 * 3600),
    ("FREQ=DAILY;INTERVAL=97;BYMONTH=2;BYMONTHDAY=29", "2026-01-05", 97 * 86_400),
]


@pytest.mark.parametrize(("rule", "start", "step"), SPARSE)
def test_far_search_equals_stepping(rule: str, start: str, step: int) -> None:
    sparse = pattern(rule, wall(start))
    parts = sparse.rule
    weekdays = {weekday for weekday, _ in parts.by_day}
    local = sparse.start
    while True:
        moment = wall_reading(local)
        if (
            (not parts.by_month or moment.month in parts.by_month)
            and (not parts.by_month_day or moment.day in parts.by_month_day)
            and (not weekdays or moment.weekday() in weekdays)
            and (not parts.by_hour or moment.hour in parts.by_hour)
            and (not parts.by_minute or moment.minute in parts.by_minute)
            and (not parts.by_second or moment.second in parts.by_second)
        ):
            break
        local += step

    assert sparse.next_local(sparse.start - 1) == local
    assert local - sparse.start > 200 * step


def test_rules_finer_than_a_day_are_over_after_400_silent_years() -> None:
    rare = pattern("FREQ=MINUTELY;INTERVAL=210500000", wall("2000-01-01"))

    assert walk(rare, None, 9) == [wall("2000-01-01")]
    assert MAX_GAP_SECONDS < 210_500_000 * 60
    assert len(walk(pattern("FREQ=MINUTELY;INTERVAL=210000000", wall("2000-01-01")), None, 9)) == 9
