"""Writes an import: a dry run of every task first, then tasks, lanes, groups and past runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, TypeAlias

from ...errors import Refusal
from ...interchange import ImportedTask, RejectedItem
from ...interchange.import_result import make_excerpt, without_future_past
from ...interchange.notes import refusal_note
from ...model.change import Facts
from ...model.ids import run_id
from ...model.limits import ERROR_CHARACTERS, RESULT_BYTES, shorten
from ...model.page import MAX_PAGE_SIZE
from ...model.refusals import refuse as refuse_task
from ...model.run import Run, RunState
from ...model.task import Task, TaskState
from ...ports.store import RunFilter
from ...schedule.compat import Note
from ...service.tasks.tasks import check_past
from ..messages.operating_refusals import refuse, with_location
from ..session.command_session import CommandSession
from .diff import DryRun, plan_request
from .import_batch import ImportBatch, ImportedRun
from .import_groups import GroupFiles, GroupOutcome, GroupPlan, import_groups, import_lists, plan_groups

_FINAL_STATES = frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.TIMED_OUT, RunState.LOST, RunState.CANCELLED})
_ENDED = frozenset({TaskState.COMPLETED, TaskState.CANCELLED})
_BATCH_SIZE = 200
_ANY_NOTE = "import"
_Key: TypeAlias = tuple[str | None, str]
_TasksByKey: TypeAlias = dict[_Key, Task]
"""Tasks by owner and key, and also by (None, key), for files that name no owners."""


class ImportPlan(NamedTuple):
    """Tasks to import with their dry runs, in the same order, and rejected items."""

    tasks: tuple[ImportedTask, ...]
    dry_runs: tuple[DryRun, ...]
    rejected: tuple[RejectedItem, ...]
    groups: GroupPlan = GroupPlan()


class ImportCounts(NamedTuple):
    runs: int = 0
    skipped: int = 0
    groups: int = 0
    known: int = 0
    """Runs that an earlier import has written."""
    chats: tuple[GroupOutcome, ...] = ()
    lists: tuple[Note, ...] = ()
    """About the operator's lists of senders and mounts."""
    tasks: tuple[Task, ...] = ()
    """Stored tasks, in the order of the plan."""


async def plan_import(app: CommandSession, batch: ImportBatch, path: str) -> ImportPlan:
    """Dry-run every task. A refusal refuses the whole file if Horae exported it; else the item is rejected with the reason."""
    tasks: list[ImportedTask] = []
    dry_runs: list[DryRun] = []
    rejected = list(batch.result.rejected)
    keys: set[tuple[str | None, str | None]] = set()
    now = app.clock.now()
    for task in batch.result.tasks:
        each = without_future_past(task, now)
        key = each.request.owner, each.request.key
        if key in keys:
            raise refuse("twice_in_file", key=each.request.key, path=path)
        keys.add(key)
        try:
            each, step = await _dry_run(app, each)
        except Refusal as refused:
            if batch.is_own_export:
                raise with_location(refused, f"{path}, {each.source}", f"{path},{each.source}") from None
            rejected.append(RejectedItem(each.source, make_excerpt(each.request.name), refusal_note(refused)))
        else:
            tasks.append(each)
            dry_runs.append(step)
    if batch.is_own_export:
        _check_runs(batch.runs, path, app.clock.now())
    groups = await plan_groups(app, batch.groups)
    if batch.is_own_export and groups.rejected:
        first = groups.rejected[0]
        raise refuse("bad_group_in_export", path=path, source=first.source, problem=first.note.english)
    return ImportPlan(tuple(tasks), tuple(dry_runs), (*rejected, *groups.rejected), groups)


async def _dry_run(app: CommandSession, each: ImportedTask) -> tuple[ImportedTask, DryRun]:
    """Dry-run one task; a task that is already in this store is not changed."""
    present = await _present(app, each)
    if present is not None:
        return each, DryRun(each.request, present, present.task)
    return each, await plan_request(app, each.request, paused=_ANY_NOTE if each.paused else None)


async def _present(app: CommandSession, each: ImportedTask) -> Facts | None:
    """Return the exported task itself, if the file is imported into the store that it came from."""
    for name in each.origins:
        facts = await app.facts(name) if name.startswith("tsk_") else None
        is_ours = facts is not None and facts.task.owner == (each.request.owner or await app.owner())
        if facts is not None and is_ours and facts.status.state not in _ENDED:
            return facts
    return None


def _check_runs(runs: tuple[ImportedRun, ...], path: str, now: datetime) -> None:
    for run in runs:
        if run.past.status in _FINAL_STATES and not _is_past(run, now):
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
    batch: ImportBatch,
    plan: ImportPlan,
    note_of: Callable[[ImportedTask], str],
    progress: Callable[[int], None],
    directory: Path | None = None,
) -> ImportCounts:
    """Write the plan; `directory` is that of the agents here, into which the files of an installation are copied."""
    files = GroupFiles(batch.directory, directory)
    chats = await import_groups(app, plan.groups, files, dry_run=False)
    lists = import_lists(files, batch.groups, dry_run=False)
    tasks: _TasksByKey = {}
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
    for name, setting in batch.lanes:
        if name not in lanes:
            await app.service.lanes.limit(app.principal, name, setting.limit, rate=setting.rate)
    history = await _history(app, batch.runs, tasks, new)
    await _write_history(app, history)
    return _count(batch, history)._replace(tasks=tuple(stored), groups=len(chats), chats=chats, lists=lists)


async def preview_import(
    app: CommandSession, batch: ImportBatch, plan: ImportPlan, directory: Path | None = None
) -> ImportCounts:
    """Return the counts that `write_import` would return; nothing is written."""
    files = GroupFiles(batch.directory, directory)
    chats = await import_groups(app, plan.groups, files, dry_run=True)
    lists = import_lists(files, batch.groups, dry_run=True)
    tasks: _TasksByKey = {}
    planned = tuple(step.after for step in plan.dry_runs)
    for each, step in zip(plan.tasks, plan.dry_runs, strict=True):
        if each.request.key is not None:
            tasks[each.request.owner, each.request.key] = tasks[None, each.request.key] = step.after
    new = {step.after.id for step in plan.dry_runs if step.kind == "new"}
    counts = _count(batch, await _history(app, batch.runs, tasks, new))
    return counts._replace(tasks=planned, groups=len(chats), chats=chats, lists=lists)


class _History(NamedTuple):
    """`rows` are to be written, by task id; `known` counts those that are stored already."""

    rows: dict[str, list[Run]]
    known: int


def _count(batch: ImportBatch, history: _History) -> ImportCounts:
    taken = sum(map(len, history.rows.values()))
    return ImportCounts(taken, len(batch.runs) - taken - history.known, known=history.known)


async def _history(
    app: CommandSession, runs: tuple[ImportedRun, ...], tasks: _TasksByKey, new: Collection[str]
) -> _History:
    """Return the past runs as rows. Their ids are derived, so that a second import writes nothing.

    `new` are the ids of tasks without a history.
    """
    rows: dict[str, list[Run]] = {}
    known = 0
    for key, old in _group_by_task(runs, tasks, app.clock.now()).items():
        task = tasks[key]
        named = {row.id: row for row in (_row(task, each) for each in old)}
        stored = set() if task.id in new else await _stored_runs(app, task.id)
        fresh = [row for name, row in named.items() if name not in stored]
        rows.setdefault(task.id, []).extend(fresh)
        known += len(old) - len(fresh)
    return _History(rows, known)


async def _stored_runs(app: CommandSession, task_id: str) -> set[str]:
    found: set[str] = set()
    after: str | None = None
    while True:
        page = await app.service.runs.page(app.principal, RunFilter(task_id=task_id), after, MAX_PAGE_SIZE)
        found.update(run.id for run in page.items)
        after = page.after
        if after is None:
            return found


def _group_by_task(
    runs: tuple[ImportedRun, ...], keys: Collection[_Key], now: datetime
) -> dict[_Key, list[ImportedRun]]:
    """Group by task the runs that can be imported: those that have ended, of imported tasks."""
    found: dict[_Key, list[ImportedRun]] = {}
    for run in runs:
        if (run.owner, run.key) in keys and run.past.status in _FINAL_STATES and _is_past(run, now):
            found.setdefault((run.owner, run.key), []).append(run)
    return found


async def _write_history(app: CommandSession, history: _History) -> None:
    for task_id, rows in history.rows.items():
        for start in range(0, len(rows), _BATCH_SIZE):
            await app.service.tasks.import_history(app.principal, task_id, rows[start : start + _BATCH_SIZE])


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
        input=old.input,
    )


def _as_json(result: str | None) -> str | None:
    """Return the result as JSON: other schedulers store plain text."""
    if result is None:
        return None
    try:
        json.loads(result)
    except ValueError:
        return json.dumps(result, ensure_ascii=False)
    return result
