"""A due entry on a node that cannot run it: it waits at the door of its target until a node that can comes by."""

from __future__ import annotations

from typing import Final

from ..model.change import Change, Facts
from ..model.entry import Entry, EntryKind, Stand
from ..model.route import route_of
from .start import Claimant

_NEED_NO_TARGET: Final = (EntryKind.RESUME, EntryKind.DEADLINE)


def stranded(facts: Facts, entry: Entry, claim: Claimant) -> Change | None:
    """None when this node can run it. Nothing is attempted and nothing is lost: the instants that pass meanwhile are
    missed, and fall under that policy when somebody can run them."""
    if claim.routes is None or entry.kind in _NEED_NO_TARGET:
        return None
    route = route_of(facts.task.target)
    if route in claim.routes:
        return None
    # What somebody asked for was met in time, and only waits.
    waited = entry.waited or entry.kind is EntryKind.MANUAL
    return Change(put=(entry._replace(stand=Stand.PARKED, lane=route, waited=waited),))
