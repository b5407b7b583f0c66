"""Prints a schedule: description, next fires and warnings, as text or JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from ...choices import Language
from ...message import Message
from ...schedule.any_of import parts_of
from ...schedule.describe import describe_schedule
from ...schedule.describe.moments import CHINESE_WEEKDAYS, WEEKDAYS
from ...schedule.preview import Fire
from ...schedule.value import Schedule
from ...schedule.warnings import ScheduleWarning
from .printer import Printer
from .styled_text import display_width, pad

_MEANS: Final = Message("Means", "含义")
_NEXT: Final = Message("Next", "下次")
_NOTE: Final = Message("Note", "注意")
_NOTHING: Final = Message("nothing", "没有")
_SKIPPED: Final = Message("skipped on request", "按要求跳过")
_AT_ONCE: Final = Message("at once", "立即")

_PRECISIONS: Final = ("minutes", "seconds", "milliseconds", "microseconds")
_FIRE_CELLS: Final = (0, 16, 0)
"""Minimum width of each cell."""
_ONLY_EXPLAINED: Final = ("anchored",)
"""Warnings that `horae explain` alone shows: they apply to every interval without a start."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A parsed schedule text with its next fires and warnings."""

    text: str
    schedule: Schedule
    fires: list[Fire]
    warnings: list[ScheduleWarning]
    after: datetime  # relative times are counted from here
    language: Language
    canonical: dict[str, Any]


def show_fires(answer: Answer, out: Printer) -> None:
    out.row(out.translate(_MEANS), describe_schedule(answer.schedule, answer.language))
    _show_next(answer, out)
    for warning in answer.warnings:
        if warning.code not in _ONLY_EXPLAINED:
            out.warn(warning.in_language(answer.language))


def show_explanation(answer: Answer, out: Printer) -> None:
    out.row(out.translate(_MEANS), describe_schedule(answer.schedule, answer.language))
    out.row("JSON", json.dumps(answer.canonical, ensure_ascii=False))
    _show_next(answer, out)
    for number, warning in enumerate(answer.warnings):
        out.row(out.translate(_NOTE) if number == 0 else "", warning.in_language(answer.language))


def answer_json(answer: Answer) -> dict[str, Any]:
    return {
        "text": answer.text,
        "means": describe_schedule(answer.schedule, answer.language),
        "schedule": answer.canonical,
        "zone": answer.schedule.zone,
        "after": _utc(answer.after),
        "due_at_creation": any(part.kind == "now" for part in parts_of(answer.schedule))
        or any(each.code == "in_the_past" for each in answer.warnings),
        "fires": [
            {
                "at": _utc(fire.utc),
                "at_local": fire.local.isoformat(),
                "in_seconds": (fire.utc - answer.after).total_seconds(),
            }
            for fire in answer.fires
        ],
        "warnings": warnings_json(answer.warnings, answer.language),
    }


def warnings_json(warnings: list[ScheduleWarning], language: Language) -> list[dict[str, str]]:
    return [{"code": each.code, "message": each.in_language(language)} for each in warnings]


def _show_next(answer: Answer, out: Printer) -> None:
    lines = fire_lines(answer.fires, answer.after, out)
    if not lines:
        lines = [out.translate(_AT_ONCE if answer.schedule.kind == "now" else _NOTHING)]
    for number, line in enumerate(lines):
        out.row(out.translate(_NEXT) if number == 0 else "", line)


def fire_lines(fires: Sequence[Fire], now: datetime, out: Printer, *, skipped: int = 0, indent: int = 0) -> list[str]:
    """Return lines such as `Mon 2026-11-16 09:00 +08:00  in 13 h 4 m       2026-11-16 01:00Z`, all with one precision.

    A narrow terminal shows no UTC, and a very narrow one only the local times. The first `skipped` are marked as skipped.
    `indent` columns of each row are already in use.
    """
    precision = max(
        (_precision_of(moment) for fire in fires for moment in (fire.local, fire.utc)),
        default="minutes",
        key=_PRECISIONS.index,
    )
    rows = [_fire_cells(fire, now, out.language, precision) for fire in fires]
    for row in rows[:skipped]:
        row[1] = out.translate(_SKIPPED)
    shown = len(_FIRE_CELLS)
    while (
        shown > 1
        and out.on_terminal
        and any(display_width(_in_columns(row[:shown])) > out.row_room - indent for row in rows)
    ):
        shown -= 1
    return [_in_columns(row[:shown]) for row in rows]


def _in_columns(cells: Sequence[str]) -> str:
    return "  ".join(pad(cell, width) for cell, width in zip(cells, _FIRE_CELLS, strict=False)).rstrip()


def _fire_cells(fire: Fire, now: datetime, language: Language, precision: str) -> list[str]:
    local, utc = (_format(moment, precision) for moment in (fire.local, fire.utc))
    return [f"{weekday(fire.local, language)} {local} {offset(fire.local)}", fire.relative(now, language), f"{utc}Z"]


def weekday(moment: datetime, language: Language) -> str:
    return CHINESE_WEEKDAYS[moment.weekday()] if language == "zh" else WEEKDAYS[moment.weekday()][:3]


def _precision_of(moment: datetime) -> str:
    return "milliseconds" if moment.microsecond else "seconds" if moment.second else "minutes"


def _format(moment: datetime, precision: str) -> str:
    return moment.replace(tzinfo=None).isoformat(" ", precision)


def offset(moment: datetime) -> str:
    """Return the UTC offset, `+08:00`; with seconds where a zone once had them."""
    return moment.isoformat()[len(moment.replace(tzinfo=None).isoformat()) :]


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
