"""What every target must keep. A new one subclasses these and says what it needs; nothing else."""

from __future__ import annotations

from .cancellation import EndingContract
from .execution import ExecutingContract
from .harness import Stage, TargetCase
from .idempotency_key import TargetKeysContract
from .secrets import SECRET, SECRET_NAME, TargetSecretsContract
from .spec_check import CheckingContract


class TargetContract(CheckingContract, ExecutingContract, EndingContract):
    """A subclass gives `kind`, `succeeding`, `failing` and `endless`, and overrides the rest of `TargetCase` as needed.

    A target that passes the idempotency key on adds `TargetKeysContract`; one that can be given secrets adds
    `TargetSecretsContract`.
    """


__all__ = [
    "SECRET",
    "SECRET_NAME",
    "CheckingContract",
    "EndingContract",
    "ExecutingContract",
    "Stage",
    "TargetCase",
    "TargetContract",
    "TargetKeysContract",
    "TargetSecretsContract",
]
