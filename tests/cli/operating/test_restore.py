"""`horae db restore`: follows symlinks, keeps earlier copies, and checks for nodes again after the prompt."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command_line import Cli
from tests.cli.operating.deployment import Deployment
from tests.cli.operating.store_contents import deployment_of, task_names
from tests.cli.terminal import Terminal


def _at(deployment: Deployment, path: Path) -> Deployment:
    found = Deployment(deployment.folder)
    found.url = f"sqlite:///{path}"
    return found


def test_restore_through_a_symlink_replaces_its_target(deployment: Deployment) -> None:
    real = deployment.folder / "data" / "real.db"
    real.parent.mkdir()
    deployment.path.symlink_to(real)
    deployment.add(name="before", when="every 1h", say="x")
    deployment.ok("db", "backup", "copy.db")
    deployment.add(name="after", when="every 1h", say="x")
    answer = deployment.answer("db", "restore", "copy.db", "--yes")
    assert deployment.path.is_symlink()
    assert task_names(_at(deployment, real)) == ["before"]
    previous = real.with_name("real.db.before-restore")
    assert (answer["path"], answer["kept"]) == (str(real), str(previous))
    assert task_names(_at(deployment, previous)) == ["after", "before"]
    deployment.path.with_name("again.db").symlink_to(real)
    assert deployment.horae("db", "restore", "again.db", "--yes").returncode == 6


def test_restore_keeps_files_of_earlier_restores(deployment: Deployment) -> None:
    deployment.add(name="first", when="every 1h", say="x")
    deployment.ok("db", "backup", "copy.db")
    deployment.add(name="second", when="every 1h", say="x")
    previous = [deployment.answer("db", "restore", "copy.db", "--yes")["kept"] for _ in range(3)]
    start = f"{deployment.path}.before-restore"
    assert previous == [start, f"{start}-2", f"{start}-3"]
    assert task_names(_at(deployment, Path(start))) == ["first", "second"]
    assert task_names(_at(deployment, Path(f"{start}-2"))) == ["first"]


@pytest.fixture
def here(cli: Cli) -> Iterator[Deployment]:
    found = deployment_of(cli)
    yield found
    found.end()


def test_restore_detects_a_node_started_during_the_prompt(cli: Cli, here: Deployment) -> None:
    here.add(name="kept", when="every 1h", say="x")
    here.ok("db", "backup", "copy.db")
    with Terminal(cli, "db", "restore", "copy.db") as terminal:
        terminal.wait_for("[y/N]")
        up = here.up().ready()
        terminal.press("y\n")
        assert terminal.ended() == 5
        assert "An engine runs on this store" in terminal.shown
    up.signal(signal.SIGTERM)
    assert up.ends() == 0
    assert list(here.folder.glob("*.before-restore")) == list(here.folder.glob(".horae-*")) == []
