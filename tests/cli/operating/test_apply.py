"""`horae apply`: shows the changes, asks for confirmation, and is idempotent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.cli.operating.deployment import Deployment
from tests.cli.operating.store_contents import task_definitions

SCHEMA = Path(__file__).parents[3] / "docs/schemas/tasks-file.json"
FILE = """
zone: Europe/Berlin
defaults:
  policies: {retries: 2}
  labels: {team: ops}
lanes: {crm: 2}
tasks:
  - name: morning
    when: every weekday at 9am
    say: good morning
    takes: 5s
  - name: warm
    when: every 15m
    http: {method: POST, url: "https://example.com/warm"}
    lane: crm
    policies: {overlap: queue, retries: 0}
"""


def test_second_apply_changes_nothing(deployment: Deployment) -> None:
    deployment.write("tasks.yaml", FILE)
    first = deployment.ok("apply", "-f", "tasks.yaml", "--yes")
    assert "+ morning  Monday to Friday at 09:00, Europe/Berlin" in first
    assert "lane crm: - → 2" in first
    assert "applied" in first
    found = task_definitions(deployment)
    assert found["morning"]["policies"]["retry"]["attempts"] == 3
    assert found["warm"]["policies"]["retry"]["attempts"] == 1
    assert found["warm"]["policies"]["overlap"] == "queue"
    assert (found["warm"]["labels"], found["warm"]["key"]) == ({"team": "ops"}, "apply:warm")
    again = deployment.horae("apply", "-f", "tasks.yaml")
    assert again.returncode == 0
    assert "nothing to do" in again.stderr
    assert task_definitions(deployment) == found


def test_change_is_shown_with_added_and_removed_fires(deployment: Deployment) -> None:
    deployment.write("tasks.yaml", FILE)
    deployment.ok("apply", "-f", "tasks.yaml", "--yes")
    deployment.write("tasks.yaml", FILE.replace("9am", "8:30"))
    shown = deployment.ok("apply", "-f", "tasks.yaml", "--diff", "--dry-run")
    assert "when: Monday to Friday at 09:00, Europe/Berlin → Monday to Friday at 08:30, Europe/Berlin" in shown
    assert "fires −5 +5 in the next 7 days" in shown
    assert task_definitions(deployment)["morning"]["means"] == "Monday to Friday at 09:00, Europe/Berlin"
    answer = deployment.answer("apply", "-f", "tasks.yaml", "--yes")
    assert (answer["applied"], answer["changed"], answer["same"]) == (True, 1, 1)
    assert task_definitions(deployment)["morning"]["means"] == "Monday to Friday at 08:30, Europe/Berlin"


def test_apply_without_a_terminal_requires_yes(deployment: Deployment) -> None:
    deployment.write("tasks.yaml", FILE)
    done = deployment.horae("apply", "-f", "tasks.yaml")
    assert done.returncode == 2
    assert task_definitions(deployment) == {}


def test_prune_removes_only_tasks_missing_from_the_file(deployment: Deployment) -> None:
    deployment.write("tasks.yaml", FILE)
    deployment.ok("apply", "-f", "tasks.yaml", "--yes")
    deployment.add(name="by hand", when="every 1h", say="x", labels={"team": "ops"})
    deployment.write("tasks.yaml", FILE.partition("  - name: warm")[0])
    unpruned = deployment.ok("apply", "-f", "tasks.yaml", "--yes", "--dry-run")
    assert "- warm" not in unpruned
    answer = deployment.ok("apply", "-f", "tasks.yaml", "--prune", "--yes")
    assert "- warm" in answer
    assert task_definitions(deployment).keys() == {"morning", "by hand"}
    deployment.ok("apply", "-f", "tasks.yaml", "--prune", "--label", "team=ops", "--yes")
    assert task_definitions(deployment).keys() == {"morning"}
    assert deployment.horae("apply", "-f", "tasks.yaml", "--label", "team=ops").returncode == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tasks:\n  - name: a\n    name: b\n", "the key 'name' appears twice"),
        ("tasks: [", "line 1"),
        ("jobs: []\n", "'jobs' is not a field here."),
        ("tasks: 1\n", "'tasks' is no list"),
        ("- a\n", "no mapping"),
        ("a: &x [1]\ntasks: *x\n", "aliases"),
        ("tasks:\n  - {name: a, when: every blue moon, say: x}\n", "task 1"),
        ("tasks:\n  - {name: a, when: every 1h, say: x, wehn: y}\n", "'wehn' is not a field here."),
        ("tasks:\n  - {name: a, when: every 1h}\n", "The field 'target' is missing."),
        ("tasks:\n  - {name: a, when: every 1h, say: x}\n  - {name: a, when: every 2h, say: x}\n", "appears twice"),
        ("lanes: {a: -1}\ntasks: []\n", "lane a cannot be '-1'."),
        ("tasks: !!python/object/apply:os.system ['true']\n", "could not determine a constructor"),
    ],
)
def test_file_with_a_mistake_is_refused_as_a_whole(deployment: Deployment, text: str, words: str) -> None:
    deployment.write("tasks.yaml", text)
    done = deployment.horae("apply", "-f", "tasks.yaml", "--yes")
    assert done.returncode == 6, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_yaml_times_and_booleans_are_read_as_text(deployment: Deployment) -> None:
    deployment.write("tasks.yaml", "tasks:\n  - {name: 'no', when: 23:59, say: on, labels: {on: 2026-01-01}}\n")
    deployment.ok("apply", "-f", "tasks.yaml", "--yes")
    (task,) = task_definitions(deployment).values()
    assert (task["labels"], task["target"]["say"]) == ({"on": "2026-01-01"}, "on")


def test_json_file_is_accepted_and_matches_the_schema(deployment: Deployment) -> None:
    file = {
        "zone": "UTC",
        "defaults": {"policies": {"retries": 1}},
        "lanes": {"a": 1},
        "tasks": [{"name": "x", "when": "every 1h", "command": ["date"], "takes": "3s"}],
    }
    schema = Draft202012Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    schema.validate(file)
    assert not schema.is_valid({**file, "jobs": []})
    assert not schema.is_valid({"tasks": [{"name": "x"}]})
    file["tasks"] = [{"name": "x", "when": "every 1h", "say": "hello"}]
    deployment.write("tasks.json", json.dumps(file))
    assert "+ x" in deployment.ok("apply", "-f", "tasks.json", "--yes")


def test_lanes_of_a_file_may_have_a_rate(deployment: Deployment) -> None:
    deployment.write("tasks.yaml", "lanes: {api: {rate: 100/1s}, crm: {limit: 2, rate: 5/1m}}\ntasks: []\n")
    first = deployment.ok("apply", "-f", "tasks.yaml", "--yes")
    assert "lane api, rate: - → 100/1s" in first
    assert "lane crm: - → 2" in first
    assert "nothing to do" in deployment.horae("apply", "-f", "tasks.yaml").stderr
    deployment.write("tasks.yaml", "lanes: {api: {rate: null}, crm: 3}\ntasks: []\n")
    second = deployment.ok("apply", "-f", "tasks.yaml", "--yes")
    assert "lane api, rate: 100/1s → -" in second
    assert "lane crm: 2 → 3" in second
    lanes = {each["name"]: (each["limit"], each["rate"]) for each in json.loads(deployment.ok("lanes", "--json"))}
    assert lanes == {"api": (1_000_000, None), "crm": (3, "5/1m")}
    exported = deployment.ok("export")
    assert '{"lane": {"name": "crm", "limit": 3, "rate": "5/1m"}}' in exported
    deployment.write("tasks.yaml", "lanes: {api: {rate: often}}\ntasks: []\n")
    assert "is not a number of starts per duration" in deployment.horae("apply", "-f", "tasks.yaml").stderr


def test_past_of_a_task_counts_when_it_is_made(deployment: Deployment) -> None:
    task = """
tasks:
  - name: weekly
    when: {kind: every, interval: PT168H, repeat: 10}
    say: x
    past: {created: "2026-01-01T00:00:00Z", counted: 7}
"""
    deployment.write("tasks.yaml", task)
    report = deployment.answer("simulate", "tasks.yaml", "--for", "60d", "--from", "2026-03-01T00:00Z")
    assert [each["ran"] for each in report["tasks"]] == [3]
    deployment.ok("apply", "-f", "tasks.yaml", "--yes")
    made = task_definitions(deployment)["weekly"]
    assert (made["created"], made["counted"]) == ("2026-01-01T00:00:00.000Z", 7)
    deployment.write("tasks.yaml", task.replace("counted: 7", "counted: 9"))
    assert "nothing to do" in deployment.horae("apply", "-f", "tasks.yaml").stderr
    deployment.write("tasks.yaml", task.replace("counted: 7", "counted: many").replace("weekly", "other"))
    refused = deployment.horae("apply", "-f", "tasks.yaml", "--yes")
    assert refused.returncode != 0
    assert "counted" in refused.stderr
