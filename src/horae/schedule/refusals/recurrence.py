"""Refusals of recurrence rules."""

from __future__ import annotations

from typing import Final

from .shared import Entry

RECURRENCE: Final[dict[str, Entry]] = {
    "rrule_too_costly": (
        "This rule matches so rarely that computing {times} occurrences takes too long.",
        "Use UNTIL or a repeat limit instead of COUNT, leave out fewer dates, or say it by days, months or years.",
        "这条规则出现得太少，计算 {times} 次需要太长时间。",
        "请用 UNTIL 或次数限制代替 COUNT，减少排除的日期，或改用按日、月、年的规则。",
    ),
    "rrule_endless_seconds": (
        "FREQ=SECONDLY needs an end.",
        'Add COUNT or UNTIL, for example "RRULE:FREQ=SECONDLY;COUNT=100"; for a steady pace write "every 10s".',
        "FREQ=SECONDLY 需要写明何时结束。",
        "请加上 COUNT 或 UNTIL，例如“RRULE:FREQ=SECONDLY;COUNT=100”；要持续执行请写“每10秒”。",
    ),
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
        "Every part is NAME=VALUE, and one semicolon separates two parts.",
        "“{part}”不是重复规则的一部分。",
        "每一部分都写成“名称=值”，各部分之间用一个分号隔开。",
    ),
    "rrule_unknown_part": (
        'A recurrence rule has no part "{part}".',
        "The parts are FREQ, INTERVAL, COUNT, UNTIL, WKST and those that begin with BY, such as BYDAY or BYMONTHDAY.",
        "重复规则没有“{part}”这一部分。",
        "可用的部分有 FREQ、INTERVAL、COUNT、UNTIL、WKST，以及以 BY 开头的部分，如 BYDAY、BYMONTHDAY。",
    ),
    "rrule_repeated_part": (
        "{part} appears twice in this recurrence rule.",
        "Write it once, with its values separated by commas where it takes several.",
        "重复规则中 {part} 出现了两次。",
        "请只写一次；可取多个值的部分用逗号隔开各个值。",
    ),
    "repeated_property": (
        "{name} appears twice in this calendar entry.",
        "A task has one start and one rule: make a task for each, or join the rules into one.",
        "这个日历条目中 {name} 出现了两次。",
        "一个任务只有一个起点和一条规则：请分别建立任务，或把规则合并成一条。",
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
}
