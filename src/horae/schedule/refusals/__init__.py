"""Catalogue of schedule refusals: a closed list of codes, each with a sentence and a hint in English and Chinese."""

from __future__ import annotations

from typing import Final

from ...errors import InvalidSchedule
from ...refusal_catalogue import RefusalEntry, build_refusal
from .calendar import CALENDAR
from .compat import COMPAT
from .cron import CRON
from .language import LANGUAGE
from .recurrence import RECURRENCE
from .shared import EVERY, SHARED

CATALOGUE: Final = {
    code: RefusalEntry(InvalidSchedule, *sentences)
    for code, sentences in (SHARED | LANGUAGE | EVERY | CRON | CALENDAR | RECURRENCE | COMPAT).items()
}


def refuse(code: str, position: int | None = None, **facts: object) -> InvalidSchedule:
    """Build the refusal for `code`; the caller raises it. `position` is an offset in the text of the schedule."""
    return build_refusal(code, CATALOGUE[code], facts, position=position)
