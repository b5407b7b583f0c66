"""Catalogue of schedule warnings: a closed list of codes for valid schedules that may surprise, in two languages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from ..choices import Language
from ..plural import apply_number_agreement

# code: (English, Chinese). Facts in braces are filled in by `make_warning`.
_CATALOGUE: Final[dict[str, tuple[str, str]]] = {
    "no_zone": (
        "No zone was given: {zone} is used, because {why}.",
        "没有给出时区：使用 {zone}，因为{why}。",
    ),
    "gap_moved": (
        "On {date} the clock goes from {before} to {after}: {wall} does not exist and runs at {runs_at}.",
        "{date} 时钟从 {before} 拨到 {after}：{wall} 不存在，改在 {runs_at} 执行。",
    ),
    "gap_shifted": (
        "On {date} the clock goes from {before} to {after}: {wall} does not exist and runs at {runs_at}.",
        "{date} 时钟从 {before} 拨到 {after}：{wall} 不存在，改在 {runs_at} 执行。",
    ),
    "gap_dropped": (
        "On {date} the clock goes from {before} to {after}: {wall} does not exist and does not run.",
        "{date} 时钟从 {before} 拨到 {after}：{wall} 不存在，不执行。",
    ),
    "gap_flowing": (
        "On {date} the clock goes from {before} to {after}: what falls between does not exist and is not replaced.",
        "{date} 时钟从 {before} 拨到 {after}：其间的时刻不存在，也不补上。",
    ),
    "fold_first": (
        "On {date} the clock goes back from {before} to {after}: {wall} comes twice and runs the first time only.",
        "{date} 时钟从 {before} 拨回 {after}：{wall} 出现两次，只在第一次执行。",
    ),
    "fold_last": (
        "On {date} the clock goes back from {before} to {after}: {wall} comes twice and runs the second time only.",
        "{date} 时钟从 {before} 拨回 {after}：{wall} 出现两次，只在第二次执行。",
    ),
    "fold_both": (
        "On {date} the clock goes back from {before} to {after}: {wall} comes twice and runs both times.",
        "{date} 时钟从 {before} 拨回 {after}：{wall} 出现两次，两次都执行。",
    ),
    "fold_flowing": (
        "On {date} the clock goes back from {before} to {after}: the repeated times run twice.",
        "{date} 时钟从 {before} 拨回 {after}：重复的时刻会执行两次。",
    ),
    "more_changes": (
        "{count} more clock changes affect this schedule in the next two years.",
        "未来两年内还有 {count} 次时钟变动会影响这条规则。",
    ),
    "uneven_step": (
        "{text} does not mean every {step} {unit}: it begins again with each {period}, so that the last gap is {rest}.",
        "{text} 并不是每 {step} {unit}一次：每{period}重新开始，最后一段间隔只有 {rest}。",
    ),
    "day_step": (
        "{text} as the day begins again on the 1st of each month: the gap at the month's end differs.",
        "日字段的 {text} 每月 1 日重新开始：月末的间隔会不同。",
    ),
    "skips_months": (
        "Months without a day {day} are skipped: {months}.",
        "没有 {day} 日的月份会被跳过：{months}。",
    ),
    "clamps": (
        "In months without a day {day} it runs on the last day.",
        "没有 {day} 日的月份，在该月最后一天执行。",
    ),
    "leap_years_only": (
        "29 February comes only in leap years.",
        "2 月 29 日只在闰年出现。",
    ),
    "either_day": (
        "A day has to match only one of the two day fields: {days}.",
        "两个日期字段只需满足其一：{days}。",
    ),
    "often": (
        "This fires more often than once a minute.",
        "执行频率高于每分钟一次。",
    ),
    "drifts": (
        '{interval} of real time: the local time moves when the clock changes. To fix it write "every day at 09:00".',
        "这是固定的 {interval}：时钟变动后，当地时间会随之移动。要固定时刻，请写“每天 09:00”。",
    ),
    "from_end": (
        "Counted from the end of each run: these times are estimates.",
        "从每次执行结束起计：这些时间只是估计。",
    ),
    "anchored": (
        'Counted from the moment of creation; to fix the grid, add a start such as "from 08:00".',
        "从创建时刻起计；要固定起点，请加上“从8点起”。",
    ),
    "rule_anchor": (
        'What the rule leaves unsaid is taken from the moment of creation; add a start such as "from 2026-03-01 09:00".',
        "规则没有写明的部分取自创建时刻；可加上起点，例如“从 2026-03-01 09:00 起”。",
    ),
    "jitter_too_long": (
        "The jitter is longer than the time between two fires: only a part of it can be used.",
        "抖动比两次执行之间的时间还长：只能用上一部分。",
    ),
    "nothing_left": (
        "Nothing is left to fire.",
        "不会再执行。",
    ),
    "in_the_past": (
        "This time has passed: created now, it would be due at once.",
        "这个时间已经过去：现在创建会立即执行。",
    ),
    "working_days": (
        "工作日 is read as Monday to Friday: public holidays and make-up days are not known.",
        "“工作日”按周一至周五理解：不考虑法定节假日和调休。",
    ),
    "times_ignored": (
        "DTSTART is a date: BYHOUR, BYMINUTE and BYSECOND are ignored, as RFC 5545 says, and it runs at 00:00.",
        "DTSTART 只是日期：按 RFC 5545 忽略 BYHOUR、BYMINUTE、BYSECOND，在 00:00 执行。",
    ),
    "early_hour": (
        'Read as {time}; for the afternoon write "{afternoon}".',
        "按 {time} 理解；下午请写“{afternoon}”。",
    ),
    "next_weekday": (
        '"next" is read as that day of next week, weeks beginning on Monday.',
        "“next”按下一周的那一天理解，一周从周一开始。",
    ),
}


@dataclass(frozen=True, slots=True)
class ScheduleWarning:
    code: str
    sentences: dict[Language, str]

    def in_language(self, language: Language) -> str:
        return self.sentences[language]


def make_warning(code: str, **facts: object) -> ScheduleWarning:
    return make_bilingual_warning(code, facts, facts)


def early_hour_note(hour: int, minute: int, said: str) -> str:
    """The note of a reading in which an early hour was said without a part of the day."""
    return f"early_hour {hour:02}:{minute:02} 下午{said}"


def warn_note(note: str) -> ScheduleWarning:
    """The warning for a note of a reading: a code, and for an early hour its facts."""
    code, _, facts = note.partition(" ")
    clock, _, afternoon = facts.partition(" ")
    return make_warning(code, time=clock, afternoon=afternoon)


def make_bilingual_warning(code: str, english: dict[str, object], chinese: dict[str, object]) -> ScheduleWarning:
    """Build a warning with separate facts for each language."""
    en, zh = _CATALOGUE[code]
    return ScheduleWarning(
        code, {"en": apply_number_agreement(en, english).format_map(english), "zh": zh.format_map(chinese)}
    )


def warning_codes() -> frozenset[str]:
    return frozenset(_CATALOGUE)
