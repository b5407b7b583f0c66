"""What a decision sees (`Facts`) and what it says (`Change`): the only two shapes between the rules and the stores.

A store gathers the facts of a task and applies a change, in one transaction, and knows nothing of the rules between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from .entry import Entry
from .events.event import Event
from .lane import LaneUse
from .outcome import Settlement
from .reason import Reason
from .record import Writing
from .run import Run
from .task import Standing, Task


class Facts(NamedTuple):
    """One task as it stands: `entries` are all its agenda entries, `live` its runs that have not ended.

    `lanes` are the lanes that a run of it would sit in; `barred` is why its owner, or its lane, may not run anything, if that is so.
    `made` are runs that the ledger has already: a decision that wanted to make them is asked again, knowing that.
    """

    task: Task
    standing: Standing
    entries: tuple[Entry, ...] = ()
    live: tuple[Run, ...] = ()
    lanes: tuple[LaneUse, ...] = ()
    barred: Reason | None = None
    made: frozenset[str] = frozenset()


class Change(NamedTuple):
    """What is to be written, all of it or nothing.

    task       its definition, made or edited                 standing   its new standing
    born       new runs: started, or skipped from birth       moved      live runs with their new state, result, end
    cancelled  live runs that are asked to end, and why       put        agenda entries, by slot: new or in place of one
    dropped    slots that leave the agenda                    events     what is told, in this order
    deleted    the task goes, with its history                beside     records that are written with it

    A run that is born live takes a seat in each of its lanes, one that ends leaves them; and for every seat that a
    change frees, the store makes the first parked entry of that lane (in the order of claims) claimable again.
    When somebody else was faster with a record beside it, nothing is written: a `Conflict` with the code `record_changed`.
    """

    task: Task | None = None
    standing: Standing | None = None
    born: tuple[Run, ...] = ()
    moved: tuple[Run, ...] = ()
    cancelled: tuple[tuple[str, Reason], ...] = ()
    put: tuple[Entry, ...] = ()
    dropped: tuple[str, ...] = ()
    events: tuple[Event, ...] = ()
    deleted: bool = False
    beside: tuple[Writing, ...] = ()


NOTHING: Final = Change()

FireDecision: TypeAlias = Callable[[Facts, Entry, int], Change]
"""(facts, the entry that came due, the token of this claim)"""
SettleDecision: TypeAlias = Callable[[Facts, Run, Settlement], Change]
RunDecision: TypeAlias = Callable[[Facts, Run], Change]
ControlDecision: TypeAlias = Callable[[Facts], Change]
