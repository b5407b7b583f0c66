"""Describes a recurrence rule in one exact sentence, in the chosen language."""

from __future__ import annotations

from datetime import date, datetime

from ...choices import Language
from ..recurrence import Rule
from . import recurrence_chinese, recurrence_english
from .recurrence_parts import RuleParts


def describe_rule(rule: Rule, start: date | datetime | None, language: Language) -> str:
    """Describe a rule; parts that it takes from the start are included if the start is given (a date is its midnight)."""
    parts = RuleParts.of(rule, start)
    return recurrence_chinese.describe_rule(parts) if language == "zh" else recurrence_english.describe_rule(parts)
