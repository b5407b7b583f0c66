"""The note of a pause in either language: notes that Horae wrote itself are translated, those of people are not."""

from __future__ import annotations

import re
from typing import Final

from ..choices import Language
from .task import Pause, PauseCause

_CHINESE: Final[dict[PauseCause, tuple[tuple[re.Pattern[str], str], ...]]] = {
    PauseCause.ORPHANED: (
        (re.compile("no function of this name is declared any more"), "已没有声明同名的函数"),
        (re.compile("it is declared as (.+) now"), r"现已声明为 \1"),
    ),
    PauseCause.QUOTA: ((re.compile("quota (.+)"), r"配额 \1"),),
}


def pause_note(pause: Pause, language: Language) -> str:
    if language == "zh":
        for pattern, chinese in _CHINESE.get(pause.cause, ()):
            found = pattern.fullmatch(pause.note)
            if found is not None:
                return found.expand(chinese)
    return pause.note
