"""Stores with one plausible mistake each, of the kind that no single call shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from horae.model.change import Change
from horae.model.entry import Entry
from horae.model.run import Run
from horae.stores.memory import MemoryStore
from horae.stores.memory.data import Data
from horae.stores.memory.runs import Runs


class LooksAtNoToken(MemoryStore):
    """Whoever knows a live run's name may end it."""

    def _live_run(self, run_id: str, token: int) -> Run | None:
        known = self._data.runs.get(run_id)
        return super()._live_run(run_id, token if known is None else known.token)


class KeepsTheSeatsOfTheDead(MemoryStore):
    """A run that ends leaves its seat taken."""

    def __init__(self) -> None:
        super().__init__()
        self._data.runs = _StickySeats(self._data._transaction)


class _StickySeats(Runs):
    def _unindex_live_run(self, run: Run) -> None:
        super()._unindex_live_run(run)
        for lane in run.lanes:
            self.lane_slots.add(lane, run.id)


class LosesTheWaiter(MemoryStore):
    """An entry that is put beside one that is dropped is lost."""

    def __init__(self) -> None:
        super().__init__()
        self._data = _Hasty()


class _Hasty(Data):
    def apply(self, task_id: str, change: Change) -> None:
        put: tuple[Entry, ...] = () if change.dropped else change.put
        super().apply(task_id, change._replace(put=put))


class CountsNoStart(MemoryStore):
    """A lane with a rate never knows of a start."""

    def __init__(self) -> None:
        super().__init__()
        self._data = _ForgetsStarts()


class _ForgetsStarts(Data):
    def _record_start(self, lane: str) -> None:
        """Nothing is recorded."""


class KeepsHalfOfWhatFailed(MemoryStore):
    """Nothing is taken back when a decision fails."""

    def __init__(self) -> None:
        super().__init__()
        forget: Callable[[Callable[[], None]], None] = lambda _: None  # noqa: E731 - the defect itself
        vars(self._data._transaction)["on_rollback"] = forget


DEFECTS: Final[tuple[type[MemoryStore], ...]] = (
    LooksAtNoToken,
    KeepsTheSeatsOfTheDead,
    LosesTheWaiter,
    CountsNoStart,
    KeepsHalfOfWhatFailed,
)
