"""`horae completion`: the scripts, and what they are answered."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.operating.deployment import Deployment


def answered(deployment: Deployment, *words: str) -> list[str]:
    lines = deployment.ok("completion", "answer", "--", *words).splitlines()
    return [line.partition("\t")[0] for line in lines]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_each_shell_gets_a_script_that_asks_back(deployment: Deployment, shell: str) -> None:
    assert "horae completion answer --" in deployment.ok("completion", shell).replace("'", "")
    assert json.loads(deployment.ok("completion", shell, "--json"))["shell"] == shell


def test_another_shell_is_refused(deployment: Deployment) -> None:
    done = deployment.horae("completion", "tcsh")
    assert done.returncode == 6
    assert "bash, zsh, fish, powershell" in done.stderr


def test_bash_completes_names_that_are_there(deployment: Deployment) -> None:
    deployment.add(name="nightly report", when="every 1h", say="x")
    script = (
        "source <(horae completion bash); COMP_WORDS=(horae show nigh); COMP_CWORD=2; _horae_completion; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = f"{Path(sys.executable).parent}:{deployment.environment['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        env={**deployment.environment, "PATH": path},
        cwd=deployment.folder,
        check=True,
    )
    assert done.stdout.strip() == "nightly\\ report"


def test_commands_options_zones_and_states(deployment: Deployment) -> None:
    assert {"simulate", "show", "secret"} <= set(answered(deployment, "s"))
    assert answered(deployment, "db", "ba") == ["backup"]
    assert answered(deployment, "ls", "--sta") == ["--state"]
    assert answered(deployment, "next", "--zone", "Europe/Berl") == ["Europe/Berlin"]
    assert answered(deployment, "ls", "--state", "pa") == ["paused"]
    assert answered(deployment, "ls", "--state", "") == ["active", "paused", "completed", "failed", "cancelled"]
    assert {"timed_out", "lost"} < set(answered(deployment, "runs", "--state", ""))
    assert answered(deployment, "runs", "--state", "pa") == []
    assert answered(deployment, "--store", "sqlite:///x.db", "simu") == ["simulate"]


def test_nothing_is_made_and_nothing_said_when_there_is_no_store(deployment: Deployment) -> None:
    assert answered(deployment, "show", "") == []
    assert not deployment.path.exists()


def test_a_hostile_name_is_inert(deployment: Deployment) -> None:
    deployment.add(name="a{{7*7}}$(touch x)", when="every 1h", say="x")
    assert answered(deployment, "show", "a") == ["a{{7*7}}$(touch x)"]
