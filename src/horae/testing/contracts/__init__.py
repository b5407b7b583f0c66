"""Contract suites for stores and targets: subclass one and say how to open yours."""

from __future__ import annotations

from ...ports.full_store import FullStore
from .stores.claims.killed_claims import KilledClaimContract
from .stores.contract import Contract
from .stores.store_contract import StoreContract
from .stores.writes.journal import JournalContract
from .stores.writes.records import RecordsContract
from .stores.writes.shared_transactions import CallerConnection, SharedTransactionContract
from .targets import TargetContract, TargetKeysContract, TargetSecretsContract

__all__ = [
    "CallerConnection",
    "Contract",
    "FullStore",
    "JournalContract",
    "KilledClaimContract",
    "RecordsContract",
    "SharedTransactionContract",
    "StoreContract",
    "TargetContract",
    "TargetKeysContract",
    "TargetSecretsContract",
]
