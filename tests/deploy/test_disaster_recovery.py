"""The drill: a backup is made while work goes on, everything is destroyed, and what was acknowledged before it comes back."""

from __future__ import annotations

import os
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from horae.model.task import TaskState
from tests.cli.operating.deployment import Deployment, Up
from tests.servers.postgres import PostgresServer
from tests.servers.programs import program

JOBS: Final = """
import os
from horae import Context, Horae

app = Horae({store!r})

@app.task
def note(ctx: Context, word: str):
    # Written by the work itself, and outside of the store: it remembers what the store may forget.
    with open({ledger!r}, "a") as ledger:
        print(word, ctx.planned.isoformat(), file=ledger, flush=True)
    print("noted", word, flush=True)
"""


class Drill:
    """One deployment on some store, and the ledger that its tasks write."""

    def __init__(self, deployment: Deployment, url: str) -> None:
        self._deployment = deployment
        deployment.url = url
        self._ledger = deployment.folder / "ledger"
        deployment.write("jobs.py", JOBS.format(store=url, ledger=str(self._ledger)))

    def up(self) -> Up:
        return self._deployment.up("jobs.py", "--no-api").ready()

    def add(self, word: str, when: str, **more: Any) -> str:
        return self._deployment.add(name=word, when=when, function="note", payload={"word": word}, **more)

    def ran(self) -> Counter[str]:
        """How often each task ran, by its word."""
        return Counter(line.split()[0] for line in self._ledger.read_text().splitlines())

    def twice(self) -> list[str]:
        """Occurrences that ran more than once."""
        return [line for line, times in Counter(self._ledger.read_text().splitlines()).items() if times > 1]

    def states(self) -> dict[str, str]:
        return {each["name"]: each["state"] for each in self._deployment.answer("ls", "--all")}


def before(drill: Drill) -> Up:
    """One that has run and must never run again, one that is to come, one that is paused, one that goes on and on."""
    up = drill.up()
    drill.add("beat", "every 1s")
    drill.add("once", "now", policies={"guarantee": "at_most_once"})
    up.expect("noted once")
    up.expect("noted beat")
    drill.add("later", "in 1 hour", policies={"guarantee": "at_most_once"})
    paused = drill.add("paused", "every 1s")
    drill._deployment.ok("pause", paused)
    return up


def destroyed(drill: Drill, up: Up, gone: Callable[[], None]) -> None:
    """As by a fire: nobody is asked, and nothing is left. What was added after the backup goes with it."""
    drill.add("forgotten", "every 1h")
    up.kill_all()
    gone()


def after(drill: Drill) -> None:
    """Everything from before the backup is there and goes on; what had run and may run only once has run only once."""
    beats = drill.ran()["beat"]
    up = drill.up()
    states = drill.states()
    assert states.keys() == {"beat", "once", "later", "paused"}
    assert states["paused"] == TaskState.PAUSED
    assert states["once"] == TaskState.COMPLETED
    assert states["later"] == TaskState.ACTIVE
    drill._deployment.ok("run", "later")
    up.expect("noted later")
    up.expect("noted beat")
    up.signal(signal.SIGTERM)
    assert up.ends() == 0
    ran = drill.ran()
    assert ran["beat"] > beats
    assert (ran["once"], ran["later"]) == (1, 1)
    assert not [line for line in drill.twice() if not line.startswith("beat ")]


def test_sqlite(deployment: Deployment) -> None:
    drill = Drill(deployment, deployment.url)
    up = before(drill)
    copy = deployment.folder / "elsewhere" / "horae.backup"
    copy.parent.mkdir()
    deployment.ok("db", "backup", str(copy))

    def gone() -> None:
        for each in deployment.folder.glob("horae.db*"):
            if each.is_file():
                each.unlink()

    destroyed(drill, up, gone)
    assert not deployment.path.exists()
    deployment.ok("db", "restore", str(copy))
    deployment.ok("db", "check")
    after(drill)


def test_postgres(deployment: Deployment, postgres_server: PostgresServer) -> None:
    url = postgres_server.new_database()
    drill = Drill(deployment, url)
    up = before(drill)
    copy = deployment.folder / "horae.dump"
    _tool("pg_dump", url, "--schema=horae", "--format=custom", f"--file={copy}")
    destroyed(drill, up, lambda: postgres_server.drop_database(url))
    name = urlsplit(url).path[1:]
    postgres_server.ask(f'CREATE DATABASE "{name}" TEMPLATE template0')
    _tool("pg_restore", url, "--exit-on-error", f"--dbname={url}", str(copy))
    deployment.ok("db", "check")
    after(drill)
    postgres_server.drop_database(url)


def _tool(name: str, url: str, *words: str) -> None:
    """As docs/operations.md has it; where the database is, the environment says."""
    where = urlsplit(url)
    around = {
        "PGHOST": where.hostname,
        "PGPORT": str(where.port),
        "PGUSER": where.username,
        "PGDATABASE": where.path[1:],
    }
    environment = os.environ | {key: value for key, value in around.items() if value}
    done = subprocess.run(
        [program(name, package="postgresql-client"), *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_restored_database_keeps_its_owner(deployment: Deployment, tmp_path: Path) -> None:
    """A service has a user of its own, and its administrator is another one."""
    deployment.add(name="kept", when="every 1h", say="x")
    copy = tmp_path / "copy"
    deployment.ok("db", "backup", str(copy))
    if os.geteuid() == 0:
        os.chown(deployment.path, 65532, 65532)
    owner = deployment.path.stat().st_uid
    deployment.ok("db", "restore", str(copy), "--yes")
    assert deployment.path.stat().st_uid == owner
