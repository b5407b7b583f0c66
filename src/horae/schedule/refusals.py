"""Every way in which a schedule is refused: a closed list of codes, each with a sentence and a hint in two languages."""

from __future__ import annotations

from ..errors import InvalidSchedule, Sentence

# code: (English message, English hint, Chinese message, Chinese hint). Facts in braces are filled in by `refuse`.
_CATALOGUE: dict[str, tuple[str, str, str, str]] = {
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
        "{value} is not a {field}: it goes from {lowest} to {highest}.",
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
}

_LONGEST_FACT = 60


def refuse(code: str, position: int | None = None, **facts: object) -> InvalidSchedule:
    """Build the refusal for `code`; the caller raises it."""
    shown = {name: _shorten(str(fact)) for name, fact in facts.items()}
    message, hint, message_zh, hint_zh = (part.format_map(shown) for part in _CATALOGUE[code])
    return InvalidSchedule(
        code,
        {"en": Sentence(message, hint), "zh": Sentence(message_zh, hint_zh)},
        position=position,
    )


def codes() -> frozenset[str]:
    return frozenset(_CATALOGUE)


def _shorten(fact: str) -> str:
    """Hostile input must not come back as a ten-kilobyte message, nor move the cursor of a terminal."""
    printable = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in fact[: _LONGEST_FACT + 1])
    return printable if len(printable) <= _LONGEST_FACT else printable[: _LONGEST_FACT - 1] + "…"
