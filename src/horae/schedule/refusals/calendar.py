"""Refusals of calendar schedules."""

from __future__ import annotations

from typing import Final

from .shared import Entry

CALENDAR: Final[dict[str, Entry]] = {
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
        "几点？",
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
}
