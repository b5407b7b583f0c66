"""On a terminal: a secret is typed unseen, a change is asked about, and Ctrl-C ends the engine in good order."""

from __future__ import annotations

from pathlib import Path

from tests.cli.command_line import Cli
from tests.cli.operating.deployment import Deployment
from tests.cli.operating.test_moving import shapes
from tests.cli.operating.test_secrets import revealed
from tests.cli.terminal import Terminal


def beside(cli: Cli) -> Deployment:
    """The same store, by the library."""
    found = Deployment(Path(cli.directory))
    found.url = cli.url
    return found


def test_a_secret_is_typed_unseen(cli: Cli) -> None:
    with Terminal(cli, "secret", "set", "token") as terminal:
        terminal.wait_for("Value of token (not shown):")
        terminal.press("hush\n")
        assert terminal.ended() == 0
        assert "hush" not in terminal.shown
    assert revealed(beside(cli), "token") == "hush"


def test_a_change_is_asked_about(cli: Cli) -> None:
    here = beside(cli)
    here.write("tasks.yaml", "tasks:\n  - {name: x, when: every 1h, say: x}\n")
    with Terminal(cli, "apply", "-f", "tasks.yaml") as terminal:
        terminal.wait_for("Apply? [y/N]")
        terminal.press("n\n")
        assert terminal.ended() == 2
    assert shapes(here) == {}
    with Terminal(cli, "apply", "-f", "tasks.yaml") as terminal:
        terminal.wait_for("Apply? [y/N]")
        terminal.press("y\n")
        assert terminal.ended() == 0
    assert shapes(here).keys() == {"x"}


def test_ctrl_c_ends_the_engine(cli: Cli) -> None:
    with Terminal(cli, "up", "--demo") as terminal:
        terminal.wait_for("demo-tick  tick")
        terminal.interrupt()
        assert terminal.ended() == 0
        assert "stopped" in terminal.shown
