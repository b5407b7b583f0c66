"""Decisions of a claim and of a batch of settlements: as the plain functions, and by the parts that ordinary ones need.

A store that is given a plain function calls it for each entry and run. One that is given these objects may ask for the class
of an entry, keep it during the claim, and take each member of the class by itself; what it may not ask so, it calls.
"""

from __future__ import annotations

from datetime import datetime

from ..model.change import Change, Facts, FireDecision, OrdinaryStart, SettleDecision, Start, Success
from ..model.entry import Entry
from ..model.ids import EPOCH
from ..model.outcome import Settlement
from ..model.policy import Policies
from ..model.run import Run
from ..model.task import Target, Task, TaskStatus
from .fast_path import StartClass, ordinary_success, start_class, start_member
from .fire import fire, is_routable
from .settle import settle
from .start import ClaimContext


class ClaimDecision:
    """Decides the entries of one claim. `decide` is the decision for one entry by all facts of its task."""

    def __init__(self, claim: ClaimContext, decide: FireDecision | None = None) -> None:
        self.claim = claim
        self._decide = decide

    def __call__(self, facts: Facts, entry: Entry, token: int) -> Change:
        return fire(facts, entry, token, self.claim) if self._decide is None else self._decide(facts, entry, token)

    def start_class(
        self, owner: str, target: Target, policies: Policies, entry: Entry, token: int
    ) -> StartClass | None:
        """Return the class of the entry, if its members are ordinary starts: without lanes, alone on the agenda of a task
        without live runs, and not blocked. The class holds for every entry that differs in ids and instants alone, so the
        decision does not see these."""
        if not is_routable(target, policies, self.claim):
            return None
        found = start_class(
            owner, policies, (), entry._replace(task_id="", planned=EPOCH, due=EPOCH), token, self.claim
        )
        return found if found is not None and found.tag is OrdinaryStart else None

    def start_member(
        self, found: StartClass, task: Task, status: TaskStatus, planned: datetime, due: datetime
    ) -> Start | None:
        """Return the start of one member of the class; None where `__call__` must decide."""
        return start_member(found, task, status, planned, due)


class SettlementDecision:
    """Decides a batch of settlements. `decide` is the decision for one run by all facts of its task."""

    def __init__(self, decide: SettleDecision = settle) -> None:
        self._decide = decide

    def __call__(self, facts: Facts, run: Run, report: Settlement) -> Change:
        return self._decide(facts, run, report)

    def success(
        self,
        task: Task,
        status: TaskStatus,
        entries: tuple[Entry, ...],
        live: tuple[Run, ...],
        run: Run,
        report: Settlement,
    ) -> Success | None:
        """Return what an `OrdinarySuccess` of the run says; None where `__call__` must decide."""
        return ordinary_success(task, status, entries, live, run, report)
