"""`horae simulate` of a file or a store: findings first, then the runs of each task."""

from __future__ import annotations

from typing import Any

from tests.cli.operating.deployment import Deployment

FILE = """
zone: Europe/Berlin
lanes: {crm: 1}
tasks:
  - {name: nightly, when: "30 2 * * *", say: x, takes: 1m}
  - {name: sync, when: every 10m, say: x, lane: crm, takes: 15m}
"""


def test_simulate_of_a_file_covers_a_clock_change(deployment: Deployment) -> None:
    deployment.write("tasks.yaml", FILE)
    shown = deployment.ok("simulate", "tasks.yaml", "--for", "2d", "--from", "2026-03-28T00:00Z")
    lines = shown.splitlines()
    assert lines[0].startswith("! sync: ")
    assert any("02:30 does not exist and runs at 03:00" in line for line in lines)
    assert any(line.split()[:4] == ["sync", "288", "144", "144"] for line in lines)
    assert any(line.startswith("crm ") for line in lines)
    assert not deployment.path.exists()
    assert "预演" not in shown
    chinese = deployment.ok("simulate", "tasks.yaml", "--for", "1d", "--from", "2026-03-28T00:00Z", "--lang", "zh")
    assert "因上一次仍在运行而跳过" in chinese


def test_simulate_quiet_prints_names_only(deployment: Deployment) -> None:
    deployment.write("tasks.yaml", FILE)
    assert deployment.ok("simulate", "tasks.yaml", "--for", "1d", "-q").splitlines() == ["nightly", "sync"]


def test_simulate_json_is_the_report(deployment: Deployment) -> None:
    deployment.write("tasks.yaml", FILE)
    report = deployment.answer("simulate", "tasks.yaml", "--for", "1d", "--from", "2026-03-28T00:00Z")
    assert report["start"] == "2026-03-28T00:00:00Z"
    assert {task["name"]: task["ran"] for task in report["tasks"]} == {"nightly": 1, "sync": 72}


def test_simulate_strict_exits_with_1_on_a_finding(deployment: Deployment) -> None:
    deployment.write(
        "tasks.yaml",
        "tasks:\n  - {name: long, when: every 1h, say: x, takes: 10m, policies: {max_duration: 5m}}\n",
    )
    assert deployment.horae("simulate", "tasks.yaml", "--for", "3h").returncode == 0
    assert deployment.horae("simulate", "tasks.yaml", "--for", "3h", "--strict").returncode == 1
    assert deployment.horae("simulate", "absent.yaml").returncode == 3


def test_simulate_uses_the_tasks_of_the_store(deployment: Deployment) -> None:
    deployment.add(name="hourly", when="every 1h", say="x")
    paused = deployment.add(name="resting", when="every 1h", say="x")
    deployment.call_library(lambda app: app.service.tasks.pause(app.who, paused))
    number = deployment.call_library(lambda app: app.store.last_event())
    report = deployment.answer("simulate", "--for", "5h")
    assert {task["name"]: task["planned"] for task in report["tasks"]} == {"hourly": 5}
    assert deployment.call_library(lambda app: app.store.last_event()) == number


FEATURES = """
lanes: {api: {rate: 2/10m}}
tasks:
  - {name: report, say: x, after: fetch}
  - {name: repair, say: x, after: [{task: root, on: failed}]}
  - {name: fetch, say: x, after: root}
  - {name: root, when: every 6h, say: x, takes: 1m}
  - {name: gated, when: every 6h, say: x, policies: {gate: {http: {url: "https://example.com/gate"}}}}
  - {name: placed, when: every 6h, say: x, policies: {where: {gpu: a100}}}
  - {name: loud, when: every 6h, say: x, policies: {notify: {to: [ops]}}}
  - {name: rated-1, when: every 6h, say: x, lane: api}
  - {name: rated-2, when: every 6h, say: x, lane: api}
  - {name: rated-3, when: every 6h, say: x, lane: api, policies: {start_within: 5m}}
"""
RAN = {"root": 4, "fetch": 4, "report": 4, "repair": 0, "gated": 4, "placed": 4, "loud": 4} | {
    "rated-1": 4,
    "rated-2": 4,
    "rated-3": 0,
}


def check_features(report: Any) -> None:
    """All tasks of `FEATURES` for 25 hours: their runs, and what is assumed of them."""
    assert {task["name"]: task["ran"] for task in report["tasks"]} == RAN
    by_name = {task["name"]: task for task in report["tasks"]}
    assert by_name["rated-3"]["skipped"] == {"start_deadline": 4}
    findings = {(each["code"], each["task"]) for each in report["findings"]}
    assert findings >= {("assumed", None), ("never_runs", "repair"), ("never_runs", "rated-3")}
    assert not findings & {("never_runs", "gated"), ("never_runs", "placed")}


def test_simulate_of_a_file_with_chains_gates_labels_messages_rates_and_start_deadlines(deployment: Deployment) -> None:
    deployment.write("tasks.yaml", FEATURES)
    check_features(deployment.answer("simulate", "tasks.yaml", "--for", "25h"))
    assert "门控" in deployment.ok("simulate", "tasks.yaml", "--for", "25h", "--lang", "zh")


def test_simulate_shows_a_lane_that_has_only_a_rate_without_a_limit(deployment: Deployment) -> None:
    deployment.write("tasks.yaml", FEATURES)
    (lane,) = deployment.answer("simulate", "tasks.yaml", "--for", "25h")["lanes"]
    assert (lane["name"], lane["limit"], lane["rate"]) == ("api", None, "2/10m")
    shown = deployment.ok("simulate", "tasks.yaml", "--for", "25h")
    assert "1000000" not in shown
    assert "The rate of lane api (2/10m) delays starts" in shown
    row = next(line for line in shown.splitlines() if line.startswith("api"))
    assert row.split()[:3] == ["api", "-", "2/10m"]


def test_simulate_lists_the_lanes_of_a_template_and_not_the_template(deployment: Deployment) -> None:
    deployment.write(
        "tasks.yaml",
        """
lanes: {"api:{owner}": {limit: 2, rate: 5/1m}, idle: 3}
tasks:
  - {name: hourly, when: every 1h, say: x, lane: "api:{owner}"}
""",
    )
    lanes = deployment.answer("simulate", "tasks.yaml", "--for", "5h")["lanes"]
    assert [(each["name"], each["limit"], each["rate"], each["runs"]) for each in lanes] == [
        ("api:local", 2, "5/1m", 5),
        ("idle", 3, None, 0),
    ]


def test_simulate_of_a_store_with_chains_gates_labels_messages_rates_and_start_deadlines(
    deployment: Deployment,
) -> None:
    deployment.ok("notify", "add", "ops", "json://127.0.0.1:9/")
    deployment.write("tasks.yaml", FEATURES)
    deployment.ok("apply", "-f", "tasks.yaml", "--yes")
    check_features(deployment.answer("simulate", "--for", "25h"))
    report = deployment.call_library(lambda app: app.simulate("25h", takes={"root": "1m"}))
    check_features(report.to_json())
