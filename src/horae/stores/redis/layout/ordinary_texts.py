"""Texts of ordinary starts and successes: what the encoders of `documents.py` write for them, without rows in between.

Each template has the columns of `codec/rows.py` in their order; a test compares the texts with those of the encoders.
"""

from __future__ import annotations

from json.encoder import encode_basestring as quote
from typing import Final

from ....model.change import Start, Success
from ....model.events.event import EventKind
from ....model.run import Run, RunState
from ....model.task import Task, TaskState, TaskStatus
from ...codec.json_codecs import ComputedCache, encode, microseconds_of, replace_lone_surrogates
from ...codec.rows import encode_entry, encode_status, instants_of_run, new_tuple
from .documents import TaskDocument, encode_run_document, encode_state_line

_PLAIN_DETAILS: Final = (None, None, 0, 0, False, False, None, (), None, None, None, None)
"""Fields of a live run from its deadline on, if it has none of them."""
_DEADLINE: Final = Run._fields.index("deadline")
_started_status: Final[ComputedCache[TaskStatus, str]] = ComputedCache(
    lambda status: encode(encode_status(0, 0, status)[2:])
)
"""Tasks that start have few different statuses: most of them have not run before."""
_name: Final[ComputedCache[str, str]] = ComputedCache(quote)


def start_state_line(number: int, start: Start) -> str:
    """Return the second line of a task document after an ordinary start."""
    run, status, following = start
    entries = "" if following is None else encode(encode_entry(0, following)[1:])
    planned, due = instants_of_run(run)
    claimed = "null" if run.claimed is None else microseconds_of[run.claimed]
    started = "null" if run.started is None else microseconds_of[run.started]
    node = "null" if run.node is None else _name[run.node]
    return (
        f'[{number},{_started_status[status]},[{entries}],[["{run.id}",0,{_name[run.owner]},"{run.origin}",{planned},{due},'
        f'{run.attempt},"{run.state}",null,{run.token},{node},{claimed},{started},'
        "null,null,null,null,null,0,0,0,0,null,null,null,null,null,null]]]\n"
    )


def start_event_text(run: Run) -> str:
    """Return the only event of an ordinary start."""
    claimed = "null" if run.claimed is None else microseconds_of[run.claimed]
    return f'["{EventKind.RUN_STARTED}",{claimed},{_name[run.owner]},{quote(run.task_id)},"{run.id}",null]'


def success_state_line(document: TaskDocument) -> str:
    """Return the second line of a task document after an ordinary success."""
    number, _, status, entries, live = document
    state, counted, failures, skips_left, last_end, last_result, pause, reason, ended = status
    if entries or live or failures or skips_left or pause is not None or reason is not None or last_end is None:
        return encode_state_line(document)
    last_result_text, ended_text = _text_or_null(last_result), "null" if ended is None else microseconds_of[ended]
    return (
        f'[{number},["{state}",{counted},0,0,{microseconds_of[last_end]},{last_result_text},'
        f"null,null,null,null,null,{ended_text}],[],[]]\n"
    )


def success_run_text(run: Run, success: Success) -> str:
    """Return the document of the run of an ordinary success."""
    if run[_DEADLINE:] != _PLAIN_DETAILS or run.node is None or run.claimed is None or success.started is None:
        return encode_run_document(run_after_success(run, success))
    planned, due = instants_of_run(run)
    started, ended = microseconds_of[success.started], microseconds_of[success.ended]
    return (
        f'[{quote(run.task_id)},"{run.id}",0,{_name[run.owner]},"{run.origin}",{planned},{due},{run.attempt},'
        f'"{RunState.SUCCEEDED}",null,{run.token},{_name[run.node]},{microseconds_of[run.claimed]},{started},{ended},'
        f"null,null,null,null,0,0,0,0,null,null,{_text_or_null(success.result)},null,null,null]"
    )


def success_event_texts(task: Task, run: Run, success: Success) -> tuple[tuple[str, str], ...]:
    """Return the events of an ordinary success with their owners: the end of the run, and that of the task if it is completed."""
    at, task_id, owner = microseconds_of[success.ended], quote(run.task_id), _name[run.owner]
    succeeded = run.owner, f'["{EventKind.RUN_SUCCEEDED}",{at},{owner},{task_id},"{run.id}",null]'
    if success.status.state is not TaskState.COMPLETED:
        return (succeeded,)
    completed = f'["{EventKind.TASK_COMPLETED}",{at},{_name[task.owner]},{quote(task.id)},null,null]'
    return succeeded, (task.owner, completed)


def run_after_success(run: Run, success: Success) -> Run:
    started, ended, result, _ = success
    return run._replace(
        state=RunState.SUCCEEDED,
        reason=None,
        started=started,
        ended=ended,
        deadline=None,
        result_json=result,
        error=None,
    )


def document_after_start(number: int, task: Task, start: Start) -> TaskDocument:
    run, status, following = start
    return new_tuple(TaskDocument, (number, task, status, () if following is None else (following,), (run,)))


def _text_or_null(text: str | None) -> str:
    return "null" if text is None else quote(replace_lone_surrogates(text) or "")
