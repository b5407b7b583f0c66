"""Refusals of cron expressions."""

from __future__ import annotations

from typing import Final

from .shared import Entry

CRON: Final[dict[str, Entry]] = {
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
        "Write 1 to 5 after #, for example 5#2 for the second Friday; 5#L is the last one.",
        "一个月里没有第 {value} 个星期几。",
        "# 之后写 1 到 5，例如 5#2 表示第二个周五；5#L 表示最后一个。",
    ),
    "range_numbered": (
        "{value} numbers a range of weekdays; a month has an nth of each weekday, not of a range.",
        "Number each weekday, for example MON#1,TUE#1; the first working day of the month is 1W in the day field.",
        "{value} 给一段星期编号；一个月里只有某个星期几的第几个。",
        "请逐个编号，例如 MON#1,TUE#1；每月第一个非周末日在日字段写 1W。",
    ),
    "last_of_what": (
        '"{value}" in the weekday field does not say of which weekday it is the last.',
        "Write 5L or FRIL for the last Friday of the month; the last day of the month is L in the day field.",
        "星期字段中的“{value}”没有说明是最后一个星期几。",
        "最后一个周五请写 5L 或 FRIL；每月最后一天在日字段写 L。",
    ),
    "bad_days_before_last": (
        "L-{value} is no day of any month.",
        "Write L-1 (the day before the last) to L-30; the last day is L, the last working day LW.",
        "L-{value} 不是任何一个月的日子。",
        "请写 L-1（倒数第二天）到 L-30；最后一天是 L，最后一个非周末日是 LW。",
    ),
    "step_zero": (
        "A step of 0 in the {field} field is not possible.",
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
    "step_without_range": (
        "There is nothing to step through after {value} in the {field} field.",
        "Leave the step out.",
        "{field} 字段中 {value} 之后没有可以按步长前进的范围。",
        "请去掉步长。",
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
    "question_mark": (
        "? is another dialect's way to leave a day field open.",
        "Write * instead, and mind the weekdays: here 1 is Monday, there it is Sunday.",
        "? 是另一种方言中留空日期字段的写法。",
        "请改写为 *，并注意星期：这里 1 是周一，那里 1 是周日。",
    ),
    "never": (
        "These dates never come: {expression}.",
        "Check the day against the months: 30 February, for example, does not exist.",
        "这样的日期永远不会到来：{expression}。",
        "请核对日与月：例如 2 月 30 日并不存在。",
    ),
}
