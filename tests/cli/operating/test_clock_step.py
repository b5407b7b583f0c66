"""`horae doctor` tells of a node whose wall clock was set back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from horae import Horae
from horae.model.record import Record
from horae.ports.clock_steps import CLOCK_STEP, ClockStep
from tests.cli.operating.deployment import Deployment


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    made = Deployment(tmp_path)
    yield made
    made.end()


async def record_step(app: Horae, kept: timedelta) -> None:
    now = app.clock.now()
    step = ClockStep("clockwork", now, timedelta(hours=1))
    record = Record(CLOCK_STEP, "nod_1", "", json.dumps(step.as_json()), expires=now + kept)
    await app.store.put_record(record, replacing=None)


async def record_recent_step(app: Horae) -> None:
    await record_step(app, timedelta(days=1))


async def record_old_step(app: Horae) -> None:
    await record_step(app, -timedelta(seconds=1))


def test_doctor_tells_of_a_clock_that_was_set_back(deployment: Deployment) -> None:
    deployment.inside(record_recent_step)
    assert "The clock of clockwork was set back by 3600 s at " in deployment.horae("doctor").stdout
    assert "clockwork 的时钟在" in deployment.horae("doctor", "--lang", "zh").stdout


def test_doctor_forgets_a_step_after_a_day(deployment: Deployment) -> None:
    deployment.inside(record_old_step)
    assert "set back" not in deployment.horae("doctor").stdout
