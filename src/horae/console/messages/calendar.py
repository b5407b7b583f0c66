"""Texts of the calendar page and of the calendar feed."""

from __future__ import annotations

from typing import Final

from ...message import Message

_WEEKDAYS: Final = (
    ("Mon", "周一"),
    ("Tue", "周二"),
    ("Wed", "周三"),
    ("Thu", "周四"),
    ("Fri", "周五"),
    ("Sat", "周六"),
    ("Sun", "周日"),
)
_MONTHS: Final = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)

TEXTS: Final[dict[str, Message]] = {
    **{f"calendar_weekday_{place}": Message(*names) for place, names in enumerate(_WEEKDAYS)},
    **{f"calendar_month_{place}": Message(name, f"{place}月") for place, name in enumerate(_MONTHS, 1)},
    **{f"calendar_month_short_{place}": Message(name[:3], f"{place}月") for place, name in enumerate(_MONTHS, 1)},
    "calendar_month_title": Message("{month} {year}", "{year}年{month}"),
    "calendar_day_name": Message("{weekday} {day} {month} {year}", "{year}年{month}{day}日 {weekday}"),
    "calendar_month": Message("Month", "月"),
    "calendar_week": Message("Week", "周"),
    "calendar_day": Message("Day", "日"),
    "calendar_views": Message("View", "视图"),
    "calendar_today": Message("Today", "今天"),
    "calendar_previous": Message("Previous", "上一页"),
    "calendar_next": Message("Next", "下一页"),
    "calendar_moves": Message("Period", "时段"),
    "calendar_zone": Message("Time zone of this page", "此页面的时区"),
    "calendar_nothing": Message("nothing", "无"),
    "calendar_legend": Message("Legend", "图例"),
    "calendar_legend_planned": Message("Hatched: planned, not run yet", "斜线:已计划,尚未运行"),
    "calendar_date": Message("Date", "日期"),
    "calendar_outcomes": Message("Ended", "已结束"),
    "calendar_planned_runs": Message("Planned", "计划"),
    "calendar_more": Message("and {number} more", "还有 {number} 个"),
    "calendar_runs_of_day": Message("Runs of this day", "当天的运行"),
    "calendar_retry": Message("retry", "重试"),
    "calendar_estimate": Message("about", "约"),
    "calendar_empty": Message("Nothing ran and nothing is planned in this period.", "此时段没有运行,也没有计划。"),
    "calendar_empty_about": Message("Make a task on a terminal:", "在终端创建任务:"),
    "calendar_partial": Message(
        "There are many tasks: the planned numbers count the 500 tasks that are due first, so they are at least these.",
        "任务较多:计划数只统计最先到期的 500 个任务,实际不少于此数。",
    ),
    "calendar_changes": Message("Clock changes", "时钟变动"),
    "calendar_forward": Message(
        "{day}: in {zone} the clock goes forward from {before} to {after}.",
        "{day}:{zone} 的时钟从 {before} 拨到 {after}。",
    ),
    "calendar_back": Message(
        "{day}: in {zone} the clock goes back from {before} to {after}.",
        "{day}:{zone} 的时钟从 {before} 拨回 {after}。",
    ),
    "calendar_no_hour": Message("This hour does not exist on this day.", "当天没有这个小时。"),
    "calendar_clock_mark": Message("clock change", "时钟变动"),
    # --- feed ------------------------------------------------------------------------------------------------------
    "feed_title": Message("In your calendar program", "在您的日历程序中"),
    "feed_about": Message(
        "An address to subscribe to: what ran in the last 7 days, and what is planned for the next 30. It shows your own "
        "tasks and can do nothing else.",
        "可供订阅的地址:过去 7 天的运行和未来 30 天的计划。它只显示您自己的任务,不能做其他事。",
    ),
    "feed_name": Message("Name", "名称"),
    "feed_name_hint": Message("phone, team calendar …", "手机、团队日历……"),
    "feed_make": Message("Make an address", "新建地址"),
    "feed_once": Message(
        "Copy this address now: it is shown once. Everyone who has it can read your calendar.",
        "请立即复制此地址:只显示一次。持有此地址的人可以读取您的日历。",
    ),
    "feed_list": Message("Addresses", "地址"),
    "feed_created": Message("created {day}", "创建于 {day}"),
    "feed_revoke": Message("Revoke", "作废"),
    "feed_revoked": Message("The calendar address '{feed}' was revoked.", "日历地址“{feed}”已作废。"),
    "feed_calendar_name": Message("Horae: {owner}", "Horae:{owner}"),
    "calendar_kept": Message(
        "Numbers of past runs are kept for 62 days; the list of runs goes back further.",
        "过去运行的数量保留 62 天;运行列表可以追溯更早。",
    ),
}
