"""Harness of service tests: the service on a store at noon in virtual time, with helpers to claim and settle."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from itertools import count
from typing import Any

import pytest

from horae.encryption import Key
from horae.errors import Refusal
from horae.lifecycle.fire import fire
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.accounts.principal import Principal, Role
from horae.model.change import Change, Facts
from horae.model.entry import Entry
from horae.model.outcome import Outcome, Settlement, Succeeded
from horae.model.run import Run
from horae.model.task import Target, Task
from horae.ports.full_store import FullStore
from horae.ports.store import DEFAULT_TERMS
from horae.runtime.stores import make_store
from horae.service.accounts.approval_policy import ApprovalPolicy
from horae.service.accounts.secrets import SecretVault
from horae.service.service import Service
from horae.service.tasks.task_request import TaskRequest
from horae.stores.memory import MemoryStore
from horae.testing.factories import NODE, NOON, a_node
from horae.virtual_time import VirtualClock
from tests.unit.notifiers.recording_notifier import RecordingNotifier

ADA = Principal("ada")
BOB = Principal("bob")
ROOT = Principal("root", admin=True)
CHIEF = Principal("chief", admin=True, actor="tok_chief", via="http", request="req_1")
"""An admin with an actor: audit rows are written."""
TARGET = Target("function", '{"name":"garden.water"}')


ALLOWED = ApprovalPolicy(frozenset({"garden.water"}))
"""Functions that agents may call without approval."""


class ServiceHarness:
    """The whole service, and the instants that it notified."""

    def __init__(
        self, store: FullStore | None = None, gate: ApprovalPolicy = ALLOWED, clock: VirtualClock | None = None
    ) -> None:
        self.store: FullStore = store or MemoryStore()
        self.clock = clock or VirtualClock(NOON)
        self.writes: list[datetime | None] = []
        secrets = SecretVault(self.store, Key.random(), self.clock)
        self.service = Service(
            self.store,
            self.clock,
            "Europe/Berlin",
            secrets,
            on_write=self.writes.append,
            approval_policy=gate,
            notifier=RecordingNotifier(),
        )
        self.tasks = self.service.tasks
        # The clock does not move between two tasks, so ids rise by a counter.
        numbers = count(1)
        self.tasks.drafts.entropy = lambda size: next(numbers).to_bytes(size)
        self.runs = self.service.runs
        self.explanations = self.service.explanations

    async def add(self, when: Any = "every 1h", who: Principal = ADA, **fields: Any) -> Task:
        wish = TaskRequest("water the plants", when, TARGET, zone="UTC")
        return await self.tasks.create(who, wish._replace(**fields))

    async def make_member(
        self, name: str, role: Role = Role.MEMBER, *, agent: str | None = None, **quotas: Any
    ) -> Principal:
        """Create an owner and authenticate with a token of it."""
        service = self.service
        await service.accounts.put(CHIEF, name, role=role, quotas=quotas or None)
        _, text = await service.tokens.make(CHIEF, owner=name, name="a test", agent=agent)
        return await service.tokens.authenticate(text, via="http", request="req_2")

    def advance(self, by: timedelta) -> None:
        self.clock.advance(by.total_seconds())

    async def claim(self, routes: frozenset[str] | None = None) -> list[Run]:
        """Claim everything that is due now."""
        await self.store.join(a_node(renewed=self.clock.now()))
        claimant = ClaimContext(NODE, self.clock.now(), DEFAULT_TERMS.poll_ceiling, routes)

        def decide(facts: Facts, entry: Entry, token: int) -> Change:
            return fire(facts, entry, token, claimant)

        claimed = await self.store.claim_due(claimant.now, NODE, 1_000, decide)
        return [each.run for each in claimed.runs]

    async def settle(self, run: Run, outcome: Outcome = Succeeded()) -> frozenset[str]:  # noqa: B008 - a frozen value
        report = Settlement(run.id, run.token, outcome, run.started, self.clock.now())
        return await self.store.settle([report], settle)

    async def run_due(self, by: timedelta, outcome: Outcome = Succeeded()) -> Run:  # noqa: B008 - a frozen value
        """Advance the clock, claim the only due entry and settle it; return the ended run."""
        self.advance(by)
        (run,) = await self.claim()
        await self.settle(run, outcome)
        found = await self.store.run(run.id, None)
        assert found is not None
        return found


@asynccontextmanager
async def open_harness(url: str = "memory://") -> AsyncIterator[ServiceHarness]:
    store = make_store(url)
    await store.open()
    try:
        yield ServiceHarness(store)
    finally:
        await store.close()


async def refusal_of(call: Awaitable[object]) -> Refusal:
    with pytest.raises(Refusal) as caught:
        await call
    return caught.value


async def code_of(call: Awaitable[object]) -> str:
    return (await refusal_of(call)).code


async def allow_stations(service: Service, owner: str, *names: str, kind: str = "api") -> None:
    """Make stations of an owner that plans can name; each has a key of its own."""
    for number, name in enumerate(names):
        key = f"{number:02d}{owner}{name}".translate(str.maketrans("._-", "xyz")).ljust(40, "k")[:40]
        await service.stations.allow(Principal(owner), name, key, kind=kind)
