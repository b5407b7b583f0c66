"""Prompts on a terminal: hidden secret input, confirmation of a change, and Ctrl-C."""

from __future__ import annotations

from tests.cli.command_line import Cli
from tests.cli.operating.store_contents import deployment_of, reveal_secret, task_definitions
from tests.cli.terminal import Terminal


def test_secret_prompt_does_not_echo(cli: Cli) -> None:
    with Terminal(cli, "secret", "set", "token") as terminal:
        terminal.wait_for("Value of token (not shown):")
        terminal.press("hush\n")
        assert terminal.ended() == 0
        assert "hush" not in terminal.shown
    assert reveal_secret(deployment_of(cli), "token") == "hush"


def test_apply_asks_for_confirmation(cli: Cli) -> None:
    here = deployment_of(cli)
    here.write("tasks.yaml", "tasks:\n  - {name: x, when: every 1h, say: x}\n")
    with Terminal(cli, "apply", "-f", "tasks.yaml") as terminal:
        terminal.wait_for("Apply? [y/N]")
        terminal.press("n\n")
        assert terminal.ended() == 2
    assert task_definitions(here) == {}
    with Terminal(cli, "apply", "-f", "tasks.yaml") as terminal:
        terminal.wait_for("Apply? [y/N]")
        terminal.press("y\n")
        assert terminal.ended() == 0
    assert task_definitions(here).keys() == {"x"}


def test_ctrl_c_stops_the_engine(cli: Cli) -> None:
    with Terminal(cli, "up", "--demo") as terminal:
        terminal.wait_for("demo-tick  tick")
        terminal.interrupt()
        assert terminal.ended() == 0
        assert "stopped" in terminal.shown
