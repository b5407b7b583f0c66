"""Concurrent creates of one owner with quotas: one transaction for many, and each request has its own outcome."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from horae.errors import StoreUnavailable
from horae.model.accounts.principal import Principal, Quotas
from horae.model.change import Change, Facts
from horae.model.record import Record, RecordWrite
from horae.ports.store import TaskFilter
from horae.service.accounts.key_budget import BLOCK_SIZE, KIND, KeyBudget
from horae.service.tasks.group_add import MAX_GROUPED
from horae.service.tasks.task_request import TaskRequest
from horae.stores.sqlite import SQLiteStore
from tests.unit.service.service_harness import ROOT, TARGET, ServiceHarness, open_harness

WISH = TaskRequest("water the plants", "every 1h", TARGET, zone="UTC")
ADA = Principal("ada", actor="tok_1", quotas=Quotas(active_tasks=100))


async def _outcomes(harness: ServiceHarness, number: int, who: Principal = ADA) -> list[str]:
    made = await asyncio.gather(*(harness.tasks.create(who, WISH) for _ in range(number)), return_exceptions=True)
    return [getattr(each, "code", "made") for each in made]


async def _owned(harness: ServiceHarness, owner: str = "ada") -> Sequence[Facts]:
    return (await harness.store.tasks(TaskFilter(owner))).items


async def test_concurrent_creates_of_an_owner_share_transactions(tmp_path: Path) -> None:
    async with open_harness(f"sqlite:///{tmp_path}/horae.db") as harness:
        assert isinstance(harness.store, SQLiteStore)
        before = harness.store.transactions
        assert await _outcomes(harness, 2 * MAX_GROUPED) == ["made"] * 2 * MAX_GROUPED
        assert harness.store.transactions - before <= 4
        assert len(await _owned(harness)) == 2 * MAX_GROUPED
        assert len((await harness.store.records("audit.open")).items) == 2 * MAX_GROUPED


async def test_requests_beyond_the_quota_are_refused_and_no_others() -> None:
    async with open_harness() as harness:
        assert await _outcomes(harness, 20, ADA._replace(quotas=Quotas(active_tasks=7))) == [
            *["made"] * 7,
            *["too_many_tasks"] * 13,
        ]
        assert len(await _owned(harness)) == 7


async def test_conflict_over_an_attached_record_refuses_its_request_alone() -> None:
    async with open_harness() as harness:

        def attach(_made: Sequence[Facts]) -> Sequence[RecordWrite]:
            return (RecordWrite(Record("answer", "key", "ada", "{}")),)

        made = await asyncio.gather(
            harness.tasks.create(ADA, WISH),
            harness.tasks.create(ADA, WISH, attach_records=attach),
            harness.tasks.create(ADA, WISH, attach_records=attach),
            harness.tasks.create(ADA, WISH),
            return_exceptions=True,
        )
        assert [getattr(each, "code", "made") for each in made] == ["made", "made", "record_changed", "made"]
        assert len(await _owned(harness)) == 3


async def test_cancelled_request_leaves_the_others_of_its_group() -> None:
    async with open_harness() as harness:
        calls = [asyncio.ensure_future(harness.tasks.create(ADA, WISH)) for _ in range(5)]
        await harness.clock.pause(0)
        calls[0].cancel()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        assert isinstance(outcomes[0], asyncio.CancelledError)
        assert not any(isinstance(each, BaseException) for each in outcomes[1:])


async def test_failure_of_the_store_is_raised_in_every_request_as_an_error_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with open_harness() as harness:

        async def fail(_changes: Sequence[Change]) -> None:
            raise StoreUnavailable("gone")

        monkeypatch.setattr(harness.store, "add", fail)
        outcomes = await asyncio.gather(*(harness.tasks.create(ADA, WISH) for _ in range(3)), return_exceptions=True)
        assert [type(each) for each in outcomes] == [StoreUnavailable] * 3
        assert len({id(each) for each in outcomes}) == 3


async def test_callers_with_other_quotas_are_no_group() -> None:
    async with open_harness() as harness:
        low, other = ADA._replace(quotas=Quotas(active_tasks=1)), Principal("bob", quotas=Quotas(active_tasks=1))
        calls = [harness.tasks.create(who, WISH) for who in (ADA, low, other, ROOT)]
        made = await asyncio.gather(*calls, return_exceptions=True)
        assert [getattr(each, "code", "made") for each in made] == ["made", "too_many_tasks", "made", "made"]


async def test_concurrent_requests_reserve_one_block_of_idempotency_keys() -> None:
    async with open_harness() as harness:
        budget = KeyBudget(harness.store, harness.clock)
        who = ADA._replace(quotas=Quotas(idempotency_keys=1_000))
        await asyncio.gather(*(budget.take(who) for _ in range(BLOCK_SIZE)))
        record = await harness.store.get_record(KIND, "ada")
        assert record is not None
        assert f'"taken": {BLOCK_SIZE}' in record.body
