"""Probes of one store state: invariants that hold there, and calls that must be refused there."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from horae.model.ids import EPOCH
from horae.model.outcome import Settlement, Succeeded
from horae.model.task import Task
from tests.simulation.explorer.invariants import InvariantViolation, violations_at_end, violations_in
from tests.simulation.explorer.restorable import RENEWALS, RestorableStore
from tests.simulation.explorer.rules import Rules
from tests.simulation.explorer.snapshot import Snapshot

_T = TypeVar("_T")
_FORGED: Final = 9_999
_OUTDATED: Final = RENEWALS - 1


class Renewal(NamedTuple):
    """Answer of the store to a lease renewal."""

    held: bool
    orders: frozenset[str] = frozenset()


def renewal_of(node: str, moment: Snapshot) -> Renewal:
    if node not in moment.nodes:
        return Renewal(held=False)
    asked = (run.id for run in moment.runs if run.live and run.node == node and run.cancel is not None)
    return Renewal(held=True, orders=frozenset(asked))


def answer_of(call: Coroutine[Any, Any, _T]) -> _T:
    """Run a call of the in-memory store without an event loop: it never suspends."""
    try:
        call.send(None)
    except StopIteration as done:
        answer: _T = done.value
        return answer
    raise InvariantViolation("the store in memory has waited for something")


def probe(store: RestorableStore, rules: Rules, tasks: Sequence[Task], moment: Snapshot) -> None:
    """Check the current store state; afterwards only renewals have changed."""
    for doubt in (*answer_of(store.check()), *violations_in(tasks, moment)):
        raise InvariantViolation(doubt)
    if moment.quiet:
        for doubt in violations_at_end(tasks, moment):
            raise InvariantViolation(doubt)
    written = store.save(tasks)
    _renew(store, written)
    _forge(store, rules, written)
    if store.save(tasks) != written:
        raise InvariantViolation("a write that was refused has changed something")


def _renew(store: RestorableStore, moment: Snapshot) -> None:
    for node in moment.nodes:
        held, orders, *_ = answer_of(store.renew_lease(node, EPOCH))
        if Renewal(held, frozenset(order.run_id for order in orders)) != renewal_of(node, moment):
            raise InvariantViolation("a renewal was not told what it had to know")


def _forge(store: RestorableStore, rules: Rules, moment: Snapshot) -> None:
    """An ended run is stale for its last token, an unknown token changes nothing,
    and a node that renewed meanwhile is not recovered."""
    claims = [(run.id, _FORGED if run.live else run.token) for run in moment.runs]
    reports = [Settlement(run_id, token, Succeeded(), None, EPOCH) for run_id, token in claims]
    asked = frozenset(run.id for run in moment.runs)
    if asked - answer_of(store.settle(reports, rules.settle)):
        raise InvariantViolation("a stale settlement was accepted")
    if asked - answer_of(store.release(claims, partial(rules.release, now=EPOCH))):
        raise InvariantViolation("a run was released by a node that does not hold it")
    if answer_of(store.start(claims, EPOCH)):
        raise InvariantViolation("a run was started by a node that does not hold it")
    lose = partial(rules.recover, now=EPOCH)
    if any(answer_of(store.recover(node, _OUTDATED, lose, 1)) is not None for node in moment.nodes):
        raise InvariantViolation("a node was recovered that had renewed its lease in time")
