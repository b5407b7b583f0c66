"""MCP tools that pause, resume, cancel, restore and run tasks."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from ..errors import NotFound
from ..lifecycle.control.restore import can_restore
from ..model.change import Facts
from ..model.pauses import pause_note
from ..model.run import Run
from ..model.task import TaskState
from ..service.query.instants import parse_future_instant
from ..service.tasks.drafts import suggest_key
from ..wire.runs import run_json
from ..wire.tasks.run_inputs import either_input
from ..wire.tasks.task import task_json
from .arguments import id_of
from .call import Arguments, Call, ToolResult
from .lines import shorten_line
from .messages import (
    BECAUSE_OF,
    CANCEL_UNDO,
    CANCELLED,
    NOT_PAUSED,
    NOTE,
    PAUSED,
    RESTORED,
    RESUMED,
    RUN_ASKED,
    RUN_QUEUED,
    RUNS_THOUGH_PAUSED,
    STILL_GOING,
    STILL_WAITS,
    UNTIL,
    WITH_OTHER_KEY,
)
from .receipt import (
    approval_json,
    awaits_approval,
    format_moment,
    list_zone,
    no_engine_warning,
    receipt_of,
    with_warnings,
)
from .run_tools import run_line

_MIN_POLL_SECONDS: Final = 0.05
_MAX_POLL_SECONDS: Final = 1.0
"""The poll interval doubles up to this."""


async def pause_task(call: Call, arguments: Arguments) -> ToolResult:
    before = await call.service.tasks.find_by_name(call.principal, id_of(arguments))
    until = _pause_end(call, arguments, before)
    facts = await call.service.tasks.pause(
        call.principal, before.task.id, note=arguments.get("reason", ""), until=until
    )
    if awaits_approval(facts):
        line = call.render(STILL_WAITS, name=shorten_line(facts.task.name), id=facts.task.id)
    else:
        line = _paused_line(call, facts)
    return ToolResult({"task": task_json(facts, call.language)}, line)


def _paused_line(call: Call, facts: Facts) -> str:
    """Return the line for the stored pause: a second pause keeps the reason and end of the first."""
    pause = facts.status.pause
    until, note = (None, "") if pause is None else (pause.until, pause_note(pause, call.language))
    zone = facts.task.schedule.zone or list_zone(call)
    return PAUSED.in_language(
        call.language,
        name=shorten_line(facts.task.name),
        id=facts.task.id,
        until="" if until is None else UNTIL.in_language(call.language, until=format_moment(until, zone)),
        reason=BECAUSE_OF.in_language(call.language, reason=shorten_line(note)) if note else "",
    )


def _pause_end(call: Call, arguments: Arguments, facts: Facts) -> datetime | None:
    if "until" not in arguments:
        return None
    zone = facts.task.schedule.zone or call.principal.zone or "UTC"
    return parse_future_instant(arguments["until"], zone, call.clock.now())


async def resume_task(call: Call, arguments: Arguments) -> ToolResult:
    before = await call.service.tasks.find_by_name(call.principal, id_of(arguments))
    facts = await call.service.tasks.resume(call.principal, before.task.id, arguments.get("missed", "skip"))
    receipt = await with_warnings(call, receipt_of(call, facts), facts)
    data = {
        "task": task_json(facts, call.language),
        **approval_json(call, facts),
        **receipt.to_json(call),
    }
    words = NOT_PAUSED if before.status.state is TaskState.ACTIVE else RESUMED
    return ToolResult(data, receipt.render(call, words, name=shorten_line(facts.task.name), id=facts.task.id))


async def cancel_task(call: Call, arguments: Arguments) -> ToolResult:
    before = await call.service.tasks.find_by_name(call.principal, id_of(arguments))
    facts = await call.service.tasks.cancel(call.principal, before.task.id)
    can_undo = can_restore(before.task.schedule, before.status.state)
    line = CANCELLED.in_language(
        call.language,
        name=shorten_line(facts.task.name),
        id=facts.task.id,
        key=_other_key(call, facts),
        undo=CANCEL_UNDO.in_language(call.language) if can_undo else "",
    )
    return ToolResult({"task": task_json(facts, call.language)}, line)


async def restore_task(call: Call, arguments: Arguments) -> ToolResult:
    """Undo the cancel of a task."""
    before = await call.service.tasks.find_by_name(call.principal, id_of(arguments))
    facts = await call.service.tasks.undo_cancel(call.principal, before.task.id)
    receipt = await with_warnings(call, receipt_of(call, facts), facts)
    line = receipt.render(call, RESTORED, name=shorten_line(facts.task.name), id=facts.task.id)
    return ToolResult({"task": task_json(facts, call.language)}, line)


def _other_key(call: Call, facts: Facts) -> str:
    """Suggest another key: a cancelled task keeps its key. Keys are shown as the caller passes them."""
    if facts.task.key is None:
        return ""
    key = facts.task.key.removeprefix("" if call.principal.agent is None else f"agent:{call.principal.agent}/")
    return WITH_OTHER_KEY.in_language(call.language, key=key, other=suggest_key(key, facts.task.id))


async def run_task_now(call: Call, arguments: Arguments) -> ToolResult:
    """Start one run outside the schedule; with `wait_seconds`, wait that long for its end."""
    facts = await call.service.tasks.find_by_name(call.principal, id_of(arguments))
    given = either_input(arguments.get("input"), arguments.get("merge"))
    gate_only = arguments.get("gate_only", False)
    run_id = await call.service.tasks.run_now(call.principal, facts.task.id, given, gate_only=gate_only)
    seconds: int = arguments.get("wait_seconds", 0)
    run = await _wait_for_end(call, run_id, seconds) if seconds else None
    task = facts.task
    is_over = run is not None and not run.live
    is_queued = run is None and call.context.has_engine is not None and not await call.context.has_engine()
    warnings: list[tuple[str, str]] = []
    if is_queued:
        warnings.append(("no_engine", await no_engine_warning(call, facts)))
    if facts.status.state is TaskState.PAUSED and not is_over:
        warnings.append(("task_paused", RUNS_THOUGH_PAUSED.in_language(call.language)))
    data: dict[str, Any] = {
        "task_id": task.id,
        "run_id": run_id,
        "ended": is_over,
        "run": None if run is None else run_json(run, task.name, task.schedule.zone, call.language),
        "warnings": [{"code": code, "message": message} for code, message in warnings],
    }
    if run is not None and is_over:
        return ToolResult(data, run_line(call, run, task.name))
    words = RUN_QUEUED if is_queued else STILL_GOING if seconds else RUN_ASKED
    notes = "".join(NOTE.in_language(call.language, note=message) for code, message in warnings if code != "no_engine")
    line = call.render(words, name=shorten_line(task.name), id=task.id, run=run_id, seconds=seconds, notes=notes)
    return ToolResult(data, line)


async def _wait_for_end(call: Call, run_id: str, seconds: float) -> Run | None:
    """Return the run once it has ended, or as it is when the time is over; None if it has not started."""
    end, pause = call.clock.steady() + seconds, _MIN_POLL_SECONDS
    while True:
        run = await _find_run(call, run_id)
        remaining = end - call.clock.steady()
        if remaining <= 0 or (run is not None and not run.live):
            return run
        await call.clock.pause(min(pause, remaining))
        pause = min(2 * pause, _MAX_POLL_SECONDS)


async def _find_run(call: Call, run_id: str) -> Run | None:
    try:
        return await call.service.runs.get(call.principal, run_id)
    except NotFound:
        # The run's row is written when a node claims it.
        return None
