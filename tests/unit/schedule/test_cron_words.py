"""The description of a cron expression names the times at which it fires."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product
from random import Random

import pytest

import horae
from horae.schedule import Cron, to_json
from horae.schedule.describe import describe_core
from tests.oracle.expressions import draw_expression
from tests.unit.schedule.cron_words import claimed_in_chinese, claimed_in_english

EXAMPLES = [
    "*/10 0 * * * *",
    "* 0 */4 * * *",
    "30 */5 * * * *",
    "*/10 */5 9-17 * * MON",
    "* * 9-17 * * *",
    "15 0 9,17 * * *",
    "0 */4 * * *",
    "*/5 8-10 L-2 * *",
]


def assert_words_are_true(expression: str) -> None:
    cron = Cron(expression, zone="UTC")
    fields = cron.fields
    times = set(product(fields.hour.values, fields.minute.values, fields.second.values))
    assert claimed_in_english(describe_core(cron, "en")) == times, describe_core(cron, "en")
    assert claimed_in_chinese(describe_core(cron, "zh")) == times, describe_core(cron, "zh")


@pytest.mark.parametrize("expression", EXAMPLES)
def test_description_names_the_times_of_day(expression: str) -> None:
    assert_words_are_true(expression)


@pytest.mark.parametrize("seed", range(8))
def test_description_of_any_expression_names_its_times_of_day(seed: int) -> None:
    random = Random(seed)
    for _ in range(150):
        near = datetime(
            2026, random.randint(1, 12), random.randint(1, 28), random.randint(0, 23), random.randint(0, 59)
        )
        expression = draw_expression(random, near)
        try:
            Cron(expression)
        except horae.InvalidSchedule:
            continue
        assert_words_are_true(expression)


@pytest.mark.parametrize(
    ("wrong", "expression"),
    [
        ("every 10 seconds of every hour", "*/10 0 * * * *"),
        ("every second of every minute of hours 0, 4, 8, …, 20", "* 0 */4 * * *"),
        ("at second 30 of every minute", "30 */5 * * * *"),
    ],
)
def test_a_wrong_claim_is_found(wrong: str, expression: str) -> None:
    fields = Cron(expression).fields

    assert claimed_in_english(wrong) != set(product(fields.hour.values, fields.minute.values, fields.second.values))


@pytest.mark.parametrize(
    ("expression", "english", "chinese"),
    [
        ("*/10 0 * * * *", "every 10 seconds of minute 0 of every hour", "每小时的第 0 分钟内每 10 秒"),
        ("* 0 */4 * * *", "every second of minute 0 of hours 0, 4, 8, …, 20", "每天 0、4、8…20 点的第 0 分钟内每秒"),
        ("0 9 L-2 * *", "on the day 2 days before the last of the month at 09:00", "每月倒数第 3 天 09:00"),
        ("0 9 L-1 * *", "on the day before the last of the month at 09:00", "每月倒数第 2 天 09:00"),
        ("0 9 * * 5#L", "on the last Friday of the month at 09:00", "每月最后一个周五 09:00"),
    ],
)
def test_description_parses_back_to_the_expression(expression: str, english: str, chinese: str) -> None:
    cron = horae.parse(expression, zone="UTC")

    assert horae.describe(cron) == f"{english}, UTC (cron {expression})"
    assert horae.describe(cron, language="zh") == f"{chinese}，UTC (cron {expression})"
    assert horae.parse(horae.describe(cron)) == horae.parse(horae.describe(cron, language="zh")) == cron
    assert to_json(cron) == {"kind": "cron", "expression": expression, "zone": "UTC"}
    assert horae.parse(to_json(cron)) == cron


def test_days_before_the_last_and_the_last_of_a_weekday() -> None:
    after = datetime(2028, 2, 1, tzinfo=UTC)

    assert [each.day for each in horae.preview("0 9 L-2 * *", zone="UTC", after=after, limit=3)] == [27, 29, 28]
    assert [each.day for each in horae.preview("0 9 * * FRI#L", zone="UTC", after=after, limit=3)] == [25, 31, 28]
    assert horae.preview("0 9 * * 5#L", zone="UTC", after=after) == horae.preview("0 9 * * 5L", zone="UTC", after=after)


@pytest.mark.parametrize(
    ("expression", "code", "position"),
    [
        ("0 9 * * MON-FRI#1", "range_numbered", 8),
        ("0 9 * * 1,2-5L", "range_numbered", 10),
        ("0 9 * * L", "last_of_what", 8),
        ("0 9 * * L-2", "last_of_what", 8),
        ("0 9 L-31 * *", "bad_days_before_last", 6),
        ("0 9 1,L-3W * *", "bad_days_before_last", 8),
        ("0 9 * * FRI#6", "bad_nth", 12),
        ("0 9 L-30 2 *", "never", None),
    ],
)
def test_unsupported_syntax_is_refused_as_unsupported(expression: str, code: str, position: int | None) -> None:
    with pytest.raises(horae.InvalidSchedule) as refusal:
        horae.parse(expression, zone="UTC")

    assert (refusal.value.code, refusal.value.position) == (code, position)
