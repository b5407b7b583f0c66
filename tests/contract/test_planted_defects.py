"""Mutation check of the store contracts: each planted defect fails the contract tests listed for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from horae.errors import HoraeError
from horae.ports.full_store import FullStore
from horae.stores.memory import MemoryStore
from horae.testing.contracts import JournalContract, RecordsContract, StoreContract
from horae.testing.decisions import PlannedFailure

from .defective_chains import CHAIN_DEFECTS, GATE_DEFECTS
from .defective_idle_runs import IDLE_DEFECTS
from .defective_labels import LABELS_DEFECTS
from .defective_messages import MESSAGES_DEFECTS
from .defective_placement import PLACEMENT_DEFECTS
from .defective_rates import RATE_DEFECTS
from .defective_records import RECORDS_DEFECTS
from .defective_stores import DEFECTS
from .defective_transfer import TRANSFER_DEFECTS

CASES = [
    (store, name)
    for store, names in (
        DEFECTS
        | LABELS_DEFECTS
        | TRANSFER_DEFECTS
        | RECORDS_DEFECTS
        | MESSAGES_DEFECTS
        | IDLE_DEFECTS
        | RATE_DEFECTS
        | CHAIN_DEFECTS
        | GATE_DEFECTS
        | PLACEMENT_DEFECTS
    ).items()
    for name in names
]


class Contracts(StoreContract, RecordsContract, JournalContract):
    def __init__(self, kind: type[MemoryStore]) -> None:
        self._kind = kind

    @asynccontextmanager
    async def make(self) -> AsyncIterator[FullStore]:
        yield self._kind()


@pytest.mark.parametrize(("store", "name"), CASES, ids=lambda case: case if isinstance(case, str) else case.__name__)
def test_a_planted_defect_is_noticed(store: type[MemoryStore], name: str) -> None:
    # PlannedFailure: a decision that must not run was called. HoraeError: the store fails on its own defect.
    with pytest.raises((AssertionError, PlannedFailure, HoraeError)):
        getattr(Contracts(store), name)()
