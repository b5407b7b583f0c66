"""Text of messages to people: one notice in full, or several as a digest; bounded, in the language of the destination."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from ...choices import Language
from ...message import Message as Words
from ...model.events.destination import Destination, Notice, Occasion
from ...model.limits import shorten
from ...model.policy import NOTICE_TOKEN
from ...model.run import Run, Span
from ...ports.notifier import Message, MessageKind
from ...schedule.instants import SECOND, to_instant, wall_reading
from ...schedule.preview import make_fires
from ...schedule.zones import find_zone

MAX_LINES: Final = 20
"""Lines of a digest; the rest is a number."""
_LINE_CHARACTERS: Final = 200
_TITLE_CHARACTERS: Final = 200
_TITLES: Final = {
    Occasion.FAILED: Words("{task} failed", "{task} 失败"),
    Occasion.RECOVERED: Words("{task} has recovered", "{task} 已恢复"),
    Occasion.OVERDUE: Words("{task} is overdue", "{task} 逾期未启动"),
    Occasion.SUCCEEDED: Words("{task} succeeded", "{task} 成功"),
    Occasion.REMINDER: Words("{task}", "{task}"),
    Occasion.TEST: Words("Test message of Horae", "Horae 的测试消息"),
}
_FAILED_AND_RECOVERED: Final = Words("{task} failed and has recovered", "{task} 失败后已恢复")
_REMINDER: Final = Words("Reminder", "提醒")
_COUNTS: Final = {
    Occasion.FAILED: Words("{number} failed", "{number} 项失败"),
    Occasion.RECOVERED: Words("{number} recovered", "{number} 项恢复"),
    Occasion.OVERDUE: Words("{number} overdue", "{number} 项逾期"),
    Occasion.SUCCEEDED: Words("{number} succeeded", "{number} 项成功"),
}
_DIGEST: Final = Words("{number} notices: {counts}", "{number} 条通知：{counts}")
_REMINDERS: Final = Words("{number} reminders", "{number} 条提醒")
_MORE: Final = Words("… and {number} more", "……另有 {number} 条")
_FOOTER: Final = Words("{task_id} · {at}", "{task_id} · {at}")
_TEST_TEXT: Final = Words("Messages to the destination '{name}' arrive.", "发往目的地“{name}”的消息可以送达。")
_KINDS: Final = {
    Occasion.FAILED: MessageKind.FAILURE,
    Occasion.OVERDUE: MessageKind.WARNING,
    Occasion.RECOVERED: MessageKind.SUCCESS,
    Occasion.SUCCEEDED: MessageKind.SUCCESS,
}
_SEVERITY: Final = (MessageKind.FAILURE, MessageKind.WARNING, MessageKind.SUCCESS, MessageKind.INFO)


def fill_notice_text(text: str, zone: str | None, run: Run | None, result: str) -> str:
    """Return the text of a task's policy with the values of the run; those of a run are empty where none has started."""
    values = {"result": result}
    if run is not None:
        span = run.span or Span(run.planned, run.planned, 1)
        values |= {
            "planned": run.planned.isoformat(),
            "planned_local": make_fires(zone or "UTC", [run.planned])[0].local.isoformat(),
            "first": span.first.isoformat(),
            "last": span.last.isoformat(),
            "count": str(span.count),
            "attempt": str(run.attempt),
        }
    return NOTICE_TOKEN.sub(lambda match: values.get(match[1], ""), text)


def render_message(destination: Destination, notices: Sequence[Notice]) -> Message:
    """Return the message for notices that are due together; an incident that has ended meanwhile is one line."""
    if len(notices) == 1:
        return _render_one(destination, notices[0])
    language, lines = destination.language, _digest_lines(destination, notices)
    more = len(lines) - MAX_LINES
    shown = lines if more <= 0 else [*lines[:MAX_LINES], _MORE.in_language(language, number=more)]
    kinds = {_KINDS.get(each.occasion, MessageKind.INFO) for each in notices}
    return Message(
        _digest_title(language, notices), "\n".join(shown), next(each for each in _SEVERITY if each in kinds)
    )


def _render_one(destination: Destination, notice: Notice) -> Message:
    language, kind = destination.language, _KINDS.get(notice.occasion, MessageKind.INFO)
    if notice.occasion is Occasion.TEST:
        return Message(_title(language, notice), _TEST_TEXT.in_language(language, name=destination.name), kind)
    if notice.occasion is Occasion.REMINDER:
        is_named = bool(notice.text) and notice.text != notice.task
        title = _title(language, notice) if is_named else _REMINDER.in_language(language)
        return Message(title, notice.text or notice.task, kind)
    footer = _FOOTER.in_language(
        language, task_id=notice.run_id or notice.task_id, at=_time(notice.at, destination.zone)
    )
    return Message(_title(language, notice), f"{notice.text}\n\n{footer}" if notice.text else footer, kind)


def _digest_title(language: Language, notices: Sequence[Notice]) -> str:
    if all(each.occasion is Occasion.REMINDER for each in notices):
        return _REMINDERS.in_language(language, number=len(notices))
    numbers = Counter(each.occasion for each in notices)
    counts = [words.in_language(language, number=numbers[each]) for each, words in _COUNTS.items() if numbers[each]]
    separator = ", " if language == "en" else "、"
    return _DIGEST.in_language(language, number=len(notices), counts=separator.join(counts))


def _digest_lines(destination: Destination, notices: Sequence[Notice]) -> list[str]:
    """Return a line per notice; a failure and the recovery that follows it share one."""
    language = destination.language
    lines: list[str] = []
    open_incidents: dict[str, int] = {}
    for notice in notices:
        if notice.occasion is Occasion.RECOVERED and notice.task_id in open_incidents:
            title = _FAILED_AND_RECOVERED.in_language(language, task=notice.task)
            lines[open_incidents.pop(notice.task_id)] = _line(destination, notice, title)
            continue
        if notice.occasion is Occasion.FAILED:
            open_incidents[notice.task_id] = len(lines)
        lines.append(_line(destination, notice, _title(language, notice)))
    return lines


def _line(destination: Destination, notice: Notice, title: str) -> str:
    is_told = notice.text and notice.occasion is not Occasion.RECOVERED and notice.text != notice.task
    text = f"{title}: {' '.join(notice.text.split())}" if is_told else title
    return f"{_time(notice.at, destination.zone)} {shorten(text, _LINE_CHARACTERS)}"


def _title(language: Language, notice: Notice) -> str:
    return shorten(_TITLES[notice.occasion].in_language(language, task=notice.task), _TITLE_CHARACTERS)


def _time(at: datetime, zone: str) -> str:
    instant = to_instant(at) // SECOND
    return f"{wall_reading(instant + find_zone(zone).offset(instant)):%Y-%m-%d %H:%M} {zone}"
