"""State of the store machine: the two stores, the clock, and the tasks and claims that rules can choose from."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ClassVar, Final, TypeVar

from hypothesis.stateful import RuleBasedStateMachine

from ....model.run import Run, RunState
from ....ports.full_store import FullStore
from ....ports.store import RunFilter
from ...factories import NOON
from .paired_stores import PairedStores, Side

_T = TypeVar("_T")
_LIVE_STATES: Final = frozenset({RunState.CLAIMED, RunState.RUNNING, RunState.WAITING})


class MachineState(RuleBasedStateMachine):
    """Base of the rules: each rule makes its calls with `_call_both`, which compares the answers."""

    _stores: PairedStores
    is_optimistic: ClassVar[bool] = False
    """Whether the store may decide on a copy that is out of date before it decides on what is stored."""

    splits_claims: ClassVar[bool] = False
    """Whether a claim of ordinary and other entries may be several transactions."""

    async def open_empty(self) -> FullStore:
        """Open a new, empty store."""
        raise NotImplementedError

    async def another(self, store: FullStore) -> FullStore:
        """Open a second handle on the same data, as another process does. Override it where data outlives the object."""
        return store

    async def close(self, store: FullStore) -> None:
        await store.close()

    def __init__(self) -> None:
        super().__init__()
        self._runner = asyncio.Runner()
        self._now = NOON
        self._created = 0
        self._claims = 0
        self._claimed: list[tuple[str, int]] = []
        self._task_ids: list[str] = []
        self._limits: dict[str, int] = {}
        self._handles: list[FullStore] = []

    def _run(self, work: Coroutine[Any, Any, _T]) -> _T:
        return self._runner.run(work)

    def _call_both(self, call: Callable[[Side], Coroutine[Any, Any, Any]]) -> Any:
        answer = self._run(self._stores.call(call))
        # With two handles, calls alternate between them.
        self._handles.reverse()
        self._stores.store.store = self._handles[0]
        return answer

    def _some_task(self, number: int) -> str:
        return self._task_ids[number % len(self._task_ids)] if self._task_ids else "tsk_none"

    def _live_runs(self) -> tuple[Run, ...]:
        return self._run(self._stores.reference.store.runs(RunFilter(states=_LIVE_STATES), limit=1_000)).items

    def _some_runs(self, chosen: Sequence[int]) -> list[tuple[str, int]]:
        """Runs with the number of their claim: mostly live, sometimes ended, sometimes with the number of another claim."""
        ids = {run.id for run in self._live_runs()}
        live = [claimed for claimed in self._claimed if claimed[0] in ids]
        found: list[tuple[str, int]] = []
        for number in chosen:
            runs = (self._claimed if number % 5 == 0 else live) or self._claimed or [("run_none", 1)]
            run_id, claim = runs[number % len(runs)]
            found.append((run_id, claim - 1 if number % 7 == 0 else claim))
        return found

    def _advance_to_next_due(self) -> None:
        due = self._run(self._stores.reference.store.next_due())
        if due is not None:
            self._now = max(self._now, due)
