"""The runs: in order of their planned instants, by task, by node, and in their seats."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from ...model.ids import instant, microseconds
from ...model.run import Run
from .multimap import Groups
from .sorted_keys import Ordered, RunRank
from .table import Table, Transaction

_FIRST_INSTANT: Final = microseconds(datetime.min.replace(tzinfo=UTC))


def _is_stray(planned: datetime, run_id: str) -> bool:
    return not run_id.startswith("run_%012x" % max(0, microseconds(planned) // 1000))  # noqa: UP031 - every run passes here


def rank_of(run: Run) -> RunRank:
    return run.planned, run.attempt, run.id


class Runs(Table[str, Run]):
    def __init__(self, transaction: Transaction) -> None:
        super().__init__(transaction)
        self.order: Ordered[RunRank] = Ordered()
        self.strays: Ordered[str] = Ordered()
        """Ids that do not name their planned instant."""
        self.seats = Groups()
        self._history: dict[str, Ordered[RunRank]] = {}
        self._live = Groups()
        self._on_node = Groups()
        self._asked_to_end = Groups()

    def planned_between(self, first: int, last: int) -> Iterator[str]:
        """Ids by planned instant in microseconds, both ends included."""
        start = instant(max(first, _FIRST_INSTANT))
        for planned, _, run_id in self.order.from_key((start, -1, "")):
            if microseconds(planned) > last:
                return
            if not _is_stray(planned, run_id):
                yield run_id

    def history(self, task_id: str) -> Ordered[RunRank]:
        return self._history.get(task_id) or Ordered()

    def live(self, task_id: str) -> tuple[Run, ...]:
        return self._sorted(self._live.of(task_id))

    def carried_by(self, node: str) -> tuple[Run, ...]:
        return self._sorted(self._on_node.of(node))

    def asked_to_end(self, node: str) -> tuple[Run, ...]:
        return self._sorted(self._asked_to_end.of(node))

    def _sorted(self, ids: Iterable[str]) -> tuple[Run, ...]:
        return tuple(self._rows[each] for each in sorted(ids))

    def indexed(self, before: Run | None, after: Run | None) -> None:
        if before is not None:
            self._forget(before)
        if after is not None:
            self._note(after)
        if before is not None and (after is None or rank_of(before) != rank_of(after)):
            self._leave_history(before)
        if after is not None and (before is None or rank_of(before) != rank_of(after)):
            self.order.add(rank_of(after))
            self._history.setdefault(after.task_id, Ordered()).add(rank_of(after))
            if _is_stray(after.planned, after.id):
                self.strays.add(after.id)

    def _note(self, run: Run) -> None:
        if not run.live:
            return
        self._live.add(run.task_id, run.id)
        for lane in run.lanes:
            self.seats.add(lane, run.id)
        if run.node is not None:
            self._on_node.add(run.node, run.id)
            if run.cancel is not None:
                self._asked_to_end.add(run.node, run.id)

    def _forget(self, run: Run) -> None:
        if not run.live:
            return
        self._live.discard(run.task_id, run.id)
        for lane in run.lanes:
            self.seats.discard(lane, run.id)
        if run.node is not None:
            self._on_node.discard(run.node, run.id)
            self._asked_to_end.discard(run.node, run.id)

    def _leave_history(self, run: Run) -> None:
        if _is_stray(run.planned, run.id):
            self.strays.remove(run.id)
        self.order.remove(rank_of(run))
        history = self._history[run.task_id]
        history.remove(rank_of(run))
        if not len(history):
            del self._history[run.task_id]
