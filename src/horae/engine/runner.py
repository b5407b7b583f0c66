"""Carries runs: one task each, one watch for all deadlines, and always a settlement at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final, TypeAlias

from ..clock import Clock
from ..model.accounts.agent_label import agent_of
from ..model.outcome import Cancelled, Failed, Outcome, Settlement, TimedOut
from ..model.reason import Reason
from ..model.run import RunState
from ..model.task import Task
from ..ports.store import Agenda, Claimed
from ..ports.target import Target
from .active_run import Carried
from .deadline_timer import Watch
from .journal_writer import Scribe
from .settler import Settler
from .verdict import OUTCOMES, answered_late, ended_by, no_outcome, no_target, raised

LOG: Final = logging.getLogger("horae")
Permit: TypeAlias = Callable[[Task], Awaitable[Outcome | None]]
"""Asked right before a run starts: the outcome of a run whose task has lost the right to run, or None."""


async def permit_all(_task: Task) -> Outcome | None:
    return None


FAILURES: Final = logging.getLogger("horae.runs")
"""A program that prints each failure itself turns this one down (`runtime/observability.py`)."""


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
        self.permit: Permit = permit_all
        self.scribe = scribe
        self.stopping = False
        self._store = store
        self._targets = targets
        self._settler = settler
        self._capacity = capacity
        self._going: dict[str, Carried] = {}
        self._leaving: dict[str, Carried] = {}
        self._starting: set[asyncio.Task[None]] = set()
        self._watch = Watch(clock, self._going)
        self._idle = asyncio.Event()
        self._idle.set()
        self._gone = asyncio.Event()
        self._gone.set()
        self._room_wanted = False
        self.on_room: Callable[[], None] = lambda: None
        self.hand_back: Callable[[Sequence[tuple[str, int]]], None] = lambda _claims: None

    @property
    def room(self) -> int:
        """How many more runs fit. As many again may have ended without being recorded yet; what exceeds that counts too."""
        return self._capacity - len(self._going) - max(0, self._settler.waiting - self._capacity)

    @property
    def going(self) -> int:
        return len(self._going)

    @property
    def idle(self) -> bool:
        """Nothing is carried, and nothing that was abandoned is still at it."""
        return not self._going and not self._leaving

    def knows(self, run_id: str) -> bool:
        """Whether it is carried here, or abandoned and not over yet."""
        return run_id in self._going or run_id in self._leaving

    def want_room(self) -> None:
        """Call `on_room` when there is room again."""
        self._room_wanted = True
        self.offer_room()

    def offer_room(self) -> None:
        """Called when something has ended or was let go of, and when something that ended has been recorded."""
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
        """Somebody wants this run to end. Orders are repeated with every renewal; what cleans up is not disturbed again."""
        carried = self._going.get(run_id)
        if carried is not None and carried.ending is None:
            carried.end(reason)

    async def drained(self) -> None:
        """Until nothing is carried any more."""
        await self._idle.wait()

    # --- letting go --------------------------------------------------------------------------------------------------

    def abandon(self, reason: Reason) -> None:
        """End everything that is carried, without a settlement: it is no longer ours, or there is no time left for it.

        Each is handed back when its work is really over, so that nobody begins it anew beside what still cleans up.
        """
        for carried in self._let_go():
            carried.end(reason)
            if carried.job is None:
                self.hand_back([carried.claim])
            else:
                self._leaving[carried.run.id] = carried
                self._gone.clear()

    def forsake(self) -> None:
        """Forget everything, as a process that dies does: nothing is settled, and nothing is handed back."""
        self._leaving.clear()
        self._gone.set()
        for carried in self._let_go():
            carried.end(Reason.LEASE_LOST)

    async def gone(self) -> None:
        """Until the work of everything that was abandoned is over."""
        await self._gone.wait()

    def hand_back_all(self) -> None:
        """Nobody waits any longer for what was abandoned and does not listen."""
        for carried in tuple(self._leaving.values()):
            LOG.warning("%s goes on after its node has stopped, and is handed back", carried.task.name)
            self._leave(carried)

    def _let_go(self) -> tuple[Carried, ...]:
        left = tuple(self._going.values())
        self._going.clear()
        self._watch.stop()
        self._idle.set()
        self.offer_room()
        return left

    def _leave(self, carried: Carried) -> None:
        if self._leaving.pop(carried.run.id, None) is not None:
            self.hand_back([carried.claim])
        if not self._leaving:
            self._gone.set()

    # --- one run, from its start to its settlement -----------------------------------------------------------------

    def _begin(self, carried: Carried) -> None:
        carried.job = asyncio.get_running_loop().create_task(self._carry(carried))
        self._watch.over(carried)

    async def _start(self, careful: Sequence[Carried]) -> None:
        """The third write of `at_most_once`: only what the store has as running may run."""
        try:
            may = await self._store.start([carried.claim for carried in careful], self.clock.now())
        except Exception as error:  # noqa: BLE001 - whatever it was, nobody can know whether it was written
            # Handed back, what did start in the eyes of the store is not started again.
            LOG.warning("%d runs could not be started, and are handed back: %s", len(careful), error)
            self.hand_back([carried.claim for carried in careful if self._forget(carried)])
            self.offer_room()
            return
        now, steady = self.clock.now(), self.clock.steady()
        for carried in careful:
            if carried.run.id not in self._going:
                continue
            if carried.run.id in may and carried.ending is None:
                carried.started, carried.begun, carried.alive = now, steady, steady
                self._begin(carried)
            else:
                self._settle(carried, Cancelled())

    async def _carry(self, carried: Carried) -> None:
        outcome = await self._execute(carried)
        if carried.lines:
            await self.scribe.flush()
        self._settle(carried, outcome)

    async def _execute(self, carried: Carried) -> Outcome:
        """Whatever happens inside, the answer is an outcome."""
        target = self._targets.get(carried.task.target.kind)
        if target is None:
            return no_target(carried.task.target.kind)
        if carried.ending is not None:
            return ended_by(carried)
        carried.cancellable = True
        try:
            outcome = None if agent_of(carried.task) is None else await self.permit(carried.task)
            if outcome is None:
                outcome = await target.execute(carried)
        except asyncio.CancelledError:
            return ended_by(carried)
        except GeneratorExit:  # the loop itself goes down
            raise
        except BaseException as error:  # noqa: BLE001 - a target that breaks its promise must not take the node with it
            outcome = raised(error)
        finally:
            carried.cancellable = False
        if outcome.__class__ not in OUTCOMES:
            outcome = no_outcome(outcome)
        return answered_late(carried, outcome) if carried.cancelled else outcome

    def _settle(self, carried: Carried, outcome: Outcome) -> None:
        if self._forget(carried):
            run, now = carried.run, self.clock.now()
            if isinstance(outcome, Failed | TimedOut):
                # Who asks for another try has said when: that is no trouble yet.
                asked = isinstance(outcome, Failed) and outcome.retry_after is not None
                level = logging.INFO if asked else logging.WARNING
                FAILURES.log(
                    level, "%s, attempt %d of %s: %s", carried.task.name, run.attempt, run.planned, outcome.error
                )
            self._settler.add(Settlement(run.id, run.token, outcome, carried.started, now), run.owner)
            self.offer_room()
        else:
            self._leave(carried)

    def _forget(self, carried: Carried) -> bool:
        """False when it was abandoned before: then it is not ours to settle."""
        ours = self._going.pop(carried.run.id, None) is carried
        if not self._going:
            self._idle.set()
        return ours
