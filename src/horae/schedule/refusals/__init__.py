"""Every way in which a schedule is refused: a closed list of codes, each with a sentence and a hint in two languages."""

from __future__ import annotations

from typing import Final

from ...errors import InvalidSchedule, Sentence
from ...plural import agree
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

_LONGEST_FACT = 60


def refuse(code: str, position: int | None = None, **facts: object) -> InvalidSchedule:
    """Build the refusal for `code`; the caller raises it. A fact that is a pair is told as (English, Chinese)."""
    english, chinese = ({name: _told(fact, column) for name, fact in facts.items()} for column in (0, 1))
    message, hint, message_zh, hint_zh = CATALOGUE[code]
    return InvalidSchedule(
        code,
        {
            "en": Sentence(*(agree(each, facts).format_map(english) for each in (message, hint))),
            "zh": Sentence(message_zh.format_map(chinese), hint_zh.format_map(chinese)),
        },
        position=position,
        facts=facts,
    )


def _told(fact: object, column: int) -> str:
    match fact:
        case (str(), str()):
            return _shorten(fact[column])
        case _:
            return _shorten(_spelled(fact))


def _spelled(fact: object) -> str:
    try:
        return str(fact)
    except (RecursionError, ValueError):
        # So deep, or so long a number, that it cannot be spelled at all.
        return type(fact).__name__


def _shorten(fact: str) -> str:
    """Hostile input must not come back as a ten-kilobyte message, nor move the cursor of a terminal."""
    printable = "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in fact[: _LONGEST_FACT + 1]
    )
    return truncate(printable, _LONGEST_FACT)
