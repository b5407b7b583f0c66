"""Answer documents: the interpretation of a request, or its refusal."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from itertools import islice
from typing import Any, Final

from ...choices import Language
from ...errors import Refusal
from ...model.change import Facts
from ...model.task import OPEN_STATES, PauseCause, TaskState, past_of
from ...schedule import iterate
from ...schedule.describe import describe_schedule
from ...schedule.lint import lint
from ...wire.instants import local, utc
from ...wire.pointers import pointer_to

ACCEPTED: Final = "accepted"
REFUSED: Final = "refused"
SHOWN_FIRES: Final = 3

Answer = Mapping[str, Any]


def accepted(kind: str, message: str, **fields: Any) -> dict[str, Any]:
    return {"status": ACCEPTED, "type": kind, "message": message, **fields}


def refused(kind: str, refusal: Refusal, language: Language | None = None) -> dict[str, Any]:
    """Return the answer to a refused request: in English, and in Chinese where that is the language of the owner."""
    answer = {
        "status": REFUSED,
        "type": kind,
        "code": refusal.code,
        "message": refusal.message,
        "hint": refusal.hint,
        "pointer": pointer_to(refusal),
    }
    if language == "zh":
        chinese = refusal.in_language("zh")
        answer |= {"message_zh": chinese.message, "hint_zh": chinese.hint}
    return answer


def task_fields(facts: Facts, now: datetime, language: Language | None = None) -> dict[str, Any]:
    """Return what the host understood of a task: in words, with its zone and the next three fires.

    The fires of a paused task are those that it would have.
    """
    task, status = facts.task, facts.status
    zone = task.schedule.zone or "UTC"
    pause = status.pause
    is_open = status.state in OPEN_STATES
    fires = islice(iterate(task.schedule, now, past_of(task, status)), SHOWN_FIRES) if is_open else ()
    next_runs = [{"at": utc(each), "at_local": local(each, zone)} for each in fires]
    is_held = status.state is TaskState.PAUSED
    fields: dict[str, Any] = {
        "id": task.id,
        "key": task.key,
        "name": task.name,
        "state": status.state.value,
        "description": describe_schedule(task.schedule, "en"),
        "zone": zone,
        "next_runs": [] if is_held else next_runs,
        "next_if_resumed": next_runs if is_held else [],
        "awaiting_approval": pause is not None and pause.cause is PauseCause.AWAITING_APPROVAL,
        "warnings": [],
    }
    if is_open:
        # What is true of every interval is not repeated each time.
        warnings = [each for each in lint(task.schedule, now) if each.code != "anchored"]
        fields["warnings"] = [{"code": each.code, "message": each.in_language("en")} for each in warnings]
    if language == "zh":
        fields["description_zh"] = describe_schedule(task.schedule, "zh")
    return fields
