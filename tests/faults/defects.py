"""Defects to plant in a worker: each breaks one guarantee, and the checker must report it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime, timedelta
from typing import Any, Final, Self

from horae.engine import dispatcher, keeper, process_identity, settler
from horae.engine.active_run import ActiveRun
from horae.lifecycle.batch import ClaimDecision, SettlementDecision
from horae.lifecycle.fire import fire
from horae.lifecycle.recover import recover
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.change import Change, Facts, SettleDecision
from horae.model.entry import NEXT_SLOT, Entry, EntryKind
from horae.model.outcome import Settlement
from horae.model.run import Run
from tests.faults.stopping_store import StoppingStore
from tests.faults.store_snapshot import overwrite_with_success

_real_settle = StoppingStore.settle_real


@contextmanager
def replace_attribute(owner: object, name: str, value: object) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


def plant_defect(name: str | None) -> AbstractContextManager[None]:
    return nullcontext() if name is None else _replace_decision(*DEFECTS[name])


@contextmanager
def _replace_decision(owner: object, name: str, value: object) -> Iterator[None]:
    """Replace an attribute. Batch decisions have a path of their own for ordinary changes: each is decided by itself here."""
    with (
        replace_attribute(ClaimDecision, "start_class", lambda *_: None),
        replace_attribute(SettlementDecision, "success", lambda *_: None),
        replace_attribute(settler._DecisionLog, "success", lambda *_: None),
        replace_attribute(owner, name, value),
    ):
        yield


def _fire_forgets_the_next(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    change = fire(facts, entry, token, claim)
    remaining = tuple(each for each in change.put if each.kind is not EntryKind.NEXT)
    return change._replace(put=remaining, dropped=(*change.dropped, entry.slot))


def _fire_again(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    """Leave the claimed entry on the agenda as another attempt."""
    change = fire(facts, entry, token, claim)
    retry = entry._replace(slot=f"again/{entry.slot}", kind=EntryKind.RETRY, attempt=entry.attempt + 1)
    return change._replace(put=(*change.put, retry)) if entry.attempt == 1 else change


def _settle_drops_the_next(facts: Facts, run: Run, report: Settlement) -> Change:
    change = settle(facts, run, report)
    return change._replace(dropped=(*change.dropped, NEXT_SLOT))


def _recover_forgets_the_retry(facts: Facts, run: Run, now: datetime) -> Change:
    return recover(facts, run, now)._replace(put=())


def _recover_without_reason(facts: Facts, run: Run, now: datetime) -> Change:
    change = recover(facts, run, now)
    return change._replace(updated_runs=tuple(each._replace(reason=None) for each in change.updated_runs))


class _EarlyClaimant(ClaimContext):
    """Claim context whose clock is five seconds ahead."""

    def __new__(cls, node: str, now: datetime, *others: Any) -> Self:
        return super().__new__(cls, node, now + timedelta(seconds=5), *others)


async def _stale_settle_is_written(
    self: StoppingStore, batch: Sequence[Settlement], decide: SettleDecision
) -> frozenset[str]:
    """Write a stale settlement over the newer state of the run."""
    stale = await _real_settle(self, batch, decide)
    for run_id in stale:
        await asyncio.to_thread(overwrite_with_success, self.testbed, run_id)
    return stale


def _key_of_the_attempt(carried: ActiveRun) -> str:
    return f"{carried.run.id}/{carried.run.attempt}"


Defect = tuple[object, str, Callable[..., Any] | property]

DEFECTS: Final[dict[str, Defect]] = {
    "the claim forgets the next occurrence": (dispatcher, "fire", _fire_forgets_the_next),
    "the claim leaves the entry": (dispatcher, "fire", _fire_again),
    "the claim comes early": (dispatcher, "ClaimContext", _EarlyClaimant),
    "the settlement drops the next occurrence": (settler, "settle", _settle_drops_the_next),
    "the recovery forgets the retry": (keeper, "recover", _recover_forgets_the_retry),
    "the recovery gives no reason": (keeper, "recover", _recover_without_reason),
    "a live node is taken for dead": (process_identity, "_started", lambda _process: "0"),
    "each attempt has a key of its own": (ActiveRun, "key", property(_key_of_the_attempt)),
    "a stale settlement is written": (StoppingStore, "settle_real", _stale_settle_is_written),
}
