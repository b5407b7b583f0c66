"""`horae simulate` of a file or a store: findings first, then the runs of each task."""

from __future__ import annotations

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
