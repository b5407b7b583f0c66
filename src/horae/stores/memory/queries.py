"""Book port of the in-memory store: task writes of the service, and paginated queries of tasks, runs, lanes and nodes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice, takewhile
from typing import TypeVar

from ...errors import StoreError
from ...model.accounts.system_owner import is_listed, is_readable, is_scope
from ...model.chain_row import ChainRow
from ...model.change import Change, ControlDecision, Facts
from ...model.counts import Counts, counters_key
from ...model.entry import CLAIMABLE, EntryState
from ...model.ids import from_microseconds, planned_range_of_prefix, to_microseconds
from ...model.lanes.lane import MAX_LANE_LIMIT, LaneLine, LaneQueue, LaneUse, LaneWaiter
from ...model.lanes.rate import RateChange
from ...model.lanes.route import is_queue, is_route
from ...model.origin import RootOccurrence
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.reason import Reason
from ...model.record import RecordWrite
from ...model.run import Run
from ...ports.store import MAX_COUNTED, Node, RunFilter, TaskFilter, WaitingCounts
from ..filters import run_matches, task_matches
from .data import Data
from .runs import rank_of
from .sorted_keys import RunRank

_T = TypeVar("_T")


class MemoryBook:
    _data: Data

    async def add(self, changes: Sequence[Change]) -> None:
        with self._data.transaction():
            for change in changes:
                if change.task is None or change.task.id in self._data.tasks:
                    raise StoreError("Only new tasks can be added; nothing was written.")
                self._data.apply(change.task.id, change)

    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        with self._data.lock:
            before = self._data.facts(task_id, owner)
            if before is None:
                return None
            with self._data.transaction():
                self._data.apply(task_id, decide(before))
            # For a deleted task, return its last facts.
            return self._data.facts(task_id) or before

    async def upsert(self, owner: str, key: str, decide: Callable[[Facts | None], Change]) -> Facts:
        with self._data.lock:
            existing_id = self._data.tasks.with_key(owner, key)
            with self._data.transaction():
                change = decide(None if existing_id is None else self._data.facts(existing_id))
                task_id = existing_id or (None if change.task is None else change.task.id)
                if task_id is None or (existing_id is None and task_id in self._data.tasks):
                    raise StoreError(f"There is no task with the key {key}, and no new one was made.")
                self._data.apply(task_id, change)
            after = self._data.facts(task_id)
            if existing_id is None:
                after = _without_waiters(self._data, after)
            if after is None:
                raise StoreError(f"The task with the key {key} was to be made or edited, and was deleted.")
            return after

    async def facts(self, task_id: str, owner: str | None) -> Facts | None:
        with self._data.lock:
            return _without_waiters(self._data, self._data.facts(task_id, owner))

    async def find(self, owner: str, key: str) -> Facts | None:
        with self._data.lock:
            task_id = self._data.tasks.with_key(owner, key)
            return None if task_id is None else _without_waiters(self._data, self._data.facts(task_id))

    async def tasks(self, task_filter: TaskFilter, after: str | None = None, limit: int = 100) -> Page[Facts]:
        with self._data.lock:
            matches = self._matching(task_filter, None if after is None else (int(after), "~"))
            return _page(matches, limit, lambda facts: str(self._data.numbers[facts.task.id]))

    async def count_tasks(self, task_filter: TaskFilter, limit: int) -> int:
        with self._data.lock:
            return sum(1 for _ in islice(self._matching(task_filter, None), limit))

    def _matching(self, task_filter: TaskFilter, start: tuple[int, str] | None) -> Iterator[Facts]:
        order = self._data.numbers.order
        if task_filter.labels:
            owner = None if is_scope(task_filter.owner) else task_filter.owner
            order = self._data.tasks.labels.tasks_with_rarest(owner, task_filter.labels)
        ids = (each for _, each in order.ascending(start))
        all_facts = (self._data.facts(task_id, lanes=False) for task_id in ids)
        return (facts for facts in all_facts if facts is not None and task_matches(facts, task_filter))

    async def run(self, run_id: str, owner: str | None) -> Run | None:
        with self._data.lock:
            run = self._data.runs.get(run_id)
            return run if run is not None and is_readable(owner, run.owner) else None

    async def runs(self, run_filter: RunFilter, after: str | None = None, limit: int = 100) -> Page[Run]:
        with self._data.lock:
            runs = self._data.runs
            order = runs.order if run_filter.task_id is None else runs.history(run_filter.task_id)
            newest_first = order.descending(None if after is None else _decode_rank(after))
            matches = (run for *_, each in newest_first if run_matches(run := runs[each], run_filter))
            return _page(matches, limit, lambda run: _encode_rank(rank_of(run)))

    async def chain(self, root: RootOccurrence) -> tuple[ChainRow, ...]:
        with self._data.lock:
            return tuple(sorted(self._data.chain_rows.of_root(root), key=lambda row: self._data.numbers[row.task_id]))

    async def chain_rows(self, task_id: str, until: datetime, limit: int) -> tuple[ChainRow, ...]:
        with self._data.lock:
            rows = [row for row in self._data.chain_rows.of_task(task_id) if row.updated <= until]
            return tuple(sorted(rows, key=lambda row: (to_microseconds(row.updated) * -1, row.root.key))[:limit])

    async def task_ids(self, prefix: str, owner: str | None, limit: int) -> tuple[str, ...]:
        with self._data.lock:
            tasks = self._data.tasks
            matches = takewhile(lambda each: each.startswith(prefix), tasks.order.ascending_from(prefix))
            return tuple(islice((each for each in matches if is_readable(owner, tasks[each].owner)), limit))

    async def run_ids(self, prefix: str, owner: str | None, limit: int) -> tuple[str, ...]:
        with self._data.lock:
            runs, instants = self._data.runs, planned_range_of_prefix(prefix)
            matches = list(takewhile(lambda each: each.startswith(prefix), runs.strays.ascending_from(prefix)))
            if instants is not None:
                matches += (each for each in runs.planned_between(*instants) if each.startswith(prefix))
            return tuple(sorted(islice((each for each in matches if is_readable(owner, runs[each].owner)), limit)))

    async def upcoming(self, owner: str | None, limit: int = 20) -> tuple[Facts, ...]:
        with self._data.lock:
            entries = (each for each in self._data.entries if is_listed(owner, each.owner) and each.state in CLAIMABLE)
            ids = dict.fromkeys(each.task_id for each in sorted(entries, key=lambda each: (each.due, each.task_id)))
            all_facts = (self._data.facts(task_id, lanes=False) for task_id in islice(ids, min(limit, MAX_PAGE_SIZE)))
            return tuple(facts for facts in all_facts if facts is not None)

    async def latest(self, task_ids: Sequence[str]) -> dict[str, Run]:
        with self._data.lock:
            runs = self._data.runs
            newest = (
                runs[run_id] for each in task_ids for *_, run_id in islice(runs.history(each).descending(None), 1)
            )
            return {run.task_id: run for run in newest}

    async def outcomes(
        self, task_ids: Sequence[str], limit: int, since: datetime | None = None
    ) -> dict[str, tuple[Run, ...]]:
        with self._data.lock:
            found = {each: self._newest_outcomes(each, limit, since) for each in task_ids}
            return {task_id: runs for task_id, runs in found.items() if runs}

    def _newest_outcomes(self, task_id: str, limit: int, since: datetime | None) -> tuple[Run, ...]:
        runs = self._data.runs
        ranks = runs.history(task_id).descending(None)
        recent = takewhile(lambda rank: since is None or rank[0] >= since, ranks)
        return tuple(
            runs[run_id]._replace(result_json=None, error=None, input=None) for *_, run_id in islice(recent, limit)
        )

    async def task_names(self, task_ids: Sequence[str], owner: str | None) -> dict[str, str]:
        with self._data.lock:
            tasks = (self._data.tasks.get(each) for each in task_ids)
            return {task.id: task.name for task in tasks if task is not None and is_readable(owner, task.owner)}

    async def counts(self, owner: str | None, hours: Collection[int]) -> Counts:
        with self._data.lock:
            return self._data.counters.for_owner(counters_key(owner), frozenset(hours))

    async def output_bytes(self, owner: str) -> int:
        with self._data.lock:
            runs, lines = self._data.runs, self._data.lines
            owned = [task.id for task in self._data.tasks if task.owner == owner]
            ids = [run_id for task_id in owned for *_, run_id in runs.history(task_id).ascending(None)]
            texts = [text for each in ids for text in _stored_texts(runs[each])]
            texts += [line.text for each in ids for line in lines.get(each) or ()]
            return sum(len(text.encode(errors="replace")) for text in texts if text is not None)

    async def waiting(self, owner: str | None, now: datetime) -> WaitingCounts:
        with self._data.lock:
            entries = [each for each in self._data.entries if is_listed(owner, each.owner)]
            parked = [is_route(each.lane) for each in entries if each.state is EntryState.PARKED]
            due = [is_queue(each.lane) for each in entries if each.state in CLAIMABLE and each.due <= now]
            counted = (len(due) - sum(due), len(parked) - sum(parked), sum(parked) + sum(due))
            return WaitingCounts(*(min(each, MAX_COUNTED) for each in counted))

    async def stranded(self, owner: str | None, now: datetime, limit: int = 20) -> tuple[Facts, ...]:
        with self._data.lock:
            entries = [each for each in self._data.entries if is_listed(owner, each.owner) and is_route(each.lane)]
            ids = {each.task_id for each in entries if each.state is EntryState.PARKED or each.due <= now}
            ordered = sorted(ids, key=lambda each: self._data.numbers[each])
            all_facts = (self._data.facts(task_id, lanes=False) for task_id in ordered[: min(limit, MAX_PAGE_SIZE)])
            return tuple(facts for facts in all_facts if facts is not None)

    async def lanes(self) -> tuple[LaneUse, ...]:
        with self._data.lock:
            names = {*self._data.lane_limits.all_keys(), *self._data.runs.lane_slots.sizes()}
            return tuple(
                self._data.readers_use(each, self._data.lane_limit(each), self._data.slots_in_use(each))
                for each in sorted(names)
            )

    async def lane_queues(self) -> tuple[LaneQueue, ...]:
        with self._data.lock:
            due: dict[str, list[datetime]] = {}
            for entry in self._data.entries:
                if entry.state is EntryState.PARKED and entry.lane is not None and not is_route(entry.lane):
                    due.setdefault(entry.lane, []).append(entry.due)
            return tuple(LaneQueue(lane, len(due[lane]), min(due[lane])) for lane in sorted(due))

    async def queued(self, lane: str, limit: int = 20) -> tuple[Facts, ...]:
        with self._data.lock:
            entries = [each for each in self._data.entries if each.state is EntryState.PARKED and each.lane == lane]
            entries.sort(key=lambda each: (-each.priority, each.due, self._data.numbers[each.task_id], each.slot))
            ids = list(dict.fromkeys(each.task_id for each in entries))[: min(limit, MAX_PAGE_SIZE)]
            all_facts = (self._data.facts(task_id, lanes=False) for task_id in ids)
            return tuple(facts for facts in all_facts if facts is not None)

    async def lane_line(self, lane: str, limit: int = 10_000) -> LaneLine:
        with self._data.lock:
            parked = self._data.entries.parked(lane)
            waiters = tuple(
                LaneWaiter(each.task_id, each.slot, each.owner, each.priority, each.due, each.reparks)
                for each in parked[:limit]
            )
            return LaneLine(waiters, self._data.lane_turns.get(lane) or "", len(parked) > limit)

    async def lane_runs(self, lane: str, limit: int = 20) -> tuple[Run, ...]:
        with self._data.lock:
            ids = sorted(self._data.runs.lane_slots.members_of(lane))[:limit]
            return tuple(self._data.runs[run_id] for run_id in ids)

    async def nodes(self) -> tuple[Node, ...]:
        with self._data.lock:
            return tuple(sorted(self._data.nodes, key=lambda node: node.id))

    async def drain(self, node: str, *, draining: bool = True, attached_records: Sequence[RecordWrite] = ()) -> bool:
        with self._data.transaction():
            row = self._data.nodes.get(node)
            if row is not None:
                self._data.attach_records(attached_records)
                self._data.nodes.write(node, row._replace(draining=draining))
            return row is not None

    async def set_lane(
        self,
        name: str,
        limit: int | None,
        *,
        rate: RateChange = "keep",
        attached_records: Sequence[RecordWrite] = (),
    ) -> None:
        with self._data.transaction():
            self._data.attach_records(attached_records)
            known = self._data.lane_limits.get(name)
            self._data.lane_limits.write(name, (MAX_LANE_LIMIT if known is None else known) if limit is None else limit)
            if rate != "keep":
                self._data.set_rate(name, rate)
            self._data.mark_lane_freed(name)

    async def block_owner(
        self, owner: str, reason: Reason | None, *, attached_records: Sequence[RecordWrite] = ()
    ) -> None:
        with self._data.transaction():
            self._data.attach_records(attached_records)
            self._data.blocked_owners.write(owner, reason)


def _page(matches: Iterable[_T], limit: int, key: Callable[[_T], str]) -> Page[_T]:
    rest: Iterator[_T] = iter(matches)
    items = tuple(islice(rest, min(limit, MAX_PAGE_SIZE)))
    more = bool(items) and next(rest, None) is not None
    return Page(items, key(items[-1]) if more else None)


def _encode_rank(rank: RunRank) -> str:
    planned, attempt, run_id = rank
    return f"{to_microseconds(planned)}/{attempt}/{run_id}"


def _decode_rank(text: str) -> RunRank:
    planned, attempt, run_id = text.split("/", 2)
    return from_microseconds(int(planned)), int(attempt), run_id


def _stored_texts(run: Run) -> tuple[str | None, ...]:
    return run.result_json, run.error, None if run.input is None else run.input.text


def _without_waiters(data: Data, facts: Facts | None) -> Facts | None:
    """Return the facts as readers get them: the entries that wait in a lane matter to decisions alone."""
    if facts is None or not facts.lanes:
        return facts
    return facts._replace(lanes=tuple(data.readers_use(*lane[:3]) for lane in facts.lanes))
