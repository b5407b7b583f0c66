"""Contract suites for targets: spec check, execution, cancellation, idempotency key, secrets."""

from __future__ import annotations

from .cancellation import CancellationContract
from .execution import ExecutionContract, TargetKeysContract
from .harness import TargetCase, TargetHarness
from .secrets import SECRET, SECRET_NAME, TargetSecretsContract
from .spec_check import SpecCheckContract


class TargetContract(SpecCheckContract, ExecutionContract, CancellationContract):
    """A subclass implements `kind`, `succeeding`, `failing` and `endless`, and overrides the rest of `TargetCase` as needed.

    A target that sends the idempotency key adds `TargetKeysContract`; one that accepts secrets adds
    `TargetSecretsContract`.
    """


__all__ = [
    "SECRET",
    "SECRET_NAME",
    "CancellationContract",
    "ExecutionContract",
    "SpecCheckContract",
    "TargetCase",
    "TargetContract",
    "TargetHarness",
    "TargetKeysContract",
    "TargetSecretsContract",
]
