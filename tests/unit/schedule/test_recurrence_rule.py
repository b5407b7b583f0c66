"""Recurrence rules from text: accepted forms, canonical spelling, refusals with a position."""

from __future__ import annotations

import random
from contextlib import suppress
from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from horae.errors import InvalidSchedule
from horae.schedule.days import FIRST_LOCAL, LAST_LOCAL
from horae.schedule.recurrence import Frequency, Rule, RulePattern, parse_rule
from tests.sizes import sized
from tests.unit.schedule.recurrence_rules import pattern, random_rule, wall

NAMES = ["FREQ", "INTERVAL", "COUNT", "UNTIL", "WKST", "BYMONTH", "BYWEEKNO", "BYYEARDAY", "BYMONTHDAY", "BYDAY"]
NAMES += ["BYHOUR", "BYMINUTE", "BYSECOND", "BYSETPOS", "RSCALE", "X-MINE", ""]
DIGITS = "9" * 10_000

REFUSED = [
    ("", "rrule_empty", 0),
    ("   ", "rrule_empty", 3),
    ("RRULE:", "rrule_empty", 6),
    ("DTSTART=1", "rrule_unknown_part", 0),
    ("FREQ=DAILY;BYEASTER=1", "rrule_unknown_part", 11),
    ("FREQ=DAILY;;", "rrule_bad_part", 11),
    ("FREQ=DAILY;;COUNT=1", "rrule_bad_part", 11),
    ("FREQ=DAILY;COUNT", "rrule_bad_part", 11),
    ("FREQ=DAILY;COUNT=", "rrule_bad_part", 11),
    ("every day", "rrule_bad_part", 0),
    ("RRULE:FREQ=DAILY;freq=WEEKLY", "rrule_repeated_part", 17),
    ("INTERVAL=2", "rrule_missing_freq", 0),
    ("RRULE:COUNT=3", "rrule_missing_freq", 6),
    ("FREQ=FORTNIGHTLY", "rrule_bad_freq", 0),
    ("FREQ=DAILY;BYHOUR=nine", "rrule_bad_value", 11),
    ("FREQ=DAILY;BYHOUR=9,,10", "rrule_bad_value", 11),
    ("FREQ=DAILY;BYHOUR=9, 10", "rrule_bad_value", 11),
    ("FREQ=DAILY;BYHOUR=+9", "rrule_bad_value", 11),
    ("FREQ=DAILY;BYHOUR=1.5", "rrule_bad_value", 11),
    ("FREQ=DAILY;BYHOUR=٣", "rrule_bad_value", 11),
    ("FREQ=DAILY;BYHOUR=９", "rrule_bad_value", 11),
    ("FREQ=DAILY;BYHOUR=²", "rrule_bad_value", 11),
    ("FREQ=DAILY;BYDAY=ſU", "rrule_bad_value", 11),
    ("FREQ=DAILY;BYDAY=", "rrule_bad_part", 11),
    ("FREQ=DAILY;BYDAY=XX", "rrule_bad_value", 11),
    ("FREQ=DAILY;BYDAY=+MO", "rrule_bad_value", 11),
    ("FREQ=DAILY;WKST=1MO", "rrule_bad_value", 11),
    ("FREQ=MONTHLY;BYDAY=0MO", "rrule_out_of_range", 13),
    ("FREQ=MONTHLY;BYDAY=54MO", "rrule_out_of_range", 13),
    ("FREQ=DAILY;BYHOUR=24", "rrule_out_of_range", 11),
    ("FREQ=DAILY;BYHOUR=-1", "rrule_out_of_range", 11),
    ("FREQ=DAILY;BYMINUTE=60", "rrule_out_of_range", 11),
    ("FREQ=DAILY;BYSECOND=60", "rrule_out_of_range", 11),
    ("FREQ=DAILY;BYMONTH=0", "rrule_out_of_range", 11),
    ("FREQ=DAILY;BYMONTH=13", "rrule_out_of_range", 11),
    ("FREQ=DAILY;BYMONTHDAY=0", "rrule_out_of_range", 11),
    ("FREQ=DAILY;BYMONTHDAY=-32", "rrule_out_of_range", 11),
    ("FREQ=YEARLY;BYYEARDAY=367", "rrule_out_of_range", 12),
    ("FREQ=YEARLY;BYWEEKNO=54", "rrule_out_of_range", 12),
    ("FREQ=YEARLY;BYDAY=MO;BYSETPOS=0", "rrule_out_of_range", 21),
    ("FREQ=YEARLY;BYDAY=MO;BYSETPOS=-367", "rrule_out_of_range", 21),
    (f"FREQ=DAILY;BYHOUR={DIGITS}", "rrule_out_of_range", 11),
    (f"FREQ=MONTHLY;BYDAY={DIGITS}MO", "rrule_out_of_range", 13),
    ("FREQ=DAILY;INTERVAL=0", "rrule_bad_interval", 11),
    ("FREQ=DAILY;INTERVAL=-2", "rrule_bad_interval", 11),
    ("FREQ=DAILY;INTERVAL=two", "rrule_bad_interval", 11),
    ("FREQ=DAILY;INTERVAL=1000000000", "rrule_bad_interval", 11),
    (f"FREQ=DAILY;INTERVAL={DIGITS}", "rrule_bad_interval", 11),
    ("FREQ=DAILY;COUNT=0", "rrule_bad_count", 11),
    ("FREQ=DAILY;COUNT=10001", "rrule_bad_count", 11),
    (f"FREQ=DAILY;COUNT={DIGITS}", "rrule_bad_count", 11),
    ("FREQ=DAILY;UNTIL=20260230", "rrule_bad_until", 11),
    ("FREQ=DAILY;UNTIL=00000101", "rrule_bad_until", 11),
    ("FREQ=DAILY;UNTIL=20261224T240000Z", "rrule_bad_until", 11),
    ("FREQ=DAILY;UNTIL=20261224T235960Z", "rrule_bad_until", 11),
    ("FREQ=DAILY;UNTIL=2026-12-24", "rrule_bad_until", 11),
    ("FREQ=DAILY;UNTIL=20261224T", "rrule_bad_until", 11),
    ("FREQ=DAILY;COUNT=3;UNTIL=20261224", "rrule_count_and_until", 19),
    ("FREQ=WEEKLY;BYDAY=1MO", "rrule_nth_not_allowed", 12),
    ("FREQ=DAILY;BYDAY=MO,-1TU", "rrule_nth_not_allowed", 11),
    ("FREQ=YEARLY;BYWEEKNO=20;BYDAY=1MO", "rrule_nth_with_week_number", 24),
    ("FREQ=MONTHLY;BYWEEKNO=20", "rrule_week_number_needs_yearly", 13),
    ("FREQ=HOURLY;BYWEEKNO=20", "rrule_week_number_needs_yearly", 12),
    ("FREQ=DAILY;BYYEARDAY=1", "rrule_year_day_not_allowed", 11),
    ("FREQ=WEEKLY;BYYEARDAY=1", "rrule_year_day_not_allowed", 12),
    ("FREQ=MONTHLY;BYYEARDAY=1", "rrule_year_day_not_allowed", 13),
    ("FREQ=WEEKLY;BYMONTHDAY=1", "rrule_month_day_in_weekly", 12),
    ("FREQ=MONTHLY;BYSETPOS=1", "rrule_set_position_alone", 13),
    ("FREQ=SECONDLY;BYSETPOS=2", "rrule_set_position_alone", 14),
    ("FREQ=SECONDLY;BYSECOND=1,2,3;BYSETPOS=2", "rrule_set_position_unreachable", 29),
    ("FREQ=MINUTELY;BYHOUR=1,2;BYSETPOS=-2", "rrule_set_position_unreachable", 25),
    ("FREQ=DAILY;BYDAY=MO,TU;BYSETPOS=2", "rrule_set_position_unreachable", 23),
    ("FREQ=WEEKLY;BYDAY=MO,TU;BYSETPOS=3,-3", "rrule_set_position_unreachable", 24),
    ("FREQ=MONTHLY;BYDAY=MO;BYSETPOS=6", "rrule_set_position_unreachable", 22),
    ("FREQ=YEARLY;BYMONTH=1,2;BYMONTHDAY=1;BYSETPOS=3", "rrule_set_position_unreachable", 37),
    ("FREQ=YEARLY;BYMONTH=1;BYSETPOS=2", "rrule_set_position_unreachable", 22),
    ("FREQ=YEARLY;BYWEEKNO=1,2;BYSETPOS=3", "rrule_set_position_unreachable", 25),
    ("FREQ=DAILY;" + "BYHOUR=1," * 4000, "rrule_too_long", 16_384),
]


@pytest.mark.parametrize(("text", "code", "position"), REFUSED, ids=[row[0][:40] or "empty" for row in REFUSED])
def test_invalid_rule_is_refused_with_its_position(text: str, code: str, position: int) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        parse_rule(text)

    assert (refusal.value.code, refusal.value.position) == (code, position)
    for language in ("en", "zh"):
        sentence = refusal.value.in_language("zh" if language == "zh" else "en")
        assert sentence.message
        assert sentence.hint
        assert len(sentence.message) < 200


def test_prefix_case_blanks_order_and_repeats_do_not_matter() -> None:
    rule = parse_rule("  rrule:byday=th,MO,mo;Interval=2;freq=weekly;WKST=mo \n")

    assert rule == parse_rule("FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH")
    assert hash(rule) == hash(parse_rule("FREQ=WEEKLY;INTERVAL=02;BYDAY=TH,MO"))
    assert rule == Rule(Frequency.WEEKLY, interval=2, by_day=((0, None), (3, None)))


def test_every_part_is_read_and_spelled_again() -> None:
    text = (
        "FREQ=YEARLY;INTERVAL=2;COUNT=7;BYMONTH=1,12;BYYEARDAY=-1,1;BYMONTHDAY=-1,31;BYDAY=-1MO,SU,+2SU;"
        "BYHOUR=0,23;BYMINUTE=5;BYSECOND=59;BYSETPOS=-1,1;WKST=SU"
    )

    rule = parse_rule(text)

    assert rule == Rule(
        freq=Frequency.YEARLY,
        interval=2,
        count=7,
        wkst=6,
        by_month=(1, 12),
        by_year_day=(-1, 1),
        by_month_day=(-1, 31),
        by_day=((0, -1), (6, None), (6, 2)),
        by_hour=(0, 23),
        by_minute=(5,),
        by_second=(59,),
        by_set_position=(-1, 1),
    )
    assert rule.text == text.replace("+", "")


@pytest.mark.parametrize(
    ("text", "until"),
    [
        ("20261224", date(2026, 12, 24)),
        ("20261224T180005", wall("2026-12-24T18:00:05")),
        ("20261224T180005Z", datetime(2026, 12, 24, 18, 0, 5, tzinfo=UTC)),
        ("00010101", date(1, 1, 1)),
    ],
)
def test_until_is_a_date_a_wall_time_or_an_instant(text: str, until: date) -> None:
    rule = parse_rule(f"FREQ=DAILY;UNTIL={text.lower()}")

    assert type(rule.until) is type(until)
    assert rule.until == until
    assert rule.text == f"FREQ=DAILY;UNTIL={text}"


@pytest.mark.parametrize("freq", list(Frequency))
def test_only_hours_and_finer_flow(freq: Frequency) -> None:
    assert parse_rule(f"FREQ={freq}").flowing is (freq in ("HOURLY", "MINUTELY", "SECONDLY"))


def test_the_canonical_spelling_is_the_rule() -> None:
    seeded = random.Random(5545)
    understood = 0
    for _ in range(3000):
        try:
            rule = parse_rule(random_rule(seeded))
        except InvalidSchedule:
            continue
        understood += 1
        assert parse_rule(rule.text) == rule
        assert parse_rule(rule.text).text == rule.text
    assert understood > 2000


def test_even_the_longest_rule_can_be_spelled() -> None:
    signed = {name: ",".join(str(n) for n in range(-most, most + 1) if n) for name, most in (("Y", 366), ("M", 31))}
    days = ",".join(f"{n or ''}{day}" for n in range(-53, 54) for day in ("MO", "TU", "WE", "TH", "FR", "SA", "SU"))
    text = f"FREQ=YEARLY;BYYEARDAY={signed['Y']};BYMONTHDAY={signed['M']};BYDAY={days};BYSETPOS={signed['Y']}"

    rule = parse_rule(text)

    assert parse_rule(rule.text) == rule
    assert len(rule.by_day) == 7 * 107


NEVER = [
    ("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "2026-01-01"),
    ("FREQ=MONTHLY;BYMONTH=4,6;BYMONTHDAY=31", "2026-01-01"),
    ("FREQ=DAILY;BYMONTH=2;BYMONTHDAY=30,31,-30", "2026-01-01"),
    ("FREQ=DAILY;INTERVAL=7;BYDAY=TU", "2026-01-05"),
    ("FREQ=HOURLY;INTERVAL=2;BYHOUR=1,3,23", "2026-01-01T04:00"),
    ("FREQ=MINUTELY;INTERVAL=30;BYMINUTE=1", "2026-01-01"),
    ("FREQ=SECONDLY;INTERVAL=60;BYSECOND=1", "2026-01-01"),
    ("FREQ=SECONDLY;INTERVAL=604800;BYDAY=TU", "2026-01-05"),
    ("FREQ=MONTHLY;BYDAY=6MO", "2026-01-01"),
    ("FREQ=MONTHLY;BYMONTHDAY=1;BYDAY=2MO", "2026-01-01"),
    ("FREQ=YEARLY;BYWEEKNO=1;BYMONTH=7;BYDAY=MO", "2026-01-01"),
    ("FREQ=YEARLY;INTERVAL=400;BYYEARDAY=366", "2100-01-01"),
    ("FREQ=YEARLY;INTERVAL=4;BYYEARDAY=366", "2026-01-01"),
    ("FREQ=YEARLY;BYYEARDAY=1,2,3;BYMONTHDAY=3,4,5;BYSETPOS=2", "2026-01-01"),
    ("FREQ=WEEKLY;INTERVAL=20871;BYMONTH=2", "2026-06-01"),
    ("FREQ=MONTHLY;BYMONTHDAY=31", "9999-12-31T23:59:59"),
]


@pytest.mark.parametrize(("rule", "start"), NEVER[:-1])
def test_rule_without_occurrences_is_refused(rule: str, start: str) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        pattern(rule, wall(start))

    assert refusal.value.code == "rrule_never"


def test_the_last_second_of_the_calendar_is_an_occurrence() -> None:
    rule, start = NEVER[-1]
    last = pattern(rule, wall(start))

    assert last.next_local(FIRST_LOCAL) == LAST_LOCAL
    assert last.next_local(LAST_LOCAL) is None


@pytest.mark.parametrize("until", ["20260101", "20260102T085959"])
def test_a_rule_that_ends_before_it_begins_is_refused(until: str) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        pattern(f"FREQ=DAILY;UNTIL={until}", wall("2026-01-02T09:00"))

    assert refusal.value.code == "rrule_ends_before_first"


@pytest.mark.parametrize("start", [FIRST_LOCAL - 1, LAST_LOCAL + 1])
def test_a_start_outside_the_calendar_is_refused(start: int) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        RulePattern(parse_rule("FREQ=DAILY"), start)

    assert refusal.value.code == "rrule_start_out_of_range"


def assert_only_refusals(text: str, start: int) -> None:
    """Whatever else is raised here fails the test."""
    position: int | None = 0
    try:
        rule = parse_rule(text)
        assert parse_rule(rule.text) == rule
    except InvalidSchedule as refusal:
        position = refusal.position
    else:
        with suppress(InvalidSchedule):
            RulePattern(rule, start).next_local(start)
    assert position is not None
    assert 0 <= position <= len(text)


VALUES = st.one_of(
    st.text(max_size=12),
    st.lists(st.integers(-400, 400).map(str), min_size=1, max_size=5).map(",".join),
    st.sampled_from(["DAILY", "YEARLY", "SECONDLY", "MO", "1MO,-1SU", "20261224T180000Z", "99991231", "\0", DIGITS]),
    st.integers(-(10**30), 10**30).map(str),
)
PARTS = st.tuples(st.sampled_from(NAMES), VALUES).map("=".join)


@settings(max_examples=sized(200, soak=600), deadline=None)
@given(st.lists(PARTS, max_size=6).map(";".join), st.integers(FIRST_LOCAL, LAST_LOCAL))
def test_nothing_but_a_refusal_escapes_from_parts(text: str, start: int) -> None:
    assert_only_refusals(text, start)
    assert_only_refusals(f"FREQ=MONTHLY;{text}", start)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=60), st.binary(max_size=60).map(lambda raw: raw.decode("latin-1"))))
def test_nothing_but_a_refusal_escapes_from_any_text(text: str) -> None:
    assert_only_refusals(text, 0)


@pytest.mark.parametrize("text", ["\0" * 10_000, ";" * 10_000, "=" * 10_000, "FREQ=" * 2_000, "9" * 10**6, "\ud800=1"])
def test_nothing_but_a_refusal_escapes_from_long_text(text: str) -> None:
    with pytest.raises(InvalidSchedule) as refusal:
        parse_rule(text)

    assert len(str(refusal.value)) < 500


def test_single_characters_changed_anywhere_do_not_break_the_parser() -> None:
    seeded = random.Random(1)
    letters = "\0;=,-+:9AZaz \t\n٣９ſé€😀"
    for _ in range(4000):
        text = list(random_rule(seeded))
        for _ in range(seeded.randint(1, 3)):
            text[seeded.randrange(len(text))] = seeded.choice(letters)
        assert_only_refusals("".join(text), seeded.randint(FIRST_LOCAL, LAST_LOCAL))
