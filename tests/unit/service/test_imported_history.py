"""History that is taken over is of the past, and of the task that takes it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from horae.errors import Refusal
from horae.model.ids import EPOCH, run_id
from horae.ports.store import RunFilter
from horae.testing.factories import DAY, HOUR, NOON, SECOND, a_task, an_ended_run
from tests.unit.service.service_harness import ADA, House, house_on


async def _rows(house: House, task_id: str) -> list[Any]:
    return list((await house.store.runs(RunFilter(task_id=task_id))).items)


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
async def test_what_is_not_over_is_refused_and_nothing_of_it_is_kept(said: dict[str, Any]) -> None:
    async with house_on() as house:
        task = await house.add()
        good = an_ended_run(task, planned=NOON - DAY)
        bad = an_ended_run(task, planned=NOON - HOUR)._replace(**said)
        with pytest.raises(Refusal) as refused:
            await house.tasks.import_history(ADA, task.id, [good, bad])
        assert refused.value.code == "not_past"
        assert await _rows(house, task.id) == []


async def test_rows_become_those_of_the_task_whatever_they_say() -> None:
    async with house_on() as house:
        task, other = await house.add(), a_task(owner="bob")
        foreign = an_ended_run(other, planned=NOON - DAY)
        for _ in range(2):
            await house.tasks.import_history(ADA, task.id, [foreign])
        (row,) = await _rows(house, task.id)
        assert (row.owner, row.task_id) == ("ada", task.id)
        assert row.id == run_id(task.id, foreign.origin, foreign.planned, 1)
