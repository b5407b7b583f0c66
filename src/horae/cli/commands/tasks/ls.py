"""`horae ls`: table of tasks with last and next run, one page at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import click

from ....errors import NotAllowed
from ....model.accounts.principal import Principal
from ....model.change import Facts
from ....model.events.trigger_fields import reached_no_listener
from ....model.ids import EPOCH, SHORT_TASK_DIGITS
from ....model.page import MAX_PAGE_SIZE
from ....model.run import Run, RunState
from ....model.task import FINISHED_STATES, TaskState
from ....ports.store import RunFilter, TaskFilter
from ....schedule.after import with_names
from ....service.runs.overview import Overview
from ....wire.tasks.task import next_due, task_json
from ...command import Command
from ...messages import messages
from ...output.command_hints import note_next_page
from ...output.formats import count_of, last_cell, next_column, state_cell, was_missed, when_cell
from ...output.printer import Printer
from ...output.styled_text import Cell, StyledText, cell_text, terminal_width
from ...output.table import STAYS, Fit, is_table
from ...parameters import Values, after_option, limit_option, one_of, typed_limit
from ...session.command_session import CommandSession, display_location, has_store, run_in_session
from ...task_filter import filter_options, load_task_filter, system_option
from .chain_tree import predecessor_names

Sort = Literal["created", "next"]
_DAY: Final = timedelta(days=1)
_UNFINISHED: Final = frozenset(TaskState) - FINISHED_STATES
_MAX_SORTED: Final = 10_000
_MISSED: Final = ("skipped:missed_skipped", "skipped:merged", "skipped:stale")


class _ListRequest(NamedTuple):
    """Arguments of the query. `hides`: finished tasks are left out."""

    query: TaskFilter
    sort: Sort
    limit: int | None
    after: str | None
    hides: bool
    system: bool = False
    """System tasks instead of others."""


class TaskList(NamedTuple):
    """One page of tasks. `missed`: occurrences of the last day that no node ran, by task."""

    tasks: tuple[Facts, ...]
    last: dict[str, Run]
    missed: Counter[str]
    after: str | None
    overview: dict[str, int]
    now: datetime
    zone: str
    hidden: int = 0
    """Number of finished tasks that match and are not shown."""
    names: Mapping[str, str] = {}
    """Names of the tasks that these run after, by id."""


@click.command("ls", cls=Command)
@filter_options
@click.option(
    "--sort",
    type=one_of(Sort),
    default="created",
    show_default=True,
    help="Order by creation, or by the next occurrence.",
)
@limit_option
@after_option
@click.option("--all", "-a", "everything", is_flag=True, help="Finished tasks too, and all pages at once.")
@system_option
def ls(
    out: Printer, *, filters: Values, sort: Sort, limit: int, after: str | None, everything: bool, system: bool
) -> None:
    """List tasks."""
    query = load_task_filter(out, filters)
    request = _ListRequest(
        query, sort, None if everything else limit, after, not everything and query.states is None, system
    )
    task_list = run_in_session(out, lambda app: _load(app, request)) if has_store(out) else None
    if task_list is None or not task_list.tasks:
        _show_empty(
            out,
            filtered=query != TaskFilter() or after is not None or system,
            hidden=task_list.hidden if task_list else 0,
        )
    elif out.json:
        out.data([_json(out, task_list, facts) for facts in task_list.tasks])
    elif out.quiet:
        out.ids([facts.task.id for facts in task_list.tasks])
    else:
        _show(out, task_list)
    if task_list is not None and task_list.tasks and task_list.hidden and not (out.json or out.plain):
        out.note(messages.FINISHED_HIDDEN, number=task_list.hidden)
    if task_list is not None and task_list.after is not None:
        options = {f"--{name}": value for name, value in filters.items()}
        note_next_page(out, "ls", {**options, "--system": system, "--limit": typed_limit(limit)}, task_list.after)


async def _load(app: CommandSession, request: _ListRequest) -> TaskList:
    query, hidden = request.query, 0
    reader = app.principal.as_system_reader() if request.system else app.principal
    if request.hides:
        hidden = (await app.service.tasks.count(reader, query._replace(states=FINISHED_STATES))).number
        # Without finished tasks, the filter without states is cheaper.
        query = query._replace(states=_UNFINISHED) if hidden else query
    tasks, next_cursor = await _tasks(app, reader, query, request.sort, request.limit, request.after)
    now, counts = app.clock.now(), await _counts(app, reader)
    missed, whole = await _missed_by_task(app, reader, now) if counts["missed"] else (Counter[str](), True)
    if whole:
        # The overview also counts missed runs of tasks that were removed since.
        counts["missed"] = missed.total()
    last = await app.service.tasks.latest(app.principal, tasks)
    names = await predecessor_names(app, *(facts.task for facts in tasks))
    return TaskList(tasks, last, missed, next_cursor, counts, now, app.zone, hidden, names)


async def _counts(app: CommandSession, reader: Principal) -> dict[str, int]:
    """Count tasks by state, and missed runs. An agent may not read the overview, so its own tasks are counted."""
    try:
        overview = await app.service.overview.now(reader)
    except NotAllowed as refusal:
        if refusal.code != "not_for_agents":
            raise
        found = {
            state.value: (await app.service.tasks.count(reader, TaskFilter(states=frozenset({state})))).number
            for state in TaskState
        }
        return found | {"missed": 1}
    return {state.value: number for state, number in overview.tasks.items()} | {"missed": _count_missed(overview)}


async def _tasks(
    app: CommandSession, reader: Principal, query: TaskFilter, sort: Sort, limit: int | None, after: str | None
) -> tuple[tuple[Facts, ...], str | None]:
    if sort == "next" and query in (TaskFilter(), TaskFilter(states=_UNFINISHED)) and limit is not None:
        return await app.service.tasks.upcoming(reader, limit), None
    if sort == "next":
        found = await _all_tasks(app, reader, query, _MAX_SORTED)
        return tuple(sorted(found, key=_next_due_key)[:limit]), None
    if limit is None:
        return await _all_tasks(app, reader, query, None), None
    page = await app.service.tasks.page(reader, query, after, limit)
    return page.items, page.after


async def _all_tasks(app: CommandSession, reader: Principal, query: TaskFilter, limit: int | None) -> tuple[Facts, ...]:
    found: list[Facts] = []
    after: str | None = None
    while limit is None or len(found) < limit:
        page = await app.service.tasks.page(reader, query, after, MAX_PAGE_SIZE)
        found += page.items
        after = page.after
        if after is None:
            break
    return tuple(found)


def _next_due_key(facts: Facts) -> tuple[bool, datetime]:
    due = next_due(facts)
    return (due is None, due or EPOCH)


def _count_missed(overview: Overview) -> int:
    return sum(overview.outcomes.get(each, 0) for each in _MISSED)


async def _missed_by_task(app: CommandSession, reader: Principal, now: datetime) -> tuple[Counter[str], bool]:
    """Count missed occurrences of the last day by task, and return whether one page held all of them."""
    found = Counter[str]()
    rows = RunFilter(states=frozenset({RunState.SKIPPED}), since=now - _DAY)
    page = await app.service.runs.page(reader, rows, limit=MAX_PAGE_SIZE)
    for run in page.items:
        if was_missed(run):
            found[run.task_id] += count_of(run)
    return found, page.after is None


def _json(out: Printer, task_list: TaskList, facts: Facts) -> dict[str, Any]:
    task_id = facts.task.id
    return task_json(
        facts, out.language, task_list.last.get(task_id), task_list.missed[task_id], task_list.names, now=task_list.now
    )


def _show(out: Printer, task_list: TaskList) -> None:
    layouts = list(_layouts(out, task_list))
    titles, rows, fits = next(
        (each for each in layouts if not out.on_terminal or is_table(each[0], each[1], terminal_width(), each[2])),
        layouts[0],
    )
    out.table(titles, rows, fits)
    if not out.plain:
        out.aside(StyledText(_footer(out, task_list), "dim"))


_Layout: TypeAlias = tuple[list[str], list[list[Cell]], list[Fit]]
"""Titles, rows, and how each column shrinks."""


def _layouts(out: Printer, task_list: TaskList) -> Iterator[_Layout]:
    """Yield the table layouts from wide to narrow: full, without relative next times, and with ids below the names."""
    columns, rows = _columns(out, task_list), _rows(out, task_list)
    yield _layout(out, columns, rows)
    if not out.on_terminal:
        return
    clocks = next_column(task_list.tasks, task_list.zone, task_list.now, out.language, ahead=False)
    brief = [{**row, "next": clock} for row, clock in zip(rows, clocks, strict=True)]
    yield _layout(out, columns, brief)
    names = Counter(facts.task.name for facts in task_list.tasks)
    named = {name: fit for name, fit in columns.items() if name != "id"}
    for each in (rows, brief):
        yield _layout(out, named, [_with_id(row) if names[str(row["name"])] > 1 else row for row in each])


def _with_id(row: dict[str, Cell]) -> dict[str, Cell]:
    return {**row, "name": [str(row["name"]), " ", StyledText(cell_text(row["id"]), "dim")]}


def _layout(out: Printer, columns: Mapping[str, Fit], rows: Sequence[Mapping[str, Cell]]) -> _Layout:
    titles = [out.translate(messages.TASK_COLUMNS[each]) for each in columns]
    return titles, [[row[each] for each in columns] for row in rows], list(columns.values())


def _columns(out: Printer, task_list: TaskList) -> dict[str, Fit]:
    """Columns of the table: the owner where there are several; the id on a terminal, kept where names are not unique."""
    if out.plain:
        return dict.fromkeys(("name", "when", "last", "next", "state", "id"), STAYS)
    columns = {
        "name": Fit(wrap=12),
        "when": Fit(1, wrap=14),
        "last": Fit(2, cut=14),
        "next": STAYS,
        "state": Fit(wrap=10),
    }
    if len({facts.task.owner for facts in task_list.tasks}) > 1:
        columns = {"owner": Fit(1, wrap=8), **columns}
    if out.on_terminal:
        names = Counter(facts.task.name for facts in task_list.tasks)
        columns["id"] = Fit(1 if names and names.most_common(1)[0][1] > 1 else 3)
    return columns


def _rows(out: Printer, task_list: TaskList) -> list[dict[str, Cell]]:
    language = out.language
    ids = out.short_ids((facts.task.id for facts in task_list.tasks), SHORT_TASK_DIGITS)
    coming = next_column(task_list.tasks, task_list.zone, task_list.now, language)
    return [
        {
            "owner": facts.task.owner,
            "name": facts.task.name,
            "when": when_cell(with_names(facts.task.schedule, task_list.names), task_list.zone, language),
            "last": last_cell(
                task_list.last.get(facts.task.id), task_list.missed[facts.task.id], task_list.now, language
            ),
            "next": next_cell,
            "state": state_cell(facts, "en" if out.plain else language, task_list.now, whole=not out.on_terminal),
            "id": StyledText(ids[facts.task.id], "dim"),
        }
        for facts, next_cell in zip(task_list.tasks, coming, strict=True)
    ]


def _footer(out: Printer, task_list: TaskList) -> str:
    counts = task_list.overview
    total = sum(counts[state] for state in TaskState if not task_list.hidden or state not in FINISHED_STATES)
    failing = sum(1 for facts in task_list.tasks if _is_failing(facts))
    troubles = {
        "failing": failing,
        "failed": counts["failed"],
        "paused": counts["paused"],
        "missed": counts["missed"],
        "no_listener": sum(1 for facts in task_list.tasks if _reached_no_listener(facts, task_list.last)),
    }
    trouble_text = "".join(
        f" · {out.translate(messages.SO_MANY[name], number=each)}" for name, each in troubles.items() if each
    )
    return out.translate(
        messages.TASKS_FOOTER, shown=len(task_list.tasks), total=total, troubles=trouble_text, zone=task_list.zone
    )


def _reached_no_listener(facts: Facts, last: Mapping[str, Run]) -> bool:
    run = last.get(facts.task.id)
    return run is not None and reached_no_listener(facts.task.target.kind, run.result_json)


def _is_failing(facts: Facts) -> bool:
    return facts.status.state is TaskState.ACTIVE and facts.status.failures > 0


def _show_empty(out: Printer, *, filtered: bool, hidden: int) -> None:
    if out.json:
        out.data([])
    if hidden:
        out.note(messages.ONLY_FINISHED, number=hidden)
    elif filtered:
        out.note(messages.NONE_FIT)
    else:
        out.note(messages.NO_TASKS_YET, path=display_location(out))
