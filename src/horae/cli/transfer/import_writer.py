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
from ..messages.operating_refusals import placed, refuse
from ..session.dry_run import DryRun, planned
from ..session.workplace import CommandSession
from .import_batch import Incoming, OldRun

_ENDS = frozenset({RunState.SUCCEEDED, RunState.FAILED, RunState.TIMED_OUT, RunState.LOST, RunState.CANCELLED})
_OVER = frozenset({TaskState.COMPLETED, TaskState.CANCELLED})
_AT_ONCE = 200
_ANY_NOTE = "import"
_Key: TypeAlias = tuple[str | None, str]
_Made: TypeAlias = dict[_Key, Task]
"""By owner and key; without an owner too, for files that know of one key only once."""


class Plan(NamedTuple):
    """`found` and `planned` go side by side."""

    found: tuple[ImportedTask, ...]
    planned: tuple[DryRun, ...]
    unclear: tuple[RejectedItem, ...]


class ImportResult(NamedTuple):
    runs: int = 0
    left: int = 0
    groups: int = 0
    there: int = 0
    """Runs that an earlier import has brought."""
    tasks: tuple[Task, ...] = ()
    """As they are stored, side by side with those of the plan."""


async def plan_for(app: CommandSession, incoming: Incoming, path: str) -> Plan:
    """Every task is tried. In a file of our own a refusal refuses all; a foreign line is set aside with the reason."""
    found: list[ImportedTask] = []
    made: list[DryRun] = []
    unclear = list(incoming.harvest.rejected)
    keys: set[tuple[str | None, str | None]] = set()
    for each in incoming.harvest.tasks:
        place = each.request.owner, each.request.key
        if place in keys:
            raise refuse("twice_in_file", key=each.request.key, path=path)
        keys.add(place)
        try:
            each, step = await _planned(app, each)
        except Refusal as refused:
            if incoming.exact:
                raise placed(refused, f"{path}, {each.source}", f"{path},{each.source}") from None
            unclear.append(RejectedItem(each.source, make_excerpt(each.request.name), refusal_note(refused)))
        else:
            found.append(each)
            made.append(step)
    if incoming.exact:
        _check_runs(incoming.runs, path, app.clock.now())
    return Plan(tuple(found), tuple(made), tuple(unclear))


async def _planned(app: CommandSession, each: ImportedTask) -> tuple[ImportedTask, DryRun]:
    """What nothing here can run is taken over as paused, with a note that says what is missing. A task that is in this
    store already stays as it is."""
    there = await _present(app, each)
    if there is not None:
        return each, DryRun(each.request, there, there.task)
    try:
        return each, await planned(app, each.request, paused=_ANY_NOTE if each.paused else None)
    except Refusal as refused:
        if refused.code != TARGET_NOT_SUPPORTED:
            raise
        return pause_unsupported(each), await planned(app, each.request, paused=_ANY_NOTE)


async def _present(app: CommandSession, each: ImportedTask) -> Facts | None:
    """The exported task itself, where the file is imported into the store that it came from."""
    for name in each.origins:
        facts = await app.facts(name) if name.startswith("tsk_") else None
        is_ours = facts is not None and facts.task.owner == (each.request.owner or await app.owner())
        if facts is not None and is_ours and facts.status.state not in _OVER:
            return facts
    return None


def _check_runs(runs: tuple[OldRun, ...], path: str, now: datetime) -> None:
    for run in runs:
        if run.past.status in _ENDS and not _is_past(run, now):
            ended = (run.over_by or run.planned).isoformat()
            raise placed(refuse_task("not_past", value=ended), f"{path}, {run.source}", f"{path},{run.source}")


def _is_past(run: OldRun, now: datetime) -> bool:
    try:
        check_past(run.planned, run.past.started, run.over_by, now=now)
    except Refusal:
        return False
    return run.over_by is not None


async def import_batch(
    app: CommandSession,
    incoming: Incoming,
    plan: Plan,
    note_of: Callable[[ImportedTask], str],
    progress: Callable[[int], None],
) -> ImportResult:
    tasks: _Made = {}
    stored: list[Task] = []
    new: set[str] = set()
    for number, (each, step) in enumerate(zip(plan.found, plan.planned, strict=True), 1):
        if each.paused and step.turn == "new":
            task = await app.service.tasks.create(app.principal, each.request, paused=note_of(each))
        elif step.turn == "same":
            task = step.after
        else:
            task = await app.service.tasks.declare(
                app.principal, each.request, paused=note_of(each) if each.paused else None
            )
        stored.append(task)
        if step.turn == "new":
            new.add(task.id)
        if each.request.key is not None:
            tasks[each.request.owner, each.request.key] = tasks[None, each.request.key] = task
        progress(number)
    lanes = {lane.name for lane in await app.service.lanes.all(app.principal)}
    for name, limit in incoming.lanes:
        if name not in lanes:
            await app.service.lanes.limit(app.principal, name, limit)
    for group in incoming.harvest.groups:
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


async def preview_import(app: CommandSession, incoming: Incoming, plan: Plan) -> ImportResult:
    """What `import_batch` will say that it took."""
    tasks: _Made = {}
    would = tuple(step.after for step in plan.planned)
    for each, step in zip(plan.found, plan.planned, strict=True):
        if each.request.key is not None:
            tasks[each.request.owner, each.request.key] = tasks[None, each.request.key] = step.after
    new = {step.after.id for step in plan.planned if step.turn == "new"}
    return _counted(incoming, await _history(app, incoming.runs, tasks, new))._replace(tasks=would)


class _History(NamedTuple):
    """`rows` are still to be written, by task; so many others are there already."""

    rows: dict[str, list[Run]]
    there: int


def _counted(incoming: Incoming, history: _History) -> ImportResult:
    taken = sum(map(len, history.rows.values()))
    return ImportResult(taken, len(incoming.runs) - taken - history.there, len(incoming.harvest.groups), history.there)


async def _history(app: CommandSession, runs: tuple[OldRun, ...], tasks: _Made, new: Collection[str]) -> _History:
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


def _of_tasks(runs: tuple[OldRun, ...], keys: Collection[_Key], now: datetime) -> dict[_Key, list[OldRun]]:
    """What can be kept: runs that are over, of tasks that are taken."""
    found: dict[_Key, list[OldRun]] = {}
    for run in runs:
        if (run.owner, run.key) in keys and run.past.status in _ENDS and _is_past(run, now):
            found.setdefault((run.owner, run.key), []).append(run)
    return found


async def _keep(app: CommandSession, history: _History) -> None:
    for task_id, rows in history.rows.items():
        for start in range(0, len(rows), _AT_ONCE):
            await app.service.tasks.import_history(app.principal, task_id, rows[start : start + _AT_ONCE])


def _row(task: Task, old: OldRun) -> Run:
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
        ended=old.over_by,
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
