"""The ledger and the list of tasks, read a page at a time. What goes on is kept apart from what has ended: a page is
made of both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...model.change import Facts
from ...model.ids import microseconds
from ...model.lane import DEFAULT_LIMIT, LaneUse, also_barred_as, owner_lane
from ...model.page import LARGEST_PAGE, Page
from ...model.reason import Reason
from ...model.route import DOORS
from ...model.run import LIVE, Run, RunState
from ...ports.store import RunFilter, TaskFilter
from ..codec.rows import REASONS, RUN_WIDTH, Row, run_from
from ..run_id_prefix import instants_in
from ..task_cache import Familiar
from .connection import Link
from .load_facts import Gathered
from .task_pages import task_rows

_ROWS_EACH: Final = 300
"""What it costs to look at all runs of one task, measured in rows of an index that are only passed by."""
_LATEST: Final = 2**63 - 1


async def read_tasks(link: Link, wanted: TaskFilter, after: str | None, limit: int) -> Page[Facts]:
    size = min(limit, LARGEST_PAGE)
    rows = await task_rows(link, wanted, int(after or 0), size + 1)
    return Page(await facts_of(link, rows[:size]), str(rows[size - 1][0]) if len(rows) > size else None)


async def read_upcoming(link: Link, owner: str | None, limit: int) -> tuple[Facts, ...]:
    size = min(limit, LARGEST_PAGE)
    entries = 2 * size
    while True:
        rows = await _soonest(link, owner, entries)
        # A task may have many entries, and counts once.
        found = list(dict.fromkeys((task, version) for task, version, _ in rows))
        if len(found) >= size or len(rows) < entries:
            return await facts_of(link, found[:size])
        entries *= 4


async def _soonest(link: Link, owner: str | None, most: int) -> list[Row]:
    if owner is not None and not await _is_large(link, owner, most, rows_each=1):
        return await link.query("upcoming_of_owner", owner, most)
    return await link.query("upcoming", owner, most)


async def _is_large(link: Link, owner: str, wanted: int, rows_each: int) -> bool:
    """Whether so many of an owner's rows are found sooner among everybody's than by way of the owner's own tasks.

    Of a share in all, so many stand in `wanted / share` rows; by way of the tasks, all of theirs are looked at.
    """
    mine, everybodys = (await link.query("tasks_of_owner_and_all", owner))[0]
    return bool(mine * mine * rows_each > wanted * everybodys)


async def read_stranded(link: Link, owner: str | None, limit: int) -> tuple[Facts, ...]:
    """Doors have names of their own, and stand together in the index."""
    size = min(limit, LARGEST_PAGE)
    found: list[Row] = []
    for door in DOORS:
        found += [tuple(row) for row in await link.query("stranded", door, door[:-1] + ";", owner, size)]
    return await facts_of(link, sorted(found)[:size])


async def read_latest(link: Link, task_ids: list[str]) -> dict[str, Run]:
    newest: dict[str, Run] = {}
    for row in await link.query("latest", task_ids):
        run = run_from(row, row[RUN_WIDTH])
        known = newest.get(run.task_id)
        if known is None or _order(known) < _order(run):
            newest[run.task_id] = run
    return newest


async def facts_of(link: Link, rows: Sequence[Row], *, with_lanes: bool = False) -> tuple[Facts, ...]:
    """Of tasks by number and version. In a list they carry no lanes: it does not say what a run would have to wait for."""
    numbers = [row[0] for row in rows]
    gathered = Gathered(Familiar(), {row[0]: row[1] for row in rows})
    await gathered.read_tasks(link)
    await gathered.read_entries(link, numbers)
    barred = await _barred(link, gathered)
    found = [_plain_facts(gathered, number, barred) for number in numbers if number in gathered.known]
    return tuple([facts._replace(lanes=await _lanes(link, facts)) for facts in found] if with_lanes else found)


async def _barred(link: Link, gathered: Gathered) -> dict[str, Reason | None]:
    tasks = [known.task for known in gathered.known.values()]
    names = sorted({name for task in tasks for name in (task.owner, task.lane) if name is not None})
    rows = await link.query("owners", [], names) if names else []
    return {name: REASONS[reason] for kind, name, reason in rows if kind == "barred"}


def _plain_facts(gathered: Gathered, number: int, barred: dict[str, Reason | None]) -> Facts:
    known = gathered.known[number]
    entries = gathered.entries.get(number, ())
    task = known.task
    reason = barred.get(task.owner) or barred.get(also_barred_as(task.owner, task.lane))
    return Facts(task, known.standing, entries, known.live, barred=reason)


async def _lanes(link: Link, facts: Facts) -> tuple[LaneUse, ...]:
    """As a decision would see them, without holding anything."""
    task, mine = facts.task, owner_lane(facts.task.owner)
    named = list(dict.fromkeys([lane for lane in (task.lane, mine) if lane is not None]))
    uses = {name: (seats, taken) for name, seats, taken in await link.query("lane_use", named)}
    lanes: list[LaneUse] = []
    for name in named:
        seats, taken = uses.get(name, (None, 0))
        if name != mine or seats is not None or name == task.lane:
            lanes.append(LaneUse(name, DEFAULT_LIMIT if seats is None else seats, taken))
    return tuple(lanes)


async def read_run(link: Link, run_id: str) -> Run | None:
    rows = await link.query("run_going", run_id)
    if not rows:
        instants = instants_in(run_id)
        rows = await link.query("run_over", run_id, *((0, -1) if instants is None else instants))
    return run_from(rows[0], rows[0][RUN_WIDTH]) if rows else None


async def read_runs(link: Link, wanted: RunFilter, after: str | None, limit: int) -> Page[Run]:
    size = min(limit, LARGEST_PAGE)
    planned, attempt, run_id = (_LATEST, 2**31 - 1, "") if after is None else after.split("/", 2)
    values = (
        int(planned),
        int(attempt),
        run_id,
        size + 1,
        wanted.owner,
        None if wanted.states is None else sorted(str(state) for state in wanted.states),
        None if wanted.since is None else microseconds(wanted.since),
        None if wanted.until is None else microseconds(wanted.until),
    )
    rows: list[Row] = []
    if wanted.states is None or wanted.states & LIVE:
        rows += await link.query("runs_page_going", *values, wanted.task_id)
    if wanted.states is None or wanted.states - LIVE:
        rows += await _page_of_ledger(link, wanted, size, values)
    runs = sorted((run_from(row, row[RUN_WIDTH]) for row in rows), key=_order, reverse=True)
    items = tuple(runs[:size])
    return Page(items, _key(items[-1]) if items and len(runs) > size else None)


async def _page_of_ledger(link: Link, wanted: RunFilter, size: int, values: tuple[Any, ...]) -> list[Row]:
    """By whichever index leaves the least to look at."""
    if wanted.task_id is not None:
        return await link.query("runs_page_of_task", *values, wanted.task_id)
    if wanted.owner is not None and not await _is_large(link, wanted.owner, size, _ROWS_EACH):
        return await link.query("runs_page_of_owner", *values)
    if wanted.states is None or RunState.SUCCEEDED in wanted.states:
        return await link.query("runs_page", *values)
    rows: list[Row] = []
    for state in wanted.states - LIVE:
        rows += await link.query("runs_page_in_state", *values, str(state))
    return rows


def _order(run: Run) -> tuple[int, int, str]:
    return microseconds(run.planned), run.attempt, run.id


def _key(run: Run) -> str:
    return f"{microseconds(run.planned)}/{run.attempt}/{run.id}"
