"""Every way in which a schedule is refused: a closed list of codes, each with a sentence and a hint in two languages."""

from __future__ import annotations

from ..errors import InvalidSchedule, Sentence

# code: (English message, English hint, Chinese message, Chinese hint). Facts in braces are filled in by `refuse`.
CATALOGUE: dict[str, tuple[str, str, str, str]] = {
    # --- shared by all kinds -------------------------------------------------------------------------------------
    "empty": (
        "There is no schedule here.",
        'Write when it should run, for example "every weekday at 9am" or "0 9 * * 1-5".',
        "这里没有时间规则。",
        "请写出何时执行，例如“周一至周五 9:00”或“0 9 * * 1-5”。",
    ),
    "naive_instant": (
        "{moment} has no zone: an instant is needed here.",
        "Pass an aware datetime, for example datetime(2026, 3, 1, 15, tzinfo=UTC).",
        "{moment} 没有时区：这里需要一个确定的时刻。",
        "请传入带时区的 datetime，例如 datetime(2026, 3, 1, 15, tzinfo=UTC)。",
    ),
    "bad_input": (
        "A schedule is text, a mapping or a schedule value, not {value}.",
        'Pass text such as "every 5m" or a mapping such as {{"kind": "cron", "expression": "0 9 * * *"}}.',
        "时间规则应为文字、映射或规则值，而不是 {value}。",
        '请传入文字（如“每5分钟”）或映射（如 {{"kind": "cron", "expression": "0 9 * * *"}}）。',
    ),
    "too_long": (
        "This text has {length} characters; a schedule has at most {most}.",
        "Say only when it should run.",
        "这段文字有 {length} 个字符；时间规则最多 {most} 个字符。",
        "只需写出何时执行。",
    ),
    "zone_missing": (
        "This schedule speaks of wall time, and no zone says whose.",
        'Add a zone such as "Europe/Berlin", in the text or beside it.',
        "这条规则用的是当地时间，但没有说明是哪个时区。",
        "请加上时区，例如“北京时间”或“Asia/Shanghai”。",
    ),
    "unknown_zone": (
        'There is no zone called "{zone}".',
        "Did you mean {nearest}?",
        "没有名为“{zone}”的时区。",
        "是不是 {nearest}？",
    ),
    "bad_choice": (
        "{name} cannot be {value}.",
        "It is one of: {allowed}.",
        "{name} 不能是 {value}。",
        "可选：{allowed}。",
    ),
    "bad_repeat": (
        "A schedule cannot repeat {value} times.",
        "Give a number from 1 to {most}, or none at all to repeat for ever.",
        "不能重复 {value} 次。",
        "请给出 1 到 {most} 之间的次数，不写则一直重复。",
    ),
    "bad_jitter": (
        "A jitter of {value} is not possible.",
        "It is longer than nothing and at most one day, for example PT30S.",
        "抖动不能是 {value}。",
        "应大于零且不超过一天，例如 PT30S。",
    ),
    "bad_moment": (
        "{value} is no date or time that can be used here.",
        "Write it as 2026-03-01 15:00; years from 1 to 9999.",
        "{value} 不是可用的日期或时间。",
        "请写成 2026-03-01 15:00；年份为 1 到 9999。",
    ),
    "empty_window": (
        "The window ends ({end}) before it starts ({start}).",
        "Swap the two, or leave one of them out.",
        "时间窗口在开始（{start}）之前就结束了（{end}）。",
        "请对调两者，或去掉其中一个。",
    ),
    "limit_missing": (
        "Without a limit a preview needs an end.",
        "Pass `until`, or a limit from 0 to {most}.",
        "没有数量限制时，预览需要一个终点。",
        "请给出 until，或 0 到 {most} 之间的数量。",
    ),
    "unknown_kind": (
        "There is no schedule of kind {value}.",
        "The kinds are: {known}.",
        "没有 {value} 这种规则。",
        "可选的种类：{known}。",
    ),
    "unknown_key": (
        'A schedule of kind {kind} has no "{key}".',
        "It may have: {known}.",
        "{kind} 规则没有“{key}”这一项。",
        "可用的项：{known}。",
    ),
    "missing_key": (
        'A schedule of kind {kind} needs "{key}".',
        "Add it, or look at the examples of the schedule language.",
        "{kind} 规则缺少“{key}”。",
        "请补上，或参考时间语言的示例。",
    ),
    "bad_value": (
        '"{key}" cannot be {value}.',
        "It is {wanted}.",
        "“{key}”不能是 {value}。",
        "应为：{wanted}。",
    ),
    # --- text ----------------------------------------------------------------------------------------------------
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
    # --- every ---------------------------------------------------------------------------------------------------
    "bad_interval": (
        "An interval of {value} is not possible.",
        "It lies between a millisecond and a hundred years, for example PT5M.",
        "间隔不能是 {value}。",
        "应在一毫秒到一百年之间，例如 PT5M。",
    ),
    "bad_duration": (
        "{value} is no duration.",
        "Write it as 90s, 1h30m, 2d or PT1H30M; months and years have no fixed length.",
        "{value} 不是时长。",
        "请写成 90s、1h30m、2d 或 PT1H30M；月和年没有固定长度。",
    ),
    # --- cron ----------------------------------------------------------------------------------------------------
    "field_count": (
        "A cron expression has 5 fields, or 6 with seconds first; this one has {count}.",
        "The fields are: minute hour day month weekday, for example 0 9 * * 1-5.",
        "cron 表达式有 5 个字段，或以秒开头的 6 个字段；这里有 {count} 个。",
        "字段依次为：分 时 日 月 周，例如 0 9 * * 1-5。",
    ),
    "unknown_alias": (
        "There is no alias {alias}.",
        "The aliases are: {known}.",
        "没有 {alias} 这个别名。",
        "可用的别名：{known}。",
    ),
    "empty_item": (
        "The {field} field has an empty item in its list.",
        "Remove the extra comma.",
        "{field} 字段的列表中有空项。",
        "请去掉多余的逗号。",
    ),
    "bad_nth": (
        "A month has no such weekday number: {value}.",
        "Write 1 to 5 after #, for example 5#2 for the second Friday; 5L is the last one.",
        "一个月里没有第 {value} 个星期几。",
        "# 之后写 1 到 5，例如 5#2 表示第二个周五；5L 表示最后一个。",
    ),
    "step_zero": (
        "A step of 0 in the {field} field goes nowhere.",
        "Write a step of 1 or more.",
        "{field} 字段的步长不能为 0。",
        "步长至少为 1。",
    ),
    "step_too_large": (
        "A step of {step} does not fit into {first}-{last} of the {field} field.",
        'Use a step of at most {most}, a single value, or an interval such as "every 90m".',
        "步长 {step} 超出了 {field} 字段的范围 {first}-{last}。",
        "步长最多为 {most}；也可写单个值，或“每90分钟”这样的间隔。",
    ),
    "backwards_range": (
        "The range {range} of the {field} field runs backwards.",
        "Swap its ends, or write two ranges with a comma between them.",
        "{field} 字段的范围 {range} 前后颠倒。",
        "请对调两端，或用逗号分成两个范围。",
    ),
    "out_of_range": (
        "{value} does not fit the {field} field, which goes from {lowest} to {highest}.",
        "Write a number from {lowest} to {highest}.",
        "{value} 不在 {field} 字段的范围 {lowest} 到 {highest} 内。",
        "请写 {lowest} 到 {highest} 之间的数。",
    ),
    "not_a_number": (
        '"{value}" means nothing in the {field} field.',
        "Write a number from {lowest} to {highest}, a range such as {lowest}-{highest}, or *.",
        "“{value}”在 {field} 字段中没有含义。",
        "请写 {lowest} 到 {highest} 之间的数、{lowest}-{highest} 这样的范围，或 *。",
    ),
    "never": (
        "These dates never come: {expression}.",
        "Check the day against the months: 30 February, for example, does not exist.",
        "这样的日期永远不会到来：{expression}。",
        "请核对日与月：例如 2 月 30 日并不存在。",
    ),
    # --- calendar ------------------------------------------------------------------------------------------------
    "bad_every": (
        "Every {value} periods is not possible.",
        "Give a whole number from 1 to {most}.",
        "不能每 {value} 个周期一次。",
        "请给出 1 到 {most} 之间的整数。",
    ),
    "too_many": (
        "There are too many times or dates here.",
        "At most {times} times and {dates} dates fit into one schedule.",
        "时间或日期太多了。",
        "一条规则最多容纳 {times} 个时间和 {dates} 个日期。",
    ),
    "bad_month": (
        "{value} are not all months.",
        "Months are numbers from 1 to 12.",
        "{value} 不全是月份。",
        "月份是 1 到 12 的数字。",
    ),
    "on_needs_unit": (
        "A schedule by the day has no days to choose from.",
        'Use the unit "week" with weekdays, or "month" with days of the month.',
        "按天的规则没有可选的日子。",
        "请用“week”加星期几，或“month”加日期。",
    ),
    "missing_on": (
        "Which days of the {unit}?",
        'Say which, for example "every week on Monday at 09:00" or "on the 1st of every month at 08:00".',
        "{unit} 中的哪几天？",
        "请写明，例如“每周一 09:00”或“每月 1 日 08:00”。",
    ),
    "missing_months": (
        "Which months of the year?",
        'Name them, for example "every year on 29 February at 09:00".',
        "一年中的哪几个月？",
        "请写明，例如“每年 2 月 29 日 09:00”。",
    ),
    "bad_on": (
        "{value} is no day of the {unit}.",
        "Weeks have MON to SUN; months have 1 to 31, -1 to -31 from the end, and nth weekdays from 1 to 5.",
        "{value} 不是 {unit} 中的日子。",
        "周用 MON 到 SUN；月用 1 到 31、倒数 -1 到 -31，或第 1 到 5 个星期几。",
    ),
    "hours_and_step": (
        "A window of hours and a step belong together, and times of day exclude both.",
        'Give "hours" with "step", or "at" alone.',
        "时间段与步长须同时给出，且不能与具体时间并用。",
        "请同时给出 hours 与 step，或只给 at。",
    ),
    "missing_time": (
        "At what time of day?",
        'Add it, for example "at 09:00".',
        "每天的几点？",
        "请写明，例如“09:00”。",
    ),
    "bad_time_of_day": (
        "{value} is no time of day that can be used here.",
        "Write hours, minutes and seconds, for example 09:00.",
        "{value} 不是可用的时刻。",
        "请写时、分、秒，例如 09:00。",
    ),
    "bad_step": (
        "A step of {value} is not possible.",
        "It is whole seconds, from one second to one day.",
        "步长不能是 {value}。",
        "应为整秒，从一秒到一天。",
    ),
    # --- rrule ---------------------------------------------------------------------------------------------------
    "rrule_empty": (
        "There is no recurrence rule here.",
        'Write one that begins with FREQ, for example "FREQ=WEEKLY;BYDAY=MO,TH".',
        "这里没有重复规则。",
        "请写出以 FREQ 开头的规则，例如“FREQ=WEEKLY;BYDAY=MO,TH”。",
    ),
    "rrule_too_long": (
        "This recurrence rule is longer than {longest} characters.",
        "No rule needs so much; check that the right text was pasted.",
        "这条重复规则超过 {longest} 个字符。",
        "任何规则都用不到这么长，请检查是否粘贴了正确的文本。",
    ),
    "rrule_bad_part": (
        '"{part}" is not a part of a recurrence rule.',
        "Every part is NAME=VALUE, parts are separated by one semicolon, and none follows the last.",
        "“{part}”不是重复规则的一部分。",
        "每一部分都写成“名称=值”，各部分之间用一个分号隔开，最后一部分之后没有分号。",
    ),
    "rrule_unknown_part": (
        'A recurrence rule has no part "{part}".',
        "The parts are FREQ, INTERVAL, COUNT, UNTIL, WKST and those that begin with BY, such as BYDAY or BYMONTHDAY.",
        "重复规则没有“{part}”这一部分。",
        "可用的部分有 FREQ、INTERVAL、COUNT、UNTIL、WKST，以及以 BY 开头的部分，如 BYDAY、BYMONTHDAY。",
    ),
    "rrule_repeated_part": (
        "{part} stands in this recurrence rule twice.",
        "Write it once, with its values separated by commas where it takes several.",
        "重复规则中 {part} 出现了两次。",
        "请只写一次；可取多个值的部分用逗号隔开各个值。",
    ),
    "rrule_missing_freq": (
        "This recurrence rule does not say how often.",
        "Add FREQ=YEARLY, MONTHLY, WEEKLY, DAILY, HOURLY, MINUTELY or SECONDLY.",
        "这条重复规则没有说明频率。",
        "请加上 FREQ=YEARLY、MONTHLY、WEEKLY、DAILY、HOURLY、MINUTELY 或 SECONDLY。",
    ),
    "rrule_bad_freq": (
        'FREQ cannot be "{value}".',
        "It is one of YEARLY, MONTHLY, WEEKLY, DAILY, HOURLY, MINUTELY and SECONDLY.",
        "FREQ 不能是“{value}”。",
        "可用的值有 YEARLY、MONTHLY、WEEKLY、DAILY、HOURLY、MINUTELY 和 SECONDLY。",
    ),
    "rrule_bad_value": (
        '"{value}" is not a value for {part}.',
        "Numbers are plain digits, weekdays are MO, TU, WE, TH, FR, SA, SU; several are separated by commas alone.",
        "“{value}”不能作为 {part} 的值。",
        "数字只用 0 到 9，星期写作 MO、TU、WE、TH、FR、SA、SU，多个值用逗号隔开，中间没有空格。",
    ),
    "rrule_out_of_range": (
        "{part} cannot be {value}.",
        "It takes {limits}.",
        "{part} 不能是 {value}。",
        "可用的范围是 {limits}。",
    ),
    "rrule_bad_interval": (
        "INTERVAL cannot be {value}.",
        "It is a whole number from 1 to {most}; leave it out for 1.",
        "INTERVAL 不能是 {value}。",
        "它是 1 到 {most} 之间的整数；等于 1 时可以省略。",
    ),
    "rrule_bad_count": (
        "COUNT cannot be {value}.",
        "It is a whole number from 1 to {most}; leave it out to go on for ever, or end with UNTIL.",
        "COUNT 不能是 {value}。",
        "它是 1 到 {most} 之间的整数；省略则一直重复，也可以用 UNTIL 结束。",
    ),
    "rrule_bad_until": (
        'UNTIL cannot be "{value}".',
        "Write a date (20261224), a wall time (20261224T180000) or an instant in UTC (20261224T180000Z) that exists.",
        "UNTIL 不能是“{value}”。",
        "请写一个存在的日期（20261224）、当地时间（20261224T180000）或 UTC 时刻（20261224T180000Z）。",
    ),
    "rrule_count_and_until": (
        "A recurrence rule ends with COUNT or with UNTIL, not with both.",
        "Keep the one that you mean.",
        "重复规则只能用 COUNT 或 UNTIL 之一来结束。",
        "请保留您想要的那一个。",
    ),
    "rrule_week_number_needs_yearly": (
        "BYWEEKNO goes with FREQ=YEARLY only, not with {freq}.",
        "Use FREQ=YEARLY, or choose days with BYDAY or BYMONTH.",
        "BYWEEKNO 只能与 FREQ=YEARLY 一起使用，不能与 {freq} 一起使用。",
        "请改用 FREQ=YEARLY，或用 BYDAY、BYMONTH 选择日期。",
    ),
    "rrule_year_day_not_allowed": (
        "BYYEARDAY does not go with FREQ={freq}.",
        "Use FREQ=YEARLY, or choose days with BYMONTH and BYMONTHDAY.",
        "BYYEARDAY 不能与 FREQ={freq} 一起使用。",
        "请改用 FREQ=YEARLY，或用 BYMONTH 和 BYMONTHDAY 选择日期。",
    ),
    "rrule_month_day_in_weekly": (
        "BYMONTHDAY does not go with FREQ=WEEKLY.",
        "Use FREQ=MONTHLY, or FREQ=DAILY with BYMONTHDAY and BYDAY.",
        "BYMONTHDAY 不能与 FREQ=WEEKLY 一起使用。",
        "请改用 FREQ=MONTHLY，或在 FREQ=DAILY 中使用 BYMONTHDAY 和 BYDAY。",
    ),
    "rrule_nth_not_allowed": (
        "A numbered weekday such as 1MO goes with FREQ=MONTHLY or FREQ=YEARLY only, not with {freq}.",
        "Leave the number out, or use FREQ=MONTHLY.",
        "带序号的星期（如 1MO）只能与 FREQ=MONTHLY 或 FREQ=YEARLY 一起使用，不能与 {freq} 一起使用。",
        "请去掉序号，或改用 FREQ=MONTHLY。",
    ),
    "rrule_nth_with_week_number": (
        "A numbered weekday such as 1MO does not go with BYWEEKNO.",
        "A week has each weekday once: leave the number out.",
        "带序号的星期（如 1MO）不能与 BYWEEKNO 一起使用。",
        "一周之内每个星期几只有一次，请去掉序号。",
    ),
    "rrule_set_position_alone": (
        "BYSETPOS has nothing to choose from.",
        "Add the part that makes the set, for example BYDAY=MO,TU,WE,TH,FR.",
        "BYSETPOS 没有可供选择的集合。",
        "请加上构成集合的部分，例如 BYDAY=MO,TU,WE,TH,FR。",
    ),
    "rrule_set_position_unreachable": (
        "BYSETPOS={value} can never be reached: no period of this rule has more than {most}.",
        "Choose a position that exists, or make the set larger.",
        "BYSETPOS={value} 永远无法达到：这条规则的每个周期最多只有 {most} 个时刻。",
        "请选择存在的位置，或扩大集合。",
    ),
    "rrule_start_out_of_range": (
        "The start of a recurrence rule lies outside the years 1 to 9999.",
        "Choose a start that a calendar can show.",
        "重复规则的起点不在公元 1 年到 9999 年之间。",
        "请选择日历能够表示的起点。",
    ),
    "rrule_never": (
        "This recurrence rule does not come within 400 years of its start: {rule}.",
        "Its parts exclude one another, or INTERVAL steps over what they allow; drop one of them or move the start.",
        "这条重复规则自起点起 400 年内不会到来：{rule}。",
        "各部分互相排斥，或 INTERVAL 总是跳过它们允许的时刻；请去掉其中之一，或移动起点。",
    ),
    "rrule_ends_before_first": (
        "This recurrence rule ends ({until}) before it first comes ({first}).",
        "Move UNTIL to a later time, or the start to an earlier one.",
        "这条重复规则在首次到来（{first}）之前就已结束（{until}）。",
        "请把 UNTIL 改到更晚，或把起点改到更早。",
    ),
    # --- other systems' spellings --------------------------------------------------------------------------------
    "compat_not_a_mapping": (
        "{system} describes a schedule with a mapping of fields, not with {value}.",
        "Pass the object itself, for example the parsed JSON body.",
        "{system} 用字段映射来描述时间规则，而不是 {value}。",
        "请传入对象本身，例如解析后的 JSON。",
    ),
    "compat_missing": (
        'A {system} schedule needs "{key}".',
        "Add it; the compatibility page shows the fields of {system}.",
        "{system} 的时间规则缺少“{key}”。",
        "请补上；兼容性文档列出了 {system} 的字段。",
    ),
    "compat_not_text": (
        '"{key}" cannot be {value}: it is text.',
        "Put it in quotes.",
        "“{key}”不能是 {value}：应为文字。",
        "请加上引号。",
    ),
    "compat_not_whole": (
        '"{key}" cannot be {value}: it is a whole number.',
        "Write a whole number without a unit, for example 5.",
        "“{key}”不能是 {value}：应为整数。",
        "请写不带单位的整数，例如 5。",
    ),
    "compat_not_flag": (
        '"{key}" cannot be {value}: it is true or false.',
        "Write true or false, without quotes.",
        "“{key}”不能是 {value}：应为 true 或 false。",
        "请写 true 或 false，不加引号。",
    ),
    "compat_not_a_time": (
        '"{key}" cannot be {value}: it is a date and a time.',
        "Write it as 2026-03-01T15:00:00, with Z or an offset such as +08:00 if it is not local.",
        "“{key}”不能是 {value}：应为日期加时间。",
        "请写成 2026-03-01T15:00:00；若不是当地时间，请加上 Z 或 +08:00 这样的偏移。",
    ),
    "compat_unknown_choice": (
        '"{key}" cannot be {value}.',
        "It is one of: {allowed}.",
        "“{key}”不能是 {value}。",
        "可选：{allowed}。",
    ),
    "compat_out_of_range": (
        '"{key}" cannot be {value}: it goes from {lowest} to {highest}.',
        "Write a whole number from {lowest} to {highest}.",
        "“{key}”不能是 {value}：范围是 {lowest} 到 {highest}。",
        "请写 {lowest} 到 {highest} 之间的整数。",
    ),
    "compat_bad_milliseconds": (
        '"{key}" cannot be {value}: an interval is a positive whole number of milliseconds.',
        "One hour is 3600000, and a hundred years are the most.",
        "“{key}”不能是 {value}：间隔应为正整数毫秒。",
        "一小时写作 3600000，最长一百年。",
    ),
    "compat_bad_seconds": (
        '"{key}" cannot be {value}: an interval is a whole number of seconds.',
        "One hour is 3600, and a hundred years are the most.",
        "“{key}”不能是 {value}：间隔应为整数秒。",
        "一小时写作 3600，最长一百年。",
    ),
    "compat_bad_weekdays": (
        '"{key}" cannot be {value}: it is a list of weekdays.',
        "Weekdays are numbers from 0 (Sunday) to 6 (Saturday), for example [1, 3, 5].",
        "“{key}”不能是 {value}：应为星期几的列表。",
        "星期几为 0（周日）到 6（周六）的数字，例如 [1, 3, 5]。",
    ),
    "compat_conflict": (
        '"{first}" and "{second}" are two spellings of one field, and they disagree.',
        "Give only one of them.",
        "“{first}”与“{second}”是同一字段的两种写法，但取值不同。",
        "请只给其中一个。",
    ),
    "compat_skip_all": (
        "Skipping {skip} times leaves nothing of {repeat}.",
        "Skip fewer, or repeat more often.",
        "跳过 {skip} 次后，{repeat} 次中一次也不剩。",
        "请减少跳过次数，或增加重复次数。",
    ),
    "compat_no_kind": (
        "{system} has no schedule of kind {kind}.",
        "It can say: {known}.",
        "{system} 没有 {kind} 这种规则。",
        "它能表达：{known}。",
    ),
    "compat_start_missing": (
        "{system} counts from a first time, and this schedule has no start.",
        'Give the schedule a "start".',
        "{system} 从首次时间算起，而这条规则没有起点。",
        "请给规则加上 start。",
    ),
    "compat_lost": (
        "{system} has no way to say this: {parts}.",
        "Leave it out, or keep the schedule in Horae's own form.",
        "{system} 无法表达：{parts}。",
        "请去掉这部分，或保留 Horae 自己的写法。",
    ),
}

_LONGEST_FACT = 60


def refuse(code: str, position: int | None = None, **facts: object) -> InvalidSchedule:
    """Build the refusal for `code`; the caller raises it."""
    shown = {name: _shorten(str(fact)) for name, fact in facts.items()}
    message, hint, message_zh, hint_zh = (part.format_map(shown) for part in CATALOGUE[code])
    return InvalidSchedule(
        code,
        {"en": Sentence(message, hint), "zh": Sentence(message_zh, hint_zh)},
        position=position,
    )


def codes() -> frozenset[str]:
    return frozenset(CATALOGUE)


def _shorten(fact: str) -> str:
    """Hostile input must not come back as a ten-kilobyte message, nor move the cursor of a terminal."""
    printable = "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in fact[: _LONGEST_FACT + 1]
    )
    return printable if len(printable) <= _LONGEST_FACT else printable[: _LONGEST_FACT - 1] + "…"
