"""A task that runs once and has given up: what `why` and `doctor` say of it, and that their commands work."""

from __future__ import annotations

import pytest

from tests.cli.command_line import Cli


@pytest.mark.usefixtures("node")
def test_fixes_for_a_failed_once_task_are_accepted(cli: Cli) -> None:
    cli("add", "now", "--function", "broken", "--retries", "0", "--name", "call")
    while cli("show", "call", "--json").json["task"]["state"] == "active":
        pass  # each look is a command of its own
    why = cli("why", "call", "--json").json
    assert "The task has given up" in why["sentence"]
    assert not any(fix["command"].startswith("horae resume") for fix in why["fixes"])
    assert cli("resume", "call").code == 5
    (failed,) = [each for each in cli("doctor", "--json").json["checks"] if each["check"] == "failed"]
    assert failed["fix"] == "horae why TASK, then horae retry TASK"
    retried = cli("retry", "call")
    assert retried.code == 0, retried.err
