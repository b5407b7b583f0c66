"""`horae doctor`, `status`, `nodes`, the overview and readiness show a clock that was set back."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from horae.model.record import Record
from horae.ports.node_records import CLOCK_STEP, ClockStep
from tests.cli.operating.deployment import Deployment


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    made = Deployment(tmp_path)
    yield made
    made.end()


RECENT: Final = timedelta(days=1)
OLD: Final = -timedelta(seconds=1)


async def record_step(deployment: Deployment, retention: timedelta, host: str = "clockwork") -> None:
    async with deployment.library() as app:
        now = app.clock.now()
        step = ClockStep(host, now, timedelta(hours=1))
        record = Record(CLOCK_STEP, "nod_1", "", json.dumps(step.as_json()), expires=now + retention)
        await app.store.put_record(record, replacing=None)


async def test_doctor_reports_a_clock_set_back(deployment: Deployment) -> None:
    await record_step(deployment, RECENT)
    assert "The clock of clockwork was set back by 3600 s at " in deployment.horae("doctor").stdout
    assert "clockwork 的时钟在" in deployment.horae("doctor", "--lang", "zh").stdout


async def test_doctor_ignores_a_step_older_than_a_day(deployment: Deployment) -> None:
    await record_step(deployment, OLD)
    assert "set back" not in deployment.horae("doctor").stdout


async def test_status_and_nodes_show_a_clock_set_back(deployment: Deployment) -> None:
    await record_step(deployment, RECENT, platform.node())
    deployment.up().ready()
    for command in ("status", "nodes"):
        output = deployment.ok(command)
        assert f"The clock of {platform.node()} was set back by 3600 s at " in " ".join(output.split()), command
        assert "的时钟在" in deployment.ok(command, "--lang", "zh"), command
    (node,) = deployment.answer("nodes")
    assert node["clock_step"]["by_ms"] == 3_600_000
    status = deployment.answer("status")
    assert (status["ok"], status["problems"]) == (True, []), "the engine has dealt with it"
    (step,) = status["overview"]["clock_steps"]
    assert (step["host"], step["by_ms"]) == (platform.node(), 3_600_000)


async def test_status_and_nodes_show_no_old_step_and_no_step_of_another_host(deployment: Deployment) -> None:
    await record_step(deployment, RECENT)
    deployment.up().ready()
    assert "The clock of clockwork" in deployment.ok("status")
    assert "set back" not in deployment.ok("nodes")
    (node,) = deployment.answer("nodes")
    assert node["clock_step"] is None
    other = Deployment(deployment.folder / "other")
    other.folder.mkdir()
    await record_step(other, OLD)
    assert other.answer("overview")["clock_steps"] == []
