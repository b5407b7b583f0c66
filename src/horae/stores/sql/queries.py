"""What the service asks of a store on a server: tasks in and out, and the ledger read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from ...clock import SystemClock
from ...errors import Conflict, StoreError
from ...model.change import Change, ControlDecision, Facts
from ...model.counts import EVERYBODY, KEPT_HOURS, Counts, hour_of
from ...model.ids import microseconds
from ...model.lane import DEFAULT_LIMIT, LaneUse
from ...model.page import Page
from ...model.reason import Reason
from ...model.record import Writing
from ...model.run import Run
from ...ports.store import COUNTED_UP_TO, Node, RunFilter, TaskFilter, Waiting
from ..codec.rows import Row, node_from
from ..run_id_prefix import instants_of_prefix
from ..task_cache import Familiar
from .attached_records import write_beside
from .connection import Link
from .ledger import facts_of, read_latest, read_run, read_runs, read_stranded, read_tasks, read_upcoming
from .load_facts import Gathered, everything_of, held, one_by_id
from .row_batches import Sheets
from .transactions import Session
from .unit_of_work import Draft


class ServedBook:
    _session: Session
    _familiar: Familiar

    async def add(self, changes: Sequence[Change]) -> None:
        given = tuple(changes)
        if given:
            await self._session.transact(lambda link: add_to(link, given))

    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        async def work(link: Link) -> Facts | None:
            row = await one_by_id(link, task_id)
            if row is None or owner not in (None, row[1]):
                return None
            decided = await self._decide(link, row[0], decide)
            if decided is None:
                return None
            before, after = decided
            # Of a task that was deleted, the last that was known is the answer.
            return after or before

        return await self._session.transact(work)

    async def upsert(self, owner: str, key: str, decide: Callable[[Facts | None], Change]) -> Facts:
        async def edited(link: Link) -> tuple[Facts, Facts | None] | None:
            rows = await link.query("numbers_by_key", [owner], [key])
            return await self._decide(link, rows[0][2], decide) if rows else None

        async def made_or_edited(link: Link) -> Facts | None:
            if (decided := await edited(link)) is not None:
                return decided[1]
            try:
                return await _made(link, key, decide(None))
            except Conflict as refused:
                # Nothing is written before that: somebody may have made it since it was looked for.
                if refused.code != "key_taken" or (decided := await edited(link)) is None:
                    raise
                return decided[1]

        async def work(link: Link) -> Facts:
            after = await made_or_edited(link)
            if after is None:
                raise StoreError(f"The task with the key {key} was to be made or edited, and was deleted.")
            return after

        return await self._session.transact(work)

    async def _decide(
        self, link: Link, number: int, decide: Callable[[Facts], Change]
    ) -> tuple[Facts, Facts | None] | None:
        """The facts before and after; None when it is gone by now."""
        version = await held(link, number)
        if version is None:
            return None
        gathered, known, before = await everything_of(link, Familiar(), number, version)
        draft = Draft(gathered)
        draft.note(known, before.entries, await draft.only_new(link, number, decide(before)))
        await draft.finish(link)
        version = await held(link, number)
        return before, None if version is None else (await everything_of(link, Familiar(), number, version))[2]

    async def facts(self, task_id: str, owner: str | None) -> Facts | None:
        return await self._session.read(lambda link: _facts(link, "seen_by_id", [task_id], owner))

    async def find(self, owner: str, key: str) -> Facts | None:
        return await self._session.read(lambda link: _facts(link, "seen_by_key", [owner, key], None))

    async def tasks(self, wanted: TaskFilter, after: str | None = None, limit: int = 100) -> Page[Facts]:
        return await self._session.read(lambda link: read_tasks(link, wanted, after, limit))

    async def run(self, run_id: str, owner: str | None) -> Run | None:
        run = await self._session.read(lambda link: read_run(link, run_id))
        return run if run is not None and owner in (None, run.owner) else None

    async def runs(self, wanted: RunFilter, after: str | None = None, limit: int = 100) -> Page[Run]:
        return await self._session.read(lambda link: read_runs(link, wanted, after, limit))

    async def task_ids(self, prefix: str, owner: str | None, limit: int) -> tuple[str, ...]:
        return tuple(row[0] for row in await self._session.ask("task_ids", prefix, owner, limit))

    async def run_ids(self, prefix: str, owner: str | None, limit: int) -> tuple[str, ...]:
        first, last = instants_of_prefix(prefix) or (0, -1)
        going = await self._session.ask("run_ids_going", prefix, owner, limit)
        over = await self._session.ask("run_ids_over", prefix, owner, limit, first, last)
        return tuple(sorted({row[0] for row in (*going, *over)})[:limit])

    async def upcoming(self, owner: str | None, limit: int = 20) -> tuple[Facts, ...]:
        return await self._session.read(lambda link: read_upcoming(link, owner, limit))

    async def latest(self, task_ids: Sequence[str]) -> dict[str, Run]:
        given = list(task_ids)
        return await self._session.read(lambda link: read_latest(link, given)) if given else {}

    async def counts(self, owner: str | None, hours: Collection[int]) -> Counts:
        if not hours:
            return {}
        whose, this_hour = EVERYBODY if owner is None else owner, hour_of(SystemClock().now())
        rows = await self._session.ask("counts", list(hours), whose, this_hour, KEPT_HOURS)
        return {(hour, name): int(number) for hour, name, number in rows}

    async def output_bytes(self, owner: str) -> int:
        return int((await self._session.ask("output_bytes", owner))[0][0])

    async def waiting(self, owner: str | None, now: datetime) -> Waiting:
        rows = await self._session.ask("waiting", owner, microseconds(now), COUNTED_UP_TO)
        timed, ready, parked, stranded = rows[0]
        return Waiting(min(timed + ready, COUNTED_UP_TO), parked, stranded)

    async def stranded(self, owner: str | None, limit: int = 20) -> tuple[Facts, ...]:
        return await self._session.read(lambda link: read_stranded(link, owner, limit))

    async def lanes(self) -> tuple[LaneUse, ...]:
        rows = await self._session.ask("all_lanes")
        return tuple(LaneUse(name, DEFAULT_LIMIT if seats is None else seats, taken) for name, seats, taken in rows)

    async def nodes(self) -> tuple[Node, ...]:
        return tuple(node_from(row) for row in await self._session.ask("all_nodes"))

    async def drain(self, node: str, *, draining: bool = True, beside: Sequence[Writing] = ()) -> bool:
        async def work(link: Link) -> bool:
            if not await link.query("hold_node", node):
                return False
            await link.query("drain", int(draining), node)
            await write_beside(link, beside)
            return True

        return await self._session.transact(work)

    async def set_lane(self, name: str, limit: int, *, beside: Sequence[Writing] = ()) -> None:
        async def work(link: Link) -> None:
            await link.query("set_lane", name, limit)
            draft = Draft(Gathered(Familiar(), {}))
            draft.offer(name)
            draft.sheets.beside += beside
            await draft.finish(link)

        await self._session.transact(work)

    async def bar(self, owner: str, reason: Reason | None, *, beside: Sequence[Writing] = ()) -> None:
        async def work(link: Link) -> None:
            if reason is None:
                await link.query("unbar", owner)
            else:
                await link.query("bar", owner, reason)
            await write_beside(link, beside)

        await (self._session.transact if beside else self._session.at_once)(work)


async def add_to(link: Link, changes: Sequence[Change]) -> None:
    """Within whichever transaction the connection is in."""
    numbers = [number for (number,) in await link.query("task_numbers", len(changes))]
    if any(change.born for change in changes):
        draft = Draft(Gathered(Familiar(), {}))
        for number, change in zip(numbers, changes, strict=True):
            await draft.note_new(link, number, change)
        await draft.finish(link)
    else:
        sheets = Sheets()
        for number, change in zip(numbers, changes, strict=True):
            sheets.add(number, change)
        await sheets.write(link)
        if sheets.beside:
            await write_beside(link, sheets.beside)


async def _made(link: Link, key: str, change: Change) -> Facts | None:
    if change.task is None:
        raise StoreError(f"There is no task with the key {key}, and no new one was made.")
    await add_to(link, [change])
    return await _facts(link, "seen_by_id", [change.task.id], None)


async def _facts(link: Link, statement: str, values: list[str], owner: str | None) -> Facts | None:
    rows: list[Row] = await link.query(statement, *values)
    if not rows or owner not in (None, rows[0][1]):
        return None
    return (await facts_of(link, [(rows[0][0], rows[0][2])], with_lanes=True))[0]
