"""Tools that look at runs: what happened, how it ended, and what was said meanwhile."""

from __future__ import annotations

import json
from typing import Any, Final

from ..errors import NotFound
from ..model.limits import shortened
from ..model.run import Run, RunState
from ..model.state_names import state_word
from ..ports.journal import NumberedLine
from ..ports.store import RunFilter
from ..service.query.refusals import refuse
from ..targets.run_errors import localized_error
from ..wire.runs import line_json, result_of, run_json
from .arguments import needed
from .call import Call, Said, Told
from .lines import brief, listed
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
from .receipt import list_zone, moment_line

_USUAL: Final = 20
_SHOWN: Final = 200
_LINE_CHARACTERS: Final = 500


async def list_runs(call: Call, said: Said) -> Told:
    """Newest first: of one task, or of all that whoever asks may see."""
    task = None if "task" not in said else (await call.service.tasks.named(call.who, said["task"])).task
    wanted = RunFilter(task_id=None if task is None else task.id, states=_states(said.get("state")))
    page = await call.service.runs.page(call.who, wanted, said.get("cursor"), said.get("limit", _USUAL))
    zone = list_zone(call)
    found = {each.task_id: each for each in page.items}
    names = {task_id: (await _task(call, each))[0] for task_id, each in found.items()}
    rows = [_row(call, each, names[each.task_id], zone) for each in page.items]
    data = {"runs": rows, "next_cursor": page.after}
    if not rows:
        return Told(data, (NO_RUNS if page.after is None else NONE_YET).told(call.language))
    head = (RUNS if page.after is None else MORE_RUNS).told(call.language, number=len(rows), zone=zone)
    return Told(
        data, listed(head, [_row_line(call, each, names[each.task_id], zone) for each in page.items], call.language)
    )


def _states(text: str | None) -> frozenset[RunState] | None:
    if text is None:
        return None
    said = text.split(",")
    if not set(said) <= set(RunState):
        raise refuse("bad_query", text, 0, key="state", value=text, wanted=", ".join(RunState))
    return frozenset(map(RunState, said))


def _row(call: Call, run: Run, task: str | None, zone: str | None) -> dict[str, Any]:
    """A run as the wire has it, its result and error only in their beginnings: `get_run` has them whole."""
    shape = run_json(run, task, zone, call.language)
    if run.result_json is not None and len(run.result_json) > _SHOWN:
        shape["result"] = shortened(run.result_json, _SHOWN)
    if run.error is not None:
        shape["error"] = shortened(run.error, _SHOWN)
    return shape


def _row_line(call: Call, run: Run, task: str | None, zone: str | None) -> str:
    """A task that was deleted has only its id."""
    state = state_word(run.state.value, call.language)
    planned = moment_line(run.planned, zone)
    facts = {"id": run.id, "task_id": run.task_id, "state": state, "planned": planned}
    if task is None:
        return RUN_ROW_OF_ID.told(call.language, **facts)
    return RUN_ROW.told(call.language, task=brief(task), **facts)


async def get_run(call: Call, said: Said) -> Told:
    """One run in full, with the last lines that it said."""
    run = await call.service.runs.get(call.who, needed(said, "id"))
    name, zone = await _task(call, run)
    lines = await _tail(call, run, said["log_tail"]) if said.get("log_tail") else ()
    data = {
        "run": run_json(run, name, zone, call.language),
        "lines": [{**line_json(each), "text": shortened(each.line.text, _LINE_CHARACTERS)} for each in lines],
    }
    told = LINES.told(call.language, number=len(lines)) if lines else ""
    return Told(data, run_line(call, run, name or run.task_id) + told)


async def _task(call: Call, run: Run) -> tuple[str | None, str | None]:
    try:
        task = (await call.service.tasks.get(call.who, run.task_id)).task
    except NotFound:
        return None, call.who.zone
    return task.name, task.schedule.zone


async def _tail(call: Call, run: Run, number: int) -> tuple[NumberedLine, ...]:
    return (await call.service.runs.lines(call.who, run.id))[-number:]


def run_line(call: Call, run: Run, task: str) -> str:
    shape = run_json(run, language=call.language)
    line = RUN.told(call.language, id=run.id, task=brief(task), state=state_word(run.state.value, call.language))
    line += (
        STOP.told(call.language) if shape["because"] is None else BECAUSE.told(call.language, because=shape["because"])
    )
    if run.error is not None:
        line += ERROR.told(call.language, error=brief(localized_error(run.error, call.language), _SHOWN))
    if run.result_json is not None:
        result = result_of(run)
        shown = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        line += RESULT.told(call.language, result=brief(shown, _SHOWN))
    return line
