"""Signs of states on a page: a shape, a class of the style sheet and a word, so that colour alone never carries meaning."""

from __future__ import annotations

from typing import Final, NamedTuple

from ..choices import Language
from ..model.reason import Reason
from ..model.run import Run, RunState
from ..model.task import TaskState
from ..service.runs.run_chain import ChainLink
from ..state_names import state_name
from .messages import TEXTS

MISSED_REASONS: Final = frozenset({Reason.MISSED_SKIPPED, Reason.STALE, Reason.MERGED})
"""Reasons of runs that no node could start when they were due."""


class Sign(NamedTuple):
    """`shape` is one character, `style` a class of the style sheet, `word` the state in the language of the viewer."""

    shape: str
    style: str
    word: str


_RUNS: Final[dict[RunState, tuple[str, str]]] = {
    RunState.CLAIMED: ("◐", "odd"),
    RunState.RUNNING: ("◐", "odd"),
    RunState.WAITING: ("◐", "odd"),
    RunState.SUCCEEDED: ("✓", "good"),
    RunState.FAILED: ("✕", "bad"),
    RunState.TIMED_OUT: ("◷", "bad"),
    RunState.LOST: ("✕", "bad"),
    RunState.CANCELLED: ("■", "dim"),
    RunState.SKIPPED: ("⊘", "dim"),
}
_TASKS: Final[dict[TaskState, tuple[str, str]]] = {
    TaskState.ACTIVE: ("○", "good"),
    TaskState.PAUSED: ("‖", "warn"),
    TaskState.COMPLETED: ("✓", "dim"),
    TaskState.FAILED: ("✕", "bad"),
    TaskState.CANCELLED: ("■", "dim"),
}


def run_sign(run: Run, language: Language) -> Sign:
    if was_missed(run):
        return Sign("△", "warn", TEXTS["missed"].in_language(language))
    return Sign(*_RUNS[run.state], state_name(run.state, language).replace("_", " "))


def link_sign(link: ChainLink, language: Language) -> Sign:
    """Return the sign of a link of a chain, which may have no run yet."""
    shape, style = _RUNS[RunState(link.state)] if link.state in frozenset(RunState) else ("○", "dim")
    return Sign(shape, style, state_name(link.state, language).replace("_", " "))


def task_sign(state: TaskState, language: Language) -> Sign:
    return Sign(*_TASKS[state], state_name(state, language))


def was_missed(run: Run) -> bool:
    return run.state is RunState.SKIPPED and run.reason in MISSED_REASONS
