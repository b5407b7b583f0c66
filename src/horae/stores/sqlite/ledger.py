"""The ledger and the list of tasks, read a page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...model.change import Facts
from ...model.ids import microseconds
from ...model.page import LARGEST_PAGE, Page
from ...model.route import DOORS
from ...model.run import LIVE, Run, RunState
from ...ports.store import RunFilter, TaskFilter
from ..codec.json_codecs import encode
from ..codec.rows import RUN_WIDTH, run_from
from ..run_id_prefix import instants_in
from ..task_cache import Familiar
from .connection import Link, Row
from .lane_state import named
from .load_facts import Gathered
from .statements import sql
from .task_pages import task_rows

_UPCOMING: Final = sql("upcoming")
_UPCOMING_READY: Final = sql("upcoming_ready")
_UPCOMING_OF_OWNER: Final = sql("upcoming_of_owner")
_TASKS_OF_OWNER_AND_ALL: Final = sql("tasks_of_owner_and_all")
_STRANDED: Final = sql("stranded")
_NEWEST: Final = sql("latest")
_RUN_LIVE: Final = sql("run_live")
_RUN_STRAY: Final = sql("run_stray")
_RUN_AT: Final = sql("run_at")
_RUN_AMONG_FEW: Final = sql("run_among_few")
_RUNS_PAGE: Final = sql("runs_page")
_RUNS_PAGE_OF_TASK: Final = sql("runs_page_of_task")
_RUNS_PAGE_OF_OWNER: Final = sql("runs_page_of_owner")
_RUNS_PAGE_LIVE: Final = sql("runs_page_live")
_RUNS_PAGE_IN_TROUBLE: Final = sql("runs_page_in_trouble")


_ROWS_EACH: Final = 300
"""What it costs to look at all runs of one task, measured in rows of an index that are only passed by."""

_LATEST: Final = 2**63 - 1


def read_tasks(link: Link, seen: Familiar, wanted: TaskFilter, after: str | None, limit: int) -> Page[Facts]:
    size = min(limit, LARGEST_PAGE)
    rows = task_rows(link, wanted, int(after or 0), size + 1)
    return Page(_facts_of(link, seen, rows[:size]), str(rows[size - 1][0]) if len(rows) > size else None)


def read_upcoming(link: Link, seen: Familiar, owner: str | None, limit: int) -> tuple[Facts, ...]:
    size = min(limit, LARGEST_PAGE)
    entries = 2 * size
    while True:
        rows = _soonest(link, owner, entries)
        # A task may have many entries, and counts once.
        found = list(dict.fromkeys((task, version) for task, version, _ in rows))
        if len(found) >= size or len(rows) < entries:
            return _facts_of(link, seen, found[:size])
        entries *= 4


def _soonest(link: Link, owner: str | None, most: int) -> list[Row]:
    if owner is not None and not _is_large(link, owner, most, rows_each=1):
        return link.query(_UPCOMING_OF_OWNER, (owner, most))
    bindings = {"owner": owner, "limit": most}
    rows = [*link.query(_UPCOMING_READY, bindings), *link.query(_UPCOMING, bindings)]
    return sorted(rows, key=lambda row: row[2])[:most]


def _is_large(link: Link, owner: str, wanted: int, rows_each: int) -> bool:
    """Whether so many of an owner's rows are found sooner among everybody's than by way of the owner's own tasks.

    Of a share in all, so many stand in `wanted / share` rows; by way of the tasks, all of theirs are looked at.
    """
    mine, everybodys = link.query(_TASKS_OF_OWNER_AND_ALL, {"owner": owner})[0]
    return bool(mine * mine * rows_each > wanted * everybodys)


def read_stranded(link: Link, seen: Familiar, owner: str | None, limit: int) -> tuple[Facts, ...]:
    """Doors have names of their own, and stand together in the index."""
    size = min(limit, LARGEST_PAGE)
    doors = [{"from": door, "to": door[:-1] + ";", "owner": owner, "limit": size} for door in DOORS]
    found = [row for each in doors for row in link.query(_STRANDED, each)]
    return _facts_of(link, seen, sorted(found)[:size])


def read_latest(link: Link, task_ids: Sequence[str]) -> dict[str, Run]:
    rows = link.query(_NEWEST, (named(task_ids),)) if task_ids else []
    return {row[RUN_WIDTH]: run_from(row, row[RUN_WIDTH]) for row in rows}


def _facts_of(link: Link, seen: Familiar, rows: Sequence[Row]) -> tuple[Facts, ...]:
    """They carry no lanes: a list does not say what a run would have to wait for."""
    numbers = [row[0] for row in rows]
    gathered = Gathered(link, seen, dict(rows))
    gathered.read_entries(numbers)
    gathered.remember(seen)
    found = [gathered.facts(gathered.known[each], gathered.entries.get(each, ())) for each in numbers]
    return tuple([facts._replace(lanes=()) if facts.lanes else facts for facts in found])


def glance_at_run(link: Link, run_id: str) -> Run | None:
    """One that goes on, or stands among the first of its instant; None: whoever wants to know must look at all of them."""
    for statement in (_RUN_LIVE, _RUN_STRAY):
        for row in link.query(statement, (run_id,)):
            return run_from(row, row[RUN_WIDTH])
    return _run_at(link, _RUN_AMONG_FEW, run_id)


def read_run(link: Link, run_id: str) -> Run | None:
    return glance_at_run(link, run_id) or _run_at(link, _RUN_AT, run_id)


def _run_at(link: Link, statement: str, run_id: str) -> Run | None:
    instants = instants_in(run_id)
    rows = [] if instants is None else link.query(statement, (*instants, run_id))
    return run_from(rows[0], rows[0][RUN_WIDTH]) if rows else None


def read_runs(link: Link, wanted: RunFilter, after: str | None, limit: int) -> Page[Run]:
    size = min(limit, LARGEST_PAGE)
    planned, attempt, run_id = (_LATEST, _LATEST, "") if after is None else after.split("/", 2)
    bindings: dict[str, Any] = {
        "planned": int(planned),
        "attempt": int(attempt),
        "id": run_id,
        "owner": wanted.owner,
        "states": None if wanted.states is None else encode(sorted(wanted.states)),
        "since": None if wanted.since is None else microseconds(wanted.since),
        "until": None if wanted.until is None else microseconds(wanted.until),
        "limit": size + 1,
    }
    if wanted.task_id is not None:
        bindings["task_id"] = wanted.task_id
    rows = _run_rows(link, wanted, size, bindings)
    items = tuple(run_from(row, row[RUN_WIDTH]) for row in rows[:size])
    return Page(items, _key(items[-1]) if items and len(rows) > size else None)


def _run_rows(link: Link, wanted: RunFilter, size: int, bindings: dict[str, Any]) -> list[Row]:
    """By whichever index leaves the least to look at."""
    if wanted.task_id is not None:
        return link.query(_RUNS_PAGE_OF_TASK, bindings)
    if wanted.states is not None and wanted.states <= LIVE:
        return link.query(_RUNS_PAGE_LIVE, bindings)
    if wanted.owner is not None and not _is_large(link, wanted.owner, size, _ROWS_EACH):
        return link.query(_RUNS_PAGE_OF_OWNER, bindings)
    if wanted.states is None or RunState.SUCCEEDED in wanted.states:
        return link.query(_RUNS_PAGE, bindings)
    return _state_by_state(link, wanted.states, bindings)


def _state_by_state(link: Link, states: frozenset[RunState], bindings: dict[str, Any]) -> list[Row]:
    """Each in order by its index; what goes on stands in another one."""
    rows = link.query(_RUNS_PAGE_LIVE, bindings) if states & LIVE else []
    for state in states - LIVE:
        rows += link.query(_RUNS_PAGE_IN_TROUBLE, bindings | {"state": state})
    return sorted(rows, key=_newness, reverse=True)[: bindings["limit"]] if len(states) > 1 else rows


def _newness(row: Row) -> tuple[int, int, str]:
    return row[5], row[7], row[1]


def _key(run: Run) -> str:
    return f"{microseconds(run.planned)}/{run.attempt}/{run.id}"
