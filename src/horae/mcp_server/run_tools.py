"""MCP tools that read runs: list runs, and get one with its log lines."""

from __future__ import annotations

import json
from typing import Any, Final

from ..errors import NotFound
from ..model.limits import shorten
from ..model.run import Run, RunState
from ..ports.journal import NumberedLine
from ..ports.store import RunFilter
from ..service.query.refusals import refuse
from ..state_names import state_name
from ..targets.run_errors import localized_error
from ..wire.runs import chain_json, handled_json, line_json, result_of, run_json, usage_json
from .arguments import list_reader, require
from .call import Arguments, Call, ToolResult
from .lines import join_rows, shorten_line
from .messages import (
    BECAUSE,
    ERROR,
    LINES,
    MORE_RUNS,
    NO_RUNS,
    NONE_YET,
    RESULT,
    RUN,
    RUN_ROW,
    RUN_ROW_OF_ID,
    RUNS,
    STOP,
)
from .receipt import format_moment, list_zone

_DEFAULT_LIMIT: Final = 20
_SHOWN_CHARACTERS: Final = 200
_LINE_CHARACTERS: Final = 500


async def list_runs(call: Call, arguments: Arguments) -> ToolResult:
    """List runs, newest first: of one task, or of all tasks that the caller may see."""
    task = (
        None
        if "task" not in arguments
        else (await call.service.tasks.find_by_name(call.principal, arguments["task"])).task
    )
    run_filter = RunFilter(task_id=None if task is None else task.id, states=_states(arguments.get("state")))
    page = await call.service.runs.page(
        list_reader(call, arguments), run_filter, arguments.get("cursor"), arguments.get("limit", _DEFAULT_LIMIT)
    )
    zone = list_zone(call)
    one_per_task = {each.task_id: each for each in page.items}
    names = {task_id: (await _task_name_and_zone(call, each))[0] for task_id, each in one_per_task.items()}
    rows = [_run_row(call, each, names[each.task_id], zone) for each in page.items]
    data = {"runs": rows, "next_cursor": page.after}
    if not rows:
        return ToolResult(data, (NO_RUNS if page.after is None else NONE_YET).in_language(call.language))
    head = (RUNS if page.after is None else MORE_RUNS).in_language(call.language, number=len(rows), zone=zone)
    return ToolResult(
        data, join_rows(head, [_row_line(call, each, names[each.task_id], zone) for each in page.items], call.language)
    )


def _states(text: str | None) -> frozenset[RunState] | None:
    if text is None:
        return None
    names = text.split(",")
    if not set(names) <= set(RunState):
        raise refuse("bad_query", text, 0, key="state", value=text, wanted=", ".join(RunState))
    return frozenset(map(RunState, names))


def _run_row(call: Call, run: Run, task: str | None, zone: str | None) -> dict[str, Any]:
    """Encode a run with a shortened result and error; `get_run` returns them in full."""
    data = run_json(run, task, zone, call.language)
    if run.result_json is not None and len(run.result_json) > _SHOWN_CHARACTERS:
        data["result"] = shorten(run.result_json, _SHOWN_CHARACTERS)
    if run.input is not None and len(run.input.value) > _SHOWN_CHARACTERS:
        data["input"] = {run.input.mode: shorten(run.input.value, _SHOWN_CHARACTERS)}
    if run.error is not None:
        data["error"] = shorten(run.error, _SHOWN_CHARACTERS)
    return data


def _row_line(call: Call, run: Run, task: str | None, zone: str | None) -> str:
    """Return the line of one run; a deleted task is shown by its id."""
    state = state_name(run.state.value, call.language)
    planned = format_moment(run.planned, zone)
    facts = {"id": run.id, "task_id": run.task_id, "state": state, "planned": planned}
    if task is None:
        return RUN_ROW_OF_ID.in_language(call.language, **facts)
    return RUN_ROW.in_language(call.language, task=shorten_line(task), **facts)


async def get_run(call: Call, arguments: Arguments) -> ToolResult:
    """Return one run in full, with the last lines of its log."""
    run = await call.service.runs.get(call.principal, require(arguments, "id"))
    name, zone = await _task_name_and_zone(call, run)
    lines = await _log_tail(call, run, arguments["log_tail"]) if arguments.get("log_tail") else ()
    usage = usage_json(await call.service.runs.usage(call.principal, run.id))
    handled = handled_json(await call.service.runs.handled(call.principal, run.id))
    data = {
        "run": run_json(run, name, zone, call.language) | {"usage": usage, "handled": handled},
        "lines": [{**line_json(each), "text": shorten(each.line.text, _LINE_CHARACTERS)} for each in lines],
    }
    if arguments.get("chain"):
        data["chain"] = chain_json(await call.service.runs.chain(call.principal, run.id))
    log_note = LINES.in_language(call.language, number=len(lines)) if lines else ""
    return ToolResult(data, run_line(call, run, name or run.task_id) + log_note)


async def _task_name_and_zone(call: Call, run: Run) -> tuple[str | None, str | None]:
    try:
        task = (await call.service.tasks.get(call.principal, run.task_id)).task
    except NotFound:
        return None, call.principal.zone
    return task.name, task.schedule.zone


async def _log_tail(call: Call, run: Run, number: int) -> tuple[NumberedLine, ...]:
    last = await call.service.runs.last_line(call.principal, run.id)
    return await call.service.runs.lines(call.principal, run.id, max(0, last - number), number) if number else ()


def run_line(call: Call, run: Run, task: str) -> str:
    data = run_json(run, language=call.language)
    line = RUN.in_language(
        call.language, id=run.id, task=shorten_line(task), state=state_name(run.state.value, call.language)
    )
    line += (
        STOP.in_language(call.language)
        if data["because"] is None
        else BECAUSE.in_language(call.language, because=data["because"])
    )
    if run.error is not None:
        line += ERROR.in_language(
            call.language, error=shorten_line(localized_error(run.error, call.language), _SHOWN_CHARACTERS)
        )
    if run.result_json is not None:
        result = result_of(run)
        shown = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        line += RESULT.in_language(call.language, result=shorten_line(shown, _SHOWN_CHARACTERS))
    return line
