"""Checks of a deployment to JSON and back."""

from __future__ import annotations

from typing import Any, get_args

from ..choices import Language
from ..message import Message
from ..ports.doctor import Check, DoctorReport, Fix, Grade, escape_braces
from .instants import parse_instant, utc


def check_json(check: Check, language: Language) -> dict[str, Any]:
    fix = check.fix
    return {
        "check": check.code,
        "group": check.group,
        "grade": check.grade,
        "message": check.sentence(language),
        "fix": None if fix is None else fix.text.in_language(language),
        "command": None if fix is None else fix.command,
        "checked_at": utc(check.checked_at),
    }


def report_json(report: DoctorReport, language: Language) -> dict[str, Any]:
    return {
        "at": utc(report.at),
        "errors": report.count("error"),
        "warnings": report.count("warning"),
        "checks": [check_json(each, language) for each in report.checks],
    }


def read_report(value: Any) -> DoctorReport:
    """Return the report of a server, with its sentences in the language of the request."""
    return DoctorReport(parse_instant(value["at"]), tuple(map(_read_check, value["checks"])))


def _read_check(value: Any) -> Check:
    if value["grade"] not in get_args(Grade):
        raise ValueError(f"unknown grade: {value['grade']}")
    fix = None if value["fix"] is None else Fix(_literal(value["fix"]), value["command"])
    at = None if value["checked_at"] is None else parse_instant(value["checked_at"])
    return Check(value["check"], value["grade"], _literal(value["message"]), {}, fix, at)


def _literal(text: str) -> Message:
    return escape_braces(Message(text, text))
