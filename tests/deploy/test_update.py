"""`deploy/update.sh`, with real releases in real environments, a real server behind it, and no systemd."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.request import ProxyHandler, build_opener

import pytest

from tests.deploy.releases import CANNOT_BEGIN, NOT_HEALTHY, interpreter, libraries, wheel
from tests.docs.pages import ROOT, clean_environment
from tests.servers.ports import ReservedPort

SCRIPT: Final = ROOT / "deploy" / "update.sh"
TOMORROW: Final = "of_tomorrow"
PATIENCE: Final = 180

START: Final = """#!/bin/sh
setsid "{home}/current/bin/horae" up --port {port} >>"{home}/log" 2>&1 </dev/null &
echo $! >"{home}/pid"
"""
STOP: Final = """#!/bin/sh
[ -f "{home}/pid" ] || exit 0
pid=$(cat "{home}/pid"); rm "{home}/pid"
kill "$pid" 2>/dev/null && tail --pid="$pid" -f /dev/null
exit 0
"""


class Installation:
    """Folder of releases with scripts that start and stop the service. Built wheels are shared by all tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.home.mkdir()
        self._reserved = ReservedPort()
        self.port = self._reserved.number
        self.store = ""
        self.database = folder / "horae.db"
        for name, text in (("start", START), ("stop", STOP)):
            path = folder / name
            path.write_text(text.format(home=self.home, port=self.port))
            path.chmod(0o755)
        self.environment = clean_environment() | {
            "HORAE_HOME": str(self.home),
            "HORAE_ENV": str(folder / "horae.env"),
            "HORAE_EXTRAS": "",
            "HORAE_PYTHON": interpreter(),
            "HORAE_PIP_OPTIONS": "--no-deps --no-index --no-compile",
            "HORAE_KEEP": "9",
            "HORAE_START": str(folder / "start"),
            "HORAE_STOP": str(folder / "stop"),
            "HORAE_HEALTH": f"http://127.0.0.1:{self.port}/readyz",
            "PYTHONPATH": str(libraries(folder)),
            "HOME": str(folder),
            "XDG_DATA_HOME": str(folder / "data"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "TZ": "UTC",
            "LANG": "C.UTF-8",
        }

    def begin(self, store: str) -> None:
        """Configure the store, with no release installed."""
        self.store = store
        (self.folder / "horae.env").write_text(f'HORAE_STORE="{store}"\n')

    def end(self) -> None:
        subprocess.run([str(self.folder / "stop")], timeout=60, check=True)
        (self.home / "current").unlink(missing_ok=True)

    def update(self, what: Path | str, **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["bash", str(SCRIPT), str(what)],
            env=self.environment | more,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    def horae(self, *words: str) -> Any:
        command = [str(self.home / "current" / "bin" / "horae"), *words, "--json"]
        environment = self.environment | {"HORAE_STORE": self.store}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def version(self) -> str:
        """Return the version of the running server."""
        with build_opener(ProxyHandler({})).open(self.environment["HORAE_HEALTH"], timeout=30) as answer:
            return str(json.load(answer)["version"])

    def releases(self) -> list[str]:
        """Return the installed releases; empty before the first update."""
        return sorted(path.name for path in (self.home / "releases").glob("*") if path.is_dir())

    def release(self) -> None:
        self._reserved.release()


@pytest.fixture(scope="module")
def shared_installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    made = Installation(tmp_path_factory.mktemp("installation"))
    yield made
    made.release()


@pytest.fixture
def installation(shared_installation: Installation) -> Iterator[Installation]:
    shared_installation.begin(f"sqlite:///{shared_installation.database}")
    yield shared_installation
    shared_installation.end()


def names(installation: Installation) -> list[str]:
    return sorted(task["name"] for task in installation.horae("ls"))


def tables(database: Path) -> set[str]:
    with sqlite3.connect(database) as link:
        return {row[0] for row in link.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


@pytest.mark.long
def test_unhealthy_release_is_rolled_back_and_a_healthy_one_is_installed(installation: Installation) -> None:
    first = wheel(installation.folder, "0.7.0")
    done = installation.update(first)
    assert done.returncode == 0, done.stderr + done.stdout
    assert installation.version() == "0.7.0"
    installation.horae("add", "every 1h", "--say", "kept", "--name", "kept")

    # The same release again changes nothing.
    before = (installation.releases(), (installation.home / "pid").read_text())
    again = installation.update(first)
    assert (again.returncode, "in use already" in again.stdout) == (0, True), again.stderr
    assert (installation.releases(), (installation.home / "pid").read_text()) == before

    # A release with a newer schema that never becomes ready: rolled back with the store.
    sick = wheel(installation.folder, "0.8.0", NOT_HEALTHY, TOMORROW)
    done = installation.update(sick, HORAE_PATIENCE="3")
    assert done.returncode == 1
    assert "0.7.0 runs again" in done.stderr, done.stderr
    assert installation.version() == "0.7.0"
    assert names(installation) == ["kept"]
    assert TOMORROW not in tables(installation.database)
    assert len(list((installation.home / "backups").iterdir())) == 1
    installation.horae("add", "every 1h", "--say", "after", "--name", "after")

    # A healthy release with the same newer schema.
    done = installation.update(wheel(installation.folder, "0.9.0", table=TOMORROW))
    assert done.returncode == 0, done.stderr + done.stdout
    assert installation.version() == "0.9.0"
    assert names(installation) == ["after", "kept"]
    assert TOMORROW in tables(installation.database)

    # A release that cannot start: the schema is the same, so the store is not restored.
    restored = list(installation.folder.glob("horae.db.before-restore*"))
    done = installation.update(wheel(installation.folder, "0.10.0", CANNOT_BEGIN, TOMORROW), HORAE_PATIENCE="2")
    assert "0.9.0 runs again" in done.stderr, done.stderr
    assert (installation.version(), names(installation)) == ("0.9.0", ["after", "kept"])
    assert list(installation.folder.glob("horae.db.before-restore*")) == restored


def test_failed_installation_changes_nothing(installation: Installation) -> None:
    bad = installation.folder / "horae-9-py3-none-any.whl"
    bad.write_bytes(b"no wheel")
    before = installation.releases()
    done = installation.update(bad)
    assert (done.returncode, "nothing was changed" in done.stderr) == (1, True)
    assert installation.releases() == before
    assert installation.update("").returncode == 1


def test_store_without_a_possible_backup_is_not_updated(installation: Installation) -> None:
    (installation.folder / "horae.env").write_text('HORAE_STORE="mysql://horae@127.0.0.1/horae"\n')
    done = installation.update(wheel(installation.folder, "0.7.0"))
    assert (done.returncode, "HORAE_BACKUP" in done.stderr) == (1, True)
    assert not (installation.home / "current").exists()


def test_concurrent_update_is_refused(installation: Installation) -> None:
    with subprocess.Popen(
        ["flock", str(installation.home / ".lock"), "sh", "-c", "echo held; exec cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        assert holder.stdout.readline() == "held\n"
        done = installation.update(wheel(installation.folder, "0.7.0"))
        holder.stdin.close()
    assert (done.returncode, "another update is under way" in done.stderr) == (1, True)


def test_rollback_on_postgres_restores_the_dump(installation: Installation, postgres_url: str) -> None:
    installation.begin(postgres_url)
    done = installation.update(wheel(installation.folder, "0.7.0"))
    assert done.returncode == 0, done.stderr
    installation.horae("add", "every 1h", "--say", "kept", "--name", "kept")
    done = installation.update(wheel(installation.folder, "0.8.0", NOT_HEALTHY, TOMORROW), HORAE_PATIENCE="3")
    assert "0.7.0 runs again" in done.stderr, done.stderr
    assert (installation.version(), names(installation)) == ("0.7.0", ["kept"])
    installation.end()
