"""Sentences in English and Chinese, made from the value and never from its source text.

A sentence is the core (what kind of schedule), then its modifiers, then for cron and rrule the source in brackets.
"""

from __future__ import annotations

from ...choices import Language
from ..cron import Cron
from ..rrule import RRule
from ..value import Schedule
from . import chinese, english


def sentence(schedule: Schedule, language: Language) -> str:
    """Says when a schedule fires, exactly; the schedule language understands it again."""
    if language == "en":
        said = english.SEPARATOR.join([english.core(schedule), *english.modifiers(schedule)])
    else:
        said = chinese.SEPARATOR.join([chinese.core(schedule), *chinese.modifiers(schedule)])
    match schedule:
        case Cron(expression=expression):
            return f"{said} (cron {expression})"
        case RRule(recurrence=recurrence):
            return f"{said} (RRULE:{recurrence})"
        case _:
            return said


def core_sentence(schedule: Schedule, language: Language) -> str:
    """The sentence without modifiers and source."""
    return english.core(schedule) if language == "en" else chinese.core(schedule)
