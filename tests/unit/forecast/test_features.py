"""A forecast of chains, gates, labels, messages, rates and start deadlines: what it assumes, and what it reports."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from horae.errors import Refusal
from horae.forecast import Candidate
from horae.model.gate import Gate
from horae.model.lanes.rate import Rate
from horae.model.policy import Notify
from horae.schedule.after import Link, after
from tests.unit.forecast.forecast_setup import a_task, find_findings, run_forecast

GATE = Gate("command", '{"argv": ["true"]}')


def with_id(candidate: Candidate, task_id: str) -> Candidate:
    return candidate._replace(id=task_id)


def ran(report: Any) -> dict[str, int]:
    return {task.name: task.ran for task in report.tasks}


def test_a_chain_runs_link_by_link_in_whatever_order_it_is_listed() -> None:
    tasks = [
        a_task("third", after("second"), "1m"),
        a_task("second", after("first"), "1m"),
        a_task("first", "every 1h", "1m"),
    ]
    report = run_forecast(*tasks)
    # The second link of the 24th occurrence would start after the end of the day.
    assert ran(report) == {"third": 23, "second": 23, "first": 24}
    assert report.findings == ()
    assert report.tasks[1].lateness_max == timedelta(0)
    assert run_forecast(*reversed(tasks), every_run=True).runs == report.runs


def test_a_chain_of_a_store_names_its_predecessors_by_id() -> None:
    report = run_forecast(
        with_id(a_task("report", after("tsk_1", "tsk_2", mode="all")), "tsk_3"),
        with_id(a_task("fetch", after("tsk_0")), "tsk_1"),
        with_id(a_task("fetch", after("tsk_0")), "tsk_2"),
        with_id(a_task("root", "every 6h"), "tsk_0"),
    )
    assert [task.ran for task in report.tasks] == [3, 3, 3, 4]


def test_a_frequent_predecessor_is_executed_and_starts_its_successor() -> None:
    report = run_forecast(a_task("often", "every 1m"), a_task("then", after("often")), span="4h", capacity=50)
    assert ran(report) == {"often": 240, "then": 239}


def test_a_link_that_waits_for_a_failure_never_starts_and_is_reported() -> None:
    report = run_forecast(a_task("root", "every 6h"), a_task("repair", after("root", on="failed")))
    assert ran(report) == {"root": 4, "repair": 0}
    (finding,) = find_findings(report, "never_runs")
    assert (finding.task, finding.severity) == ("repair", "info")


def test_a_join_that_a_predecessor_did_not_fire_is_counted_as_skipped() -> None:
    join = replace(after("a", mode="all"), links=(Link("a"), Link("b", "failed")))
    tasks = [a_task("root", "every 6h"), a_task("a", after("root")), a_task("b", after("root"))]
    report = run_forecast(*tasks, a_task("join", join))
    assert report.tasks[3].skipped == {"predecessor_skipped": 3}
    assert report.tasks[3].planned == 3


def test_a_predecessor_outside_of_the_forecast_is_reported_and_starts_nothing() -> None:
    both = after("root", "absent")
    report = run_forecast(a_task("root", "every 6h"), a_task("any", both), a_task("all", replace(both, mode="all")))
    assert ran(report) == {"root": 4, "any": 3, "all": 0}
    findings = find_findings(report, "predecessors_absent")
    assert [finding.task for finding in findings] == ["any", "all"]
    assert "absent" in findings[0].in_language("en").message


def test_a_cycle_is_refused_with_its_path() -> None:
    with pytest.raises(Refusal) as caught:
        run_forecast(a_task("a", after("b")), a_task("b", after("c")), a_task("c", after("a")))
    assert caught.value.code == "chain_cycle"
    assert caught.value.facts["path"] == "c → b → a → c"


def test_a_gate_counts_as_open_each_time() -> None:
    report = run_forecast(a_task("gated", "every 1h", gate=GATE))
    assert ran(report) == {"gated": 24}
    (finding,) = find_findings(report, "assumed")
    assert "gated" in finding.in_language("en").message


def test_required_labels_count_as_met() -> None:
    report = run_forecast(a_task("placed", "every 1h", where={"gpu": "a100"}))
    assert ran(report) == {"placed": 24}
    (finding,) = find_findings(report, "assumed")
    assert "placed" in finding.in_language("zh").message


def test_a_task_with_messages_to_people_runs_and_sends_nothing() -> None:
    assert ran(run_forecast(a_task("loud", "every 1h", notify=Notify(("ops",))))) == {"loud": 24}


def test_a_rate_delays_starts() -> None:
    tasks = [a_task(f"t{number}", "every 1h", lane="api") for number in range(4)]
    report = run_forecast(*tasks, span="3h", rates={"api": Rate(2, timedelta(minutes=10))})
    assert sum(task.ran for task in report.tasks) == 10
    assert max(task.lane_wait_max for task in report.tasks) == timedelta(minutes=10)


def test_what_cannot_start_in_time_is_skipped() -> None:
    tasks = [a_task(f"t{number}", "every 1h", "20m", lane="one", start_within="5m") for number in range(2)]
    report = run_forecast(*tasks, span="3h", lanes={"one": 1})
    assert {reason: count for task in report.tasks for reason, count in task.skipped.items()} == {"start_deadline": 2}
    # The deadline of the third hour is after the span.


def test_further_lanes_and_filled_in_names_are_shown_with_their_tasks() -> None:
    report = run_forecast(
        a_task("a", "every 1h", "40m", lane="api:{owner}", lanes=("press",)), lanes={"api:local": 2, "press": 1}
    )
    assert {lane.name: lane.tasks for lane in report.lanes} == {"api:local": ("a",), "press": ("a",)}
    assert report.tasks[0].lane == "api:local"
