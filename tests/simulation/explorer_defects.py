"""Planted defects for the explorer: one error in a decision, in the store, or in the behaviour of a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from horae.lifecycle.fire import fire
from horae.lifecycle.recover import recover, release
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.change import Change, ControlDecision, Facts, FireDecision, RunDecision
from horae.model.entry import Entry, EntryKind
from horae.model.outcome import Settlement, Skipped
from horae.model.policy import RetryPolicy
from horae.model.reason import Reason
from horae.model.run import Run, RunState
from horae.model.task import TaskState
from horae.ports.store import Claimed, LeaseRenewal
from horae.stores.memory.data import Data
from tests.simulation.explorer.restorable import RestorableStore
from tests.simulation.explorer.rules import Rules


class Defect(NamedTuple):
    """`moves` is the length of the shortest counterexample."""

    name: str
    scope: str
    rules: Rules
    broken: str
    moves: int


# --- wrong decisions ---------------------------------------------------------------------------------------------


def _entry_stays(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    change = fire(facts, entry, token, claim)
    return change._replace(put=(*change.put, entry), dropped=())


def _lanes_not_counted(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    empty = tuple(lane._replace(used=0) for lane in facts.lanes)
    return fire(facts._replace(lanes=empty), entry, token, claim)


def _overlap_ignored(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    return fire(facts._replace(live=()), entry, token, claim)


def _skips_not_told(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    change = fire(facts, entry, token, claim)
    return change._replace(new_runs=tuple(run for run in change.new_runs if run.live))


def _pause_not_read_again(facts: Facts, entry: Entry, token: int, claim: ClaimContext) -> Change:
    return fire(facts._replace(status=facts.status._replace(state=TaskState.ACTIVE)), entry, token, claim)


def _release_counts(facts: Facts, run: Run, now: datetime) -> Change:
    change = release(facts, run, now)
    return change._replace(put=tuple(entry._replace(forgiven=0) for entry in change.put))


def _crash_loses_retry(facts: Facts, run: Run, now: datetime) -> Change:
    change = recover(facts, run, now)
    return change._replace(put=tuple(entry for entry in change.put if entry.kind is not EntryKind.RETRY))


def _started_is_tried_again(facts: Facts, run: Run, now: datetime) -> Change:
    policies = replace(facts.task.policies, guarantee="at_least_once")
    return recover(facts._replace(task=facts.task._replace(policies=policies)), run, now)


def _unstarted_is_forgotten(facts: Facts, run: Run, now: datetime) -> Change:
    return recover(facts, run._replace(state=RunState.RUNNING), now)


def _one_try_too_many(facts: Facts, run: Run, report: Settlement) -> Change:
    policies = replace(facts.task.policies, retry=RetryPolicy(attempts=3, backoff=timedelta(0)))
    return settle(facts._replace(task=facts.task._replace(policies=policies)), run, report)


def _cancelled_is_tried_again(facts: Facts, run: Run, report: Settlement) -> Change:
    standing = facts.status._replace(state=TaskState.ACTIVE)
    return settle(facts._replace(status=standing), run._replace(cancel=None), report)


def _gate_retry_is_lost(facts: Facts, run: Run, report: Settlement) -> Change:
    change = settle(facts, run, report)
    is_failing = isinstance(report.outcome, Skipped) and report.outcome.reason is Reason.GATE_FAILED
    return change._replace(put=()) if is_failing else change


# --- a wrong store -----------------------------------------------------------------------------------------------


class _LooseData(Data):
    def _update_run(self, run: Run) -> None:
        self.runs.write(run.id, run)


class _Unfenced(RestorableStore):
    """A run can be settled by id, repeatedly."""

    def __init__(self) -> None:
        super().__init__()
        self._data = _LooseData()

    def _live_run(self, run_id: str, token: int) -> Run | None:  # noqa: ARG002 - that is the defect
        return self._data.runs.get(run_id)


class _IgnoresEnd(_Unfenced):
    """Checks the token, but not that the run is live."""

    def _live_run(self, run_id: str, token: int) -> Run | None:
        run = self._data.runs.get(run_id)
        return run if run is not None and run.token == token else None


class _RecoversRenewedNodes(RestorableStore):
    """Recovers a node whether or not it has renewed its lease since."""

    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        known = self._data.nodes.get(node)
        return await super().recover(node, renewals if known is None else known.renewals, decide, limit)


class _NeverUnparksData(Data):
    def _unpark_first(self, lane: str, count: int) -> None:
        """A freed lane slot unparks nothing."""


class _NeverUnparks(RestorableStore):
    def __init__(self) -> None:
        super().__init__()
        self._data = _NeverUnparksData()


class _SometimesUnparksData(Data):
    is_recovering = False

    def _unpark_first(self, lane: str, count: int) -> None:
        if not self.is_recovering:
            super()._unpark_first(lane, count)


class _RecoveryUnparksNothing(RestorableStore):
    """The recovery of a crashed node frees the slots of its runs, but nothing that waits for them goes on."""

    def __init__(self) -> None:
        super().__init__()
        self._data = self._sometimes = _SometimesUnparksData()

    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        self._sometimes.is_recovering = True
        try:
            return await super().recover(node, renewals, decide, limit)
        finally:
            self._sometimes.is_recovering = False


class _ClaimsEarly(RestorableStore):
    """Claims entries that are due a minute later."""

    def _select_slice(self, now: datetime) -> list[Entry]:
        return super()._select_slice(now + timedelta(minutes=1))


class _OldTokens(RestorableStore):
    def _fire_entries(self, chosen: list[Entry], room: int, decide: FireDecision, claimed: list[Claimed]) -> int:
        self._data.token -= bool(chosen)
        return super()._fire_entries(chosen, room, decide, claimed)


class _PauseKeepsAgenda(RestorableStore):
    """A pause is stored, but its agenda entries stay active."""

    async def change(self, task_id: str, owner: str | None, decide: ControlDecision) -> Facts | None:
        return await super().change(task_id, owner, lambda facts: decide(facts)._replace(put=()))


class _HidesCancelRequests(RestorableStore):
    """Renewals do not report cancel requests."""

    async def renew_lease(
        self, node: str, now: datetime, load: int = 0, offset: timedelta = timedelta(0)
    ) -> LeaseRenewal:
        return (await super().renew_lease(node, now, load, offset))._replace(cancel_requests=())


class _StartsAnything(RestorableStore):
    async def start(self, claims: Sequence[tuple[str, int]], now: datetime) -> frozenset[str]:
        await super().start(claims, now)
        return frozenset(run_id for run_id, _ in claims)


class _ForgetfulData(Data):
    forgets = False

    async def _follow_chains(self) -> None:
        if not self.forgets:
            await super()._follow_chains()


class _RecoveryForgetsLinks(RestorableStore):
    """The recovery of a crashed node ends its runs, but does not start the tasks that run after them."""

    def __init__(self) -> None:
        super().__init__()
        self._data = self._forgetful = _ForgetfulData()

    async def recover(self, node: str, renewals: int, decide: RunDecision, limit: int) -> int | None:
        self._forgetful.forgets = True
        try:
            return await super().recover(node, renewals, decide, limit)
        finally:
            self._forgetful.forgets = False


DEFECTS: Final = (
    Defect("started before its gate", "gate-careful", Rules(asks_first=False), "before its gate was asked", 4),
    Defect("a run in its gate is forgotten", "gate-careful", Rules(recover=_unstarted_is_forgotten), "queued again", 6),
    Defect("a failed gate is not asked again", "gate", Rules(settle=_gate_retry_is_lost), "nothing of it", 5),
    Defect("a link is lost at a crash", "chain-careful", Rules(store=_RecoveryForgetsLinks), "of B has 0 outcomes", 7),
    Defect("the token is not looked at", "plain", Rules(store=_Unfenced), "a stale settlement was accepted", 3),
    Defect("what has ended ends again", "plain", Rules(store=_IgnoresEnd), "a stale settlement was accepted", 5),
    Defect("recovered while it lives", "plain", Rules(store=_RecoversRenewedNodes), "renewed its lease in time", 1),
    Defect("a claim leaves the entry", "plain", Rules(fire=_entry_stays), "an attempt that was made", 3),
    Defect("start is not heeded", "careful", Rules(heeds_start=False), "was done 2 times", 11),
    Defect("anything may start", "careful", Rules(store=_StartsAnything), "a node that does not hold it", 3),
    Defect("a hand-back uses up a try", "unruly", Rules(release=_release_counts), "tried more often", 9),
    Defect("a crash loses the retry", "plain", Rules(recover=_crash_loses_retry), "nothing of it is queued", 6),
    Defect("what was started is tried again", "careful", Rules(recover=_started_is_tried_again), "2 times", 11),
    Defect(
        "what never started is forgotten", "careful", Rules(recover=_unstarted_is_forgotten), "is not queued again", 6
    ),
    Defect("one try too many", "plain", Rules(settle=_one_try_too_many), "tried more often", 9),
    Defect("lanes are not counted", "lane", Rules(fire=_lanes_not_counted), "than it has seats", 3),
    Defect("a freed lane slot unparks nothing", "lane", Rules(store=_NeverUnparks), "the end cannot be reached", 3),
    Defect(
        "a lane slot freed by a crash unparks nothing",
        "lane-crashes",
        Rules(store=_RecoveryUnparksNothing),
        "the end cannot be reached",
        4,
    ),
    Defect("claimed a minute early", "plain", Rules(store=_ClaimsEarly), "before its instant", 2),
    Defect("tokens do not rise", "plain", Rules(store=_OldTokens), "a token did not rise", 3),
    Defect("overlap is ignored", "overlap-skip", Rules(fire=_overlap_ignored), "two runs of A at once", 5),
    Defect("skips are not told", "overlap-skip", Rules(fire=_skips_not_told), "has 0 outcomes", 7),
    Defect(
        "a pause is not read again",
        "overlap-skip",
        Rules(store=_PauseKeepsAgenda, fire=_pause_not_read_again),
        "while its task was paused",
        4,
    ),
    Defect(
        "cancel requests are not reported",
        "cancel",
        Rules(store=_HidesCancelRequests),
        "not told what it had to know",
        4,
    ),
    Defect(
        "cancelled, and tried again", "cancel", Rules(settle=_cancelled_is_tried_again), "that was cancelled became", 6
    ),
    Defect("a claim without an answer is forgotten", "lane", Rules(looks_back=False), "cannot be reached", 3),
)
