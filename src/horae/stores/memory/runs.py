"""Runs table, indexed by planned instant, task, node and lane slot."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from typing import Final

from ...model.ids import from_microseconds, to_microseconds
from ...model.run import Run
from .sorted_keys import RunRank, SortedKeys
from .table import Table, Transaction

_NO_MEMBERS: Final[frozenset[str]] = frozenset()


class Multimap:
    def __init__(self) -> None:
        self._members: dict[str, set[str]] = {}

    def members_of(self, group: str) -> AbstractSet[str]:
        return self._members.get(group, _NO_MEMBERS)

    def sizes(self) -> dict[str, int]:
        return {group: len(members) for group, members in self._members.items()}

    def add(self, group: str, member: str) -> None:
        self._members.setdefault(group, set()).add(member)

    def discard(self, group: str, member: str) -> None:
        members = self._members.get(group)
        if members is not None:
            members.discard(member)
            if not members:
                del self._members[group]


_FIRST_INSTANT: Final = to_microseconds(datetime.min.replace(tzinfo=UTC))


def _is_stray(planned: datetime, run_id: str) -> bool:
    return not run_id.startswith("run_%012x" % max(0, to_microseconds(planned) // 1000))  # noqa: UP031 - every run passes here


def rank_of(run: Run) -> RunRank:
    return run.planned, run.attempt, run.id


class Runs(Table[str, Run]):
    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction)
        self.order: SortedKeys[RunRank] = SortedKeys()
        self.strays: SortedKeys[str] = SortedKeys()
        """Ids that do not encode their planned instant."""
        self.lane_slots = Multimap()
        self._history: dict[str, SortedKeys[RunRank]] = {}
        self._live = Multimap()
        self._on_node = Multimap()
        self._cancel_requested = Multimap()

    def planned_between(self, first: int, last: int) -> Iterator[str]:
        """Yield the ids planned from `first` to `last` (microseconds, both included), without strays."""
        start = from_microseconds(max(first, _FIRST_INSTANT))
        for planned, _, run_id in self.order.ascending_from((start, -1, "")):
            if to_microseconds(planned) > last:
                return
            if not _is_stray(planned, run_id):
                yield run_id

    def history(self, task_id: str) -> SortedKeys[RunRank]:
        return self._history.get(task_id) or SortedKeys()

    def live(self, task_id: str) -> tuple[Run, ...]:
        return self._sorted(self._live.members_of(task_id))

    def live_on_node(self, node: str) -> tuple[Run, ...]:
        return self._sorted(self._on_node.members_of(node))

    def cancel_requested_on(self, node: str) -> tuple[Run, ...]:
        return self._sorted(self._cancel_requested.members_of(node))

    def _sorted(self, ids: Iterable[str]) -> tuple[Run, ...]:
        return tuple(self._rows[run_id] for run_id in sorted(ids))

    def update_indexes(self, before: Run | None, after: Run | None) -> None:
        if before is not None:
            self._unindex_live_run(before)
        if after is not None:
            self._index_live_run(after)
        if before is not None and (after is None or rank_of(before) != rank_of(after)):
            self._remove_from_history(before)
        if after is not None and (before is None or rank_of(before) != rank_of(after)):
            self.order.add(rank_of(after))
            self._history.setdefault(after.task_id, SortedKeys()).add(rank_of(after))
            if _is_stray(after.planned, after.id):
                self.strays.add(after.id)

    def _index_live_run(self, run: Run) -> None:
        if not run.live:
            return
        self._live.add(run.task_id, run.id)
        for lane in run.lanes:
            self.lane_slots.add(lane, run.id)
        if run.node is not None:
            self._on_node.add(run.node, run.id)
            if run.cancel is not None:
                self._cancel_requested.add(run.node, run.id)

    def _unindex_live_run(self, run: Run) -> None:
        if not run.live:
            return
        self._live.discard(run.task_id, run.id)
        for lane in run.lanes:
            self.lane_slots.discard(lane, run.id)
        if run.node is not None:
            self._on_node.discard(run.node, run.id)
            self._cancel_requested.discard(run.node, run.id)

    def _remove_from_history(self, run: Run) -> None:
        if _is_stray(run.planned, run.id):
            self.strays.remove(run.id)
        self.order.remove(rank_of(run))
        history = self._history[run.task_id]
        history.remove(rank_of(run))
        if not len(history):
            del self._history[run.task_id]
