"""The Chinese schedule grammar: accepted texts and refusals."""

from __future__ import annotations

from typing import Any

import pytest

import horae
from horae.schedule.lint import lint
from horae.schedule.text import parse_text
from horae.schedule.text.chinese_words import chinese_number
from tests.unit.schedule.expected_schedules import NOW, WORKING, ZONE, calendar, every, once, understood


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("现在", {"kind": "now"}),
        ("立即", {"kind": "now"}),
        ("20分钟后", once("2026-11-18T12:20:00Z")),
        ("一个半小时后", once("2026-11-18T13:30:00Z")),
        ("十五分钟后", once("2026-11-18T12:15:00Z")),
        ("500毫秒后", once("2026-11-18T12:00:00.500000Z")),
        ("两小时后", once("2026-11-18T14:00:00Z")),
        ("半小时后", once("2026-11-18T12:30:00Z")),
        ("在一个小时之后", once("2026-11-18T13:00:00Z")),
        ("明天早上9点", once("2026-11-19T09:00:00")),
        ("明早9点", once("2026-11-19T09:00:00")),
        ("后天下午三点半", once("2026-11-20T15:30:00")),
        ("今晚9点", once("2026-11-18T21:00:00")),
        ("下周五中午12点", once("2026-11-27T12:00:00")),
        ("本周五12:00", once("2026-11-20T12:00:00")),
        ("2026年12月24日18点", once("2026-12-24T18:00:00")),
        ("12月24日下午6点", once("2026-12-24T18:00:00")),
        ("2026-12-24 18:00", once("2026-12-24T18:00:00")),
        ("每250毫秒", every("PT0.25S")),
        ("每250ms", every("PT0.25S")),
        ("每毫秒", every("PT0.001S")),
        ("每5分钟", every("PT5M")),
        ("每30分钟", every("PT30M")),
        ("每隔5分钟", every("PT5M")),
        ("每两小时", every("PT2H")),
        ("每半小时", every("PT30M")),
        ("每一个半小时", every("PT1H30M")),
        ("每小时", every("PT1H")),
        ("上次结束后每30分钟", every("PT30M", "end")),
        ("从8点起每2小时", every("PT2H", start="2026-11-18T08:00:00")),
        ("每5分钟 共10次", every("PT5M", repeat=10)),
        ("每5分钟，直到2027-01-01", every("PT5M", end="2027-01-01")),
        ("每5分钟，到2027年1月1日为止", every("PT5M", end="2027-01-01")),
        ("每天9点和17点", calendar("day", at=["09:00", "17:00"])),
        ("每天早上９点", calendar("day", at=["09:00"])),
        ("每天三点半", calendar("day", at=["03:30"])),
        ("每天早上九点一刻", calendar("day", at=["09:15"])),
        ("每日 09：00", calendar("day", at=["09:00"])),
        ("隔天9点", calendar("day", 2, at=["09:00"])),
        ("每隔一天9点", calendar("day", 2, at=["09:00"])),
        ("每隔1天早上9点", calendar("day", 2, at=["09:00"])),
        ("每隔一周周一9点", calendar("week", 2, on=["MON"], at=["09:00"])),
        ("每隔一个月1号9点", calendar("month", 2, on=[1], at=["09:00"])),
        ("每天早上，9点", calendar("day", at=["09:00"])),
        ("每3天9点", calendar("day", 3, at=["09:00"])),
        ("周一至周五 9:00", calendar("week", on=WORKING, at=["09:00"])),
        ("周一到五9点", calendar("week", on=WORKING, at=["09:00"])),
        ("工作日9点", calendar("week", on=WORKING, at=["09:00"])),
        ("每个工作日9点", calendar("week", on=WORKING, at=["09:00"])),
        ("每周一三 7:30", calendar("week", on=["MON", "WED"], at=["07:30"])),
        ("每周一、周三和周五 7:30", calendar("week", on=["MON", "WED", "FRI"], at=["07:30"])),
        ("每周一早上9点", calendar("week", on=["MON"], at=["09:00"])),
        ("每星期天晚上8点", calendar("week", on=["SUN"], at=["20:00"])),
        ("每个周末10点", calendar("week", on=["SAT", "SUN"], at=["10:00"])),
        ("每2周的周一、周四 18:30", calendar("week", 2, on=["MON", "THU"], at=["18:30"])),
        ("每两周周一18:30", calendar("week", 2, on=["MON"], at=["18:30"])),
        ("每月1号8点", calendar("month", on=[1], at=["08:00"])),
        ("每月1号和15号8点", calendar("month", on=[1, 15], at=["08:00"])),
        ("每个月最后一天18点", calendar("month", on=[-1], at=["18:00"])),
        ("每月倒数第2天18点", calendar("month", on=[-2], at=["18:00"])),
        ("每月最后一个周五17点", calendar("month", on=[{"weekday": "FRI", "nth": -1}], at=["17:00"])),
        ("每月第二个周二上午10点", calendar("month", on=[{"weekday": "TUE", "nth": 2}], at=["10:00"])),
        ("每2个月的15日10点", calendar("month", 2, on=[15], at=["10:00"])),
        ("每年2月29日9点", calendar("year", on=[29], months=[2], at=["09:00"])),
        ("每天9点，除 2026-12-25 外", calendar("day", at=["09:00"], exclude=["2026-12-25"])),
        (
            "工作日9点到18点每10分钟",
            calendar("day", hours={"from": "09:00", "to": "18:00", "days": WORKING}, step="PT10M"),
        ),
        ("08:00 至 18:00 每 5 分钟", calendar("day", hours={"from": "08:00", "to": "18:00"}, step="PT5M")),
        ("0 9 * * 1-5 共10次", {"kind": "cron", "expression": "0 9 * * 1-5", "repeat": 10}),
    ],
)
def test_understood(text: str, expected: dict[str, Any]) -> None:
    assert understood(text) == expected


@pytest.mark.parametrize(
    ("text", "zone"),
    [
        ("每天9点 北京时间", "Asia/Shanghai"),
        ("上海时间 每天9点", "Asia/Shanghai"),
        ("每天9点 纽约时间", "America/New_York"),
        ("每天9点 Europe/Berlin", "Europe/Berlin"),
        ("每天9点 UTC时间", "UTC"),
    ],
)
def test_a_zone_in_the_text_wins(text: str, zone: str) -> None:
    assert horae.parse(text, zone="Asia/Tokyo", now=NOW).zone == zone


@pytest.mark.parametrize(
    ("text", "code", "position"),
    [
        ("半夜12点", "midnight_twice", 2),
        ("今晚12点", "midnight_twice", 2),
        ("每天晚上12点", "midnight_twice", 4),
        ("每0.5毫秒", "sub_millisecond", 6),
        ("每天9", "ambiguous_hour", 2),
        ("每天", "missing_time", 0),
        ("周一9点", "once_or_weekly", 0),
        ("每隔两天9点", "every_other", 0),
        ("每隔一天", "missing_time", 0),
        ("明天早上", "missing_hour", 2),
        ("后天下午", "missing_hour", 2),
        ("每天25点", "no_such_time", 2),
        ("每天早上20点", "hour_does_not_fit", 4),
        ("节假日除外 每天9点", "no_holidays", 0),
        ("每月32号9点", "no_such_day", 2),
        ("每月最后一个工作日17点", "last_working_day", 2),
        ("每月第6个周一9点", "bad_nth", 2),
        ("周五到周一9点", "backwards_weekdays", 2),
        ("每天吃饭", "not_understood", 2),
        ("每", "every_what", 1),
    ],
)
def test_refused_at_the_place(text: str, code: str, position: int) -> None:
    with pytest.raises(horae.InvalidSchedule) as refusal:
        horae.parse(text, zone=ZONE, now=NOW)
    assert (refusal.value.code, refusal.value.position) == (code, position)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("三", 3),
        ("两", 2),
        ("十", 10),
        ("十五", 15),
        ("二十", 20),
        ("四十五", 45),
        ("一百", 100),
        ("一百零五", 105),
        ("二百三十一", 231),
        ("二〇二六", 2026),
        ("17", 17),
        ("十十", None),
        ("百", None),
    ],
)
def test_chinese_numbers(text: str, number: int | None) -> None:
    assert chinese_number(text) == number


def test_monday_to_friday_is_never_called_working_days() -> None:
    assert horae.describe("工作日9点", zone=ZONE, language="zh") == "周一至周五 09:00，Asia/Shanghai"


@pytest.mark.parametrize(
    ("text", "choices"),
    [
        ("明天早上", ("明天早上8点", "明天早上9点")),
        ("后天下午", ("后天下午2点", "后天下午3点")),
        ("每周一上午 北京时间", ("每周一上午8点 北京时间", "每周一上午9点 北京时间")),
        ("每晚深夜", ("每晚深夜10点", "每晚深夜11点")),
        ("每隔两周周一9点", ("每2周周一9点", "每3周周一9点")),
        ("北京时间每隔三个月1号9点", ("北京时间每3个月1号9点", "北京时间每4个月1号9点")),
    ],
)
def test_the_choices_of_a_refusal_are_understood_as_written(text: str, choices: tuple[str, str]) -> None:
    with pytest.raises(horae.InvalidSchedule) as refusal:
        horae.parse(text, zone=ZONE, now=NOW)

    hint = refusal.value.in_language("zh").hint
    for choice in choices:
        assert f"“{choice}”" in hint
        assert horae.parse(choice, zone=ZONE, now=NOW).zone == ZONE


@pytest.mark.parametrize(
    ("text", "notes"),
    [
        ("明天3点", ("early_hour 03:00 下午3点",)),
        ("每天五点半", ("early_hour 05:30 下午五点半",)),
        ("每天1点和2点", ("early_hour 01:00 下午1点", "early_hour 02:00 下午2点")),
        ("明天下午3点", ()),
        ("明天凌晨3点", ()),
        ("凌晨1点到5点 每10分钟", ()),
        ("明天7点", ()),
        ("明天 03:00", ()),
    ],
)
def test_early_hour_without_a_part_of_the_day_is_noted(text: str, notes: tuple[str, ...]) -> None:
    assert parse_text(text, zone="Asia/Shanghai", now=NOW).notes == notes


def test_early_hour_is_explained_in_both_languages() -> None:
    reading = parse_text("明天3点", zone="Asia/Shanghai", now=NOW)
    found = lint(reading.schedule, NOW, notes=reading.notes)
    assert [each.in_language("zh") for each in found] == ["按 03:00 理解；下午请写“下午3点”。"]
    assert [each.in_language("en") for each in found] == ['Read as 03:00; for the afternoon write "下午3点".']


def test_text_that_is_not_understood_is_quoted_whole() -> None:
    with pytest.raises(horae.InvalidSchedule) as caught:
        parse_text("下个月最后一个工作日", zone="Asia/Shanghai", now=NOW)
    assert "“下个月最后一个工作日”" in caught.value.in_language("zh").message
