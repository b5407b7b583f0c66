"""`start_within` as docs/behaviour.md describes it: what cannot start in time is skipped, whatever it waits for."""

from __future__ import annotations

import asyncio
from datetime import timedelta

from horae import Horae
from horae.testing import TimeTravel
from tests.app.behaviour_scenarios import hourly_task, render_ledger


async def print_long() -> None:
    await asyncio.sleep(45 * 60)  # noqa: TID251 - virtual time passes where a function sleeps


async def print_urgent() -> None: ...


def test_occurrence_that_waits_for_a_lane_is_skipped_at_its_start_deadline() -> None:
    app = Horae("memory://", zone="UTC")
    app.task("0 * * * *", name="long", lane="press", timeout="1d", priority=1)(print_long)
    app.task("0 * * * *", name="urgent", lane="press", start_within="10m")(print_urgent)
    with TimeTravel(app, "2026-03-01 12:00", zone="UTC") as time:
        time.travel("1h11m")
        task = time.run(app.get("urgent"))
        assert render_ledger(time, task) == ["13:00 skipped start_deadline"]
        (run,) = time.runs(task)
        assert run.ended is not None
        assert run.ended - run.due == timedelta(minutes=10), "found at the deadline, not when the lane was free"
        why = time.run(task.why("13:00"))
        assert str(why).endswith("It had to start before 2026-03-01 13:10 +00:00.")


def test_occurrence_that_waits_for_an_earlier_run_is_skipped_at_its_start_deadline() -> None:
    with hourly_task(minutes=90, overlap="queue", start_within="10m") as (time, task):
        time.travel("2h20m")
        assert render_ledger(time, task) == ["13:00 running", "14:00 skipped start_deadline"]


def test_occurrence_that_starts_in_time_runs() -> None:
    with hourly_task(minutes=65, overlap="queue", start_within="10m") as (time, task):
        time.travel("2h20m")
        assert render_ledger(time, task) == ["13:00 succeeded", "14:00 running"]


def test_start_within_counts_before_the_missed_policy() -> None:
    with hourly_task(start_within="90m", missed="merge") as (time, task):
        time.crash()
        time.travel("3h20m")
        time.restart()
        time.travel("1m")
        assert render_ledger(time, task) == ["13:00 skipped start_deadline", "15:00 succeeded 2"]
