"""Notes of the compatibility surfaces on fields that were read differently than sent; they refuse nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ...choices import Language
from ...schedule.compat import Note

KEYS_DROPPED: Final = Note(
    "compat_keys_dropped",
    "Which agent works, and on which items, is the orchestrator's to choose: agent, forced_agent and items were left out.",
    "由编排器选择执行的智能体和条目：已略去 agent、forced_agent 和 items。",
)
NOTHING_LEFT: Final = Note(
    "compat_nothing_left",
    "Its only time passed while it was disabled: it will not run. Give next_run_at for another time.",
    "它唯一的时间在停用期间已经过去：不会执行。如需再次执行，请给出 next_run_at。",
)
PAST_RUNS_AT_ONCE: Final = Note(
    "compat_past_runs_at_once",
    "The given next_run_at has passed: the first run is due at once.",
    "给出的 next_run_at 已经过去：首次执行立即到期。",
)


def render_notes(notes: Iterable[Note], language: Language) -> list[dict[str, str]]:
    return [{"code": each.code, "message": each.english if language == "en" else each.chinese} for each in notes]
