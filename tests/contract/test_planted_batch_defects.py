"""Mutation check of batch decisions: each planted defect fails the contract and, where the simulation meets it, the simulation."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest

from horae.engine import settler
from horae.errors import StoreError
from horae.lifecycle import batch
from horae.lifecycle.fast_path import StartClass, ordinary_success, start_member
from horae.model.change import Start, Success
from horae.model.run import Run
from horae.model.task import NEW_TASK_STATUS, Task, TaskStatus
from horae.ports.full_store import FullStore
from horae.stores import start_classes
from horae.stores.redis.layout.indexes import IndexChanges
from horae.stores.redis.store import RedisStore
from horae.stores.redis.transactions import unit_of_work as redis_unit
from horae.stores.sql.unit_of_work import UnitOfWork
from horae.stores.sqlite import SQLiteStore
from horae.testing.contracts import StoreContract
from tests.contract.test_sqlite import opened
from tests.servers.redis import RedisServer
from tests.simulation.trial import run_seed

STARTS: Final = "test_a_batch_of_starts_is_decided_as_one_by_one"
SETTLEMENTS: Final = "test_a_batch_of_settlements_is_decided_as_one_by_one"
RACES: Final = "test_a_task_that_changes_between_claim_and_settlement_is_settled_as_it_is_then"
_SEEDS: Final = 4


def _one_class_for_all_entries(patch: pytest.MonkeyPatch) -> None:
    """One member of the group has another priority, attempt or origin."""
    patch.setattr(start_classes, "entry_shared_columns", lambda _row: ())


def _one_class_for_all_policies(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(start_classes, "id", lambda _shared: 0, raising=False)


def _one_status_for_all(patch: pytest.MonkeyPatch) -> None:
    def member(found: StartClass, task: Task, _: TaskStatus, planned: datetime, due: datetime) -> Start | None:
        return start_member(found, task, NEW_TASK_STATUS, planned, due)

    patch.setattr(batch, "start_member", member)


def _later_due_is_not_seen(patch: pytest.MonkeyPatch) -> None:
    def member(found: StartClass, task: Task, status: TaskStatus, planned: datetime, _: datetime) -> Start | None:
        return start_member(found, task, status, planned, planned)

    patch.setattr(batch, "start_member", member)


def _missed_ones_start_as_punctual(patch: pytest.MonkeyPatch) -> None:
    def member(found: StartClass, task: Task, status: TaskStatus, planned: datetime, due: datetime) -> Start | None:
        return start_member(found._replace(poll_ceiling=timedelta.max), task, status, planned, due)

    patch.setattr(batch, "start_member", member)


def _replace_success(patch: pytest.MonkeyPatch, change: Callable[..., tuple[Any, ...]]) -> None:
    for module in (batch, settler):
        patch.setattr(module, "ordinary_success", lambda *facts: ordinary_success(*change(*facts)))


def _entries_are_not_seen(patch: pytest.MonkeyPatch) -> None:
    """A member whose agenda is not empty is completed with the others."""
    _replace_success(patch, lambda task, status, _entries, live, run, report: (task, status, (), live, run, report))


def _change_since_the_claim_is_not_seen(patch: pytest.MonkeyPatch) -> None:
    """A member was cancelled or paused between claim and settlement."""
    _replace_success(
        patch, lambda task, _status, entries, live, run, report: (task, NEW_TASK_STATUS, entries, live, run, report)
    )


def _two_reports_of_one_run(patch: pytest.MonkeyPatch) -> None:
    """The task is not updated between the decisions of a batch, so the second report finds the run live."""
    add = UnitOfWork.add_success

    def add_success(self: UnitOfWork, known: Any, run: Any, success: Any) -> None:
        add(self, known, run, success)
        self._loaded.tasks[known.number] = known

    patch.setattr(UnitOfWork, "add_success", add_success)


def _two_reports_of_one_run_on_redis(patch: pytest.MonkeyPatch) -> None:
    add = redis_unit.UnitOfWork.add_success

    def add_success(self: redis_unit.UnitOfWork, run: Run, success: Success) -> bool:
        known = self.tasks[run.task_id]
        before = known.after
        is_added = add(self, run, success)
        known.after = before
        return is_added

    patch.setattr(redis_unit.UnitOfWork, "add_success", add_success)


def _agenda_keeps_the_entry_on_redis(patch: pytest.MonkeyPatch) -> None:
    add = IndexChanges.add_start

    def add_start(self: IndexChanges, number: int, _: str, start: Start) -> None:
        add(self, number, "0\0ada\0another\0next", start)

    patch.setattr(IndexChanges, "add_start", add_start)


DEFECTS: Final = (
    (_one_class_for_all_entries, STARTS),
    (_one_class_for_all_policies, STARTS),
    (_one_status_for_all, STARTS),
    (_later_due_is_not_seen, STARTS),
    (_missed_ones_start_as_punctual, STARTS),
    (_entries_are_not_seen, SETTLEMENTS),
    (_change_since_the_claim_is_not_seen, RACES),
    (_two_reports_of_one_run, SETTLEMENTS),
)
REDIS_DEFECTS: Final = (
    *(each for each in DEFECTS if each[0] is not _two_reports_of_one_run),
    (_two_reports_of_one_run_on_redis, SETTLEMENTS),
    (_agenda_keeps_the_entry_on_redis, STARTS),
)
FOUND_BY_SIMULATION: Final = (_entries_are_not_seen, _change_since_the_claim_is_not_seen)


class Contracts(StoreContract):
    @asynccontextmanager
    async def make(self) -> AsyncIterator[FullStore]:
        with TemporaryDirectory() as folder:
            async with opened(Path(folder, "horae.db")) as store:
                yield store


@pytest.mark.parametrize(("plant", "name"), DEFECTS, ids=lambda each: each if isinstance(each, str) else each.__name__)
def test_the_contract_finds_it(
    plant: Callable[[pytest.MonkeyPatch], None], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    getattr(Contracts(), name)()
    plant(monkeypatch)
    with pytest.raises((AssertionError, LookupError, StoreError)):
        getattr(Contracts(), name)()


class RedisContracts(StoreContract):
    def __init__(self, server: RedisServer) -> None:
        self._server = server

    @asynccontextmanager
    async def make(self) -> AsyncIterator[FullStore]:
        store = RedisStore(self._server.new_database())
        await store.open()
        try:
            yield store
        finally:
            await store.close()


@pytest.mark.parametrize(
    ("plant", "name"), REDIS_DEFECTS, ids=lambda each: each if isinstance(each, str) else each.__name__
)
def test_the_contract_finds_it_on_redis(
    plant: Callable[[pytest.MonkeyPatch], None], name: str, monkeypatch: pytest.MonkeyPatch, redis_server: RedisServer
) -> None:
    getattr(RedisContracts(redis_server), name)()
    plant(monkeypatch)
    with pytest.raises((AssertionError, LookupError, StoreError)):
        getattr(RedisContracts(redis_server), name)()


@pytest.mark.parametrize("plant", FOUND_BY_SIMULATION, ids=lambda each: each.__name__)
def test_the_simulation_finds_it(
    plant: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plant(monkeypatch)
    found = False
    for seed in range(_SEEDS):
        path = str(tmp_path / f"{seed}.db")
        found = bool(run_seed(seed, lambda: SQLiteStore(path), threaded=True).violations)  # noqa: B023 - called at once
        if found:
            break
    assert found
