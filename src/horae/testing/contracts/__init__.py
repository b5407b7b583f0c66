"""What every store and every target must keep. A new one subclasses these and says how to open itself; nothing else."""

from __future__ import annotations

from .stores.contract import Contract, WholeStore
from .stores.store_contract import StoreContract
from .stores.writes.journal import JournalContract
from .stores.writes.records import RecordsContract
from .stores.writes.shared_transactions import Guest, SharedTransactionContract
from .targets import TargetContract, TargetKeysContract, TargetSecretsContract

__all__ = [
    "Contract",
    "Guest",
    "JournalContract",
    "RecordsContract",
    "StoreContract",
    "TargetContract",
    "TargetKeysContract",
    "TargetSecretsContract",
    "SharedTransactionContract",
    "WholeStore",
]
