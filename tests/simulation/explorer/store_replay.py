"""Executes store calls on the real store from a given state, each once, and caches the results."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from datetime import datetime
from functools import cache, partial
from typing import Any, Final, TypeAlias, TypeVar

from horae.errors import Refusal, StoreError
from horae.lifecycle.control import control
from horae.lifecycle.start import ClaimContext
from horae.model.ids import EPOCH
from horae.model.outcome import Outcome, Settlement
from horae.model.run import Run, RunState
from horae.model.task import Task
from horae.ports.store import DEFAULT_TERMS
from tests.simulation.explorer.invariants import InvariantViolation, violations_between
from tests.simulation.explorer.probes import Renewal, answer_of, probe, renewal_of
from tests.simulation.explorer.process import ActiveRun, Phase
from tests.simulation.explorer.restorable import RENEWALS, a_node
from tests.simulation.explorer.rules import Rules
from tests.simulation.explorer.scope import Scope, Verb
from tests.simulation.explorer.snapshot import Snapshot, canonical, canonical_token
from tests.simulation.explorer.value_numbers import ValueNumbers

_T = TypeVar("_T")
Claims: TypeAlias = tuple[tuple[str, int], ...]
Report: TypeAlias = tuple[str, int, Outcome]

_ONE_BY_ONE: Final = 1
"""Recovery goes run by run here, so that anything may happen between two of them."""
_WISHES: Final = {Verb.PAUSE: control.pause, Verb.CANCEL: control.cancel, Verb.RESUME: control.resume}


def _first_phase(task: Task, run: Run) -> Phase:
    if task.policies.gate is not None:
        return Phase.ASKING
    return Phase.CLAIMED if run.state is RunState.CLAIMED else Phase.GOING


class StoreReplay:
    """Store states are numbered in order of discovery; 0 is the initial one."""

    def __init__(self, scope: Scope, rules: Rules) -> None:
        self.tasks = scope.tasks
        self.moments: ValueNumbers[Snapshot] = ValueNumbers()
        self.under_way = "the tasks are added"
        """The last thing that was tried: if a promise is broken, by this."""
        self._names: dict[str, str] = {}
        self._letters = {task.id: task.name for task in self.tasks}
        self._rules = rules
        self._store = rules.store()
        answer_of(self._store.add(scope.planted))
        self._number(self._store.save(self.tasks))
        # The same call from the same moment always comes to the same: most of the search is remembering.
        self.claim = cache(self._claim)
        self.start = cache(self._start)
        self.settle = cache(self._settle)
        self.release = cache(self._release)
        self.recover = cache(self._recover)
        self.live = cache(self._live)
        self.without_the_dead = cache(self._without_the_dead)
        self.renewal = cache(self._renewal)
        self.join = cache(self._join)
        self.leave = cache(self._leave)
        self.ask = cache(self._control)

    # --- what a node calls -------------------------------------------------------------------------------------------

    def _claim(self, at: int, now: datetime, node: str, room: int) -> tuple[int, tuple[ActiveRun, ...]]:
        self.under_way = f"{node} claims, with room for {room}"
        decide = partial(self._rules.fire, claim=ClaimContext(node, now, DEFAULT_TERMS.poll_ceiling))
        after, claim = self._replay(at, now, lambda: self._store.claim_due(now, node, room, decide))
        if claim.runs and node not in self.moments[at].nodes:
            raise InvariantViolation("a node without a lease has claimed something")
        if len(claim.runs) > room:
            raise InvariantViolation("more was claimed than there was room for")
        return after, tuple(
            ActiveRun(run.id, canonical_token(run), _first_phase(task, run)) for task, run in claim.runs
        )

    def _start(self, at: int, now: datetime, run_id: str, token: int) -> tuple[int, bool]:
        self.under_way = f"{self.named([run_id])} is started"
        after, may = self._replay(at, now, lambda: self._store.start([(run_id, token)], now))
        run = self.moments[at].run(run_id)
        expected = run is not None and run.state is RunState.CLAIMED and run.token == token and run.cancel is None
        if (run_id in may) is not expected:
            raise InvariantViolation(
                "a run was let start that may not" if run_id in may else "a run was kept from starting"
            )
        return after, run_id in may

    def _settle(self, at: int, now: datetime, batch: tuple[Report, ...]) -> int:
        self.under_way = f"settle of {self.named(run_id for run_id, *_ in batch)}"
        settlements = [Settlement(run_id, token, outcome, None, now) for run_id, token, outcome in batch]
        after, stale = self._replay(at, now, lambda: self._store.settle(settlements, self._rules.settle))
        self._check_fence(at, after, ((run_id, token) for run_id, token, _ in batch), stale)
        return after

    def _release(self, at: int, now: datetime, claims: Claims) -> int:
        self.under_way = f"release of {self.named(run_id for run_id, _ in claims)}"
        decide = partial(self._rules.release, now=now)
        after, stale = self._replay(at, now, lambda: self._store.release(claims, decide))
        self._check_fence(at, after, claims, stale)
        return after

    def _recover(self, at: int, now: datetime, node: str) -> int:
        self.under_way = f"{node} is recovered"
        decide = partial(self._rules.recover, now=now)
        after, count = self._replay(at, now, lambda: self._store.recover(node, RENEWALS, decide, _ONE_BY_ONE))
        if count is None:
            raise InvariantViolation("a node that stood still could not be recovered")
        return after

    def _join(self, at: int, node: str) -> int:
        self.under_way = f"{node} joins"
        return self._replay(at, EPOCH, lambda: self._store.join(a_node(node)))[0]

    def _leave(self, at: int, node: str) -> int:
        self.under_way = f"{node} leaves"
        return self._replay(at, EPOCH, lambda: self._store.leave(node))[0]

    # --- what a person asks ------------------------------------------------------------------------------------------

    def _control(self, at: int, now: datetime, verb: Verb, place: int) -> int | None:
        """Apply a client action; None if it is refused and nothing has changed."""
        self.under_way = f"client: {verb} {self.tasks[place].name}"
        decide = partial(_WISHES[verb], now=now)
        try:
            return self._replay(at, now, lambda: self._store.change(self.tasks[place].id, None, decide))[0]
        except Refusal:
            return None

    # --- what can be seen --------------------------------------------------------------------------------------------

    def _renewal(self, at: int, node: str) -> Renewal:
        """Answer to a renewal in this state; cached, because a renewal changes the lease only."""
        return renewal_of(node, self.moments[at])

    def is_careful(self, at: int, run_id: str) -> bool:
        """Whether a run may be made at most once: its start must be written."""
        run = self.moments[at].run(run_id)
        careful = {task.id for task in self.tasks if task.policies.guarantee == "at_most_once"}
        return run is not None and run.task_id in careful

    def check_asked(self, at: int, run_id: str) -> None:
        """A run that may be made once has not started while its gate is asked: otherwise a crash would lose it for good."""
        run = self.moments[at].run(run_id)
        if run is not None and self.is_careful(at, run_id) and run.state is RunState.RUNNING:
            self.under_way = f"the gate of {self.named([run_id])} is asked"
            raise InvariantViolation("a run has started before its gate was asked")

    def _live(self, at: int) -> frozenset[str]:
        return frozenset(run.id for run in self.moments[at].runs if run.live)

    def _without_the_dead(self, at: int, *alive: str | None) -> int:
        """Remove dead nodes without runs at once: the moment of removal has no effect."""
        moment = self.moments[at]
        carrying = {run.node for run in moment.runs if run.live}
        for node in moment.nodes:
            if node not in alive and node not in carrying:
                at = self.recover(at, EPOCH, node)
        return at

    def named(self, run_ids: Iterable[str]) -> str:
        return " and ".join(self._names[run_id] for run_id in run_ids) or "nothing"

    # --- moments -----------------------------------------------------------------------------------------------------

    def _replay(self, at: int, now: datetime, call: Callable[[], Coroutine[Any, Any, _T]]) -> tuple[int, _T]:
        before = self.moments[at]
        self._store.restore(self.tasks, before)
        try:
            answer = answer_of(call())
        except StoreError as error:
            raise InvariantViolation(f"the store gave up: {error}") from error
        after = self._store.save(self.tasks)
        for doubt in violations_between(self.tasks, before, after, now):
            raise InvariantViolation(doubt)
        return self._number(after, before), answer

    def _number(self, raw: Snapshot, known: Snapshot | None = None) -> int:
        moment = canonical(raw, known)
        if moment in self.moments:
            return self.moments.number(moment)
        for run in moment.runs:
            self._names.setdefault(run.id, f"{self._letters[run.task_id]} {run.planned:%H:%M} #{run.attempt}")
        probe(self._store, self._rules, self.tasks, moment)
        return self.moments.number(moment)

    def _check_fence(self, at: int, after: int, claims: Iterable[tuple[str, int]], stale: frozenset[str]) -> None:
        """Check that exactly the stale tokens are refused, and that a fully refused call writes nothing."""
        runs = {run.id: run for run in self.moments[at].runs}
        asked = dict(claims)
        valid = {run_id for run_id, token in asked.items() if runs[run_id].live and runs[run_id].token == token}
        if stale & valid:
            raise InvariantViolation("a node that holds its run was refused")
        if stale | valid != asked.keys():
            raise InvariantViolation("a stale write was accepted")
        if not valid and after != at:
            raise InvariantViolation("a refused write has changed something")
