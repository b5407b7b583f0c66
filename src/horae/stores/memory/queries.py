"""What the service asks of the store in memory: tasks in and out, and the ledger read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice, takewhile
from typing import TypeVar

from ...errors import StoreError
from ...model.change import Change, ControlDecision, Facts
from ...model.counts import EVERYBODY, Counts
from ...model.entry import CLAIMABLE, Stand
from ...model.ids import instant, microseconds
from ...model.lane import LaneUse
from ...model.page import LARGEST_PAGE, Page
from ...model.reason import Reason
from ...model.record import Writing
from ...model.route import is_route
from ...model.run import Run
from ...ports.store import COUNTED_UP_TO, Node, RunFilter, TaskFilter, Waiting
from ..run_id_prefix import instants_of_prefix
from .data import Data
from .runs import rank_of
from .sorted_keys import RunRank

_T = TypeVar("_T")


class MemoryBook:
    _data: Data

    async def add(self, changes: Sequence[Change]) -> None:
        with self._data.writing():
            for change in changes:
                if change.task is None or change.task.id in self._data.tasks:
                    raise StoreError("Only new tasks can be added; nothing was written.")
                self._data.apply(change.task.id, change)

    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        with self._data.lock:
            before = self._data.facts(task_id, owner)
            if before is None:
                return None
            with self._data.writing():
                self._data.apply(task_id, decide(before))
            # Of a task that was deleted, the last that was known is the answer.
            return self._data.facts(task_id) or before

    async def upsert(self, owner: str, key: str, decide: Callable[[Facts | None], Change]) -> Facts:
        with self._data.lock:
            known = self._data.tasks.with_key(owner, key)
            with self._data.writing():
                change = decide(None if known is None else self._data.facts(known))
                task_id = known or (None if change.task is None else change.task.id)
                if task_id is None or (known is None and task_id in self._data.tasks):
                    raise StoreError(f"There is no task with the key {key}, and no new one was made.")
                self._data.apply(task_id, change)
            after = self._data.facts(task_id)
            if after is None:
                raise StoreError(f"The task with the key {key} was to be made or edited, and was deleted.")
            return after

    async def facts(self, task_id: str, owner: str | None) -> Facts | None:
        with self._data.lock:
            return self._data.facts(task_id, owner)

    async def find(self, owner: str, key: str) -> Facts | None:
        with self._data.lock:
            known = self._data.tasks.with_key(owner, key)
            return None if known is None else self._data.facts(known)

    async def tasks(self, wanted: TaskFilter, after: str | None = None, limit: int = 100) -> Page[Facts]:
        with self._data.lock:
            start = None if after is None else (int(after), "~")
            order = self._data.numbers.order
            if wanted.labels:
                order = self._data.tasks.labels.rarest(wanted.owner, wanted.labels)
            ids = (each for _, each in order.upwards(start))
            everything = (self._data.facts(each, lanes=False) for each in ids)
            found = (facts for facts in everything if facts is not None and _is_wanted(facts, wanted))
            return _page(found, limit, lambda facts: str(self._data.numbers[facts.task.id]))

    async def run(self, run_id: str, owner: str | None) -> Run | None:
        with self._data.lock:
            run = self._data.runs.get(run_id)
            return run if run is not None and owner in (None, run.owner) else None

    async def runs(self, wanted: RunFilter, after: str | None = None, limit: int = 100) -> Page[Run]:
        with self._data.lock:
            runs = self._data.runs
            order = runs.order if wanted.task_id is None else runs.history(wanted.task_id)
            newest_first = order.downwards(None if after is None else _rank_in(after))
            found = (run for *_, each in newest_first if _run_is_wanted(run := runs[each], wanted))
            return _page(found, limit, lambda run: _written(rank_of(run)))

    async def task_ids(self, prefix: str, owner: str | None, limit: int) -> tuple[str, ...]:
        with self._data.lock:
            tasks = self._data.tasks
            begin = takewhile(lambda each: each.startswith(prefix), tasks.order.from_key(prefix))
            return tuple(islice((each for each in begin if owner in (None, tasks[each].owner)), limit))

    async def run_ids(self, prefix: str, owner: str | None, limit: int) -> tuple[str, ...]:
        with self._data.lock:
            runs, instants = self._data.runs, instants_of_prefix(prefix)
            begin = list(takewhile(lambda each: each.startswith(prefix), runs.strays.from_key(prefix)))
            if instants is not None:
                begin += (each for each in runs.planned_between(*instants) if each.startswith(prefix))
            return tuple(sorted(islice((each for each in begin if owner in (None, runs[each].owner)), limit)))

    async def upcoming(self, owner: str | None, limit: int = 20) -> tuple[Facts, ...]:
        with self._data.lock:
            mine = (each for each in self._data.entries if owner in (None, each.owner) and each.stand in CLAIMABLE)
            ids = dict.fromkeys(each.task_id for each in sorted(mine, key=lambda each: (each.due, each.task_id)))
            found = (self._data.facts(each, lanes=False) for each in islice(ids, min(limit, LARGEST_PAGE)))
            return tuple(facts for facts in found if facts is not None)

    async def latest(self, task_ids: Sequence[str]) -> dict[str, Run]:
        with self._data.lock:
            runs = self._data.runs
            newest = ((each, next(iter(runs.history(each).downwards(None)), None)) for each in task_ids)
            return {task_id: runs[rank[2]] for task_id, rank in newest if rank is not None}

    async def counts(self, owner: str | None, hours: Collection[int]) -> Counts:
        with self._data.lock:
            return self._data.tallies.of(EVERYBODY if owner is None else owner, frozenset(hours))

    async def output_bytes(self, owner: str) -> int:
        with self._data.lock:
            runs, lines = self._data.runs, self._data.lines
            owned = [task.id for task in self._data.tasks if task.owner == owner]
            ids = [run_id for task_id in owned for *_, run_id in runs.history(task_id).upwards(None)]
            texts = [text for each in ids for text in (runs[each].result_json, runs[each].error)]
            texts += [line.text for each in ids for line in lines.get(each) or ()]
            return sum(len(text.encode(errors="replace")) for text in texts if text is not None)

    async def waiting(self, owner: str | None, now: datetime) -> Waiting:
        with self._data.lock:
            mine = [each for each in self._data.entries if owner in (None, each.owner)]
            parked = [is_route(each.lane) for each in mine if each.stand is Stand.PARKED]
            overdue = sum(each.stand in CLAIMABLE and each.due <= now for each in mine)
            counted = (overdue, len(parked) - sum(parked), sum(parked))
            return Waiting(*(min(each, COUNTED_UP_TO) for each in counted))

    async def stranded(self, owner: str | None, limit: int = 20) -> tuple[Facts, ...]:
        with self._data.lock:
            mine = [each for each in self._data.entries if owner in (None, each.owner) and each.stand is Stand.PARKED]
            ids = {each.task_id for each in mine if is_route(each.lane)}
            ordered = sorted(ids, key=lambda each: self._data.numbers[each])
            found = (self._data.facts(each, lanes=False) for each in ordered[: min(limit, LARGEST_PAGE)])
            return tuple(facts for facts in found if facts is not None)

    async def lanes(self) -> tuple[LaneUse, ...]:
        with self._data.lock:
            names = {*self._data.limits.all_keys(), *self._data.runs.seats.sizes()}
            return tuple(LaneUse(each, self._data.limit(each), self._data.taken(each)) for each in sorted(names))

    async def nodes(self) -> tuple[Node, ...]:
        with self._data.lock:
            return tuple(sorted(self._data.nodes, key=lambda node: node.id))

    async def drain(self, node: str, *, draining: bool = True, beside: Sequence[Writing] = ()) -> bool:
        with self._data.writing():
            known = self._data.nodes.get(node)
            if known is not None:
                self._data.write_beside(beside)
                self._data.nodes.write(node, known._replace(draining=draining))
            return known is not None

    async def set_lane(self, name: str, limit: int, *, beside: Sequence[Writing] = ()) -> None:
        with self._data.writing():
            self._data.write_beside(beside)
            self._data.limits.write(name, limit)
            self._data.offer(name)

    async def bar(self, owner: str, reason: Reason | None, *, beside: Sequence[Writing] = ()) -> None:
        with self._data.writing():
            self._data.write_beside(beside)
            self._data.barred.write(owner, reason)


def _is_wanted(facts: Facts, wanted: TaskFilter) -> bool:
    task = facts.task
    return (
        wanted.owner in (None, task.owner)
        and (wanted.states is None or facts.standing.state in wanted.states)
        and wanted.name in (None, task.name)
        and wanted.lane in (None, task.lane)
        and wanted.kind in (None, task.target.kind)
        and (wanted.text is None or _plain(wanted.text) in _plain(task.name))
        and (wanted.prefix is None or task.id.startswith(wanted.prefix))
        and set(wanted.labels) <= set(task.labels)
    )


def _plain(text: str) -> str:
    """Without capitals, but only those that every store knows."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def _run_is_wanted(run: Run, wanted: RunFilter) -> bool:
    first, last = _extent(run)
    return (
        wanted.owner in (None, run.owner)
        and (wanted.states is None or run.state in wanted.states)
        and (wanted.since is None or last >= wanted.since)
        and (wanted.until is None or first <= wanted.until)
    )


def _extent(run: Run) -> tuple[datetime, datetime]:
    return (run.planned, run.planned) if run.span is None else (run.span.first, run.span.last)


def _page(found: Iterable[_T], limit: int, key: Callable[[_T], str]) -> Page[_T]:
    rest: Iterator[_T] = iter(found)
    items = tuple(islice(rest, min(limit, LARGEST_PAGE)))
    more = bool(items) and next(rest, None) is not None
    return Page(items, key(items[-1]) if more else None)


def _written(rank: RunRank) -> str:
    planned, attempt, run_id = rank
    return f"{microseconds(planned)}/{attempt}/{run_id}"


def _rank_in(text: str) -> RunRank:
    planned, attempt, run_id = text.split("/", 2)
    return instant(int(planned)), int(attempt), run_id
