"""`horae up` on a database server: names the store, and never prints the password."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jsonschema import Draft202012Validator

from tests.cli.operating.deployment import Deployment, Up
from tests.cli.servers.conftest import PASSWORD
from tests.faults.processes import ROOT

WITHOUT_UVLOOP = "raise ImportError('as if it were not installed')\n"


def stop_and_read(up: Up) -> str:
    up.signal(signal.SIGTERM)
    assert up.ends() == 0
    return "\n".join(up.output)


def arguments_of(process: int) -> str:
    return Path(f"/proc/{process}/cmdline").read_text(encoding="utf-8")


def test_up_names_the_server_and_its_hints_need_no_store_option(deployment: Deployment) -> None:
    up = deployment.up("--demo").ready()
    parts = urlsplit(deployment.url)
    output = up.expect("demo-tick") and "\n".join(up.output)
    data = next(line for line in up.output if line.strip().startswith("Data"))
    place = f"at {parts.hostname}:{parts.port}, database {parts.path[1:]}, schema horae"
    assert data.split("Data")[1].strip().startswith("PostgreSQL ")
    assert place in data
    assert "memory" not in output
    assert "--store" not in output
    assert PASSWORD not in stop_and_read(up)


def test_store_given_as_option_is_printed_without_its_password(deployment: Deployment) -> None:
    up = deployment.up("--store", deployment.url, environment={"HORAE_STORE": ""}).ready()
    assert PASSWORD not in arguments_of(up.worker)
    assert "horae.cli.worker_process" in arguments_of(up.worker)
    output = stop_and_read(up)
    assert "PGPASSWORD" in output
    assert f"--store {deployment.url.replace(f':{PASSWORD}', '')} watch" in output
    assert PASSWORD not in output


def test_address_without_a_password_is_printed_unchanged(deployment: Deployment) -> None:
    plain = deployment.url.replace(f":{PASSWORD}", "") + "?schema=other&connections=3"
    up = deployment.up("--store", plain, environment={"HORAE_STORE": ""}).ready()
    output = stop_and_read(up)
    assert f"--store '{plain}'" in output
    assert "schema other" in output


def ready_event(up: Up) -> dict[str, Any]:
    ready: dict[str, Any] = json.loads(up.expect("node.ready"))
    schema = json.loads((ROOT / "docs/schemas/up.json").read_text(encoding="utf-8"))
    Draft202012Validator(schema).validate(ready)
    return ready


def test_ready_event_names_the_server(deployment: Deployment) -> None:
    up = deployment.up("--json")
    ready = ready_event(up)
    assert (ready["path"], ready["server"]["kind"], ready["server"]["schema"]) == (None, "PostgreSQL", "horae")
    assert abs(ready["server"]["clock_offset"]) < 60
    assert ready["loop"] == "uvloop"
    assert PASSWORD not in stop_and_read(up)


def test_up_runs_without_uvloop(deployment: Deployment) -> None:
    instead = deployment.folder / "instead"
    instead.mkdir()
    (instead / "uvloop.py").write_text(WITHOUT_UVLOOP)
    up = deployment.up("--json", "--demo", environment={"PYTHONPATH": str(instead)})
    assert ready_event(up)["loop"] == "asyncio"
    up.expect("task.said")
    stop_and_read(up)


def test_failed_start_exits_with_7_and_one_sentence(deployment: Deployment) -> None:
    done = deployment.horae("up", "--store", deployment.url.replace("postgresql://postgres", "postgresql://nobody"))
    assert done.returncode == 7
    assert "refused the login of this user" in done.stderr
    assert len(done.stderr.splitlines()) == 2
    assert PASSWORD not in done.stderr + done.stdout


def test_worker_process_with_bad_arguments_is_refused() -> None:
    for output in ("", "4711", "{}"):
        command = [sys.executable, "-m", "horae.cli.worker_process", *output.split()]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=60)
        assert done.returncode == 6, done
        assert f"'{output}' is not a command for a worker." in done.stderr


def test_first_start_makes_admin_token_after_tokens_of_members(deployment: Deployment) -> None:
    deployment.ok("owner", "add", "ada")
    deployment.ok("token", "make", "laptop", "--owner", "ada")
    starting = ("up", "--port", "0", "--seconds", "0.2", "--json")
    first, second = (deployment.horae(*starting, environment={"HORAE_API": "on"}).stdout for _ in range(2))
    ready = [json.loads(line) for line in (first + second).splitlines() if '"api.ready"' in line]
    assert [each["first_start"] for each in ready] == [True, False]
    assert ready[0]["token_file"] == ready[1]["token_file"]
    tokens = deployment.answer("token", "ls")
    assert [(each["name"], "admin" in each["scopes"]) for each in tokens] == [("laptop", False), ("first", True)]
