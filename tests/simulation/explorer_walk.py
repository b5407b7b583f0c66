"""Random walk on two stores: the explorer's, restored to a canonical state before each call, and an ordinary one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random

from horae.lifecycle.control import control
from horae.lifecycle.fire import fire
from horae.lifecycle.recover import recover, release
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.change import ControlDecision
from horae.model.outcome import Failed, Settlement, Succeeded
from horae.model.run import Run, RunState
from horae.ports.store import DEFAULT_TERMS
from tests.simulation.explorer.probes import answer_of
from tests.simulation.explorer.restorable import RestorableStore, a_node
from tests.simulation.explorer.rules import TRUE_RULES
from tests.simulation.explorer.scope import MADE, Scope, Verb
from tests.simulation.explorer.snapshot import canonical
from tests.simulation.explorer.store_replay import StoreReplay

_NODES = ("a1", "b1")


class Walk:
    def __init__(self, scope: Scope, chance: Random) -> None:
        self._chance = chance
        self._stage = StoreReplay(scope, TRUE_RULES)
        self._store = RestorableStore()
        answer_of(self._store.add(scope.planted))
        self._at = 0
        self._now = MADE
        self.runs = 0
        """How many were claimed."""

    def step(self) -> None:
        """One call on both; what is left of the ordinary store without the details is what the other one shows."""
        wishes: list[Callable[[], None]] = [self._pause, self._resume, self._resume, self._cancel]
        often = [self._time, self._claim, self._claim, self._settle, self._settle, self._renew, self._join]
        self._chance.choice([*often, *often, self._start, self._start, self._release, self._recover, *wishes])()
        assert canonical(self._store.save(self._stage.tasks)) == self._stage.moments[self._at]

    def _time(self) -> None:
        later = [entry.due for entry in self._stage.moments[self._at].entries if entry.due > self._now]
        self._now = min(later, default=self._now)

    def _join(self) -> None:
        node = self._chance.choice(_NODES)
        if node not in self._stage.moments[self._at].nodes:
            answer_of(self._store.join(a_node(node)))
            self._at = self._stage.join(self._at, node)

    def _renew(self) -> None:
        answer_of(self._store.renew_lease(self._chance.choice(_NODES), self._now))

    def _claim(self) -> None:
        node, room = self._chance.choice(_NODES), self._chance.choice((1, 2))
        decide = partial(fire, claim=ClaimContext(node, self._now, DEFAULT_TERMS.poll_ceiling))
        claim = answer_of(self._store.claim_due(self._now, node, room, decide))
        self._at, carried = self._stage.claim(self._at, self._now, node, room)
        assert [run.id for _, run in claim.runs] == [run.run_id for run in carried]
        self.runs += len(carried)

    def _start(self) -> None:
        run, token = self._any_run()
        if run is not None:
            may = answer_of(self._store.start([(run.id, run.token)], self._now))
            self._at, started = self._stage.start(self._at, self._now, run.id, token)
            assert started is (run.id in may)

    def _settle(self) -> None:
        run, token = self._any_run()
        if run is not None and run.state is not RunState.CLAIMED:
            outcome = self._chance.choice((Succeeded('"well"'), Failed("badly")))
            report = Settlement(run.id, run.token, outcome, run.started, self._now)
            answer_of(self._store.settle([report], settle))
            self._at = self._stage.settle(self._at, self._now, ((run.id, token, outcome),))

    def _release(self) -> None:
        run, token = self._any_run()
        if run is not None:
            answer_of(self._store.release([(run.id, run.token)], partial(release, now=self._now)))
            self._at = self._stage.release(self._at, self._now, ((run.id, token),))

    def _recover(self) -> None:
        known = list(self._store._data.nodes)
        if known:
            node = self._chance.choice(known)
            answer_of(self._store.recover(node.id, node.renewals, partial(recover, now=self._now), 1))
            self._at = self._stage.recover(self._at, self._now, node.id)

    def _pause(self) -> None:
        self._ask(Verb.PAUSE, partial(control.pause, now=self._now))

    def _resume(self) -> None:
        self._ask(Verb.RESUME, partial(control.resume, now=self._now))

    def _cancel(self) -> None:
        """Not at once: little happens afterwards."""
        if self.runs > 1:
            self._ask(Verb.CANCEL, partial(control.cancel, now=self._now))

    def _ask(self, verb: Verb, decide: ControlDecision) -> None:
        after = self._stage.ask(self._at, self._now, verb, 0)
        if after is not None:
            answer_of(self._store.change(self._stage.tasks[0].id, None, decide))
            self._at = after

    def _any_run(self) -> tuple[Run | None, int]:
        """One from the ordinary store, ended or not, and the token that the other store has for it."""
        runs = sorted(self._store._data.runs)
        if not runs:
            return None, 0
        run = self._chance.choice(runs)
        twin = self._stage.moments[self._at].run(run.id)
        assert twin is not None
        return run, twin.token
