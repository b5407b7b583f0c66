"""Imported history: ended runs only, assigned to the importing task."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from horae.errors import Refusal
from horae.model.ids import EPOCH, run_id
from horae.ports.store import RunFilter
from horae.testing.factories import DAY, HOUR, NOON, SECOND, a_task, an_ended_run
from tests.unit.service.service_harness import ADA, ServiceHarness, open_harness


async def _rows(harness: ServiceHarness, task_id: str) -> list[Any]:
    return list((await harness.store.runs(RunFilter(task_id=task_id))).items)


@pytest.mark.parametrize(
    "said",
    [
        {"planned": NOON + HOUR},
        {"ended": NOON + SECOND},
        {"started": NOON + SECOND},
        {"ended": datetime(9999, 1, 1, tzinfo=NOON.tzinfo)},
        {"planned": (NOON - DAY).replace(tzinfo=None)},
        {"ended": EPOCH},
    ],
)
async def test_imported_live_run_is_refused_and_nothing_is_written(said: dict[str, Any]) -> None:
    async with open_harness() as harness:
        task = await harness.add()
        good = an_ended_run(task, planned=NOON - DAY)
        bad = an_ended_run(task, planned=NOON - HOUR)._replace(**said)
        with pytest.raises(Refusal) as refused:
            await harness.tasks.import_history(ADA, task.id, [good, bad])
        assert refused.value.code == "not_past"
        assert await _rows(harness, task.id) == []


async def test_imported_rows_belong_to_the_importing_task() -> None:
    async with open_harness() as harness:
        task, other = await harness.add(), a_task(owner="bob")
        foreign = an_ended_run(other, planned=NOON - DAY)
        for _ in range(2):
            await harness.tasks.import_history(ADA, task.id, [foreign])
        (row,) = await _rows(harness, task.id)
        assert (row.owner, row.task_id) == ("ada", task.id)
        assert row.id == run_id(task.id, foreign.origin, foreign.planned, 1)
