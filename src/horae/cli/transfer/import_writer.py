"""What was read is written: everything is tried first, then tasks, their history, lanes and groups."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from datetime import datetime
from typing import NamedTuple, TypeAlias

from ...errors import Refusal
from ...interchange import AgentGroup, ImportedTask, RejectedItem
from ...interchange.import_result import make_excerpt, pause_unsupported
from ...interchange.notes import refusal_note
from ...model.change import Facts
from ...model.ids import run_id
from ...model.limits import ERROR_CHARACTERS, RESULT_BYTES, shorten
from ...model.page import MAX_PAGE_SIZE
from ...model.refusals import TARGET_NOT_SUPPORTED
from ...model.refusals import refuse as refuse_task
from ...model.run import Run, RunState
from ...model.task import Task, TaskState
from ...ports.store import RunFilter
from ...service.tasks.tasks import check_past
from ..messages.operating_refusals import refuse, with_location
from ..session.command_session import CommandSession
from .diff import DryRun, plan_request
from .import_batch import ImportBatch, ImportedRun

_ENDS = frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.TIMED_OUT, RunState.LOST, RunState.CANCELLED})
_OVER = frozenset({TaskState.COMPLETED, TaskState.CANCELLED})
_AT_ONCE = 200
_ANY_NOTE = "import"
_Key: TypeAlias = tuple[str | None, str]
_Made: TypeAlias = dict[_Key, Task]
"""By owner and key; without an owner too, for files that know of one key only once."""


class ImportPlan(NamedTuple):
    """`found` and `plan_request` go side by side."""

    tasks: tuple[ImportedTask, ...]
    dry_runs: tuple[DryRun, ...]
    rejected: tuple[RejectedItem, ...]


class ImportCounts(NamedTuple):
    runs: int = 0
    skipped: int = 0
    groups: int = 0
    known: int = 0
    """Runs that an earlier import has brought."""
    tasks: tuple[Task, ...] = ()
    """As they are stored, side by side with those of the plan."""


async def plan_import(app: CommandSession, incoming: ImportBatch, path: str) -> ImportPlan:
    """Every task is tried. In a file of our own a refusal refuses all; a foreign line is set aside with the reason."""
    found: list[ImportedTask] = []
    made: list[DryRun] = []
    unclear = list(incoming.result.rejected)
    keys: set[tuple[str | None, str | None]] = set()
    for each in incoming.result.tasks:
        place = each.request.owner, each.request.key
        if place in keys:
            raise refuse("twice_in_file", key=each.request.key, path=path)
        keys.add(place)
        try:
            each, step = await _planned(app, each)
        except Refusal as refused:
            if incoming.is_own_export:
                raise with_location(refused, f"{path}, {each.source}", f"{path},{each.source}") from None
            unclear.append(RejectedItem(each.source, make_excerpt(each.request.name), refusal_note(refused)))
        else:
            found.append(each)
            made.append(step)
    if incoming.is_own_export:
        _check_runs(incoming.runs, path, app.clock.now())
    return ImportPlan(tuple(found), tuple(made), tuple(unclear))


async def _planned(app: CommandSession, each: ImportedTask) -> tuple[ImportedTask, DryRun]:
    """What nothing here can run is taken over as paused, with a note that says what is missing. A task that is in this
    store already stays as it is."""
    there = await _present(app, each)
    if there is not None:
        return each, DryRun(each.request, there, there.task)
    try:
        return each, await plan_request(app, each.request, paused=_ANY_NOTE if each.paused else None)
    except Refusal as refused:
        if refused.code != TARGET_NOT_SUPPORTED:
            raise
        return pause_unsupported(each), await plan_request(app, each.request, paused=_ANY_NOTE)


async def _present(app: CommandSession, each: ImportedTask) -> Facts | None:
    """The exported task itself, where the file is imported into the store that it came from."""
    for name in each.origins:
        facts = await app.facts(name) if name.startswith("tsk_") else None
        is_ours = facts is not None and facts.task.owner == (each.request.owner or await app.owner())
        if facts is not None and is_ours and facts.status.state not in _OVER:
            return facts
    return None


def _check_runs(runs: tuple[ImportedRun, ...], path: str, now: datetime) -> None:
    for run in runs:
        if run.past.status in _ENDS and not _is_past(run, now):
            ended = (run.ended or run.planned).isoformat()
            raise with_location(refuse_task("not_past", value=ended), f"{path}, {run.source}", f"{path},{run.source}")


def _is_past(run: ImportedRun, now: datetime) -> bool:
    try:
        check_past(run.planned, run.past.started, run.ended, now=now)
    except Refusal:
        return False
    return run.ended is not None


async def write_import(
    app: CommandSession,
    incoming: ImportBatch,
    plan: ImportPlan,
    note_of: Callable[[ImportedTask], str],
    progress: Callable[[int], None],
) -> ImportCounts:
    tasks: _Made = {}
    stored: list[Task] = []
    new: set[str] = set()
    for number, (each, step) in enumerate(zip(plan.tasks, plan.dry_runs, strict=True), 1):
        if each.paused and step.kind == "new":
            task = await app.service.tasks.create(app.principal, each.request, paused=note_of(each))
        elif step.kind == "same":
            task = step.after
        else:
            task = await app.service.tasks.declare(
                app.principal, each.request, paused=note_of(each) if each.paused else None
            )
        stored.append(task)
        if step.kind == "new":
            new.add(task.id)
        if each.request.key is not None:
            tasks[each.request.owner, each.request.key] = tasks[None, each.request.key] = task
        progress(number)
    lanes = {lane.name for lane in await app.service.lanes.all(app.principal)}
    for name, limit in incoming.lanes:
        if name not in lanes:
            await app.service.lanes.limit(app.principal, name, limit)
    for group in incoming.result.groups:
        await _keep_group(app, group, lanes)
    history = await _history(app, incoming.runs, tasks, new)
    await _keep(app, history)
    return _counted(incoming, history)._replace(tasks=tuple(stored))


async def _keep_group(app: CommandSession, group: AgentGroup, lanes: set[str]) -> None:
    """A lane that somebody has given another limit keeps it."""
    owner = f"group:{group.folder}"
    body = json.dumps(group.to_json(), ensure_ascii=False)
    await app.save_group(group.folder, owner, body)
    if owner not in lanes:
        await app.service.lanes.limit(app.principal, owner, 1)


async def preview_import(app: CommandSession, incoming: ImportBatch, plan: ImportPlan) -> ImportCounts:
    """What `write_import` will say that it took."""
    tasks: _Made = {}
    would = tuple(step.after for step in plan.dry_runs)
    for each, step in zip(plan.tasks, plan.dry_runs, strict=True):
        if each.request.key is not None:
            tasks[each.request.owner, each.request.key] = tasks[None, each.request.key] = step.after
    new = {step.after.id for step in plan.dry_runs if step.kind == "new"}
    return _counted(incoming, await _history(app, incoming.runs, tasks, new))._replace(tasks=would)


class _History(NamedTuple):
    """`rows` are still to be written, by task; so many others are there already."""

    rows: dict[str, list[Run]]
    there: int


def _counted(incoming: ImportBatch, history: _History) -> ImportCounts:
    taken = sum(map(len, history.rows.values()))
    return ImportCounts(taken, len(incoming.runs) - taken - history.there, len(incoming.result.groups), history.there)


async def _history(app: CommandSession, runs: tuple[ImportedRun, ...], tasks: _Made, new: Collection[str]) -> _History:
    """As rows that have ended. The same run has the same name, so that the second time nothing is written.

    `new` are the tasks that have no history yet."""
    rows: dict[str, list[Run]] = {}
    there = 0
    for key, old in _of_tasks(runs, tasks, app.clock.now()).items():
        task = tasks[key]
        named = {row.id: row for row in (_row(task, each) for each in old)}
        known = set() if task.id in new else await _known(app, task.id)
        fresh = [row for name, row in named.items() if name not in known]
        rows.setdefault(task.id, []).extend(fresh)
        there += len(old) - len(fresh)
    return _History(rows, there)


async def _known(app: CommandSession, task_id: str) -> set[str]:
    found: set[str] = set()
    after: str | None = None
    while True:
        page = await app.service.runs.page(app.principal, RunFilter(task_id=task_id), after, MAX_PAGE_SIZE)
        found.update(run.id for run in page.items)
        after = page.after
        if after is None:
            return found


def _of_tasks(runs: tuple[ImportedRun, ...], keys: Collection[_Key], now: datetime) -> dict[_Key, list[ImportedRun]]:
    """What can be kept: runs that are over, of tasks that are taken."""
    found: dict[_Key, list[ImportedRun]] = {}
    for run in runs:
        if (run.owner, run.key) in keys and run.past.status in _ENDS and _is_past(run, now):
            found.setdefault((run.owner, run.key), []).append(run)
    return found


async def _keep(app: CommandSession, history: _History) -> None:
    for task_id, rows in history.rows.items():
        for start in range(0, len(rows), _AT_ONCE):
            await app.service.tasks.import_history(app.principal, task_id, rows[start : start + _AT_ONCE])


def _row(task: Task, old: ImportedRun) -> Run:
    past = old.past
    result = past.result
    if result is not None and len(result.encode()) > RESULT_BYTES:
        result = None
    return Run(
        id=run_id(task.id, old.origin, old.planned, old.attempt),
        task_id=task.id,
        owner=task.owner,
        origin=old.origin,
        planned=old.planned,
        due=old.planned,
        attempt=old.attempt,
        state=past.status,
        started=past.started,
        ended=old.ended,
        result_json=_as_json(result),
        error=None if past.error is None else shorten(past.error, ERROR_CHARACTERS),
    )


def _as_json(result: str | None) -> str | None:
    """Other schedulers keep plain text, a result here is JSON."""
    if result is None:
        return None
    try:
        json.loads(result)
    except ValueError:
        return json.dumps(result, ensure_ascii=False)
    return result
