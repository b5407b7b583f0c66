"""Carries runs: one task each, one watch for all deadlines, and always a settlement at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

from ..clock import Clock
from ..errors import StoreError
from ..model.limits import ERROR_CHARACTERS, shortened
from ..model.outcome import Cancelled, Failed, Outcome, Settlement, TimedOut
from ..model.reason import Reason
from ..model.run import RunState
from ..ports.store import Agenda, Claimed
from ..ports.target import Target
from .carried import Carried
from .scribe import Scribe
from .settler import Settler


class Runner:
    def __init__(
        self,
        store: Agenda,
        targets: Mapping[str, Target],
        settler: Settler,
        scribe: Scribe,
        clock: Clock,
        capacity: int,
    ) -> None:
        self.clock = clock
        self.scribe = scribe
        self.stopping = False
        self._store = store
        self._targets = targets
        self._settler = settler
        self._capacity = capacity
        self._going: dict[str, Carried] = {}
        self._starting: set[asyncio.Task[None]] = set()
        self._watch: asyncio.TimerHandle | None = None
        self._watch_at = float("inf")
        self._idle = asyncio.Event()
        self._idle.set()
        self._room_wanted = False
        self.on_room: Callable[[], None] = lambda: None
        self.hand_back: Callable[[Sequence[tuple[str, int]]], None] = lambda _claims: None

    @property
    def room(self) -> int:
        """How many more runs fit; what has ended and is not recorded yet still counts."""
        return self._capacity - len(self._going) - self._settler.waiting

    @property
    def going(self) -> int:
        return len(self._going)

    def want_room(self) -> None:
        """Ring when there is room again."""
        self._room_wanted = True
        self.offer_room()

    def offer_room(self) -> None:
        if self._room_wanted and self.room > 0:
            self._room_wanted = False
            self.on_room()

    def carry(self, claims: Sequence[Claimed]) -> None:
        """Begin all of them now. What must provably have started is written down as such first."""
        if not claims:
            return
        self._idle.clear()
        now, steady = self.clock.now(), self.clock.steady()
        careful: list[Carried] = []
        for task, run in claims:
            carried = self._going[run.id] = Carried(self, task, run, now, steady)
            if run.state is RunState.CLAIMED:
                careful.append(carried)
            else:
                self._begin(carried)
        if careful:
            job = asyncio.ensure_future(self._start(careful))
            self._starting.add(job)
            job.add_done_callback(self._starting.discard)

    def end(self, run_id: str, reason: Reason) -> None:
        """Somebody wants this run to end."""
        carried = self._going.get(run_id)
        if carried is not None:
            carried.end(reason)

    def abandon(self, reason: Reason) -> tuple[tuple[str, int], ...]:
        """Stop everything that is carried, without a settlement: it is no longer ours, or is handed back."""
        left = tuple(self._going.values())
        self._going.clear()
        for carried in left:
            carried.end(reason)
        self._idle.set()
        return tuple((carried.run.id, carried.run.token) for carried in left)

    async def drained(self) -> None:
        """Until nothing is carried any more."""
        await self._idle.wait()

    # --- one run, from its start to its settlement -----------------------------------------------------------------

    def _begin(self, carried: Carried) -> None:
        carried.job = asyncio.ensure_future(self._carry(carried))
        if carried.silence_ends < self._watch_at:
            self._watch_from(carried.silence_ends)

    async def _start(self, careful: Sequence[Carried]) -> None:
        """The third write of `at_most_once`: only what the store has as running may run."""
        try:
            may = await self._store.start([(c.run.id, c.run.token) for c in careful], self.clock.now())
        except StoreError:
            # Nobody can know whether it was written: handed back, what did start is not started again.
            self.hand_back([(c.run.id, c.run.token) for c in careful if self._forget(c)])
            return
        for carried in careful:
            if carried.run.id not in self._going:
                continue
            if carried.run.id in may:
                self._begin(carried)
            else:
                self._settle(carried, Cancelled())

    async def _carry(self, carried: Carried) -> None:
        outcome = await self._execute(carried)
        if carried.lines:
            await self.scribe.flush()
        self._settle(carried, outcome)

    def _settle(self, carried: Carried, outcome: Outcome) -> None:
        if self._forget(carried):
            run, now = carried.run, self.clock.now()
            self._settler.add(Settlement(run.id, run.token, outcome, carried.started, now))

    async def _execute(self, carried: Carried) -> Outcome:
        """Whatever happens inside, the answer is an outcome."""
        target = self._targets.get(carried.task.target.kind)
        if target is None:
            return Failed(f"no target of kind '{carried.task.target.kind}'", reason=Reason.TARGET_UNKNOWN)
        try:
            return await target.execute(carried)
        except asyncio.CancelledError:
            return _ended_by(carried)
        except Exception as error:  # noqa: BLE001 - a target that breaks its promise must not take the node with it
            return Failed(shortened(f"{type(error).__name__}: {error}", ERROR_CHARACTERS))

    def _forget(self, carried: Carried) -> bool:
        """False when it was abandoned before: then it is not ours to settle."""
        ours = self._going.pop(carried.run.id, None) is carried
        if not self._going:
            self._idle.set()
        self.offer_room()
        return ours

    # --- one watch for all deadlines -------------------------------------------------------------------------------

    def _watch_from(self, at: float) -> None:
        if self._watch is not None:
            self._watch.cancel()
        self._watch_at = at
        delay = max(0.0, at - self.clock.steady())
        self._watch = asyncio.get_running_loop().call_later(delay, self._look)

    def _look(self) -> None:
        """End what has been silent for too long, and look again when the next one may have been."""
        self._watch, self._watch_at = None, float("inf")
        steady = self.clock.steady()
        for carried in tuple(self._going.values()):
            if carried.silence_ends <= steady:
                carried.end(Reason.DEADLINE)
                carried.heartbeat()
        if self._going:
            self._watch_from(min(carried.silence_ends for carried in self._going.values()))


def _ended_by(carried: Carried) -> Outcome:
    if carried.ending is Reason.DEADLINE:
        return TimedOut(f"silent for {carried.task.policies.timeout.total_seconds():g} s")
    if carried.ending is None:
        return Failed("the function cancelled itself")
    return Cancelled()
