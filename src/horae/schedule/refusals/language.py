"""Refusals of the schedule language: what a person wrote."""

from __future__ import annotations

from typing import Final

from .entry import Entry

LANGUAGE: Final[dict[str, Entry]] = {
    "unknown_sign": (
        'The sign "{sign}" means nothing here.',
        "Use words, numbers and times, for example: every weekday at 9am.",
        "这里的符号“{sign}”没有含义。",
        "请使用文字、数字和时间，例如：每天 9:00。",
    ),
    "unknown_word": (
        '"{word}" is not understood here.',
        'Did you mean "{nearest}"?',
        "这里看不懂“{word}”。",
        "是不是“{nearest}”？",
    ),
    "not_understood": (
        '"{word}" is not understood here.',
        'Try "every 5m", "every weekday at 9am", "tomorrow at 17:00" or "0 9 * * 1-5".',
        "这里看不懂“{word}”。",
        "可以写“每5分钟”“周一至周五 9:00”“明天 17:00”或“0 9 * * 1-5”。",
    ),
    "nothing_said": (
        "This does not say when.",
        'Add a time, an interval or a date, for example "every 5m" or "tomorrow at 9am".',
        "没有说明何时执行。",
        "请加上时间、间隔或日期，例如“每5分钟”或“明天早上9点”。",
    ),
    "said_twice": (
        "This says {what} twice, in two ways.",
        "Keep one of them.",
        "同一件事说了两遍，而且不一样。",
        "请只保留一个。",
    ),
    "does_not_fit": (
        "This does not go together with the rest: {what}.",
        "Leave it out, or say it as a schedule of its own.",
        "这一部分与其余内容不能并用：{what}。",
        "请去掉它，或另写一条规则。",
    ),
    "word_expected": (
        '"{value}" does not fit here.',
        "Expected: {wanted}.",
        "“{value}”不适合放在这里。",
        "这里应为：{wanted}。",
    ),
    "whole_number_expected": (
        '"{value}" is no whole number that can be used here.',
        "Write a number such as 2 or 10.",
        "“{value}”不是可用的整数。",
        "请写 2 或 10 这样的数字。",
    ),
    "duration_expected": (
        'How long? "{value}" is no duration.',
        "Write 90s, 5m, 1h30m or 20 minutes.",
        "多久？“{value}”不是时长。",
        "请写 90秒、5分钟、1小时30分钟 或 90s。",
    ),
    "sub_second": (
        "{value} is shorter than a second or no whole number of seconds.",
        "Write whole seconds, at least one.",
        "{value} 不足一秒或不是整秒。",
        "请写整秒，至少一秒。",
    ),
    "time_expected": (
        'A time of day belongs here, not "{value}".',
        "Write 09:00, 9am or noon.",
        "这里应是一个时刻，而不是“{value}”。",
        "请写 09:00、早上9点 或 中午12点。",
    ),
    "day_expected": (
        'A day belongs here, not "{value}".',
        "Write 2027-01-01, Monday, the 1st or tomorrow.",
        "这里应是一个日期或时间，而不是“{value}”。",
        "请写 2027-01-01、周一、1号 或 明天。",
    ),
    "date_expected": (
        'A date belongs here, not "{value}".',
        "Write 2026-12-25.",
        "这里应是一个日期，而不是“{value}”。",
        "请写 2026-12-25。",
    ),
    "bad_date": (
        "There is no such date: {value}.",
        "Check the day and the month.",
        "没有这样的日期：{value}。",
        "请核对日和月。",
    ),
    "no_such_time": (
        "There is no such time of day: {value}.",
        "Hours go from 00 to 23, minutes from 00 to 59.",
        "没有这样的时刻：{value}。",
        "小时为 00 到 23，分钟为 00 到 59。",
    ),
    "no_such_day": (
        "No month has a day {value}.",
        "Days go from 1 to 31; the last day is said as such.",
        "没有哪个月有第 {value} 天。",
        "日期为 1 到 31；最后一天请直接写“最后一天”。",
    ),
    "hour_24": (
        "24:00 is the 00:00 of the next day.",
        "Write 00:00 and the day that it belongs to.",
        "24:00 就是第二天的 00:00。",
        "请写 00:00，并写明属于哪一天。",
    ),
    "ambiguous_hour": (
        '"{hour}" could be morning or evening.',
        'Did you mean "{morning}" or "{evening}"?',
        "“{hour}”可能是上午，也可能是下午。",
        "是“{morning}”还是“{evening}”？",
    ),
    "hour_does_not_fit": (
        "{hour} o'clock does not fit that part of the day.",
        "Write the time on a 24-hour clock, for example 21:00.",
        "{hour} 点与所说的时段不符。",
        "请用 24 小时制书写，例如 21:00。",
    ),
    "midnight_twice": (
        "Midnight may begin that day or end it.",
        'Write "00:00" with the day that begins then: today at 00:00, or tomorrow at 00:00.',
        "半夜12点可能是这一天的开始，也可能是这一天的结束。",
        "请写“00:00”并写明日期：是当天的 00:00，还是第二天的 00:00？",
    ),
    "once_or_weekly": (
        '"{day}" could be once or every week.',
        'Did you mean "every {day} at …" or "this {day} at …"?',
        "“{day}”可能是一次，也可能是每周。",
        "是“每{day}”，还是“本{day}”或“下{day}”？",
    ),
    "every_what": (
        "Every what?",
        'Say it, for example "every day at 09:00" or "every 5 minutes".',
        "每什么？",
        "请写明，例如“每天 09:00”或“每5分钟”。",
    ),
    "every_other": (
        "This could be every one or every second one.",
        'Write "{one}" or "{other}".',
        "“每隔”可能有两种意思。",
        "请写“{one}”或“{other}”。",
    ),
    "nth_of_what": (
        "This could be a day of each month, or every so many weeks.",
        'Write "on the 2nd Tuesday of every month" or "every 2 weeks on Tuesday".',
        "这可能指每月的第几个，也可能指每隔几周。",
        "请写“每月第2个周二”或“每2周的周二”。",
    ),
    "of_what": (
        "Of which month?",
        'Write "of every month", "of January" or "of every 2 months".',
        "哪个月的？",
        "请写“每月”“1 月”或“每 2 个月”。",
    ),
    "backwards_weekdays": (
        "This range of weekdays runs backwards; weeks begin on Monday.",
        "Name the days one by one, with commas between them.",
        "星期的范围前后颠倒；一周从周一开始。",
        "请逐个列出，用顿号隔开。",
    ),
    "mixed_days": (
        "Weekdays and a schedule by the {unit} do not go together here.",
        'Write "every 2 weeks on Monday", "on the last Friday of every month" or "every day at 09:00".',
        "这里的星期几与按 {unit} 的规则不能并用。",
        "请写“每2周的周一”“每月最后一个周五”或“每天 09:00”。",
    ),
    "interval_and_days": (
        "An interval on certain days needs a window of hours.",
        'Write "every 10m between 09:00 and 18:00 on weekdays".',
        "在某些日子按间隔执行，需要给出时间段。",
        "请写“周一至周五 9点到18点 每10分钟”。",
    ),
    "window_without_step": (
        "How often within that window?",
        'Add an interval, for example "every 10m between 09:00 and 18:00".',
        "在这个时间段内多久一次？",
        "请加上间隔，例如“9点到18点每10分钟”。",
    ),
    "one_time_only": (
        "One day with several times is several tasks.",
        'Write one time, or "every day at 09:00 and 17:00".',
        "某一天的多个时刻应分成多个任务。",
        "请只写一个时刻，或写“每天 09:00 和 17:00”。",
    ),
    "offset_without_date": (
        "An offset such as +08:00 needs a full date beside it.",
        "Write 2026-03-01 15:00 +08:00, or name a zone.",
        "+08:00 这样的偏移需要与完整日期一起使用。",
        "请写 2026-03-01 15:00 +08:00，或写时区。",
    ),
    "already_past": (
        "{value} has passed already.",
        "Did you mean {later}?",
        "{value} 已经过去了。",
        "是不是 {later}？",
    ),
    "no_holidays": (
        "Holiday calendars are not known here yet.",
        'Name the dates: "except 2026-12-25 and 2027-01-01".',
        "目前还没有节假日历。",
        "请列出日期：“除 2026-12-25、2027-01-01 外”。",
    ),
    "ambiguous_zone": (
        '"{zone}" is the time of more than one place.',
        "Did you mean {one} or {other}?",
        "“{zone}”可以指不止一个地方的时间。",
        "是 {one} 还是 {other}？",
    ),
    "bad_json": (
        "This looks like JSON, but is none.",
        'Write a mapping such as {{"kind": "every", "interval": "PT5M"}}.',
        "这像是 JSON，但无法读取。",
        '请写 {{"kind": "every", "interval": "PT5M"}} 这样的映射。',
    ),
    "bad_repeating_interval": (
        "This is no repeating interval.",
        "Write R/2026-03-01T00:00:00Z/PT5M, or R5/… for five times.",
        "这不是重复间隔。",
        "请写 R/2026-03-01T00:00:00Z/PT5M，五次则写 R5/…。",
    ),
    "source_differs": (
        "The words in front do not say what the source in brackets says.",
        "Keep only one of the two.",
        "括号前的文字与括号内的来源不一致。",
        "请只保留其中一个。",
    ),
    "out_of_calendar": (
        "This leads beyond the calendar, which goes from the year 1 to 9999.",
        "Choose an earlier or later date.",
        "超出了日历范围（公元 1 年到 9999 年）。",
        "请换一个日期。",
    ),
}
