"""Two stores that are asked the same and must answer the same: one of them is the measure."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Final, NamedTuple, TypeAlias

from ....errors import Refusal
from ....lifecycle.start import ClaimContext
from ....model.change import Change, Facts, FireDecision, RunDecision, SettleDecision
from ....model.counts import NO_HOUR, RETAINED_HOURS, hour_of
from ....model.entry import Entry, EntryState
from ....model.events.event import Event
from ....model.outcome import Settlement
from ....model.page import Page
from ....model.run import Run
from ....model.task import Task
from ....ports.store import Claim, RunFilter, TaskFilter
from ...decisions import PlannedFailure
from ..stores.contract import WholeStore
from .strategies import OWNERS

_PAGE: Final = 1_000
_HOURS: Final = RETAINED_HOURS - 2
"""When exactly the oldest hours are forgotten is up to the store."""
_NEVER_GIVEN: Final = 1_000_000_000


class Refused(NamedTuple):
    """What a call raised, as far as two stores must agree on it."""

    kind: str
    code: str


class Side:
    """One of the two: its store, and what only this store gave a name or a number to.

    Tokens and the numbers of events must rise, and nothing else is asked of them: so a token is known here by the number
    of the claim for which it was given, and events by their order.
    """

    def __init__(self, store: WholeStore) -> None:
        self.store = store
        self.read = 0
        self.looked: dict[int, str | None] = {}
        """How far it was looked for what may be forgotten, by how many runs were to be kept."""
        self.seen: dict[tuple[str, str], tuple[object, ...]] = {}
        self._claims: dict[int, int] = {0: 0}
        self._tokens: dict[int, int] = {0: 0}

    def token(self, claim: int) -> int:
        """What fences the runs of a claim; for a claim that never was, what no run bears."""
        return self._tokens.get(claim, _NEVER_GIVEN + claim)

    async def claim(self, claimant: ClaimContext, room: int, decide: FireDecision, *, number: int) -> Claim:
        given: list[int] = []

        def fire(facts: Facts, entry: Entry, token: int) -> Change:
            assert token > max(self._claims), "a token must be higher than all before"
            given.append(token)
            self.seen[facts.task.id, entry.slot] = (facts, entry)
            return decide(facts, entry, token)

        answer = await self.store.claim_due(claimant.now, claimant.node, room, fire)
        # Only now: a claim that failed was none, and its token may be given again.
        for token in given[-1:]:
            self._claims[token], self._tokens[number] = number, token
        return answer

    def settling(self, decide: SettleDecision) -> SettleDecision:
        def settle(facts: Facts, run: Run, report: Settlement) -> Change:
            self.seen[run.id, str(report.token == run.token)] = (facts, run)
            return decide(facts, run, report)

        return settle

    def ending(self, decide: RunDecision) -> RunDecision:
        def end(facts: Facts, run: Run) -> Change:
            self.seen[run.id, ""] = (facts, run)
            return decide(facts, run)

        return end

    def shown(self, value: Any) -> Any:
        """The same in both stores, however each of them counts."""
        if isinstance(value, Run):
            return value._replace(token=self._claims[value.token])
        if isinstance(value, Entry):
            # Where a claimable entry stands is the store's own business.
            return value._replace(state=EntryState.TIMED) if value.state is EntryState.READY else value
        if isinstance(value, dict):
            return {key: self.shown(each) for key, each in value.items()}
        if isinstance(value, list) or (isinstance(value, tuple) and not isinstance(value, Task | Event)):
            return tuple(self.shown(each) for each in value)
        return value

    async def everything(self, now: datetime) -> dict[str, object]:
        """All that can be read of the store, and of the events those that are new."""
        store = self.store
        hours = [NO_HOUR, *range(hour_of(now) - _HOURS, hour_of(now) + 1)]
        listed = (await store.tasks(TaskFilter(), limit=_PAGE)).items
        told = await store.events(self.read, limit=_PAGE)
        numbers = [self.read, *(each.number for each in told)]
        assert numbers == sorted(set(numbers)), "the numbers of events must rise"
        self.read = numbers[-1]
        assert await store.last_event() == self.read
        ids = [each.task.id for each in listed]
        return {
            "counts": [await store.counts(owner, hours) for owner in (None, *OWNERS)],
            "waiting": [await store.waiting(owner, now) for owner in (None, *OWNERS)],
            # Of two that come at the same instant, either may come first.
            "upcoming": sorted(await store.upcoming(None, _PAGE), key=lambda facts: facts.task.id),
            "latest": await store.latest(ids),
            "lanes": await store.lanes(),
            "nodes": await store.nodes(),
            "listed": listed,
            "facts": [await store.facts(each.task.id, None) for each in listed],
            "runs": (await store.runs(RunFilter(), limit=_PAGE)).items,
            "new events": [each.event for each in told],
            "next due": await store.next_due(),
            "records": (await store.records("token", newest=True, limit=_PAGE)).items,
            "doubts": await store.check(),
        }


Call: TypeAlias = Callable[[Side], Awaitable[Any]]


class Twins:
    """`ask` makes the same call of both, compares the answers, and compares what their decisions were told."""

    def __init__(self, measure: WholeStore, store: WholeStore) -> None:
        self.measure = Side(measure)
        self.store = Side(store)

    async def ask(self, call: Call) -> Any:
        expected, got = [await _answer(side, call) for side in (self.measure, self.store)]
        assert got == expected
        told, expected_told = self.store.shown(self.store.seen), self.measure.shown(self.measure.seen)
        assert told == expected_told, "a decision was told something else"
        self.measure.seen.clear()
        self.store.seen.clear()
        return expected

    async def everything(self, now: datetime) -> dict[str, Any]:
        found: dict[str, Any] = await self.ask(lambda side: side.everything(now))
        return found


async def _answer(side: Side, call: Call) -> Any:
    try:
        return side.shown(await call(side))
    except Refusal as refusal:
        return Refused(type(refusal).__name__, refusal.code)
    except PlannedFailure:
        return Refused(PlannedFailure.__name__, "")


async def all_pages(ask: Callable[[str | None], Awaitable[Page[Any]]]) -> list[tuple[Any, ...]]:
    """Page after page, each as it came; where the next one begins is the store's own business."""
    pages: list[tuple[Any, ...]] = []
    after: str | None = None
    while True:
        page = await ask(after)
        pages.append(page.items)
        if page.after is None:
            return pages
        after = page.after
