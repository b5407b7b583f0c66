"""`horae ls`: one line for each task, one page at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, Literal, NamedTuple, TypeAlias

import typer

from ...errors import NotAllowed
from ...model.change import Facts
from ...model.events.trigger_fields import reached_no_listener
from ...model.ids import EPOCH, SHORT_TASK_DIGITS
from ...model.page import MAX_PAGE_SIZE
from ...model.run import Run, RunState
from ...model.task import FINISHED_STATES, TaskState
from ...ports.store import RunFilter, TaskFilter
from ...service.runs.overview import Overview
from ...wire.tasks import next_due, task_json
from ..command import Said, command
from ..messages import messages
from ..output.command_hints import note_next_page
from ..output.formatting import count_of, last_cell, next_column, state_cell, was_missed, when_cell
from ..output.printer import Printer
from ..output.styled_text import Cell, StyledText, cell_text
from ..output.table import STAYS, Fit, is_table
from ..output.width import terminal_width
from ..session.command_session import CommandSession, display_location, has_store, run_in_session
from ..task_filter import FILTERS, task_filter

Sort = Literal["created", "next"]
_DAY: Final = timedelta(days=1)
PAGE: Final = 100
_UNFINISHED: Final = frozenset(TaskState) - FINISHED_STATES
_MOST_SORTED: Final = 10_000
_MISSED: Final = ("skipped:missed_skipped", "skipped:merged", "skipped:stale")


class _Asking(NamedTuple):
    """`hides`: finished tasks are left out."""

    query: TaskFilter
    sort: Sort
    limit: int | None
    after: str | None
    hides: bool


class TaskList(NamedTuple):
    """`missed` is how many occurrences of each task nothing could run within the last day."""

    tasks: tuple[Facts, ...]
    last: dict[str, Run]
    missed: Counter[str]
    after: str | None
    overview: dict[str, int]
    now: datetime
    zone: str
    hidden: int = 0
    """So many finished tasks fit as well, and are not shown."""


def register(app: typer.Typer) -> None:
    command(app, "ls", groups={"wanted": FILTERS})(ls)


def ls(
    out: Printer,
    *,
    wanted: Said,
    sort: Sort = typer.Option("created", "--sort", help="In order of creation, or of what comes next."),
    limit: int = typer.Option(PAGE, "--limit", "-n", min=1, max=MAX_PAGE_SIZE, help="So many on a page."),
    after: str | None = typer.Option(None, "--after", help="Go on after this one; the page before says it."),
    everything: bool = typer.Option(False, "--all", "-a", help="Also what is finished, and all pages at once."),
) -> None:
    """List tasks."""
    query = task_filter(wanted)
    asking = _Asking(query, sort, None if everything else limit, after, hides=not everything and query.states is None)
    listed = run_in_session(out, lambda app: _listed(app, asking)) if has_store(out) else None
    if listed is None or not listed.tasks:
        _tell_none(out, filtered=query != TaskFilter() or after is not None, hidden=listed.hidden if listed else 0)
    elif out.json:
        out.data([_json(out, listed, facts) for facts in listed.tasks])
    elif out.quiet:
        out.ids([facts.task.id for facts in listed.tasks])
    else:
        _tell(out, listed)
    if listed is not None and listed.tasks and listed.hidden and not (out.json or out.plain):
        out.note(messages.FINISHED_HIDDEN, number=listed.hidden)
    if listed is not None and listed.after is not None:
        asked = {f"--{name}": value for name, value in wanted.items()}
        note_next_page(out, "ls", {**asked, "--limit": limit if limit != PAGE else None}, listed.after)


async def _listed(app: CommandSession, asking: _Asking) -> TaskList:
    query, hidden = asking.query, 0
    if asking.hides:
        hidden = (await app.service.tasks.count(app.principal, query._replace(states=FINISHED_STATES))).number
        # Without anything to hide, the plain filter is the cheaper one.
        query = query._replace(states=_UNFINISHED) if hidden else query
    tasks, following = await _tasks(app, query, asking.sort, asking.limit, asking.after)
    now, counts = app.clock.now(), await _counts(app)
    missed, whole = await _missed(app, now) if counts["missed"] else (Counter[str](), True)
    if whole:
        # The counts of the last day include tasks that were removed since.
        counts["missed"] = missed.total()
    last = await app.service.tasks.latest(app.principal, tasks)
    return TaskList(tasks, last, missed, following, counts, now, app.zone, hidden)


async def _counts(app: CommandSession) -> dict[str, int]:
    """Of all tasks, by state; and of what was missed. An agent has no overview: its own tasks are counted."""
    try:
        overview = await app.service.overview.now(app.principal)
    except NotAllowed as refusal:
        if refusal.code != "not_for_agents":
            raise
        found = {
            state.value: (await app.service.tasks.count(app.principal, TaskFilter(states=frozenset({state})))).number
            for state in TaskState
        }
        return found | {"missed": 1}
    return {state.value: number for state, number in overview.tasks.items()} | {"missed": _all_missed(overview)}


async def _tasks(
    app: CommandSession, query: TaskFilter, sort: Sort, limit: int | None, after: str | None
) -> tuple[tuple[Facts, ...], str | None]:
    if sort == "next" and query in (TaskFilter(), TaskFilter(states=_UNFINISHED)) and limit is not None:
        return await app.service.tasks.upcoming(app.principal, limit), None
    if sort == "next":
        found = await _every(app, query, _MOST_SORTED)
        return tuple(sorted(found, key=_soonest)[:limit]), None
    if limit is None:
        return await _every(app, query, None), None
    page = await app.service.tasks.page(app.principal, query, after, limit)
    return page.items, page.after


async def _every(app: CommandSession, query: TaskFilter, most: int | None) -> tuple[Facts, ...]:
    found: list[Facts] = []
    after: str | None = None
    while most is None or len(found) < most:
        page = await app.service.tasks.page(app.principal, query, after, MAX_PAGE_SIZE)
        found += page.items
        after = page.after
        if after is None:
            break
    return tuple(found)


def _soonest(facts: Facts) -> tuple[bool, datetime]:
    due = next_due(facts)
    return (due is None, due or EPOCH)


def _all_missed(overview: Overview) -> int:
    return sum(overview.outcomes.get(each, 0) for each in _MISSED)


async def _missed(app: CommandSession, now: datetime) -> tuple[Counter[str], bool]:
    """What nothing could run in the last day, by task, and whether that is all of it; asked only when the counts say that
    there was something."""
    found = Counter[str]()
    rows = RunFilter(states=frozenset({RunState.SKIPPED}), since=now - _DAY)
    page = await app.service.runs.page(app.principal, rows, limit=MAX_PAGE_SIZE)
    for run in page.items:
        if was_missed(run):
            found[run.task_id] += count_of(run)
    return found, page.after is None


def _json(out: Printer, listed: TaskList, facts: Facts) -> dict[str, Any]:
    task_id = facts.task.id
    return task_json(facts, out.language, listed.last.get(task_id), listed.missed[task_id])


def _tell(out: Printer, listed: TaskList) -> None:
    layouts = list(_layouts(out, listed))
    titles, rows, fits = next(
        (each for each in layouts if not out.on_terminal or is_table(each[0], each[1], terminal_width(), each[2])),
        layouts[0],
    )
    out.table(titles, rows, fits)
    if not out.plain:
        out.aside(StyledText(_footer(out, listed), "dim"))


_Layout: TypeAlias = tuple[list[str], list[list[Cell]], list[Fit]]
"""Titles, rows, and how each column gives way."""


def _layouts(out: Printer, listed: TaskList) -> Iterator[_Layout]:
    """The list as it is shown where there is room; then narrower ones: without how long it is to the next time, and with the
    ids that tell tasks of one name apart below their names."""
    columns, rows = _columns(out, listed), _rows(out, listed)
    yield _layout(out, columns, rows)
    if not out.on_terminal:
        return
    clocks = next_column(listed.tasks, listed.zone, listed.now, out.language, ahead=False)
    brief = [{**row, "next": clock} for row, clock in zip(rows, clocks, strict=True)]
    yield _layout(out, columns, brief)
    names = Counter(facts.task.name for facts in listed.tasks)
    named = {name: fit for name, fit in columns.items() if name != "id"}
    for each in (rows, brief):
        yield _layout(out, named, [_with_id(row) if names[str(row["name"])] > 1 else row for row in each])


def _with_id(row: dict[str, Cell]) -> dict[str, Cell]:
    return {**row, "name": [str(row["name"]), " ", StyledText(cell_text(row["id"]), "dim")]}


def _layout(out: Printer, columns: Mapping[str, Fit], rows: Sequence[Mapping[str, Cell]]) -> _Layout:
    titles = [out.translate(messages.TASK_COLUMNS[each]) for each in columns]
    return titles, [[row[each] for each in columns] for row in rows], list(columns.values())


def _columns(out: Printer, listed: TaskList) -> dict[str, Fit]:
    """The owner is shown where there are several; the id on a terminal, and it stays where names do not tell tasks apart."""
    if out.plain:
        return dict.fromkeys(("name", "when", "last", "next", "state", "id"), STAYS)
    columns = {
        "name": Fit(wrap=12),
        "when": Fit(1, wrap=14),
        "last": Fit(2, cut=14),
        "next": STAYS,
        "state": Fit(wrap=10),
    }
    if len({facts.task.owner for facts in listed.tasks}) > 1:
        columns = {"owner": Fit(1, wrap=8), **columns}
    if out.on_terminal:
        names = Counter(facts.task.name for facts in listed.tasks)
        columns["id"] = Fit(1 if names and names.most_common(1)[0][1] > 1 else 3)
    return columns


def _rows(out: Printer, listed: TaskList) -> list[dict[str, Cell]]:
    language = out.language
    ids = out.short_ids((facts.task.id for facts in listed.tasks), SHORT_TASK_DIGITS)
    coming = next_column(listed.tasks, listed.zone, listed.now, language)
    return [
        {
            "owner": facts.task.owner,
            "name": facts.task.name,
            "when": when_cell(facts.task.schedule, listed.zone, language),
            "last": last_cell(listed.last.get(facts.task.id), listed.missed[facts.task.id], listed.now, language),
            "next": following,
            "state": state_cell(facts, "en" if out.plain else language, whole=not out.on_terminal),
            "id": StyledText(ids[facts.task.id], "dim"),
        }
        for facts, following in zip(listed.tasks, coming, strict=True)
    ]


def _footer(out: Printer, listed: TaskList) -> str:
    counts = listed.overview
    total = sum(counts[state] for state in TaskState if not listed.hidden or state not in FINISHED_STATES)
    failing = sum(1 for facts in listed.tasks if _is_failing(facts))
    troubles = {
        "failing": failing,
        "failed": counts["failed"],
        "paused": counts["paused"],
        "missed": counts["missed"],
        "no_listener": sum(1 for facts in listed.tasks if _reached_no_listener(facts, listed.last)),
    }
    told = "".join(
        f" · {out.translate(messages.SO_MANY[name], number=each)}" for name, each in troubles.items() if each
    )
    return out.translate(messages.TASKS_FOOTER, shown=len(listed.tasks), total=total, troubles=told, zone=listed.zone)


def _reached_no_listener(facts: Facts, last: Mapping[str, Run]) -> bool:
    run = last.get(facts.task.id)
    return run is not None and reached_no_listener(facts.task.target.kind, run.result_json)


def _is_failing(facts: Facts) -> bool:
    return facts.status.state is TaskState.ACTIVE and facts.status.failures > 0


def _tell_none(out: Printer, *, filtered: bool, hidden: int) -> None:
    if out.json:
        out.data([])
    if hidden:
        out.note(messages.ONLY_FINISHED, number=hidden)
    elif filtered:
        out.note(messages.NONE_FIT)
    else:
        out.note(messages.NO_TASKS_YET, path=display_location(out))
