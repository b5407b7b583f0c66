"""JSON output of operating commands matches docs/schemas."""

from __future__ import annotations

import json
import signal

from tests.cli.json_schemas import check_schema
from tests.cli.operating.deployment import Deployment


def test_answers_of_a_deployment_match_their_schemas(deployment: Deployment) -> None:
    answer = deployment.answer
    check_schema("db-path", answer("db", "path"))
    check_schema("doctor", answer("doctor"))
    deployment.write("tasks.yaml", "lanes: {a: 1}\ntasks:\n  - {name: x, when: every 1h, say: x, lane: a}\n")
    check_schema("simulate", answer("simulate", "tasks.yaml", "--for", "3h"))
    check_schema("simulate", answer("simulate", "tasks.yaml", "--for", "30m"))
    check_schema("apply", answer("apply", "-f", "tasks.yaml", "--yes"))
    deployment.write("tasks.yaml", "tasks:\n  - {name: x, when: every 2h, say: x}\n")
    check_schema("apply", answer("apply", "-f", "tasks.yaml", "--prune", "--yes"))
    check_schema("secrets", answer("secret", "ls"))
    check_schema("secret", answer("secret", "set", "token", "-", stdin="hush"))
    check_schema("secrets", answer("secret", "ls"))
    check_schema("secret-rotated", answer("secret", "rotate"))
    check_schema("secret-removed", answer("secret", "rm", "token", "--yes"))
    check_schema("config", answer("config"))
    check_schema("config", answer("config", "--origin"))
    check_schema("db-backup", answer("db", "backup", "copy.db"))
    check_schema("db-check", answer("db", "check"))
    check_schema("db-upgrade", answer("db", "upgrade"))
    check_schema("db-restore", answer("db", "restore", "copy.db", "--yes"))
    check_schema("exported", answer("export", "--out", "all.jsonl"))
    check_schema("import", answer("import", "all.jsonl", "--dry-run"))
    deployment.write("table", "@reboot x\n")
    nothing = deployment.horae("import", "table", "--dry-run", "--json")
    assert nothing.returncode == 6
    check_schema("import", json.loads(nothing.stdout))
    check_schema("move", answer("move", deployment.url, f"sqlite:///{deployment.folder}/other.db", "--dry-run"))
    check_schema("move", answer("move", deployment.url, f"sqlite:///{deployment.folder}/other.db"))
    check_schema("completion", answer("completion", "bash"))
    check_schema("completion", answer("completion", "powershell"))
    check_schema("version", answer("version"))
    check_schema("help", answer("help"))
    check_schema("help", answer("help", "schedules"))


def test_events_of_up_match_their_schema(deployment: Deployment) -> None:
    deployment.add(name="stranded", when="now", function="nowhere.at_all")
    deployment.add(name="said", when="every 1s", say="hello")
    up = deployment.up("--demo", "--json", "-v")
    for kind in ("node.ready", "tasks.stranded", "task.said", "run.succeeded"):
        up.expect(f'"{kind}"')
    up.signal(signal.SIGTERM)
    assert up.ends() == 0
    for line in up.output:
        check_schema("up", json.loads(line))


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
        check_schema("problem", json.loads(done.stderr))
