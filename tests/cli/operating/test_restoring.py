"""A restore goes where links lead, keeps what earlier ones kept, and looks again after the yes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.command_line import Cli
from tests.cli.operating.deployment import Deployment
from tests.cli.operating.test_database import names
from tests.cli.operating.test_terminal import beside
from tests.cli.terminal import Terminal


def _at(deployment: Deployment, path: Path) -> Deployment:
    found = Deployment(deployment.folder)
    found.url = f"sqlite:///{path}"
    return found


def test_a_link_stays_one_and_what_it_leads_to_is_replaced(deployment: Deployment) -> None:
    real = deployment.folder / "data" / "real.db"
    real.parent.mkdir()
    deployment.path.symlink_to(real)
    deployment.add(name="before", when="every 1h", say="x")
    deployment.ok("db", "backup", "copy.db")
    deployment.add(name="after", when="every 1h", say="x")
    told = deployment.answer("db", "restore", "copy.db", "--yes")
    assert deployment.path.is_symlink()
    assert names(_at(deployment, real)) == ["before"]
    kept = real.with_name("real.db.before-restore")
    assert (told["path"], told["kept"]) == (str(real), str(kept))
    assert names(_at(deployment, kept)) == ["after", "before"]
    deployment.path.with_name("again.db").symlink_to(real)
    assert deployment.horae("db", "restore", "again.db", "--yes").returncode == 6


def test_what_earlier_restores_kept_stays(deployment: Deployment) -> None:
    deployment.add(name="first", when="every 1h", say="x")
    deployment.ok("db", "backup", "copy.db")
    deployment.add(name="second", when="every 1h", say="x")
    kept = [deployment.answer("db", "restore", "copy.db", "--yes")["kept"] for _ in range(3)]
    start = f"{deployment.path}.before-restore"
    assert kept == [start, f"{start}-2", f"{start}-3"]
    assert names(_at(deployment, Path(start))) == ["first", "second"]
    assert names(_at(deployment, Path(f"{start}-2"))) == ["first"]


@pytest.fixture
def here(cli: Cli) -> Iterator[Deployment]:
    found = beside(cli)
    yield found
    found.end()


def test_who_came_during_the_question_is_seen(cli: Cli, here: Deployment) -> None:
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
