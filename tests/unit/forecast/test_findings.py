"""Findings of a forecast: each where it applies, none without problems, in both languages."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from horae.forecast.findings import SENTENCES
from horae.model.reason import Reason
from tests.unit.forecast.forecast_setup import START, a_task, find_findings, run_forecast

BERLIN = "Europe/Berlin"


def test_no_findings_without_problems() -> None:
    report = run_forecast(
        a_task("one", "every 10m"), a_task("two", "every day at 09:00", lane="wide"), lanes={"wide": 2}
    )
    assert report.findings == ()
    assert report.complete


# --- overlaps ------------------------------------------------------------------------------------------------------


def test_run_longer_than_its_interval_is_found() -> None:
    report = run_forecast(a_task("slow", "every 1m", "90s"), span="1h")
    (task,) = report.tasks
    assert (task.ran, task.skipped, task.overlaps) == (30, {Reason.OVERLAP: 30}, 30)
    assert task.overlap_examples[0] == (START + timedelta(minutes=2), START + timedelta(minutes=1), "skipped")
    (finding,) = report.findings
    assert (finding.code, finding.severity, finding.task) == ("overlaps", "warning", "slow")
    assert "30 of 60" in finding.in_language("en").message
    assert "90 seconds" in finding.in_language("en").message


@pytest.mark.parametrize(
    ("overlap", "became", "severity"),
    [("queue_all", "queued", "warning"), ("replace", "replaced", "info"), ("parallel", "parallel", "info")],
)
def test_overlap_outcome_follows_the_policy(overlap: str, became: str, severity: str) -> None:
    report = run_forecast(a_task("slow", "every 1m", "90s", overlap=overlap), span="10m")
    (task,) = report.tasks
    assert {example.became for example in task.overlap_examples} == {became}
    (finding,) = find_findings(report, "overlaps")
    assert finding.severity == severity
    assert task.planned == 10


def test_queue_holds_one_occurrence() -> None:
    (task,) = run_forecast(a_task("slow", "every 1m", "150s", overlap="queue"), span="20m").tasks
    assert {example.became for example in task.overlap_examples} == {"queued", "skipped"}
    assert task.skipped[Reason.OVERLAP] > 0


def test_growing_queue_is_found() -> None:
    report = run_forecast(a_task("slow", "every 1m", "2m", overlap="queue_all"), span="1h")
    (task,) = report.tasks
    assert (task.planned, task.ran) == (60, 30)
    assert task.waiting == 30
    assert "cannot keep up" in report.findings[0].in_language("en").message


def test_replaced_run_is_cut_short() -> None:
    (task,) = run_forecast(a_task("slow", "every 1m", "90s", overlap="replace"), span="10m").tasks
    assert task.cut_short == 9


# --- lanes and capacity --------------------------------------------------------------------------------------------


def test_lane_below_demand_is_found_and_wide_one_is_not() -> None:
    tasks = [a_task(f"t{number}", "*/5 * * * *", "2m", lane="narrow") for number in range(3)]
    narrow = run_forecast(*tasks, span="1h", lanes={"narrow": 1})
    (lane,) = narrow.lanes
    assert (lane.limit, lane.tasks) == (1, ("t0", "t1", "t2"))
    assert (lane.runs, lane.peak_wanted) == (28, 3)
    assert lane.full_share == pytest.approx(55 / 60), "from the first instant on, a run follows at the end of another"
    assert lane.longest_wait >= timedelta(minutes=4)
    assert max(task.lane_wait_max for task in narrow.tasks) == lane.longest_wait
    assert find_findings(narrow, "lane_full")[0].lane == "narrow"
    wide = run_forecast(*tasks, span="1h", lanes={"narrow": 3})
    assert (wide.lanes[0].peak_wanted, wide.lanes[0].longest_wait) == (3, timedelta(0))
    assert wide.lanes[0].full_share == pytest.approx(0.4 * 11 / 12, abs=0.01)
    assert find_findings(wide, "lane_full") == []


def test_a_lane_without_a_limit_holds_one_run_at_a_time() -> None:
    report = run_forecast(
        *(a_task(f"t{number}", "0 * * * *", "10m", lane="anything") for number in range(2)), span="2h"
    )
    (lane,) = report.lanes
    assert (lane.limit, lane.peak_wanted, lane.longest_wait) == (1, 2, timedelta(minutes=10))


def test_insufficient_capacity_is_found() -> None:
    tasks = [a_task(f"t{number}", "0 * * * *", "5s") for number in range(3)]
    report = run_forecast(*tasks, span="3h", capacity=1)
    assert max(task.capacity_wait_max for task in report.tasks) == timedelta(seconds=10)
    assert max(task.lateness_max for task in report.tasks) == timedelta(seconds=10)
    (finding,) = find_findings(report, "capacity")
    assert "10 seconds late" in finding.in_language("en").message
    assert find_findings(run_forecast(*tasks, span="3h", capacity=3), "capacity") == []


def test_lateness_maximum_and_percentile() -> None:
    """Of a hundred runs two are late: one in a hundred may be left out, and then the other is the latest."""
    often = a_task("often", "every 10m")
    first = a_task("first", START + timedelta(minutes=100), "5s", priority=1)
    second = a_task("second", START + timedelta(minutes=200), "3s", priority=1)
    report = run_forecast(often, first, second, span=timedelta(minutes=1000), capacity=1)
    (task, *_) = report.tasks
    assert (task.ran, task.lateness_max, task.lateness_p99) == (100, timedelta(seconds=5), timedelta(seconds=3))


def test_back_to_back_runs_are_not_concurrent() -> None:
    report = run_forecast(a_task("one", "0 9 * * *", "10m"), a_task("other", "10 9 * * *", "10m"))
    assert report.most_at_once == 1
    report = run_forecast(
        a_task("one", "0 9 * * *", timedelta(minutes=10, seconds=1)), a_task("other", "10 9 * * *", "10m")
    )
    assert report.most_at_once == 2


# --- crowds --------------------------------------------------------------------------------------------------------


def test_tasks_due_in_one_second_are_found_and_jitter_spreads_them() -> None:
    crowd = run_forecast(*(a_task(f"t{number}", "0 9 * * *") for number in range(12)))
    (finding,) = find_findings(crowd, "crowded")
    assert "12 tasks" in finding.in_language("en").message
    assert crowd.busiest_second is not None
    assert crowd.busiest_second.at == START + timedelta(hours=9)
    assert len(crowd.busiest_second.tasks) == crowd.most_at_once == 12
    spread = run_forecast(*(a_task(f"t{number}", "0 9 * * * with jitter up to 30m") for number in range(12)))
    assert find_findings(spread, "crowded") == []
    assert spread.runs == 12


def test_busiest_minute_names_its_tasks() -> None:
    report = run_forecast(a_task("often", "every 10s"), a_task("daily", "30 12 * * *"), span="13h")
    assert report.busiest_minute is not None
    assert report.busiest_minute.at == START + timedelta(hours=12, minutes=30)
    assert (report.busiest_minute.count, report.busiest_minute.tasks) == (7, (("often", 6), ("daily", 1)))


# --- clock changes -------------------------------------------------------------------------------------------------


def test_nonexistent_wall_time_is_found() -> None:
    start = datetime(2026, 3, 28, tzinfo=UTC)
    report = run_forecast(a_task("nightly", "30 2 * * *"), start=start, span="3d", zone=BERLIN)
    (finding,) = report.findings
    assert (finding.code, finding.severity, finding.task) == ("clock_gap", "info", "nightly")
    assert "02:30 does not exist and runs at 03:00" in finding.in_language("en").message
    assert "02:30 不存在" in finding.in_language("zh").message
    (hit,) = report.tasks[0].clock_changes
    assert (hit.at, hit.kind, hit.effect) == (datetime(2026, 3, 29, 1, tzinfo=UTC), "gap", "moved")
    assert datetime(2026, 3, 29, 1, tzinfo=UTC) in [began.at for began in report.first_starts]


def test_skipped_wall_time_is_a_warning() -> None:
    start = datetime(2026, 3, 28, tzinfo=UTC)
    report = run_forecast(a_task("nightly", "30 2 * * * with gap skip"), start=start, span="3d", zone=BERLIN)
    assert [finding.severity for finding in find_findings(report, "clock_gap")] == ["warning"]
    assert report.runs == 2


@pytest.mark.parametrize(
    ("fold", "severity", "runs"), [("first", "info", 1), ("last", "info", 1), ("both", "warning", 2)]
)
def test_repeated_wall_time_is_found(fold: str, severity: str, runs: int) -> None:
    start = datetime(2026, 10, 24, 22, tzinfo=UTC)
    report = run_forecast(a_task("nightly", f"30 2 * * * with fold {fold}"), start=start, span="1d", zone=BERLIN)
    assert [finding.severity for finding in find_findings(report, "clock_fold")] == [severity]
    assert report.runs == runs


def test_flowing_cron_runs_twice_in_the_repeated_hour() -> None:
    start = datetime(2026, 10, 24, 22, tzinfo=UTC)
    report = run_forecast(a_task("often", "*/30 2 * * *"), start=start, span="1d", zone=BERLIN)
    assert [hit.effect for hit in report.tasks[0].clock_changes] == ["flowing_fold"]
    assert [finding.severity for finding in find_findings(report, "clock_fold")] == ["info"]
    assert report.runs == 4


def test_interval_task_is_unaffected_by_clock_changes() -> None:
    start = datetime(2026, 10, 24, 22, tzinfo=UTC)
    report = run_forecast(a_task("often", "*/30 * * * *"), start=start, span="1d", zone=BERLIN)
    assert (report.runs, report.tasks[0].clock_changes, report.findings) == (48, (), ())


def test_clock_changes_outside_of_the_span_are_not_reported() -> None:
    report = run_forecast(a_task("nightly", "30 2 * * *"), span="30d", zone=BERLIN)
    assert report.tasks[0].clock_changes == ()


# --- what does not run, and what runs too long ---------------------------------------------------------------------


def test_task_without_run_in_the_span_names_its_next_instant() -> None:
    report = run_forecast(a_task("yearly", "0 0 1 1 *"), span="30d")
    (finding,) = report.findings
    assert (finding.code, finding.severity) == ("never_runs", "info")
    assert "2027-01-01 00:00 UTC" in finding.in_language("en").message
    assert report.tasks[0].upcoming == datetime(2027, 1, 1, tzinfo=UTC)


def test_task_without_occurrences_is_found_and_others_run() -> None:
    report = run_forecast(a_task("over", "0 9 * * * until 2026-01-01"), a_task("fine", "0 9 * * *"))
    assert [(task.planned, task.ran) for task in report.tasks] == [(0, 0), (1, 1)]
    (finding,) = report.findings
    assert (finding.code, finding.severity, finding.task) == ("never_runs", "problem", "over")


def test_due_task_that_never_starts_is_a_problem() -> None:
    report = run_forecast(
        a_task("hog", "now", "2h", lane="one"), a_task("starved", "*/30 * * * *", lane="one"), span="90m"
    )
    assert (report.tasks[1].ran, report.tasks[1].waiting) == (0, 3)
    (finding,) = find_findings(report, "never_runs")
    assert (finding.severity, finding.task) == ("problem", "starved")
    assert report.lanes[0].longest_wait == timedelta(minutes=60)


def test_run_longer_than_its_timeout_is_found() -> None:
    report = run_forecast(a_task("long", "0 * * * *", "20m"), span="3h")
    assert (report.tasks[0].ran, report.tasks[0].cut_short) == (3, 0)
    (finding,) = find_findings(report, "timeout")
    assert finding.severity == "warning"


def test_run_longer_than_max_duration_is_cut_short() -> None:
    report = run_forecast(a_task("long", "0 * * * *", "20m", max_duration="10m", retries=0), span="4h")
    assert report.tasks[0].cut_short > 0
    assert [finding.severity for finding in find_findings(report, "timeout")] == ["problem"]


def test_findings_are_sorted_by_severity() -> None:
    report = run_forecast(
        a_task("yearly", "0 0 1 1 *"), a_task("slow", "every 1m", "90s"), a_task("over", "0 9 * * * until 2026-01-01")
    )
    assert [finding.severity for finding in report.findings] == ["problem", "warning", "info"]


def test_every_finding_has_both_languages() -> None:
    for said in SENTENCES.values():
        clock = said.code.startswith("clock_")
        assert clock or (said.message_en and said.message_zh)
        assert said.hint_en
        assert said.hint_zh
        assert not set("，：；") & set(said.message_zh + said.hint_zh), "half-width, as everywhere"
