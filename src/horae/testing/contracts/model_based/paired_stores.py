"""Two stores that receive the same calls and must return the same answers; one is the reference."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from datetime import datetime
from itertools import count
from typing import Any, Final, NamedTuple, TypeAlias

from ....errors import Refusal
from ....lifecycle.start import ClaimContext
from ....model.change import Change, Facts, FireDecision, RunDecision, SettleDecision
from ....model.counts import NO_HOUR, RETAINED_HOURS, hour_of
from ....model.entry import Entry, EntryState
from ....model.events.event import Event
from ....model.gate import GATE_STATE_KIND
from ....model.lanes.idle import IDLE_RUNS_KIND
from ....model.outcome import Settlement
from ....model.page import Page
from ....model.run import Run
from ....model.task import Task
from ....ports.full_store import FullStore
from ....ports.store import Claim, RunFilter, TaskFilter
from ...decisions import PlannedFailure
from .strategies import OWNERS

_PAGE: Final = 1_000
_HOURS: Final = RETAINED_HOURS - 2
"""The oldest hours are left out: when they are deleted is up to the store."""
_NEVER_GIVEN: Final = 1_000_000_000


class Refused(NamedTuple):
    """An exception of a call, reduced to what both stores must agree on."""

    kind: str
    code: str


class Side:
    """One of the two stores, with its own tokens and event numbers.

    Tokens and event numbers must rise, but may differ between stores: a token is compared by the number of its claim,
    an event by its order.
    """

    def __init__(self, store: FullStore) -> None:
        self.store = store
        self.last_event = 0
        self.trim_cursors: dict[int, str | None] = {}
        """Cursor of the last trim, by its `keep_runs`."""
        self.decision_facts: dict[tuple[str, str], tuple[object, ...]] = {}
        self.is_split = False
        """The last claim was several transactions, so that the order of its runs is up to the store."""
        self._claims: dict[int, int] = {0: 0}
        self._tokens: dict[int, int] = {0: 0}
        self._run_tokens: dict[tuple[int, str], int] = {}

    def token(self, claim: int, run_id: str) -> int:
        """Token of a run of a claim, or of another run's claim; for an unknown claim, a token that no run has."""
        return self._run_tokens.get((claim, run_id), self._tokens.get(claim, _NEVER_GIVEN + claim))

    async def claim(
        self,
        claimant: ClaimContext,
        room: int,
        decide: FireDecision,
        *,
        number: int,
        queues: Collection[str] | None = None,
    ) -> Claim:
        """Claim from the agenda of all nodes, or from these queues, until there is no room or nothing is due.

        A store may claim what needs several reads by itself (`more`), because it would cost the ordinary entries their
        fast path. It must not do so where that would change what is claimed.
        """
        answer, self.is_split = Claim(), False
        for part in count():
            again = await self._claim_part(claimant, room - len(answer.runs), decide, number=number, queues=queues)
            self.is_split = self.is_split or bool(part and again.decided)
            answer = Claim((*answer.runs, *again.runs), answer.decided + again.decided, again.more, again.next_due)
            if not (again.more and again.decided) or len(answer.runs) >= room:
                break
        return answer

    async def _claim_part(
        self,
        claimant: ClaimContext,
        room: int,
        decide: FireDecision,
        *,
        number: int,
        queues: Collection[str] | None,
    ) -> Claim:
        given: list[int] = []

        def fire(facts: Facts, entry: Entry, token: int) -> Change:
            assert token > max(self._claims), "a token must be higher than all earlier ones"
            given.append(token)
            self.decision_facts[facts.task.id, entry.slot] = (facts, entry)
            return decide(facts, entry, token)

        if queues is None:
            answer = await self.store.claim_due(claimant.now, claimant.node, room, fire)
        else:
            answer = await self.store.claim_queued(claimant.now, claimant.node, room, fire, queues)
        # After the call: a failed claim is rolled back, and its token may be given again.
        for token in given[-1:]:
            self._claims[token], self._tokens[number] = number, token
        self._run_tokens |= {(number, run.id): run.token for _, run in answer.runs}
        return answer

    def record_settle(self, decide: SettleDecision) -> SettleDecision:
        def settle(facts: Facts, run: Run, report: Settlement) -> Change:
            self.decision_facts[run.id, str(report.token == run.token)] = (facts, run)
            return decide(facts, run, report)

        return settle

    def record_end(self, decide: RunDecision) -> RunDecision:
        def end(facts: Facts, run: Run) -> Change:
            self.decision_facts[run.id, ""] = (facts, run)
            return decide(facts, run)

        return end

    def normalize(self, value: Any) -> Any:
        """Replace tokens and entry states by values that are equal in both stores."""
        if isinstance(value, Run):
            return value._replace(token=self._claims[value.token])
        if isinstance(value, Entry):
            # Timed or ready: the state of a claimable entry is up to the store.
            return value._replace(state=EntryState.TIMED) if value.state is EntryState.READY else value
        if isinstance(value, dict):
            return {key: self.normalize(each) for key, each in value.items()}
        if isinstance(value, list) or (isinstance(value, tuple) and not isinstance(value, Task | Event)):
            return tuple(self.normalize(each) for each in value)
        return value

    async def read_all(self, now: datetime) -> dict[str, object]:
        """Read everything, and the events since the last call."""
        store = self.store
        hours = [NO_HOUR, *range(hour_of(now) - _HOURS, hour_of(now) + 1)]
        listed = (await store.tasks(TaskFilter(), limit=_PAGE)).items
        events = await store.events(self.last_event, limit=_PAGE)
        numbers = [self.last_event, *(each.number for each in events)]
        assert numbers == sorted(set(numbers)), "event numbers must rise"
        self.last_event = numbers[-1]
        assert await store.last_event() == self.last_event
        ids = [each.task.id for each in listed]
        return {
            "counts": [await store.counts(owner, hours) for owner in (None, *OWNERS)],
            "waiting": [await store.waiting(owner, now) for owner in (None, *OWNERS)],
            # The order of tasks due at the same instant is up to the store.
            "upcoming": sorted(await store.upcoming(None, _PAGE), key=lambda facts: facts.task.id),
            "latest": await store.latest(ids),
            "outcomes": await store.outcomes(ids, _PAGE),
            "names": await store.task_names(ids, None),
            "lanes": await store.lanes(),
            "nodes": await store.nodes(),
            "listed": listed,
            "facts": [await store.facts(each.task.id, None) for each in listed],
            "runs": (await store.runs(RunFilter(), limit=_PAGE)).items,
            # A batch of settlements may be several transactions: the order of the events of one task is fixed, no other.
            "new events": sorted((each.event for each in events), key=lambda event: event.task_id),
            "next due": await store.next_due(),
            "records": (await store.records("token", newest=True, limit=_PAGE)).items,
            "doubts": await store.check(),
            "gate states": (await store.records(GATE_STATE_KIND, newest=True, limit=_PAGE)).items,
            "idle": (await store.records(IDLE_RUNS_KIND, newest=True, limit=_PAGE)).items,
        }


Call: TypeAlias = Callable[[Side], Awaitable[Any]]


class PairedStores:
    """`call` makes the same call on both stores and compares the answers and the facts passed to their decisions."""

    def __init__(self, reference: FullStore, store: FullStore, *, is_optimistic: bool = False) -> None:
        """`is_optimistic`: the store may decide on a copy that is out of date, and then again, or no more."""
        self.reference = Side(reference)
        self.store = Side(store)
        self._is_optimistic = is_optimistic

    async def call(self, call: Call) -> Any:
        expected, got = [await _answer(side, call) for side in (self.reference, self.store)]
        if self.store.is_split or self.reference.is_split:
            assert _without_order(got) == _without_order(expected)
            self.store.is_split = self.reference.is_split = False
        else:
            assert got == expected
        facts, expected_facts = (
            self.store.normalize(self.store.decision_facts),
            self.reference.normalize(self.reference.decision_facts),
        )
        if expected == FAILED_DECISION:
            # A batch may be several transactions: how many of its decisions are asked before one fails is up to the store.
            facts, expected_facts = (
                {key: each[key] for key in facts.keys() & expected_facts.keys()} for each in (facts, expected_facts)
            )
        if self._is_optimistic:
            facts = {key: each for key, each in facts.items() if key in expected_facts}
        assert facts == expected_facts, "a decision received different facts"
        self.reference.decision_facts.clear()
        self.store.decision_facts.clear()
        return expected

    async def read_all(self, now: datetime) -> dict[str, Any]:
        found: dict[str, Any] = await self.call(lambda side: side.read_all(now))
        return found


FAILED_DECISION: Final = Refused(PlannedFailure.__name__, "")


async def _answer(side: Side, call: Call) -> Any:
    try:
        return side.normalize(await call(side))
    except Refusal as refusal:
        return Refused(type(refusal).__name__, refusal.code)
    except PlannedFailure:
        return FAILED_DECISION


def _without_order(answer: Any) -> Any:
    """Return the answer of a claim without the order of its runs."""
    if isinstance(answer, Refused):
        return answer
    runs, *others = answer
    return sorted(runs, key=lambda claimed: claimed[1].id), others


async def all_pages(ask: Callable[[str | None], Awaitable[Page[Any]]]) -> list[tuple[Any, ...]]:
    """Read all pages; the form of a cursor is up to the store."""
    pages: list[tuple[Any, ...]] = []
    after: str | None = None
    while True:
        page = await ask(after)
        pages.append(page.items)
        if page.after is None:
            return pages
        after = page.after
