"""What the operating commands say as JSON is what docs/schemas promises, field by field."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from tests.cli.operating.deployment import Deployment

SCHEMAS = Path(__file__).parents[3] / "docs/schemas"


def check(name: str, value: Any) -> Any:
    schema = json.loads((SCHEMAS / f"{name}.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(value)
    return value


def test_one_life_of_a_deployment(deployment: Deployment) -> None:
    answer = deployment.answer
    check("db-path", answer("db", "path"))
    check("doctor", answer("doctor"))
    deployment.write("tasks.yaml", "lanes: {a: 1}\ntasks:\n  - {name: x, when: every 1h, say: x, lane: a}\n")
    check("simulate", answer("simulate", "tasks.yaml", "--for", "3h"))
    check("simulate", answer("simulate", "tasks.yaml", "--for", "30m"))
    check("apply", answer("apply", "-f", "tasks.yaml", "--yes"))
    deployment.write("tasks.yaml", "tasks:\n  - {name: x, when: every 2h, say: x}\n")
    check("apply", answer("apply", "-f", "tasks.yaml", "--prune", "--yes"))
    check("secrets", answer("secret", "ls"))
    check("secret", answer("secret", "set", "token", "-", said="hush"))
    check("secrets", answer("secret", "ls"))
    check("secret-rotated", answer("secret", "rotate"))
    check("secret-removed", answer("secret", "rm", "token", "--yes"))
    check("config", answer("config"))
    check("config", answer("config", "--origin"))
    check("db-backup", answer("db", "backup", "copy.db"))
    check("db-check", answer("db", "check"))
    check("db-upgrade", answer("db", "upgrade"))
    check("db-restore", answer("db", "restore", "copy.db", "--yes"))
    check("exported", answer("export", "--out", "all.jsonl"))
    check("import", answer("import", "all.jsonl", "--dry-run"))
    deployment.write("table", "@reboot x\n")
    nothing_taken = deployment.horae("import", "table", "--dry-run", "--json")
    assert nothing_taken.returncode == 6
    check("import", json.loads(nothing_taken.stdout))
    check("move", answer("move", deployment.url, f"sqlite:///{deployment.folder}/other.db", "--dry-run"))
    check("move", answer("move", deployment.url, f"sqlite:///{deployment.folder}/other.db"))
    check("completion", answer("completion", "bash"))
    check("completion", answer("completion", "powershell"))
    check("version", answer("version"))
    check("help", answer("help"))
    check("help", answer("help", "schedules"))


def test_everything_that_up_says(deployment: Deployment) -> None:
    deployment.add(name="stranded", when="now", function="nowhere.at_all")
    deployment.add(name="said", when="every 1s", say="hello")
    up = deployment.up("--demo", "--json", "-v")
    for kind in ("node.ready", "tasks.stranded", "task.said", "run.succeeded"):
        up.expect(f'"{kind}"')
    up.signal(signal.SIGTERM)
    assert up.ends() == 0
    for line in up.said:
        check("up", json.loads(line))


def test_refusals_are_problems(deployment: Deployment) -> None:
    for arguments in (
        ("db", "check"),
        ("up", "absent.py"),
        ("apply", "-f", "absent.yaml"),
        ("secret", "set", "x", "y"),
    ):
        done = deployment.horae(*arguments, "--json")
        assert done.returncode not in (0, 1), arguments
        assert done.stdout == ""
        check("problem", json.loads(done.stderr))
