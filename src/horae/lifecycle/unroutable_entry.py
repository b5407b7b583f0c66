"""Parking of a due entry whose route this node does not support, until a capable node unparks it."""

from __future__ import annotations

from typing import Final

from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind, EntryState
from ..model.route import route_of
from .start import ClaimContext

_WITHOUT_TARGET: Final = (EntryKind.RESUME, EntryKind.DEADLINE)


def park_unroutable(facts: Facts, entry: Entry, claim: ClaimContext) -> Change | None:
    """Return the change that parks the entry; None when this node can run it.

    Instants that pass while it is parked fall under the missed policy when a capable node claims it.
    """
    if claim.routes is None or entry.kind in _WITHOUT_TARGET:
        return None
    route = route_of(facts.task.target)
    if route in claim.routes:
        return None
    # A manual entry came due in time and only waits, so it is not missed.
    waited = entry.waited or entry.kind is EntryKind.MANUAL
    return Change(put=(entry._replace(state=EntryState.PARKED, lane=route, waited=waited),))
