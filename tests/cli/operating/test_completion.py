"""`horae completion`: scripts of each shell, and the completions that they request."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.operating.deployment import Deployment


def completions(deployment: Deployment, *words: str) -> list[str]:
    lines = deployment.ok("completion", "answer", "--", *words).splitlines()
    return [line.partition("\t")[0] for line in lines]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_each_shell_gets_a_completion_script(deployment: Deployment, shell: str) -> None:
    assert "horae completion answer --" in deployment.ok("completion", shell).replace("'", "")
    assert json.loads(deployment.ok("completion", shell, "--json"))["shell"] == shell


def test_unknown_shell_is_refused(deployment: Deployment) -> None:
    done = deployment.horae("completion", "tcsh")
    assert done.returncode == 6
    assert "bash, zsh, fish, powershell" in done.stderr


def test_bash_completes_existing_names(deployment: Deployment) -> None:
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


def test_commands_options_zones_and_states_are_completed(deployment: Deployment) -> None:
    assert {"simulate", "show", "secret"} <= set(completions(deployment, "s"))
    assert completions(deployment, "db", "ba") == ["backup"]
    assert completions(deployment, "ls", "--sta") == ["--state"]
    assert completions(deployment, "next", "--zone", "Europe/Berl") == ["Europe/Berlin"]
    assert completions(deployment, "ls", "--state", "pa") == ["paused"]
    assert completions(deployment, "ls", "--state", "") == ["active", "paused", "completed", "failed", "cancelled"]
    assert {"timed_out", "lost"} < set(completions(deployment, "runs", "--state", ""))
    assert completions(deployment, "runs", "--state", "pa") == []
    assert completions(deployment, "--store", "sqlite:///x.db", "simu") == ["simulate"]


def test_completion_without_a_store_creates_and_prints_nothing(deployment: Deployment) -> None:
    assert completions(deployment, "show", "") == []
    assert not deployment.path.exists()


def test_hostile_name_is_not_executed_by_the_shell(deployment: Deployment) -> None:
    deployment.add(name="a{{7*7}}$(touch x)", when="every 1h", say="x")
    assert completions(deployment, "show", "a") == ["a{{7*7}}$(touch x)"]
