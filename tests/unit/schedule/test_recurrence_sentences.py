"""Recurrence rules in words: exact, natural, and different for different rules."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from random import Random

import pytest

from horae.choices import Language
from horae.errors import InvalidSchedule
from horae.schedule.describe import recurrence_chinese, recurrence_english
from horae.schedule.describe.recurrence_parts import RuleParts
from horae.schedule.recurrence import Frequency, Rule, complete_rule, parse_rule
from tests.unit.schedule.recurrence_rules import random_rule, wall

START = wall("2026-03-14T09:30")  # a Saturday

SENTENCES = [
    ("FREQ=DAILY", "every day at 09:30", "每天 09:30"),
    ("FREQ=DAILY;INTERVAL=2;BYHOUR=9,17", "every 2 days at 09:30 and 17:30", "每 2 天 09:30、17:30"),
    ("FREQ=DAILY;BYDAY=MO,TU,WE,TH,FR", "every day at 09:30, only on Monday to Friday", "每天 09:30，仅限周一至周五"),
    ("FREQ=WEEKLY", "every week on Saturday at 09:30", "每周六 09:30"),
    ("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR", "every week on Monday to Friday at 09:30", "每周一至周五 09:30"),
    (
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO,TH;BYHOUR=9;BYMINUTE=0",
        "every 2 weeks on Monday and Thursday at 09:00",
        "每 2 周的周一、周四 09:00",
    ),
    (
        "FREQ=WEEKLY;INTERVAL=2;BYDAY=MO;WKST=SU;COUNT=10",
        "every 2 weeks on Monday at 09:30, with weeks starting on Sunday, 10 times",
        "每 2 周的周一 09:30，一周从周日开始，共 10 次",
    ),
    ("FREQ=WEEKLY;BYDAY=MO;WKST=SU;COUNT=1", "every week on Monday at 09:30, once", "每周一 09:30，共 1 次"),
    ("FREQ=MONTHLY", "on the 14th of every month at 09:30", "每月 14 日 09:30"),
    (
        "FREQ=MONTHLY;BYDAY=-1FR;BYHOUR=17;BYMINUTE=0",
        "on the last Friday of every month at 17:00",
        "每月最后一个周五 17:00",
    ),
    (
        "FREQ=MONTHLY;INTERVAL=2;BYDAY=1MO,-2TU",
        "every 2 months on the first Monday and the second to last Tuesday at 09:30",
        "每 2 个月的第一个周一、倒数第二个周二 09:30",
    ),
    (
        "FREQ=MONTHLY;BYMONTHDAY=1,15,-1;BYMONTH=6,7,8",
        "on the 1st, the 15th and the last day of every month at 09:30, only in June to August",
        "每月 1 日、15 日、最后一天 09:30，仅限 6 月至 8 月",
    ),
    (
        "FREQ=MONTHLY;BYMONTHDAY=13;BYDAY=FR",
        "on the 13th of every month at 09:30, only on Friday",
        "每月 13 日 09:30，仅限周五",
    ),
    (
        "FREQ=MONTHLY;BYDAY=MO,TU,WE,TH,FR;BYSETPOS=1,-1",
        "on every day from Monday to Friday of every month at 09:30, of these only the first and the last in each month",
        "每月所有周一至周五 09:30，每月只取其中第 1 次、最后一次",
    ),
    ("FREQ=YEARLY", "every year on 14 March at 09:30", "每年 3 月 14 日 09:30"),
    (
        "FREQ=YEARLY;INTERVAL=4;BYMONTH=11;BYDAY=TU;BYMONTHDAY=2,3,4,5,6,7,8",
        "every 4 years in November on the 2nd to the 8th at 09:30, only on Tuesday",
        "每 4 年的 11 月 2 日至 8 日 09:30，仅限周二",
    ),
    ("FREQ=YEARLY;BYMONTHDAY=15", "every year on the 15th of every month at 09:30", "每年各月的 15 日 09:30"),
    (
        "FREQ=YEARLY;INTERVAL=2;BYMONTH=3;BYDAY=-1SU",
        "every 2 years in March on the last Sunday at 09:30",
        "每 2 年 3 月的最后一个周日 09:30",
    ),
    ("FREQ=YEARLY;BYDAY=20MO", "every year on the 20th Monday of the year at 09:30", "每年第 20 个周一 09:30"),
    (
        "FREQ=YEARLY;BYWEEKNO=1,-1;BYDAY=MO;BYMONTH=1",
        "every year in week 1 and the last week on Monday at 09:30, only in January",
        "每年第 1 周、最后一周的周一 09:30，仅限 1 月",
    ),
    (
        "FREQ=YEARLY;BYYEARDAY=1,100,-1",
        "every year on day 1, day 100 and the last day of the year at 09:30",
        "每年第 1 天、第 100 天、最后一天 09:30",
    ),
    (
        "FREQ=HOURLY;INTERVAL=3;UNTIL=19970902T170000Z",
        "every 3 hours at minute 30, until 1997-09-02 17:00 UTC",
        "每 3 小时的 30 分，直到 1997-09-02 17:00 UTC",
    ),
    (
        "FREQ=HOURLY;BYMINUTE=0,30;BYHOUR=9,10,11,12;BYDAY=MO",
        "every hour at minutes 0 and 30, only in hours 9 to 12, only on Monday",
        "每小时的 0、30 分，仅限 9 至 12 时，仅限周一",
    ),
    ("FREQ=MINUTELY;INTERVAL=15;COUNT=6", "every 15 minutes, 6 times", "每 15 分钟，共 6 次"),
    (
        "FREQ=SECONDLY;INTERVAL=10;BYMINUTE=0;UNTIL=20261224",
        "every 10 seconds, only in minute 0, through 2026-12-24",
        "每 10 秒，仅限 0 分，直到 2026-12-24 当天",
    ),
    (
        "FREQ=DAILY;BYHOUR=9,10,11,12,13,14,15,16;BYMINUTE=0,20,40;UNTIL=20261224T180005",
        "every day at hours 9 to 16, minutes 0, 20 and 40, until 2026-12-24 18:00:05",
        "每天的 9 至 16 时的 0、20、40 分，直到 2026-12-24 18:00:05",
    ),
]


def describe_rule(rule: Rule, start: date | None, language: str) -> str:
    parts = RuleParts.of(rule, start)
    return recurrence_chinese.describe_rule(parts) if language == "zh" else recurrence_english.describe_rule(parts)


@pytest.mark.parametrize(("rule", "english", "chinese"), SENTENCES, ids=[row[0] for row in SENTENCES])
def test_sentences(rule: str, english: str, chinese: str) -> None:
    assert describe_rule(parse_rule(rule), START, "en") == english
    assert describe_rule(parse_rule(rule), START, "zh") == chinese


def test_without_a_start_nothing_is_invented() -> None:
    assert describe_rule(parse_rule("FREQ=MONTHLY"), None, "en") == "every month"
    assert describe_rule(parse_rule("FREQ=WEEKLY;BYHOUR=9"), None, "en") == "every week at hour 9"
    assert describe_rule(parse_rule("FREQ=WEEKLY;BYHOUR=9"), None, "zh") == "每周的 9 时"
    assert describe_rule(parse_rule("FREQ=DAILY;BYHOUR=9;BYMINUTE=0"), None, "en") == "every day at 09:00"
    assert describe_rule(parse_rule("FREQ=DAILY;BYHOUR=9;BYMINUTE=0;BYSECOND=0"), None, "en") == "every day at 09:00:00"


def test_a_date_as_start_is_its_midnight() -> None:
    assert describe_rule(parse_rule("FREQ=YEARLY"), date(2026, 3, 14), "en") == "every year on 14 March at 00:00"


def meaning(rule: Rule, start: datetime | None) -> Rule:
    """Two rules with one meaning may share a sentence: an implied part said, a week start that changes nothing."""
    told = rule if start is None else complete_rule(rule, start)
    in_weeks = told.freq is Frequency.WEEKLY and (told.interval > 1 or told.by_set_position)
    return told if in_weeks or told.by_week_number else replace(told, wkst=0)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("start", [None, START, wall("2026-01-01")])
def test_different_rules_have_different_sentences(start: datetime | None, language: Language) -> None:
    random = Random(9)
    sentences: dict[str, Rule] = {}
    for _ in range(2000):
        try:
            rule = parse_rule(random_rule(random))
        except InvalidSchedule:
            continue
        for near in _neighbours(rule, random):
            said = describe_rule(near, start, language)
            assert sentences.setdefault(said, meaning(near, start)) == meaning(near, start), said
            assert "  " not in said
            assert said == said.strip()
    assert len(sentences) > 5_000


def _neighbours(rule: Rule, random: Random) -> list[Rule]:
    """The rule, and the same with one part changed: these are the ones that could be confused."""
    return [
        rule,
        replace(rule, interval=rule.interval + 1),
        replace(rule, count=random.randint(1, 3)),
        replace(rule, by_month=()),
        replace(rule, by_month_day=()),
        replace(rule, by_year_day=()),
        replace(rule, by_hour=()),
        replace(rule, by_minute=()),
        replace(rule, by_second=(0,)),
        replace(rule, by_set_position=()),
        replace(rule, wkst=(rule.wkst + 1) % 7),
    ]


def test_chinese_never_speaks_of_working_days() -> None:
    assert "工作日" not in describe_rule(parse_rule("FREQ=WEEKLY;BYDAY=MO,TU,WE,TH,FR"), START, "zh")
