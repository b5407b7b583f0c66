"""Every store against the store in memory. `HORAE_EXAMPLES=2000` looks longer than a build can."""

from __future__ import annotations

import os
from typing import Final

from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from .sqlite_machine import SQLiteMachine

EXAMPLES: Final = int(os.environ.get("HORAE_EXAMPLES", "30"))


def test_sqlite_answers_as_memory_does() -> None:
    profile = settings(
        max_examples=EXAMPLES,
        stateful_step_count=50,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(SQLiteMachine, settings=profile)
