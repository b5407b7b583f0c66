"""Planted defects of the safety of agents are found by the checks of this folder."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from secrets import token_hex
from typing import Any

import pytest

from horae.model.agents.budget import BUDGET_KIND, Budget, budget_from, budget_record
from horae.model.record import RecordWrite
from horae.service.accounts import approval_policy
from horae.service.groups.budgets import BudgetGrant, Budgets
from tests.agents.safety.group_harness import add_group, add_prompt, live_run
from tests.agents.safety.injections import INJECTED, check_waits_for_a_person
from tests.agents.safety.process_list import processes
from tests.unit.service.service_harness import CHIEF, ServiceHarness, open_harness


async def race_for_one_run(harness: ServiceHarness, budgets: Budgets) -> int:
    """Reserve twice at the same time where the budget has room for one run; both have read before either writes."""
    group = await add_group(harness)
    await harness.service.budgets.put(CHIEF, "family", {"runs": 1})
    tasks = [await add_prompt(harness) for _ in range(2)]
    runs = [await live_run(harness, task) for task in tasks]
    both, load, waiting = asyncio.Barrier(2), harness.store.get_record, 2

    async def load_together(kind: str, key: str, owner: str | None = None) -> Any:
        nonlocal waiting
        record = await load(kind, key, owner)
        if kind == BUDGET_KIND and waiting:
            waiting -= 1
            await both.wait()
        return record

    harness.store.get_record = load_together  # type: ignore[method-assign]
    pairs = zip(tasks, runs, strict=True)
    answers = await asyncio.gather(*(budgets.reserve(group, task, run) for task, run in pairs))
    return sum(isinstance(answer, BudgetGrant) for answer in answers)


class LastWriterWins(Budgets):
    """Defect: a reservation replaces whatever the record holds by now."""

    async def _write(self, changes: list[tuple[Budget, Budget]], row: tuple[RecordWrite, ...] = ()) -> bool:
        del row
        for _, after in changes:
            known = await self._store.get_record(BUDGET_KIND, after.key)
            assert known is not None
            merged = after._replace(reservations=(*budget_from(known).reservations, *after.reservations))
            await self._store.put_record(budget_record(merged), replacing=known.version)
        return True


async def test_reservations_that_do_not_compare_versions_exceed_the_budget() -> None:
    async with open_harness() as harness:
        assert await race_for_one_run(harness, harness.service.budgets) == 1
    async with open_harness() as harness:
        service = harness.service
        defective = LastWriterWins(harness.store, service.groups, service.audit, harness.clock, "UTC")
        assert await race_for_one_run(harness, defective) == 2


async def test_approval_that_overlooks_the_script_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(approval_policy, "_PROMPT_FIELDS", frozenset({"group", "context_mode", "budget", "script"}))
    async with open_harness() as harness:
        with pytest.raises(AssertionError):
            await check_waits_for_a_person(harness, INJECTED["a script"])


def test_secret_in_an_environment_is_found() -> None:
    value = token_hex(24)
    command = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    with subprocess.Popen(
        command, env={**os.environ, "MODEL_KEY": value}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert [name for name, text in processes() if value.encode() in text] == [str(process.pid)]
        process.communicate()
