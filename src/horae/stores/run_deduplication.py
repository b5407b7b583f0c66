"""A run is born once: what the ledger has already is neither written nor told again, whichever call says so."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ..model.change import Change
from ..model.events.event import OF_BIRTH, Event
from ..model.run import Run


def only_new(change: Change, is_made: Callable[[Run], bool]) -> Change:
    """The change without those births that the ledger has, or that it says twice; all else of it stays."""
    born: dict[str, Run] = {}
    again: set[str] = set()
    for run in change.born:
        if run.id in born or is_made(run):
            again.add(run.id)
        else:
            born[run.id] = run
    if not again:
        return change
    return change._replace(born=tuple(born.values()), events=_told_once(change.events, again, born))


def _told_once(events: tuple[Event, ...], again: set[str], born: dict[str, Run]) -> tuple[Event, ...]:
    """How the same run ended may be told beside it: only what tells of its birth goes."""
    kept: list[Event] = []
    told: Counter[str] = Counter()
    for event in events:
        if event.run_id in again and event.kind in OF_BIRTH:
            told[event.run_id] += 1
            if told[event.run_id] > (event.run_id in born):
                continue
        kept.append(event)
    return tuple(kept)
