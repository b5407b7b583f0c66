"""Reads of the Book port on Redis: pages of tasks and runs, chains, lanes, nodes, counters and waiting entries."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Final

from ....clock import Clock
from ....model.accounts.system_owner import is_readable
from ....model.chain_row import ChainRow
from ....model.change import Facts
from ....model.counts import Counts, counters_key
from ....model.ids import planned_range_of_prefix, to_microseconds
from ....model.lanes.lane import LaneLine, LaneQueue, LaneUse, block_reason
from ....model.origin import RootOccurrence
from ....model.page import MAX_PAGE_SIZE, Page
from ....model.run import Run
from ....ports.store import Node, RunFilter, TaskFilter, WaitingCounts
from ...run_pages import newest_by_task, newest_key
from ..journal import decode_line
from ..layout.counters import newest_hour, parse_counts, retained_counts
from ..layout.documents import TaskDocument, decode_chain_document
from ..layout.keys import RUN_RANK_LENGTH, planned_prefix, run_member
from ..layout.lane_documents import decode_lane, decode_limits
from ..layout.node_documents import read_nodes
from ..transactions.book_writes import lane_use_of
from ..transactions.runner import RedisTransactions
from .agenda_reads import count_waiting, read_lane_line, read_lane_queues, read_queued, read_stranded, read_upcoming
from .index_reads import fetch_runs, fetch_tasks, fetch_texts, find_run, read_at_once, read_tasks, read_texts
from .run_pages import read_runs
from .task_pages import count_tasks, find_tasks

_EARLIEST: Final = -(2**61)
_LATEST: Final = 2**61
_CHUNK: Final = 500


class RedisBookReads:
    _clock: Clock
    _database: RedisTransactions

    # --- tasks ---------------------------------------------------------------------------------------------------------

    async def tasks(self, task_filter: TaskFilter, after: str | None = None, limit: int = 100) -> Page[Facts]:
        size = min(limit, MAX_PAGE_SIZE)
        documents = await find_tasks(self._database, task_filter, int(after or 0), size + 1)
        cursor = str(documents[size - 1].number) if size and len(documents) > size else None
        return Page(await self._listed(documents[:size]), cursor)

    async def _listed(self, documents: Iterable[TaskDocument]) -> tuple[Facts, ...]:
        """Return the facts as lists have them: without lanes, with the reason for which the owner is blocked."""
        found = list(documents)
        if not found:
            return ()
        (text,) = await read_texts(self._database, [self._database.keys.limits])
        blocked = decode_limits(text).blocked
        if not blocked:
            return tuple([document.facts for document in found])
        return tuple(
            [
                each.facts._replace(block_reason=block_reason(each.task.owner, each.task.lane, blocked.get))
                for each in found
            ]
        )

    async def count_tasks(self, task_filter: TaskFilter, limit: int) -> int:
        return await count_tasks(self._database, task_filter, limit)

    async def task_ids(self, prefix: str, owner: str | None, limit: int) -> tuple[str, ...]:
        found: list[str] = []
        start = f"[{prefix}"
        while len(found) < limit:
            words = ("ZRANGEBYLEX", self._database.keys.task_ids, start, f"[{prefix}\U0010ffff", "LIMIT", 0, _CHUNK)
            documents = await fetch_tasks(self._database, words)
            found += [each.task.id for each in documents if is_readable(owner, each.task.owner)]
            if len(documents) < _CHUNK:
                break
            start = f"({documents[-1].task.id}"
        return tuple(found[:limit])

    async def task_names(self, task_ids: Sequence[str], owner: str | None) -> dict[str, str]:
        documents = await read_tasks(self._database, task_ids)
        return {each.task.id: each.task.name for each in documents if is_readable(owner, each.task.owner)}

    async def upcoming(self, owner: str | None, limit: int = 20) -> tuple[Facts, ...]:
        return await self._listed(await read_upcoming(self._database, owner, min(limit, MAX_PAGE_SIZE)))

    async def stranded(self, owner: str | None, now: datetime, limit: int = 20) -> tuple[Facts, ...]:
        return await self._listed(await read_stranded(self._database, owner, now, min(limit, MAX_PAGE_SIZE)))

    async def waiting(self, owner: str | None, now: datetime) -> WaitingCounts:
        return await count_waiting(self._database, owner, now)

    # --- runs ----------------------------------------------------------------------------------------------------------

    async def run(self, run_id: str, owner: str | None) -> Run | None:
        run = await find_run(self._database, run_id)
        return run if run is not None and is_readable(owner, run.owner) else None

    async def runs(self, run_filter: RunFilter, after: str | None = None, limit: int = 100) -> Page[Run]:
        return await read_runs(self._database, run_filter, after, limit)

    async def run_ids(self, prefix: str, owner: str | None, limit: int) -> tuple[str, ...]:
        keys = self._database.keys
        strays = ("ZRANGEBYLEX", keys.stray_runs, f"[{prefix}", f"[{prefix}\U0010ffff")
        runs = await fetch_runs(self._database, strays, is_ranked=False)
        instants = planned_range_of_prefix(prefix)
        if instants is not None:
            first, last = (planned_prefix(min(max(each, _EARLIEST), _LATEST)) for each in instants)
            words = ("ZRANGEBYLEX", keys.runs, f"[{first}", f"[{last}~")
            members = [each[RUN_RANK_LENGTH:] for each in await self._database.client.call(*words)]
            named = [("ECHO", run_id) for run_id in members if run_id.startswith(prefix)]
            runs += await fetch_runs(self._database, *named, is_ranked=False)
        return tuple(sorted({run.id for run in runs if is_readable(owner, run.owner)})[:limit])

    async def latest(self, task_ids: Sequence[str]) -> dict[str, Run]:
        commands = [("ZRANGE", self._database.keys.task_runs(each), -1, -1) for each in dict.fromkeys(task_ids)]
        return {run.task_id: run for run in await fetch_runs(self._database, *commands)}

    async def outcomes(
        self, task_ids: Sequence[str], limit: int, since: datetime | None = None
    ) -> dict[str, tuple[Run, ...]]:
        keys = self._database.keys
        first = "-" if since is None else f"[{planned_prefix(to_microseconds(since))}"
        commands = [
            ("ZREVRANGEBYLEX", keys.task_runs(each), "+", first, "LIMIT", 0, limit) for each in dict.fromkeys(task_ids)
        ]
        runs = await fetch_runs(self._database, *commands)
        return newest_by_task((run._replace(result_json=None, error=None, input=None) for run in runs), limit)

    async def output_bytes(self, owner: str) -> int:
        keys, start, size = self._database.keys, "-", 0
        while True:
            words = ("ZRANGEBYLEX", keys.owner_runs(owner), start, "+", "LIMIT", 0, _CHUNK)
            runs = await fetch_runs(self._database, words)
            texts: list[str | None] = []
            for run in runs:
                texts += (run.result_json, run.error, None if run.input is None else run.input.text)
            logs = await read_at_once(self._database, [("LRANGE", keys.log(run.id), 0, -1) for run in runs])
            texts += [decode_line("", line).text for log in logs for line in log]
            size += sum(len(text.encode(errors="replace")) for text in texts if text is not None)
            if len(runs) < _CHUNK:
                return size
            planned, attempt, run_id = newest_key(runs[-1])
            start = f"({run_member(planned, attempt, run_id)}"

    # --- chains --------------------------------------------------------------------------------------------------------

    async def chain(self, root: RootOccurrence) -> tuple[ChainRow, ...]:
        keys = self._database.keys
        task_ids = await self._database.client.call("ZRANGE", keys.root_chains(root.key), 0, -1)
        texts = await read_texts(self._database, [keys.chain(each, root.key) for each in task_ids])
        numbers = await read_at_once(self._database, [("ZSCORE", keys.task_numbers, each) for each in task_ids])
        found = [
            (float(number), text)
            for number, text in zip(numbers, texts, strict=True)
            if number is not None and text is not None
        ]
        return tuple(decode_chain_document(text) for _, text in sorted(found))

    async def chain_rows(self, task_id: str, until: datetime, limit: int) -> tuple[ChainRow, ...]:
        keys, index = self._database.keys, self._database.keys.task_chains(task_id)
        last = to_microseconds(until)
        words = ("ZREVRANGEBYSCORE", index, last, "-inf", "LIMIT", 0, limit)
        rows = await fetch_texts(self._database, words, keys.chain(task_id, ""))
        if not rows:
            return ()
        # Among rows that changed at one instant the first by root are listed: read all of the earliest instant.
        first = min(to_microseconds(decode_chain_document(text).updated) for _, text in rows)
        ties = await fetch_texts(self._database, ("ZRANGEBYSCORE", index, first, first), keys.chain(task_id, ""))
        found = {root: decode_chain_document(text) for root, text in (*rows, *ties)}
        ordered = sorted(found.values(), key=lambda row: (-to_microseconds(row.updated), row.root.key))
        return tuple(ordered[:limit])

    # --- lanes, nodes and counters -------------------------------------------------------------------------------------

    async def lanes(self) -> tuple[LaneUse, ...]:
        keys = self._database.keys
        rows = await fetch_texts(self._database, ("ZRANGE", keys.lanes, 0, -1), keys.lane(""))
        found = [(name, decode_lane(text)) for name, text in rows]
        return tuple(lane_use_of(name, lane) for name, lane in found if lane.limit is not None or lane.taken)

    async def lane_queues(self) -> tuple[LaneQueue, ...]:
        return await read_lane_queues(self._database)

    async def queued(self, lane: str, limit: int = 20) -> tuple[Facts, ...]:
        return await self._listed(await read_queued(self._database, lane, min(limit, MAX_PAGE_SIZE)))

    async def lane_line(self, lane: str, limit: int = 10_000) -> LaneLine:
        return await read_lane_line(self._database, lane, limit)

    async def lane_runs(self, lane: str, limit: int = 20) -> tuple[Run, ...]:
        words = ("ZRANGE", self._database.keys.lane_runs(lane), 0, limit - 1)
        return tuple(await fetch_runs(self._database, words, is_ranked=False)) if limit > 0 else ()

    async def nodes(self) -> tuple[Node, ...]:
        return await read_nodes(self._database.client, self._database.keys)

    async def counts(self, owner: str | None, hours: Collection[int]) -> Counts:
        if not hours:
            return {}
        counts = parse_counts(
            await self._database.client.call("HGETALL", self._database.keys.counters(counters_key(owner)))
        )
        kept = retained_counts(counts, await newest_hour(self._database, self._clock.now()))
        return {(hour, name): number for (hour, name), number in kept.items() if hour in hours}
