"""What every store and every target must keep. A new one subclasses these and says how to open itself; nothing else."""

from __future__ import annotations

from .contract import Contract, WholeStore
from .journal import JournalContract
from .records import RecordsContract
from .store import StoreContract
from .targets import TargetContract, TargetKeysContract, TargetSecretsContract
from .using import Guest, UsingContract

__all__ = [
    "Contract",
    "Guest",
    "JournalContract",
    "RecordsContract",
    "StoreContract",
    "TargetContract",
    "TargetKeysContract",
    "TargetSecretsContract",
    "UsingContract",
    "WholeStore",
]
