"""A recurrence rule in one exact sentence, from its value alone."""

from __future__ import annotations

from datetime import date, datetime

from ...choices import Language
from ..recurrence import Rule
from . import recurrence_chinese, recurrence_english
from .recurrence_parts import Told


def rule_sentence(rule: Rule, start: date | datetime | None, language: Language) -> str:
    """What the rule leaves to the start (a wall time; a date is its midnight) is said when the start is known."""
    told = Told.of(rule, start)
    return recurrence_chinese.sentence(told) if language == "zh" else recurrence_english.sentence(told)
