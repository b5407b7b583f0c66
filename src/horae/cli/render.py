"""What the command line prints: data on standard output, warnings on standard error."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from ..choices import Language
from ..schedule.describe import sentence
from ..schedule.describe.chinese_words import WEEKDAYS as CHINESE_WEEKDAYS
from ..schedule.describe.english_words import WEEKDAYS
from ..schedule.preview import Fire
from ..schedule.value import Schedule
from ..schedule.warnings import ScheduleWarning
from .width import padded

_LABELS: Final = {
    "en": {"means": "Means", "next": "Next", "json": "JSON", "none": "nothing", "now": "at once", "note": "Note"},
    "zh": {"means": "含义", "next": "下次", "json": "JSON", "none": "没有", "now": "立即", "note": "注意"},
}


# True of every interval without a start: worth explaining, not worth repeating.
_ONLY_EXPLAINED: Final = ("anchored",)


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything that was found out about one text."""

    text: str
    schedule: Schedule
    fires: list[Fire]
    warnings: list[ScheduleWarning]
    after: datetime  # relative times are counted from here
    language: Language
    canonical: dict[str, Any]


def show_fires(answer: Answer) -> None:
    labels = _LABELS[answer.language]
    _print(_row(labels["means"], sentence(answer.schedule, answer.language)))
    for number, line in enumerate(_fire_lines(answer)):
        _print(_row(labels["next"] if number == 0 else "", line))
    for warning in answer.warnings:
        if warning.code in _ONLY_EXPLAINED:
            continue
        print(_row("!", warning.in_language(answer.language)), file=sys.stderr)  # noqa: T201 - this is the output


def show_explanation(answer: Answer) -> None:
    labels = _LABELS[answer.language]
    _print(_row(labels["means"], sentence(answer.schedule, answer.language)))
    _print(_row(labels["json"], json.dumps(answer.canonical, ensure_ascii=False)))
    for number, line in enumerate(_fire_lines(answer)):
        _print(_row(labels["next"] if number == 0 else "", line))
    for number, warning in enumerate(answer.warnings):
        _print(_row(labels["note"] if number == 0 else "", warning.in_language(answer.language)))


def show_json(answer: Answer) -> None:
    shape = {
        "text": answer.text,
        "means": sentence(answer.schedule, answer.language),
        "schedule": answer.canonical,
        "zone": answer.schedule.zone,
        "after": _utc(answer.after),
        "due_at_creation": answer.schedule.kind == "now" or any(each.code == "in_the_past" for each in answer.warnings),
        "fires": [
            {
                "at": _utc(fire.utc),
                "at_local": fire.local.isoformat(),
                "in_seconds": (fire.utc - answer.after).total_seconds(),
            }
            for fire in answer.fires
        ],
        "warnings": [{"code": each.code, "message": each.in_language(answer.language)} for each in answer.warnings],
    }
    _print(json.dumps(shape, ensure_ascii=False, indent=2))


def _fire_lines(answer: Answer) -> list[str]:
    if not answer.fires:
        labels = _LABELS[answer.language]
        return [labels["now"] if answer.schedule.kind == "now" else labels["none"]]
    return [
        f"{weekday(fire.local, answer.language)} {reading(fire.local)} {offset(fire.local)}  {padded(fire.relative(answer.after, answer.language), 16)}  {reading(fire.utc)}Z"
        for fire in answer.fires
    ]


def weekday(moment: datetime, language: Language) -> str:
    return CHINESE_WEEKDAYS[moment.weekday()] if language == "zh" else WEEKDAYS[moment.weekday()][:3]


def reading(moment: datetime) -> str:
    plain = moment.replace(tzinfo=None)
    return plain.isoformat(" ", "auto" if plain.microsecond else "seconds" if plain.second else "minutes")


def offset(moment: datetime) -> str:
    """`+08:00`; with seconds where a zone once had them."""
    return moment.isoformat()[len(moment.replace(tzinfo=None).isoformat()) :]


def _utc(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"


def _row(label: str, text: str) -> str:
    return f"  {padded(label, 6)} {text}"


def _print(line: str) -> None:
    print(line)  # noqa: T201 - this is the output
