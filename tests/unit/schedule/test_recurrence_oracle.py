"""Random rules agree with a literal implementation of RFC 5545, and with dateutil where that follows the RFC."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from random import Random
from typing import Any, Literal

import dateutil.rrule
import pytest

from horae.errors import InvalidSchedule
from horae.schedule.instants import wall_reading, wall_seconds
from horae.schedule.recurrence import Frequency, Rule, RulePattern, parse_rule
from tests.sizes import sized
from tests.unit.schedule.recurrence_oracle import occurrences
from tests.unit.schedule.recurrence_rules import pattern, random_rule, random_start, walk, wall

SHARDS = sized(3, soak=30)
RULES = 400
"""Of each shard."""
MOST = 12  # occurrences of each rule
PERIODS = {"YEARLY": 25, "MONTHLY": 80, "WEEKLY": 150, "DAILY": 600, "HOURLY": 900, "MINUTELY": 900, "SECONDLY": 900}
EFFORT = {"YEARLY": 25, "MONTHLY": 80, "WEEKLY": 150, "DAILY": 400, "HOURLY": 400, "MINUTELY": 200, "SECONDLY": 60}


@dataclass(frozen=True, slots=True)
class Difference:
    """Where dateutil does not follow RFC 5545: which rules are concerned, why, and one of them with both answers."""

    concerns: Callable[[Rule], bool]
    reason: str
    rule: str
    start: str
    rfc: tuple[str, ...]
    dateutil: tuple[str, ...] | Literal["IndexError"]


def _days_are_implied(rule: Rule) -> bool:
    return not (rule.by_day or rule.by_month_day or rule.by_year_day)


def _counts_in_months(rule: Rule) -> bool:
    return rule.freq is Frequency.MONTHLY or bool(rule.by_month)


DIFFERENCES = [
    Difference(
        lambda rule: bool(rule.by_week_number) and _days_are_implied(rule),
        "A week without a weekday takes the weekday of the start (what the rule leaves open comes from DTSTART); "
        "dateutil takes all seven days.",
        "FREQ=YEARLY;BYWEEKNO=20",
        "2026-05-13",
        ("2026-05-13", "2027-05-19"),
        ("2026-05-13", "2026-05-14"),
    ),
    Difference(
        lambda rule: bool(rule.by_week_number) and (rule.interval > 1 or bool(rule.by_set_position)),
        "Week 1 can begin in December; it belongs to the year whose first week it is (ISO 8601). dateutil gives its days "
        "to the calendar year, which moves them to another INTERVAL and to another BYSETPOS.",
        "FREQ=YEARLY;INTERVAL=2;BYWEEKNO=1;BYDAY=MO",
        "2024-01-01",
        ("2024-01-01", "2025-12-29"),
        ("2024-01-01", "2024-12-30"),
    ),
    Difference(
        lambda rule: any(abs(week) >= 52 for week in rule.by_week_number),
        "1 January 2022 lies in week 52 of 2021; dateutil counts the weeks of the former year by the length of this one, "
        "and does not count from the end where a week reaches over the new year.",
        "FREQ=YEARLY;BYWEEKNO=52;BYDAY=SA",
        "2021-12-01",
        ("2022-01-01", "2022-12-31"),
        ("2022-12-31", "2023-12-30"),
    ),
    Difference(
        lambda rule: rule.freq is Frequency.WEEKLY and bool(rule.by_set_position),
        "BYSETPOS counts in the whole week of the start, as it does in its whole month or year; dateutil begins the first "
        "week at the start.",
        "FREQ=WEEKLY;BYDAY=MO,FR;BYSETPOS=1",
        "2026-06-03",
        ("2026-06-08", "2026-06-15"),
        ("2026-06-05", "2026-06-08"),
    ),
    Difference(
        lambda rule: len({nth is None for _, nth in rule.by_day}) == 2,
        "BYDAY=MO,1TU is every Monday and also the first Tuesday; dateutil asks a day to be both.",
        "FREQ=MONTHLY;BYDAY=MO,1TU,1MO",
        "2026-06-01",
        ("2026-06-01", "2026-06-02"),
        ("2026-06-01", "2026-07-06"),
    ),
    Difference(
        lambda rule: _counts_in_months(rule) and any(abs(nth or 0) > 5 for _, nth in rule.by_day),
        "No month has a 53rd Monday, so that only the other values count; dateutil looks beyond the end of its table.",
        "FREQ=MONTHLY;BYDAY=1MO,53MO",
        "2026-06-01",
        ("2026-06-01", "2026-07-06"),
        "IndexError",
    ),
]


class EnoughError(Exception):
    """dateutil was asked to look at more periods than the test can wait for."""


@pytest.fixture
def effort(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many periods dateutil may still look at: effort is counted, never timed."""
    left = [0]

    def counting(method: Callable[..., Any]) -> Callable[..., Any]:
        def count(*arguments: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise EnoughError
            return method(*arguments)

        return count

    for name in ("ydayset", "mdayset", "wdayset", "ddayset"):
        method = getattr(dateutil.rrule._iterinfo, name)
        monkeypatch.setattr(dateutil.rrule._iterinfo, name, counting(method))
    return left


def dateutil_occurrences(text: str, start: datetime) -> Iterator[datetime]:
    found: Any = dateutil.rrule.rrulestr(text, dtstart=start)
    yield from found


@pytest.mark.parametrize("case", DIFFERENCES, ids=lambda case: case.rule)
def test_known_differences_of_dateutil(case: Difference) -> None:
    start = wall(case.start)

    assert case.concerns(parse_rule(case.rule))
    assert walk(pattern(case.rule, start), None, 2) == [wall(day) for day in case.rfc]
    assert list(islice(occurrences(parse_rule(case.rule), start, 100), 2)) == [wall(day) for day in case.rfc]
    if case.dateutil == "IndexError":
        with pytest.raises(IndexError):
            list(islice(dateutil_occurrences(case.rule, start), 12))
    else:
        assert list(islice(dateutil_occurrences(case.rule, start), 2)) == [wall(day) for day in case.dateutil]


def drawn(seed: int, rules: int) -> Iterator[tuple[Rule, datetime, RulePattern | None]]:
    """Rules that can be parsed; without a pattern when they were refused because they never come."""
    random = Random(seed)
    for _ in range(rules):
        text, start = random_rule(random), random_start(random)
        try:
            rule = parse_rule(text)
        except InvalidSchedule:
            continue
        found, code = None, None
        try:
            found = RulePattern(rule, wall_seconds(start))
        except InvalidSchedule as refusal:
            code = refusal.code
        assert code in (None, "rrule_never")
        yield rule, start, found


def check(found: RulePattern | None, start: datetime, expected: list[datetime], random: Random) -> None:
    """The pattern yields what is expected, also when asked from anywhere in between."""
    if found is None:
        assert expected == []
        return
    assert walk(found, None, len(expected)) == expected, (found.rule.text, start)
    if not expected:
        return
    span = int((expected[-1] - start).total_seconds())
    afters = [start + timedelta(seconds=random.randint(-86_400, max(0, span - 1))) for _ in range(3)]
    afters += [random.choice(expected) - timedelta(seconds=1), random.choice(expected)]
    for after in afters:
        index = bisect_right(expected, after)
        if index < len(expected):
            following = found.next_local(wall_seconds(after))
            assert following is not None
            assert wall_reading(following) == expected[index], (found.rule.text, start, after)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_random_rules_agree_with_the_oracle(shard: int) -> None:
    random, compared = Random(shard), 0
    for rule, start, found in drawn(100 + shard, RULES):
        expected = list(islice(occurrences(rule, start, PERIODS[rule.freq]), MOST))
        check(found, start, expected, random)
        compared += bool(expected)
    assert compared > RULES // 2


@pytest.mark.parametrize("shard", range(SHARDS))
def test_random_rules_agree_with_dateutil(shard: int, effort: list[int]) -> None:
    random, compared = Random(shard), 0
    for rule, start, found in drawn(200 + shard, RULES):
        if any(case.concerns(rule) for case in DIFFERENCES):
            continue
        effort[0] = EFFORT[rule.freq]
        expected: list[datetime] = []
        try:
            expected.extend(islice(dateutil_occurrences(rule.text, start), MOST))
        except EnoughError:
            pass
        except ValueError:
            assert found is None, (rule.text, start)  # dateutil knows a few rules that never come, too
        check(found, start, expected, random)
        compared += bool(expected)
    assert compared > RULES // 2


@pytest.mark.parametrize("shard", range(SHARDS))
def test_next_is_after_the_query(shard: int) -> None:
    random = Random(shard)
    for rule, start, found in drawn(300 + shard, RULES):
        if found is None:
            continue
        for _ in range(5):
            after = wall_seconds(start) + random.randint(-(10**9), 10**10)
            following = found.next_local(after)
            if following is None:
                continue
            assert following > after, rule.text
            assert following >= found.start, rule.text
            assert found.next_local(following - 1) == following, rule.text
            assert found.next_local(random.randint(after, following - 1)) == following, rule.text
