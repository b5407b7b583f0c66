"""Events that no listener receives: the run succeeds with `delivered: 0`, and receipt, why, ls and doctor warn."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from tests.cli.command_line import Cli
from tests.cli.terminal import Terminal

WEBHOOK = "https://93.184.216.34/hook"


def codes(receipt: Any) -> list[str]:
    return [each["code"] for each in receipt["warnings"]]


def result_of(cli: Cli, task: str) -> Any:
    return cli("why", task, "--json").json["runs"][-1]["result"]


@pytest.mark.usefixtures("node")
@pytest.mark.parametrize("work", [("--say", "tea"), ("--event", "kettle.boiled")])
def test_event_without_a_listener_succeeds_and_is_warned_about(cli: Cli, work: tuple[str, str]) -> None:
    made = cli("add", "every 1h", *work, "--name", "tea", "--json").json
    assert codes(made)[0] == "no_listener"
    assert cli("run", "tea", "--wait").code == 0
    assert result_of(cli, "tea") == {"delivered": 0, "to": {}}
    assert "No listener received it." in cli("why", "tea").out
    assert "没有监听者收到它" in cli("--lang", "zh", "why", "tea").out
    assert "1 with no listener" in cli("ls").err
    (check,) = [each for each in cli("doctor", "--json").json["checks"] if each["check"] == "listeners"]
    assert check["grade"] == "warning"
    assert "tea" in check["message"]


@pytest.mark.usefixtures("node")
def test_webhook_that_takes_the_event_is_a_listener(cli: Cli) -> None:
    assert cli("webhook", "add", WEBHOOK, "--type", "run.failed").code == 0
    assert codes(cli("add", "every 1h", "--say", "tea", "--name", "tea", "--json").json)[0] == "no_listener"
    assert cli("webhook", "add", WEBHOOK, "--type", "task.*").code == 0
    assert "no_listener" not in codes(cli("add", "every 1h", "--say", "milk", "--name", "milk", "--json").json)
    cli("run", "milk", "--wait")
    assert result_of(cli, "milk") == {"delivered": 1, "to": {"webhooks": 1}}
    assert "No listener" not in cli("why", "milk").out
    assert not [each for each in cli("doctor", "--json").json["checks"] if each["check"] == "listeners"]


def test_terminal_of_up_is_a_listener(cli: Cli) -> None:
    with Terminal(cli, "up", COLUMNS="80") as terminal:
        terminal.wait_for("Ends")
        made = cli("add", "every 1h", "--say", "tea", "--name", "tea", "--json").json
        assert "no_listener" not in codes(made)
        cli("run", "tea", "--wait")
        terminal.wait_for("▸ tea")
        assert result_of(cli, "tea") == {"delivered": 1, "to": {"process": 1}}
        # An event without text prints nothing there.
        cli("add", "every 1h", "--event", "kettle.boiled", "--name", "kettle")
        cli("run", "kettle", "--wait")
        assert result_of(cli, "kettle") == {"delivered": 0, "to": {}}
        terminal.interrupt()
        assert terminal.ended() == 0
    assert codes(cli("add", "every 1h", "--say", "tea", "--json").json)[0] == "no_listener"


def test_followed_events_are_a_listener_while_they_are_followed(cli: Cli, node: subprocess.Popen[str]) -> None:
    assert node.poll() is None
    with Terminal(cli, "events", "--follow") as terminal:
        terminal.wait_for("from")
        cli("add", "every 1h", "--say", "tea", "--name", "tea")
        terminal.wait_for("task.created")
        assert "no_listener" not in codes(cli("edit", "tea", "--say", "milk", "--json").json)
        assert cli("run", "tea", "--wait").code == 0
        terminal.wait_for("task.triggered")
        assert result_of(cli, "tea") == {"delivered": 1, "to": {"terminals": 1}}
        terminal.interrupt()
        terminal.ended()
    assert codes(cli("edit", "tea", "--say", "sugar", "--json").json) == ["no_listener"]
