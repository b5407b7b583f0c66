"""A failed task of fun-ai-station is tried again exactly 60 s after it failed, also where its schedule is more frequent."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import pytest

from horae import Horae
from horae.schedule.compat.fun_ai_station import read
from horae.service.tasks.task_request import TaskRequest
from horae.testing import TimeTravel
from horae.wire.tasks.policies import read_policies
from horae.wire.tasks.targets import read_target

TARGET: Final = read_target({"function": "fail"})


async def fail() -> None:
    raise ConnectionError("no answer")


@pytest.mark.parametrize(
    "fields",
    [
        {"schedule_type": "interval", "schedule_expr": "10"},
        {"schedule_type": "cron", "schedule_expr": "*/10 * * * * *"},
    ],
)
def test_a_retry_is_not_superseded_by_an_interval_below_a_minute(fields: dict[str, str]) -> None:
    app = Horae("memory://", zone="UTC")
    app.task(name="fail")(fail)
    translation = read(fields)
    options = read_policies(dict(translation.policies))
    with TimeTravel(app, "2026-03-01 12:00:01", zone="UTC") as time:
        request = TaskRequest("x", translation.schedule, TARGET, options=options)
        task = time.run(app.service.tasks.create(app.who, request))
        time.travel("4m")
        runs = [run for run in time.runs(time.run(app.get(task.id))) if run.started is not None]
        starts = sorted(run.started for run in runs if run.started is not None)
        waits = [(later - earlier).total_seconds() for earlier, later in pairwise(starts)]
        assert waits == [60.0] * 3
        assert max(run.attempt for run in runs) == 4
