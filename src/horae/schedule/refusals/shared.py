"""Refusals that apply to every kind of schedule."""

from __future__ import annotations

from typing import Final, TypeAlias

SHARED: Final[dict[str, Entry]] = {
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
    "not_a_datetime": (
        '"{name}" is a datetime with a zone, not {value}.',
        "Pass for example datetime(2026, 3, 1, 15, tzinfo=UTC).",
        "“{name}”应为带时区的 datetime，而不是 {value}。",
        "例如 datetime(2026, 3, 1, 15, tzinfo=UTC)。",
    ),
    "bad_limit": (
        "A limit is a whole number from 0 to {most}, not {value}.",
        "Pass such a number, or None together with `until`.",
        "数量限制应为 0 到 {most} 的整数，而不是 {value}。",
        "请传入这样的整数，或与 until 一起传入 None。",
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
        "This schedule uses wall time, but has no zone.",
        'Add a zone such as "Europe/Berlin", in the text or separately.',
        "这条规则用的是当地时间，但没有说明是哪个时区。",
        "请加上时区，例如“北京时间”或“Asia/Shanghai”。",
    ),
    "unknown_zone": (
        'There is no zone called "{zone}".',
        "{suggestion}Zones have IANA names such as Europe/Berlin.",
        "没有名为“{zone}”的时区。",
        "{suggestion}时区使用 IANA 名称，例如 Asia/Shanghai。",
    ),
    "unknown_zone_setting": (
        '{variable} is set to "{value}", which is no zone.',
        "Set it to a name such as Europe/Berlin, or pass --zone.",
        "{variable} 设置为“{value}”，这不是时区。",
        "请设置为 Asia/Shanghai 这样的名称，或使用 --zone。",
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
        "Pass `until`, or a limit.",
        "没有数量限制时，预览需要一个终点。",
        "请给出 until，或数量限制。",
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
    "list_empty": (
        "The list has no schedule.",
        'Give at least one, for example ["every weekday at 9am", "every saturday at 11am"].',
        "列表里没有时间规则。",
        '请至少写一条，例如 ["周一至周五 9:00", "每周六 11:00"]。',
    ),
    "list_of_one": (
        "A list has at least two different schedules.",
        "Use the schedule itself, without a list around it.",
        "列表至少要有两条不同的时间规则。",
        "请直接使用这条规则，不要放进列表。",
    ),
    "list_too_long": (
        "A list has at most {most} schedules.",
        'Several times of day are one schedule, for example "every day at 09:00, 12:00 and 17:00"; or make a second task.',
        "列表最多有 {most} 条时间规则。",
        "同一天的多个时刻可以写成一条，例如“每天 9:00、12:00、17:00”；或再建一个任务。",
    ),
    "list_nested": (
        "A list cannot contain another list.",
        "Write its schedules in the outer list.",
        "列表里不能再放列表。",
        "请把其中的规则直接写在外层列表里。",
    ),
    "list_from_end": (
        "An interval after the end of the last run cannot be one of several schedules: it has no next time during a run.",
        'Leave "after end" out, for example "every 30m", or make a task of its own.',
        "从上次结束算起的间隔不能与其他规则组成列表：运行期间它没有下一次。",
        "请去掉“上次结束后”，例如“每30分钟”，或单独建一个任务。",
    ),
    "after_in_list": (
        "A task that runs after others has no schedule beside that.",
        "Make a task of its own for the schedule.",
        "在其他任务之后运行的任务不能再有时间规则。",
        "请为该时间规则单独建一个任务。",
    ),
    "after_count": (
        "A task runs after 1 to {most} tasks, not {count}.",
        'Name them, for example [{{"task": "backup", "on": "succeeded"}}].',
        "一个任务可在 1 到 {most} 个任务之后运行，而不是 {count} 个。",
        '请列出它们，例如 [{{"task": "backup", "on": "succeeded"}}]。',
    ),
    "after_twice": (
        "One of these tasks is named twice.",
        'Name each task once; "ended" fires whether it succeeded or failed.',
        "其中一个任务出现了两次。",
        "每个任务只写一次；ended 表示无论成功或失败。",
    ),
    "after_modifier": (
        'A task that runs after others has no "{key}".',
        'Leave "{key}" out.',
        "在其他任务之后运行的任务没有“{key}”。",
        "请去掉“{key}”。",
    ),
    "list_modifier": (
        'One of several schedules cannot have "{key}" of its own: it applies to all of them together.',
        'Say it after the last one, as in "every weekday at 9am and saturday at 11am, 5 times"; in JSON, beside "schedules".',
        "列表中的单条规则不能单独设置“{key}”：它对整个列表生效。",
        "请写在最后一条之后，例如“周一至周五 9:00 以及每周六 11:00，共 5 次”；在 JSON 中写在“schedules”旁边。",
    ),
    "bad_value": (
        '"{key}" cannot be {value}.',
        "It is {wanted}.",
        "“{key}”不能是 {value}。",
        "应为：{wanted}。",
    ),
}


# English message, English hint, Chinese message, Chinese hint
Entry: TypeAlias = tuple[str, str, str, str]


EVERY: Final[dict[str, Entry]] = {
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
}
