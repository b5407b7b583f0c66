"""Clock changes and clock steps as docs/behaviour.md describes them; a task follows its zone, not that of the host."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from horae import Horae
from horae.testing import TimeTravel
from tests.app.behaviour_scenarios import hourly_task, render_ledger

BERLIN = "Europe/Berlin"
SPRING, AUTUMN = "2026-03-28 12:00", "2026-10-24 12:00"


def nightly_runs(when: str | dict[str, str], start: str) -> list[str]:
    """Return the instants, in UTC, at which the task ran within the next day."""
    app = Horae("memory://", zone=BERLIN)

    @app.task(when, name="nightly")
    async def nightly() -> None: ...

    with TimeTravel(app, start, zone=BERLIN) as time:
        time.travel("20h")
        return [f"{instant:%H:%M}" for instant in time.ran("nightly")]


def at_half_past_two(**choice: str) -> dict[str, str]:
    return {"kind": "cron", "expression": "30 2 * * *", "zone": BERLIN, **choice}


def test_time_in_a_gap_runs_at_the_end_of_the_gap() -> None:
    assert nightly_runs(at_half_past_two(), SPRING) == ["01:00"]


def test_gap_shift_keeps_the_offset_from_before() -> None:
    assert nightly_runs(at_half_past_two(gap="shift"), SPRING) == ["01:30"]


def test_gap_skip_runs_nothing() -> None:
    assert nightly_runs(at_half_past_two(gap="skip"), SPRING) == []


def test_time_in_a_fold_runs_the_first_time() -> None:
    assert nightly_runs(at_half_past_two(), AUTUMN) == ["00:30"]


def test_fold_last_runs_the_second_time() -> None:
    assert nightly_runs(at_half_past_two(fold="last"), AUTUMN) == ["01:30"]


def test_fold_both_runs_twice() -> None:
    assert nightly_runs(at_half_past_two(fold="both"), AUTUMN) == ["00:30", "01:30"]


def test_flowing_schedule_follows_real_time() -> None:
    """Every half hour of real time for twenty hours, across the clock change."""
    assert len(nightly_runs("*/30 * * * *", SPRING)) == len(nightly_runs("*/30 * * * *", AUTUMN)) == 40


def test_clock_set_forward_applies_the_missed_policy() -> None:
    with hourly_task() as (time, task):
        time.step_clock(timedelta(hours=3, minutes=30))
        time.travel("1m")
        assert render_ledger(time, task) == ["14:00 skipped merged 2", "15:00 succeeded"]


def test_clock_set_back_runs_nothing_twice() -> None:
    with hourly_task() as (time, task):
        time.travel("2h10m")
        time.step_clock(-timedelta(hours=2))
        time.travel("3h")
        assert render_ledger(time, task) == ["13:00 succeeded", "14:00 succeeded", "15:00 succeeded"]


MONDAY = """
import json
from horae import Horae
from horae.testing import TimeTravel

app = Horae("memory://")

@app.task("10 4 * * 1", zone="Asia/Shanghai", name="monday")
async def monday() -> None: ...

with TimeTravel(app, "2026-03-01 00:00", zone="UTC") as time:
    time.travel("21d")
    print(json.dumps([instant.isoformat() for instant in time.ran("monday")]))
"""


@pytest.mark.parametrize("host", ["UTC", "America/Los_Angeles", "Pacific/Kiritimati", "Asia/Shanghai"])
def test_weekday_is_that_of_the_task_zone_whatever_the_zone_of_the_host(host: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MONDAY],
        env={**os.environ, "TZ": host},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    fires = [datetime.fromisoformat(text) for text in json.loads(done.stdout)]
    # In UTC it is still Sunday.
    assert fires == [datetime(2026, 3, day, 20, 10, tzinfo=UTC) for day in (1, 8, 15)]
    assert {(each + timedelta(hours=8)).strftime("%A %H:%M") for each in fires} == {"Monday 04:10"}
