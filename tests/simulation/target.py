"""Simulated target: takes virtual time, ends in every possible way, and records its calls."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from random import Random
from typing import Final, NoReturn

from horae.clock import Clock
from horae.model.outcome import Failed, Outcome, Skipped, Succeeded, Waiting
from horae.ports.full_store import FullStore
from horae.ports.target import Invocation
from tests.simulation.history import History, TargetCall
from tests.simulation.target_behaviours import Behaviour, behaviour_of

_MISBEHAVES: Final = {
    Behaviour.FLAKY: 0.5,
    Behaviour.FAILING: 1.0,
    Behaviour.RAISING: 0.5,
    Behaviour.SILENT: 0.4,
    Behaviour.KILLER: 0.15,
    Behaviour.POISON: 1.0,
    Behaviour.OUTSOURCING: 1.0,
    Behaviour.GATED: 0.5,
}
"""How often a target is what its temper says; else it just does its work."""
_WORDY: Final = 200
"""Longer than an error that is kept may be."""


class SharedTargetState:
    """State shared by all targets: random source, whether faults are still on, callback for handed-on work.

    On `one_machine` a node sees at once that a neighbour's process is gone; from elsewhere only its lease tells.
    """

    def __init__(self, dice: Random, handed_on: Callable[[Invocation], None], *, one_machine: bool) -> None:
        self.dice = dice
        self.one_machine = one_machine
        self.benign = False
        self.handed_on = handed_on


class SimulatedTarget:
    """The target as one node has it; `die` ends that node at once, `store` is the store as that node sees it."""

    kinds: tuple[str, ...] = ("simulated", "function")

    def __init__(
        self,
        surroundings: SharedTargetState,
        life: str,
        clock: Clock,
        history: History,
        die: Callable[[str], None],
        store: FullStore,
    ) -> None:
        self._store = store
        self._surroundings = surroundings
        self._life = life
        self._clock = clock
        self._history = history
        self._die = die

    async def execute(self, invocation: Invocation) -> Outcome:
        place = self._history.begin(self._deed(invocation))
        for_good = False
        try:
            outcome = await self._act(invocation, behaviour_of(invocation.task.payload))
            for_good = isinstance(outcome, Failed) and (outcome.permanent or outcome.died_isolated)
            return outcome
        finally:
            self._history.finish(place, for_good=for_good)

    def _deed(self, invocation: Invocation) -> TargetCall:
        run = invocation.run
        return TargetCall(
            run.id,
            run.task_id,
            run.origin,
            run.planned,
            run.attempt,
            invocation.key,
            run.token,
            run.alone,
            self._life,
            self._clock.steady(),
            payload=invocation.task.payload,
        )

    async def _act(self, invocation: Invocation, temper: Behaviour) -> Outcome:
        if self._surroundings.benign:
            await self._clock.pause(0.2)
            return Succeeded('"at last"')
        dice = self._surroundings.dice
        if dice.random() < _MISBEHAVES.get(temper, 0):
            return await self._misbehave(invocation, temper, dice)
        match temper:
            case Behaviour.SLOW:
                await self._work_long(invocation, dice.choice((120.0, 1_500.0, 2_400.0)))
            case Behaviour.STUBBORN:
                await self._stop_slowly(dice.choice((30.0, 300.0)), dice.choice((0.5, 4.0)))
            case _:
                await self._clock.pause(dice.choice((0.01, 0.5, 3.0, 15.0)))
        return Succeeded('"done"')

    async def _misbehave(self, invocation: Invocation, temper: Behaviour, dice: Random) -> Outcome:
        match temper:
            case Behaviour.SILENT:
                return await _wait_for_ever()
            case Behaviour.KILLER | Behaviour.POISON:
                return await self._kill(invocation)
            case Behaviour.OUTSOURCING:
                return self._hand_on(invocation, dice)
            case Behaviour.GATED:
                return Skipped("nothing to do")
            case Behaviour.RAISING:
                await self._clock.pause(0.1)
                raise ValueError("the target broke its promise, " * _WORDY)
            case _:
                return await self._fail(dice)

    async def _work_long(self, invocation: Invocation, seconds: float) -> None:
        """Send heartbeats just often enough, to keep the simulation fast."""
        quiet = invocation.task.policies.timeout.total_seconds() * 0.8
        while seconds > 0:
            await self._clock.pause(min(quiet, seconds))
            seconds -= quiet
            invocation.heartbeat()

    async def _fail(self, dice: Random) -> Outcome:
        await self._clock.pause(dice.choice((0.01, 1.0)))
        retry_after = timedelta(seconds=30) if dice.random() < 0.2 else None
        return Failed("it did not work", permanent=dice.random() < 0.1, retry_after=retry_after)

    async def _kill(self, invocation: Invocation) -> Outcome:
        """In isolation only the child process dies."""
        await self._clock.pause(0.5)
        if invocation.run.alone:
            return Failed("its own process died", died_isolated=True)
        self._die(f"killed by {invocation.task.name}")
        return await _wait_for_ever()

    def _hand_on(self, invocation: Invocation, dice: Random) -> Outcome:
        self._surroundings.handed_on(invocation)
        return Waiting(self._clock.now() + timedelta(minutes=dice.choice((2, 20))))

    async def _stop_slowly(self, seconds: float, stopping: float) -> None:
        """A cancelled target cleans up for a while before it ends."""
        try:
            await self._clock.pause(seconds)
        except asyncio.CancelledError:
            await self._clock.pause(stopping)
            raise


async def _wait_for_ever() -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError
