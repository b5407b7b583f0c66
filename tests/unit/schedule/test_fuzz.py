"""No input of any kind raises anything but InvalidSchedule, nor takes more than a moment."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import horae
from horae.schedule.text.chinese_words import VOCABULARY as CHINESE
from horae.schedule.text.english_words import VOCABULARY as ENGLISH
from tests.sizes import sized

NOW = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
BUDGET = 0.05  # seconds of processor time; a second look is granted, since a busy machine can spoil the first


def assert_survives(question: Callable[[], object]) -> None:
    for attempt in range(3):
        begin = time.process_time()
        try:
            question()
        except horae.InvalidSchedule as refusal:
            assert refusal.code
            assert refusal.message
            assert refusal.hint
            assert refusal.position is None or refusal.position >= 0
        spent = time.process_time() - begin
        if spent < BUDGET:
            return
        assert attempt < 2, f"{spent:.3f} s of processor time"


def expect_answer(given_text: Any) -> None:
    assert_survives(lambda: horae.preview(given_text, zone="America/New_York", after=NOW))


def expect_answers(text: Any) -> None:
    expect_answer(text)
    assert_survives(lambda: horae.describe(text, zone="Europe/Berlin", language="zh", now=NOW))


@settings(max_examples=sized(400, soak=1_500), deadline=None)
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    expect_answer(text)


@settings(max_examples=sized(200, soak=500), deadline=None)
@given(st.binary(max_size=80))
def test_any_bytes(data: bytes) -> None:
    expect_answer(data.decode("latin-1"))
    expect_answer(data.decode("utf-8", "surrogateescape"))


WORDS = (
    *ENGLISH,
    *CHINESE,
    *"0 1 5 9 17 29 31 60 99999999999 * */5 1-5 L LW 15W 5#2 9:00 25:61 2026-12-25 2026-99-99 1st 32nd".split(),
    *"RRULE: FREQ=DAILY ;COUNT=3 R/ PT5M @daily @every UTC Europe/Berlin +08:00 Z , ; ( ) - 每 点 半 号 周一".split(),
)


@settings(max_examples=sized(800, soak=3_000), deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=12), st.sampled_from(["", " "]))
def test_random_words_of_the_grammar(words: list[str], glue: str) -> None:
    expect_answers(glue.join(words))


@settings(max_examples=sized(400, soak=1_500), deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(
            "kind at interval from expression unit every on months hours step exclude rule zone start end repeat counting "
            "jitter gap fold x".split()
        ),
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(),
            st.floats(),
            st.text(max_size=20),
            st.lists(st.one_of(st.integers(), st.text(max_size=8), st.none()), max_size=5),
            st.dictionaries(st.sampled_from(["from", "to", "days", "weekday", "nth"]), st.text(max_size=6), max_size=3),
            st.sampled_from(["09:00", "PT5M", "2026-01-01", "MON", "month", "week", "0 9 * * *", "FREQ=DAILY", "UTC"]),
        ),
        max_size=8,
    ),
    st.sampled_from(["now", "once", "every", "cron", "calendar", "rrule"]),
)
def test_any_mapping(mapping: dict[str, Any], kind: str) -> None:
    expect_answers({**mapping, "kind": kind})
    expect_answer(mapping)


HOSTILE = [
    "FREQ=DAILY;INTERVAL=0",
    "FREQ=SECONDLY;BYSETPOS=1;BYSECOND=1",
    "FREQ=SECONDLY;BYSETPOS=2;BYSECOND=1",
    "FREQ=SECONDLY;INTERVAL=86399;BYMONTH=2;BYMONTHDAY=29",
    "FREQ=SECONDLY;INTERVAL=2;BYSECOND=1",
    "FREQ=MINUTELY;INTERVAL=1441;BYHOUR=3;BYMINUTE=7;BYMONTH=2;BYMONTHDAY=29",
    "FREQ=DAILY;COUNT=1000000000",
    "FREQ=DAILY;COUNT=10000",
    "FREQ=SECONDLY;COUNT=10000",
    "FREQ=YEARLY;COUNT=10000",
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30",
    "FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=29;BYDAY=MO",
    "FREQ=YEARLY;INTERVAL=97;BYWEEKNO=53;BYDAY=SU",
    "FREQ=YEARLY;INTERVAL=999999999",
    "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYSETPOS=366",
    "FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR,SA,SU;BYHOUR=" + ",".join(map(str, range(24))) + ";BYSETPOS=-366",
    "FREQ=YEARLY;BYHOUR=" + ",".join(map(str, range(24))) + ";BYMINUTE=" + ",".join(map(str, range(60))),
    "FREQ=SECONDLY;INTERVAL=1000003;BYMONTH=2,4;BYDAY=MO,TU;BYMINUTE=0;COUNT=300",
    "FREQ=SECONDLY;INTERVAL=100003;BYMONTH=12;BYMINUTE=57;BYSECOND=20;COUNT=9",
    "FREQ=SECONDLY;INTERVAL=7001;BYDAY=MO;BYHOUR=23;BYMINUTE=59;COUNT=10000",
    "FREQ=MINUTELY;INTERVAL=1441;BYMONTH=2;BYMONTHDAY=29;COUNT=10000",
    "FREQ=HOURLY;INTERVAL=5;BYDAY=MO;COUNT=10000",
    "FREQ=DAILY;UNTIL=00000000",
    "FREQ=DAILY;UNTIL=99999999T999999Z",
]


@pytest.mark.parametrize("rule", HOSTILE)
@pytest.mark.parametrize(
    "start", ["1970-01-01T00:00:00", "2026-02-28T23:59:59", "0004-01-01T00:00:00", "9999-12-01T00:00:00"]
)
def test_hostile_rules(rule: str, start: str) -> None:
    expect_answer({"kind": "rrule", "rule": rule, "start": start})
    expect_answer(f"RRULE:{rule}")


def test_many_exceptions_to_a_rare_rule() -> None:
    rule = "FREQ=SECONDLY;INTERVAL=1000003;BYMONTH=2,4;BYDAY=MO,TU;BYMINUTE=0;UNTIL=99991201"
    fires = horae.preview(f"RRULE:{rule} from 2020-01-01 00:00", zone="UTC", after=NOW, limit=150)
    exclude = [fire.strftime("%Y-%m-%dT%H:%M:%S") for fire in fires]
    for most in (5, 150):
        expect_answer({"kind": "rrule", "rule": rule, "start": "2020-01-01T00:00:00", "exclude": exclude[:most]})


def test_an_ordinary_stride_may_count() -> None:
    rule = "FREQ=HOURLY;INTERVAL=2;BYDAY=MO,TU,WE,TH,FR;COUNT=500"
    fires = horae.preview(
        {"kind": "rrule", "rule": rule, "start": "2026-11-16T09:00:00"}, zone="UTC", after=NOW, limit=600
    )
    assert len(fires) == 500


@pytest.mark.parametrize(
    "text",
    [
        "0 0 30 2 *",
        "0 0 31 4,6,9,11 *",
        "30 2 * 3 SUN#2",
        "0 0 29 2 SUN#5",
        "every 99999999999999999999s",
        "in 999999999 days",
        "in 999999999999 hours",
        "9" * 10_000,
        "9" * 1999,
        "0 9 * * " + ",".join(["1-5"] * 400),
        ",".join(["*"] * 900) + " * * * *",
        "*/" + "9" * 500 + " * * * *",
        "RRULE:FREQ=DAILY;INTERVAL=" + "9" * 1500,
        "RRULE:" + "FREQ=DAILY;" * 150,
        "every day at " + " and ".join(["9:00"] * 150),
        "except " * 250,
        "每" * 1000,
        "一" * 1000,
        "每周" + "一二三四五六日" * 200,
        "{" * 1900,
        '{"kind":' * 200,
        "[" * 1900,
        "(cron " * 300,
        "(" * 900 + ")" * 900,
        "a" * 1999,
        "," * 1980 + " (cron 0 9 * * *)",
        "every day, " * 170 + "(cron 0 9 * * *)",
        "1h" * 999 + "1",
        "every 12 months on the 1st at 9:00 in February",
        "every 100 years on the 1st of January at 9:00",
        "every 700 days at 9:00",
        "fifth wednesday of february at 9:00",
        "on the 5th wednesday of every month in February at 9:00",
        "0 0 * 2 3#5",
        "ev\x00ery 5m",
        "\x00",
        "٣ * * * *",
        "every ٥m",
        "０ ９ * * *",
        "\ud800",
        "\u202eevery 5m",
        "at 9999-12-31 23:59",
        "at 0001-01-01 00:00",
        "from 9999-12-31 every day at 9:00",
        "every day at 9:00 until 9999-12-31",
        "R999999999/9999-12-31T00:00:00Z/P999999999D",
    ],
)
def test_hostile_texts(text: str) -> None:
    expect_answers(text)


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        5.0,
        b"0 9 * * *",
        [],
        object(),
        {"kind": []},
        {"kind": None},
        {},
        {1: 2},
        {"kind": "cron", "expression": {}},
    ],
)
def test_values_that_are_no_schedule(value: Any) -> None:
    expect_answers(value)


def test_far_away_is_no_further() -> None:
    for zone in ("Europe/Paris", "America/Havana", "Australia/Sydney"):
        for year in (2099, 2101, 2500, 2501, 9000):
            after = datetime(year, 1, 1, tzinfo=UTC)
            assert_survives(partial(horae.preview, "30 2 * * *", zone=zone, after=after))


def test_mangled_schedules_survive() -> None:
    """One sign changed, left out or doubled, in texts that are understood."""
    generator = random.Random(20261115)
    seeds = [
        "every weekday at 9am Europe/Berlin",
        "0 9 * * 1-5 until 2027-01-01",
        "每月最后一个周五17点 北京时间",
        "RRULE:FREQ=MONTHLY;BYDAY=-1FR",
    ]
    signs = "0159:,-/*#;=@()每点半周一 aeLWzZ\x00é"
    for _ in range(3000):
        text = generator.choice(seeds)
        for _ in range(generator.randrange(1, 4)):
            place = generator.randrange(len(text))
            text = text[:place] + generator.choice(["", text[place] * 2, generator.choice(signs)]) + text[place + 1 :]
        expect_answer(text)
