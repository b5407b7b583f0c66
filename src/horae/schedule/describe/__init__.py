"""Sentences in English and Chinese, made from the value and never from its source text."""

from __future__ import annotations

from ...errors import Language
from ..value import Schedule


def sentence(schedule: Schedule, language: Language) -> str:
    return schedule.kind
