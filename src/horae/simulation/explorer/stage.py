"""Plays store calls on the real store, each from a given moment and only once: what came of it is remembered."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from datetime import datetime
from functools import cache, partial
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from ...errors import Refusal, StoreError
from ...lifecycle import control
from ...lifecycle.start import Claimant
from ...model.change import RunDecision
from ...model.ids import EPOCH
from ...model.outcome import Outcome, Settlement, Succeeded
from ...model.run import RunState
from ...ports.store import STANDARD_TERMS
from .numbering import Numbering
from .process import Carried, Phase
from .promises import BrokenPromise, broken_at_the_end, broken_between, broken_in
from .restorable import RENEWALS, a_node
from .rules import Rules
from .scope import Scope, Verb
from .snapshot import Snapshot, canonical, canonical_token

_T = TypeVar("_T")
Claims: TypeAlias = tuple[tuple[str, int], ...]
Report: TypeAlias = tuple[str, int, Outcome]

_ONE_BY_ONE: Final = 1
"""Recovery goes run by run here, so that anything may happen between two of them."""
_OUTDATED: Final = RENEWALS - 1
_FORGED: Final = 9_999
_WISHES: Final = {Verb.PAUSE: control.pause, Verb.CANCEL: control.cancel, Verb.RESUME: control.resume}


class Extended(NamedTuple):
    after: int
    held: bool
    orders: frozenset[str]


class Stage:
    """Moments have numbers, in the order in which they were found; 0 is the beginning."""

    def __init__(self, scope: Scope, rules: Rules) -> None:
        self.tasks = scope.tasks
        self.moments: Numbering[Snapshot] = Numbering()
        self._names: dict[str, str] = {}
        self._letters = {task.id: task.name for task in self.tasks}
        self._rules = rules
        self._store = rules.store()
        _answer(self._store.add(scope.planted))
        self._number(self._store.save(self.tasks))
        # The same call from the same moment always comes to the same: most of the search is remembering.
        self.claim = cache(self._claim)
        self.start = cache(self._start)
        self.settle = cache(self._settle)
        self.release = cache(self._release)
        self.recover = cache(self._recover)
        self.live = cache(self._live)
        self.without_the_dead = cache(self._without_the_dead)
        self.extend = cache(self._extend)
        self.join = cache(self._join)
        self.leave = cache(self._leave)
        self.ask = cache(self._ask)

    # --- what a node calls -------------------------------------------------------------------------------------------

    def _claim(self, at: int, now: datetime, node: str, room: int) -> tuple[int, tuple[Carried, ...]]:
        decide = partial(self._rules.fire, claim=Claimant(node, now, STANDARD_TERMS.poll_ceiling))
        after, claim = self._play(at, now, lambda: self._store.claim_due(now, node, room, decide))
        if claim.runs and node not in self.moments[at].nodes:
            raise BrokenPromise("a node without a lease has claimed something")
        if len(claim.runs) > room:
            raise BrokenPromise("more was claimed than there was room for")
        return after, tuple(
            Carried(run.id, canonical_token(run), Phase.CLAIMED if run.state is RunState.CLAIMED else Phase.GOING)
            for _, run in claim.runs
        )

    def _start(self, at: int, now: datetime, run_id: str, token: int) -> tuple[int, bool]:
        after, may = self._play(at, now, lambda: self._store.start([(run_id, token)], now))
        run = self.moments[at].run(run_id)
        expected = run is not None and run.state is RunState.CLAIMED and run.token == token and run.cancel is None
        if (run_id in may) is not expected:
            raise BrokenPromise("a run was let start that may not" if run_id in may else "a run was kept from starting")
        return after, run_id in may

    def _settle(self, at: int, now: datetime, batch: tuple[Report, ...]) -> int:
        settlements = [Settlement(run_id, token, outcome, None, now) for run_id, token, outcome in batch]
        after, stale = self._play(at, now, lambda: self._store.settle(settlements, self._rules.settle))
        self._check_fence(at, after, ((run_id, token) for run_id, token, _ in batch), stale)
        return after

    def _release(self, at: int, now: datetime, claims: Claims) -> int:
        decide = partial(self._rules.release, now=now)
        after, stale = self._play(at, now, lambda: self._store.release(claims, decide))
        self._check_fence(at, after, claims, stale)
        return after

    def _recover(self, at: int, now: datetime, node: str) -> int:
        decide = partial(self._rules.recover, now=now)
        after, count = self._play(at, now, lambda: self._store.recover(node, RENEWALS, decide, _ONE_BY_ONE))
        if count is None:
            raise BrokenPromise("a node that stood still could not be recovered")
        return after

    def _extend(self, at: int, node: str) -> Extended:
        after, extension = self._play(at, EPOCH, lambda: self._store.extend(node, EPOCH))
        return Extended(after, extension.held, frozenset(order.run_id for order in extension.orders))

    def _join(self, at: int, node: str) -> int:
        return self._play(at, EPOCH, lambda: self._store.join(a_node(node)))[0]

    def _leave(self, at: int, node: str) -> int:
        return self._play(at, EPOCH, lambda: self._store.leave(node))[0]

    # --- what a person asks ------------------------------------------------------------------------------------------

    def _ask(self, at: int, now: datetime, verb: Verb, place: int) -> int | None:
        """None when it is refused: then nothing has changed."""
        decide = partial(_WISHES[verb], now=now)
        try:
            return self._play(at, now, lambda: self._store.change(self.tasks[place].id, None, decide))[0]
        except Refusal:
            return None

    # --- what can be seen --------------------------------------------------------------------------------------------

    def _live(self, at: int) -> frozenset[str]:
        return frozenset(run.id for run in self.moments[at].runs if run.live)

    def _without_the_dead(self, at: int, *alive: str | None) -> int:
        """Dead nodes that carried nothing are forgotten at once: whenever somebody does it, nobody can tell."""
        moment = self.moments[at]
        carrying = {run.node for run in moment.runs if run.live}
        for node in moment.nodes:
            if node not in alive and node not in carrying:
                at = self.recover(at, EPOCH, node)
        return at

    def named(self, run_ids: Iterable[str]) -> str:
        return " and ".join(self._names[run_id] for run_id in run_ids) or "nothing"

    # --- moments -----------------------------------------------------------------------------------------------------

    def _play(self, at: int, now: datetime, call: Callable[[], Coroutine[Any, Any, _T]]) -> tuple[int, _T]:
        before = self.moments[at]
        self._store.restore(self.tasks, before)
        try:
            answer = _answer(call())
        except StoreError as error:
            raise BrokenPromise(f"the store gave up: {error}") from error
        after = self._store.save(self.tasks)
        for doubt in broken_between(self.tasks, before, after, now):
            raise BrokenPromise(doubt)
        return self._number(after, before), answer

    def _number(self, raw: Snapshot, known: Snapshot | None = None) -> int:
        moment = canonical(raw, known)
        if moment in self.moments:
            return self.moments.number(moment)
        for run in moment.runs:
            self._names.setdefault(run.id, f"{self._letters[run.task_id]} {run.planned:%H:%M} #{run.attempt}")
        self._look_at(moment, raw)
        return self.moments.number(moment)

    def _look_at(self, moment: Snapshot, raw: Snapshot) -> None:
        for doubt in (*_answer(self._store.check()), *broken_in(self.tasks, moment)):
            raise BrokenPromise(doubt)
        if moment.quiet:
            for doubt in broken_at_the_end(self.tasks, moment):
                raise BrokenPromise(doubt)
        self._forge(raw)

    def _forge(self, moment: Snapshot) -> None:
        """Whatever the moment: what has ended is over also for whoever still has its token, a token that was never given
        out can change nothing, and nobody recovers a node that has renewed since it was looked at."""
        claims = [(run.id, _FORGED if run.live else run.token) for run in moment.runs]
        reports = [Settlement(run_id, token, Succeeded(), None, EPOCH) for run_id, token in claims]
        release, recover = (partial(decide, now=EPOCH) for decide in (self._rules.release, self._rules.recover))
        asked, store = frozenset(run.id for run in moment.runs), self._store
        for accepted, what in (
            (asked - _answer(store.settle(reports, self._rules.settle)), "a stale settlement was accepted"),
            (asked - _answer(store.release(claims, release)), "what had ended could be handed back"),
            (_answer(store.start(claims, EPOCH)), "what had ended could be started"),
            (self._recovered(moment.nodes, recover), "a node was recovered that had renewed its lease in time"),
        ):
            if accepted:
                raise BrokenPromise(what)
        if store.save(self.tasks) != moment:
            raise BrokenPromise("a write that was refused has changed something")

    def _recovered(self, nodes: tuple[str, ...], decide: RunDecision) -> list[str]:
        looks = ((node, self._store.recover(node, _OUTDATED, decide, _ONE_BY_ONE)) for node in nodes)
        return [node for node, look in looks if _answer(look) is not None]

    def _check_fence(self, at: int, after: int, claims: Iterable[tuple[str, int]], stale: frozenset[str]) -> None:
        """Refused is exactly what is no longer live under that token; and where all is refused, nothing is written."""
        runs = {run.id: run for run in self.moments[at].runs}
        asked = dict(claims)
        valid = {run_id for run_id, token in asked.items() if runs[run_id].live and runs[run_id].token == token}
        if stale & valid:
            raise BrokenPromise("a node that holds its run was refused")
        if stale | valid != asked.keys():
            raise BrokenPromise("a stale write was accepted")
        if not valid and after != at:
            raise BrokenPromise("a refused write has changed something")


def _answer(call: Coroutine[Any, Any, _T]) -> _T:
    """The store in memory never waits, so its calls need no event loop."""
    try:
        call.send(None)
    except StopIteration as done:
        answer: _T = done.value
        return answer
    raise BrokenPromise("the store in memory has waited for something")
