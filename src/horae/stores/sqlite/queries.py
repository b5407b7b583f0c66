"""What the service asks of the store in SQLite: tasks in and out, and the ledger read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Final

from ...errors import StoreError
from ...model.change import Change, ControlDecision, Facts
from ...model.counts import EVERYBODY, Counts
from ...model.ids import microseconds
from ...model.lane import DEFAULT_LIMIT, LaneUse
from ...model.page import Page
from ...model.reason import Reason
from ...model.record import Writing
from ...model.run import Run
from ...ports.store import COUNTED_UP_TO, Node, RunFilter, TaskFilter, Waiting
from ..codec.rows import node_from
from ..run_id_prefix import instants_of_prefix
from ..task_cache import Familiar
from .attached_records import write_beside
from .connection import Link, Row
from .ledger import glance_at_run, read_latest, read_run, read_runs, read_stranded, read_tasks, read_upcoming
from .load_facts import everything_of, one_by_id, one_by_key, these
from .readers import Readers
from .row_batches import Sheets
from .statements import sql
from .unit_of_work import Pending
from .write_requests import Share
from .writer import Writer

_LAST_TASK: Final = sql("last_task")
_COUNTS: Final = sql("counts")
_OUTPUT_BYTES: Final = sql("output_bytes")
_WAITING: Final = sql("waiting")
_ALL_LANES: Final = sql("all_lanes")
_TASK_IDS: Final = sql("task_ids")
_RUN_IDS: Final = sql("run_ids")
_ALL_NODES: Final = sql("all_nodes")
_DRAIN: Final = sql("drain")
_SET_LANE: Final = sql("set_lane")
_BAR: Final = sql("bar")
_UNBAR: Final = sql("unbar")
_MANY: Final = 64
_FEW: Final = 50


class SQLiteBook:
    _writer: Writer
    _readers: Readers
    _familiar: Familiar
    _seen: Familiar
    """What those who only read have seen; it is never more than was committed."""

    async def add(self, changes: Sequence[Change]) -> None:
        given = tuple(changes)
        if len(given) >= _MANY and not any(change.born for change in given):
            # The writer has other things to do than to spell a thousand schedules.
            sheets = await self._readers.work_out(lambda: _prepared(given))
            await self._writer.do(lambda link: _write(link, sheets), urgent=False)
        elif any(change.born for change in given):
            await self._writer.do(lambda link: add_all(link, self._familiar, given), urgent=False)
        elif given:
            share = Share(_writing, given)
            await self._writer.do(share.alone, urgent=False, share=share)

    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        def work(link: Link) -> Facts | None:
            row = one_by_id(link, task_id)
            if row is None or owner not in (None, row[1]):
                return None
            before, after = self._decide(link, row, decide)
            # Of a task that was deleted, the last that was known is the answer.
            return after or before

        return await self._writer.do(work)

    async def upsert(self, owner: str, key: str, decide: Callable[[Facts | None], Change]) -> Facts:
        def work(link: Link) -> Facts:
            row = one_by_key(link, owner, key)
            if row is None:
                change = decide(None)
                if change.task is None:
                    raise StoreError(f"There is no task with the key {key}, and no new one was made.")
                add_all(link, self._familiar, [change])
                made = one_by_id(link, change.task.id)
                after = None if made is None else everything_of(link, self._familiar, made)[2]
            else:
                _, after = self._decide(link, row, decide)
            if after is None:
                raise StoreError(f"The task with the key {key} was to be made or edited, and was deleted.")
            return after

        return await self._writer.do(work)

    def _decide(self, link: Link, row: Row, decide: Callable[[Facts], Change]) -> tuple[Facts, Facts | None]:
        """The facts before and after."""
        gathered, known, before = everything_of(link, self._familiar, row)
        pending = Pending(link, self._familiar)
        pending.note(known, before.entries, pending.only_new(known.number, decide(before)), gathered)
        pending.finish()
        after = one_by_id(link, before.task.id)
        return before, None if after is None else everything_of(link, self._familiar, after)[2]

    async def facts(self, task_id: str, owner: str | None) -> Facts | None:
        return await self._readers.at_once(lambda link: _facts(link, self._seen, one_by_id(link, task_id), owner))

    async def find(self, owner: str, key: str) -> Facts | None:
        return await self._readers.at_once(lambda link: _facts(link, self._seen, one_by_key(link, owner, key), None))

    async def tasks(self, wanted: TaskFilter, after: str | None = None, limit: int = 100) -> Page[Facts]:
        # Where nothing else has to fit, the page is the next few rows of an index.
        read = self._readers.at_once if limit <= _FEW and wanted == TaskFilter(wanted.owner) else self._readers.do
        return await read(lambda link: read_tasks(link, self._seen, wanted, after, limit))

    async def run(self, run_id: str, owner: str | None) -> Run | None:
        run = await self._readers.at_once(lambda link: glance_at_run(link, run_id))
        if run is None:
            # It may stand among a million of one instant: nobody else waits for that.
            run = await self._readers.do(lambda link: read_run(link, run_id))
        return run if run is not None and owner in (None, run.owner) else None

    async def runs(self, wanted: RunFilter, after: str | None = None, limit: int = 100) -> Page[Run]:
        return await self._readers.do(lambda link: read_runs(link, wanted, after, limit))

    async def task_ids(self, prefix: str, owner: str | None, limit: int) -> tuple[str, ...]:
        rows = await self._readers.ask(_TASK_IDS, {"prefix": prefix, "owner": owner, "limit": limit})
        return tuple(row[0] for row in rows)

    async def run_ids(self, prefix: str, owner: str | None, limit: int) -> tuple[str, ...]:
        first, last = instants_of_prefix(prefix) or (0, -1)
        rows = await self._readers.ask(
            _RUN_IDS, {"prefix": prefix, "owner": owner, "first": first, "last": last, "limit": limit}
        )
        return tuple(sorted(row[0] for row in rows)[:limit])

    async def upcoming(self, owner: str | None, limit: int = 20) -> tuple[Facts, ...]:
        return await self._readers.do(lambda link: read_upcoming(link, self._seen, owner, limit))

    async def latest(self, task_ids: Sequence[str]) -> dict[str, Run]:
        given = tuple(task_ids)
        return await self._readers.do(lambda link: read_latest(link, given))

    async def counts(self, owner: str | None, hours: Collection[int]) -> Counts:
        if not hours:
            return {}
        rows = await self._readers.ask(_COUNTS, (these(hours), EVERYBODY if owner is None else owner))
        return {(hour, name): number for hour, name, number in rows}

    async def output_bytes(self, owner: str) -> int:
        size: int = (await self._readers.ask(_OUTPUT_BYTES, (owner,)))[0][0]
        return size

    async def waiting(self, owner: str | None, now: datetime) -> Waiting:
        bindings = {"owner": owner, "now": microseconds(now), "most": COUNTED_UP_TO}
        timed, ready, parked, stranded = (await self._readers.ask(_WAITING, bindings))[0]
        return Waiting(min(timed + ready, COUNTED_UP_TO), parked, stranded)

    async def stranded(self, owner: str | None, limit: int = 20) -> tuple[Facts, ...]:
        return await self._readers.do(lambda link: read_stranded(link, self._seen, owner, limit))

    async def lanes(self) -> tuple[LaneUse, ...]:
        rows = await self._readers.ask(_ALL_LANES)
        return tuple(LaneUse(name, DEFAULT_LIMIT if seats is None else seats, taken) for name, seats, taken in rows)

    async def nodes(self) -> tuple[Node, ...]:
        return tuple(node_from(row) for row in await self._readers.ask(_ALL_NODES))

    async def drain(self, node: str, *, draining: bool = True, beside: Sequence[Writing] = ()) -> bool:
        def work(link: Link) -> bool:
            link.query(_DRAIN, (int(draining), node))
            known = link.changed > 0
            if known:
                write_beside(link, beside)
            return known

        return await self._writer.do(work)

    async def set_lane(self, name: str, limit: int, *, beside: Sequence[Writing] = ()) -> None:
        def work(link: Link) -> None:
            link.query(_SET_LANE, (name, limit))
            pending = Pending(link, self._familiar)
            pending.offer(name)
            pending.finish()
            write_beside(link, beside)

        await self._writer.do(work)

    async def bar(self, owner: str, reason: Reason | None, *, beside: Sequence[Writing] = ()) -> None:
        def work(link: Link) -> None:
            if reason is None:
                link.query(_UNBAR, (owner,))
            else:
                link.query(_BAR, (owner, reason))
            write_beside(link, beside)

        await self._writer.do(work)


def add_all(link: Link, familiar: Familiar, changes: Sequence[Change]) -> None:
    pending = Pending(link, familiar)
    for number, change in enumerate(changes, _next_task(link)):
        pending.note_new(number, change)
    pending.finish()


def _prepared(changes: Sequence[Change]) -> Sheets:
    sheets = Sheets()
    for number, change in enumerate(changes, 1):
        sheets.add(number, change)
    return sheets


def _writing(changes: Sequence[Change]) -> Callable[[Link], None]:
    sheets = _prepared(changes)
    return lambda link: _write(link, sheets)


def _write(link: Link, sheets: Sheets) -> None:
    sheets.count_from(_next_task(link))
    sheets.write(link)


def _next_task(link: Link) -> int:
    last = link.query(_LAST_TASK)
    return last[0][0] + 1 if last else 1


def _facts(link: Link, seen: Familiar, row: Row | None, owner: str | None) -> Facts | None:
    if row is None or owner not in (None, row[1]):
        return None
    gathered, _, facts = everything_of(link, seen, row)
    gathered.remember(seen)
    return facts
