"""Notes on schedules translated from or to the formats of other products: codes with an English and a Chinese sentence."""

from __future__ import annotations

from typing import Final

from ...plural import apply_number_agreement
from .translation import Note

# code: (English, Chinese). Facts in braces are filled in by `note`.
_CATALOGUE: Final[dict[str, tuple[str, str]]] = {
    # --- a single moment -----------------------------------------------------------------------------------------
    "compat_once_local": (
        "Understood as local time: {local} in {zone}, which is {instant}.",
        "按当地时间理解：{zone} 的 {local}，即 {instant}。",
    ),
    "compat_once_instant": (
        "Understood as an instant, because it carries an offset: {instant}, which is {local} in {zone}.",
        "因带有偏移，按确定的时刻理解：{instant}，即 {zone} 的 {local}。",
    ),
    "compat_naive_is_utc": (
        "A time without an offset is UTC here: {instant}, which is {local} in {zone}.",
        "此处不带偏移的时间是 UTC：{instant}，即 {zone} 的 {local}。",
    ),
    "compat_gap": (
        "The clocks in {zone} skip {local}; it runs at {instant} instead.",
        "{zone} 的时钟会跳过 {local}；改在 {instant} 执行。",
    ),
    "compat_fold": (
        "The clocks in {zone} show {local} twice; the first is meant, {instant}.",
        "{zone} 的时钟会两次显示 {local}；取第一次，即 {instant}。",
    ),
    # --- fun-ai-station ------------------------------------------------------------------------------------------
    "compat_interval_default": (
        "An interval of {value} seconds is not possible; 60 seconds are used instead.",
        "间隔不能是 {value} 秒；改用 60 秒。",
    ),
    "compat_cron_default": (
        "The cron expression is empty; it runs every minute.",
        "cron 表达式为空；将每分钟执行一次。",
    ),
    "compat_below_minimum": (
        "An interval of {value} s is below the usual minimum of {minimum} s; the owner's quota decides.",
        "间隔 {value} 秒低于通常的最小值 {minimum} 秒；由所有者的配额决定是否允许。",
    ),
    "compat_zone_assumed": (
        "No time zone was given; the expression is read in {zone}.",
        "没有给出时区；表达式按 {zone} 理解。",
    ),
    "compat_first_run_moved": (
        "{given} is not one of its times; the first run is at {first}.",
        "{given} 不是其中的一个时间；首次执行在 {first}。",
    ),
    "compat_never_runs": (
        "No time is left at or after {given}: it will not run.",
        "{given} 及之后没有可执行的时间：不会执行。",
    ),
    # --- DailyUse ------------------------------------------------------------------------------------------------
    "compat_fields_unused": (
        "These fields have no meaning for {kind} and were ignored: {keys}.",
        "对 {kind} 而言，以下字段没有意义，已略过：{keys}。",
    ),
    "compat_fraction_dropped": (
        "Fractions of a second are dropped: it runs at {time}.",
        "秒以下的部分已舍去：在 {time} 执行。",
    ),
    "compat_month_clamped": (
        "Months without a day {day} use their last day; DailyUse itself ran over (31 January, then 3 March).",
        "没有 {day} 日的月份取最后一天；DailyUse 自身会溢出到下个月（1 月 31 日之后是 3 月 3 日）。",
    ),
    "compat_leap_day": (
        "In years without 29 February it runs on the 28th.",
        "没有 2 月 29 日的年份在 28 日执行。",
    ),
    "compat_end_whole_day": (
        "endDate is a date: the whole of {day} in {zone} still counts.",
        "endDate 是日期：{zone} 的 {day} 全天仍有效。",
    ),
    "compat_week_monday": (
        "Every {every} weeks, with weeks that begin on Monday and counting from the week of {date}.",
        "每 {every} 周一次；一周从周一开始，自 {date} 所在的周算起。",
    ),
    "compat_second_pass": (
        "The clocks in {zone} show {local} twice and the second is meant; it stays the second at every change.",
        "{zone} 的时钟会两次显示 {local}，取第二次；以后每次调整时钟也取第二次。",
    ),
    # --- Zero ----------------------------------------------------------------------------------------------------
    "compat_time_is_now": (
        "plan_time is not set; it runs at once.",
        "没有设置 plan_time；将立即执行。",
    ),
    "compat_time_of_day_now": (
        "plan_time is not set; the time of day is that of this moment, {time} in {zone}.",
        "没有设置 plan_time；取当前的时刻，即 {zone} 的 {time}。",
    ),
    "compat_time_passed": (
        "{instant} has passed and no_keep is false: it will not run.",
        "{instant} 已过，且 no_keep 为 false：不会执行。",
    ),
    "compat_past_skipped": (
        "{count} planned times have passed; they count as skipped.",
        "已有 {count} 个计划时间过去；按跳过计数。",
    ),
    "compat_past_kept": (
        "{count} planned times have passed; no_keep asks for each of them, one by one from {first}.",
        "已有 {count} 个计划时间过去；no_keep 要求从 {first} 起逐一补上。",
    ),
    "compat_runs_once": (
        "plan_repet is 0: it runs once.",
        "plan_repet 为 0：只执行一次。",
    ),
    "compat_always_first": (
        "Day {value} counted from the end of the month is the 1st, whatever its length.",
        "从月底算起的 {value} 日，无论该月多长，都是 1 日。",
    ),
    "compat_paused_counting": (
        "skip_set is -1: paused, while its times go on being counted.",
        "skip_set 为 -1：已暂停，但计划时间照常计数。",
    ),
    "compat_skipping": (
        "skip_set is {skip_set}: the next {left} planned times are skipped.",
        "skip_set 为 {skip_set}：接下来的 {left} 个计划时间将被跳过。",
    ),
    "compat_retrying": (
        "skip_set is -2: a failed run is being tried again, {retries} times so far.",
        "skip_set 为 -2：失败的执行正在重试，目前已 {retries} 次。",
    ),
}


def note(code: str, **facts: object) -> Note:
    english, chinese = _CATALOGUE[code]
    return Note(code, apply_number_agreement(english, facts).format_map(facts), chinese.format_map(facts))


def note_codes() -> frozenset[str]:
    return frozenset(_CATALOGUE)
