"""Contract suites for runtimes: execution, limits, isolation, and what a killed host leaves behind."""

from __future__ import annotations

from .execution import RuntimeExecutionContract
from .harness import RuntimeCase, RuntimeHarness
from .isolation import RuntimeIsolationContract
from .limits import RuntimeLimitsContract
from .orphans import RuntimeOrphansContract


class RuntimeContract(RuntimeExecutionContract, RuntimeLimitsContract, RuntimeOrphansContract):
    """A subclass implements `runtime`, `python` and `host_command`; an isolated runtime adds `RuntimeIsolationContract`."""


__all__ = [
    "RuntimeCase",
    "RuntimeContract",
    "RuntimeExecutionContract",
    "RuntimeHarness",
    "RuntimeIsolationContract",
    "RuntimeLimitsContract",
    "RuntimeOrphansContract",
]
