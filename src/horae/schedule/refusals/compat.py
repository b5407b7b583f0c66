"""Refusals of schedules in other systems' dialects."""

from __future__ import annotations

from typing import Final

from .shared import Entry

COMPAT: Final[dict[str, Entry]] = {
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
