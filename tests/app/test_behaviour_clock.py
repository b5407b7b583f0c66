"""Clocks that change or are set, as the documentation tells it; and a task that keeps its zone wherever the host is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from horae import Horae
from horae.testing import TimeTravel
from tests.app.behaviour_scenarios import hourly, ledger

BERLIN = "Europe/Berlin"
SPRING, AUTUMN = "2026-03-28 12:00", "2026-10-24 12:00"


def ran(when: str | dict[str, str], start: str) -> list[str]:
    """At which wall times, in UTC, it ran within the next day."""
    app = Horae("memory://", zone=BERLIN)

    @app.task(when, name="nightly")
    async def nightly() -> None: ...

    with TimeTravel(app, start, zone=BERLIN) as time:
        time.travel("20h")
        return [f"{instant:%H:%M}" for instant in time.ran("nightly")]


def at_half_past_two(**choice: str) -> dict[str, str]:
    return {"kind": "cron", "expression": "30 2 * * *", "zone": BERLIN, **choice}


def test_a_gap_runs_at_its_end() -> None:
    assert ran(at_half_past_two(), SPRING) == ["01:00"]


def test_a_gap_may_keep_the_offset_from_before() -> None:
    assert ran(at_half_past_two(gap="shift"), SPRING) == ["01:30"]


def test_a_gap_may_be_skipped() -> None:
    assert ran(at_half_past_two(gap="skip"), SPRING) == []


def test_a_fold_runs_the_first_time() -> None:
    assert ran(at_half_past_two(), AUTUMN) == ["00:30"]


def test_a_fold_may_run_the_last_time() -> None:
    assert ran(at_half_past_two(fold="last"), AUTUMN) == ["01:30"]


def test_a_fold_may_run_both_times() -> None:
    assert ran(at_half_past_two(fold="both"), AUTUMN) == ["00:30", "01:30"]


def test_what_flows_follows_real_time() -> None:
    """Every half hour of twenty hours of real time, whatever the wall clock does."""
    assert len(ran("*/30 * * * *", SPRING)) == len(ran("*/30 * * * *", AUTUMN)) == 40


def test_a_clock_set_forward_runs_what_it_jumped_over_by_the_missed_policy() -> None:
    with hourly() as (time, task):
        time.step_clock(timedelta(hours=3, minutes=30))
        time.travel("1m")
        assert ledger(time, task) == ["14:00 skipped merged 2", "15:00 succeeded"]


def test_a_clock_set_back_runs_nothing_twice() -> None:
    with hourly() as (time, task):
        time.travel("2h10m")
        time.step_clock(-timedelta(hours=2))
        time.travel("3h")
        assert ledger(time, task) == ["13:00 succeeded", "14:00 succeeded", "15:00 succeeded"]


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
def test_monday_at_ten_past_four_in_shanghai_is_a_monday_there_whatever_the_host(host: str) -> None:
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
