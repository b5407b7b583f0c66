"""Catalogue of schedule refusals: a closed list of codes, each with a sentence and a hint in English and Chinese."""

from __future__ import annotations

from typing import Final

from ...errors import InvalidSchedule, Sentence
from ...plural import apply_number_agreement
from ...truncation import truncate
from .calendar import CALENDAR
from .compat import COMPAT
from .cron import CRON
from .entry import Entry
from .every import EVERY
from .language import LANGUAGE
from .recurrence import RECURRENCE
from .shared import SHARED

CATALOGUE: Final[dict[str, Entry]] = SHARED | LANGUAGE | EVERY | CRON | CALENDAR | RECURRENCE | COMPAT

_MAX_FACT_LENGTH = 60


def refuse(code: str, position: int | None = None, **facts: object) -> InvalidSchedule:
    """Build the refusal for `code`; the caller raises it. A fact that is a pair is (English, Chinese)."""
    english, chinese = ({name: _format_fact(fact, column) for name, fact in facts.items()} for column in (0, 1))
    message, hint, message_zh, hint_zh = CATALOGUE[code]
    return InvalidSchedule(
        code,
        {
            "en": Sentence(*(apply_number_agreement(each, facts).format_map(english) for each in (message, hint))),
            "zh": Sentence(message_zh.format_map(chinese), hint_zh.format_map(chinese)),
        },
        position=position,
        facts=facts,
    )


def _format_fact(fact: object, column: int) -> str:
    match fact:
        case (str(), str()):
            return _shorten(fact[column])
        case _:
            return _shorten(_fact_text(fact))


def _fact_text(fact: object) -> str:
    try:
        return str(fact)
    except (RecursionError, ValueError):
        # Nested too deeply, or a number too long to be converted to text.
        return type(fact).__name__


def _shorten(fact: str) -> str:
    """Shorten a fact and replace control characters: untrusted input must not flood a message or move a terminal's cursor."""
    printable = "".join(
        character if character.isprintable() else "\N{REPLACEMENT CHARACTER}"
        for character in fact[: _MAX_FACT_LENGTH + 1]
    )
    return truncate(printable, _MAX_FACT_LENGTH)
