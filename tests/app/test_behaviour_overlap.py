"""Overlap policies as docs/behaviour.md describes them: an hourly task whose runs take ninety minutes."""

from __future__ import annotations

import pytest

from horae import Conflict, Horae, Retry, RetryPolicy
from horae.model.policy import Overlap
from horae.testing import TimeTravel
from tests.app.behaviour_scenarios import hourly_task, render_ledger


async def retry_in_90_minutes() -> None:
    raise Retry(after="90m")


def four_hours(overlap: Overlap) -> list[str]:
    with hourly_task(minutes=90, overlap=overlap) as (time, task):
        time.travel("4h10m")
        return render_ledger(time, task)


def test_overlap_skip_skips_occurrences_during_a_run() -> None:
    assert four_hours("skip") == ["13:00 succeeded", "14:00 skipped overlap", "15:00 running", "16:00 skipped overlap"]


def test_overlap_queue_holds_one_waiter() -> None:
    with hourly_task(minutes=150, overlap="queue") as (time, task):
        time.travel("4h10m")
        assert render_ledger(time, task) == ["13:00 succeeded", "14:00 running", "15:00 skipped overlap"]


def test_overlap_queue_all_runs_every_occurrence() -> None:
    with hourly_task(minutes=90, overlap="queue_all") as (time, task):
        time.travel("4h10m")
        assert render_ledger(time, task) == ["13:00 succeeded", "14:00 succeeded", "15:00 running"]
        why = time.run(task.why("16:00"))
        assert why.verdict == "waiting"


def test_overlap_replace_cancels_the_older_run() -> None:
    assert four_hours("replace") == [
        "13:00 cancelled replaced",
        "14:00 cancelled replaced",
        "15:00 cancelled replaced",
        "16:00 running",
    ]


def test_overlap_parallel_runs_concurrently() -> None:
    assert four_hours("parallel") == ["13:00 succeeded", "14:00 succeeded", "15:00 running", "16:00 running"]


def test_run_now_during_a_run_is_a_conflict_under_skip() -> None:
    with hourly_task(minutes=30) as (time, task):
        time.travel("1h10m")
        with pytest.raises(Conflict) as refusal:
            time.run(task.run_now())
        assert refusal.value.code == "already_running"
        assert render_ledger(time, task) == ["13:00 running"]


def test_run_now_during_a_run_waits_under_queue() -> None:
    with hourly_task(minutes=30, overlap="queue") as (time, task):
        time.travel("1h10m")
        extra = time.run(task.run_now())
        time.travel("40m")
        run = time.run(extra.get())
        assert (run.origin, run.state, f"{run.started:%H:%M}") == ("manual", "running", "13:30")


def hourly_retry(overlap: Overlap, hours: str) -> list[str]:
    app = Horae("memory://", zone="UTC")
    retry = RetryPolicy(attempts=2, superseded_by_next=False)
    app.task("0 * * * *", name="hourly", overlap=overlap, retry=retry)(retry_in_90_minutes)
    with TimeTravel(app, "2026-03-01 12:00") as time:
        time.travel(hours)
        return render_ledger(time)


def test_retry_that_counts_as_running_skips_the_next_occurrence() -> None:
    assert hourly_retry("skip", "2h40m") == [
        "13:00 failed target_failed",
        "13:00 failed target_failed",
        "14:00 skipped overlap",
    ]


def test_retry_that_counts_as_running_holds_the_next_occurrence_under_queue() -> None:
    assert hourly_retry("queue", "2h10m") == ["13:00 failed target_failed"]
    assert hourly_retry("queue", "2h40m") == [
        "13:00 failed target_failed",
        "13:00 failed target_failed",
        "14:00 failed target_failed",
    ]


def test_retry_that_counts_as_running_is_replaced_by_the_next_occurrence() -> None:
    assert hourly_retry("replace", "2h10m") == [
        "13:00 failed target_failed",
        "13:00 skipped replaced",
        "14:00 failed target_failed",
    ]


def test_waiting_retry_is_superseded_by_a_newer_occurrence() -> None:
    app = Horae("memory://", zone="UTC")
    app.task("0 * * * *", name="hourly")(retry_in_90_minutes)
    with TimeTravel(app, "2026-03-01 12:00") as time:
        time.travel("2h10m")
        assert render_ledger(time) == [
            "13:00 failed target_failed",
            "13:00 skipped superseded",
            "14:00 failed target_failed",
        ]
