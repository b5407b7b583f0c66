"""Disaster recovery: a backup during work, destruction of the store, and a restore of all tasks before the backup."""

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
    # Written outside of the store: it survives the loss of the store.
    with open({ledger!r}, "a") as ledger:
        print(word, ctx.planned.isoformat(), file=ledger, flush=True)
    print("noted", word, flush=True)
"""


class Drill:
    """A deployment, and the file that its tasks append to."""

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


def set_up_tasks(drill: Drill) -> Up:
    """Start a node and add tasks: one that ran at most once, a future one, a paused one, and a repeated one."""
    up = drill.up()
    drill.add("beat", "every 1s")
    drill.add("once", "now", policies={"guarantee": "at_most_once"})
    up.expect("noted once")
    up.expect("noted beat")
    drill.add("later", "in 1 hour", policies={"guarantee": "at_most_once"})
    paused = drill.add("paused", "every 1s")
    drill._deployment.ok("pause", paused)
    return up


def destroy_store(drill: Drill, up: Up, delete: Callable[[], None]) -> None:
    """Add a task after the backup, kill the node, and delete the store."""
    drill.add("forgotten", "every 1h")
    up.kill_all()
    delete()


def check_restored(drill: Drill) -> None:
    """Check that tasks from before the backup continue, and that at-most-once tasks did not run again."""
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


def test_sqlite_backup_is_restored(deployment: Deployment) -> None:
    drill = Drill(deployment, deployment.url)
    up = set_up_tasks(drill)
    copy = deployment.folder / "elsewhere" / "horae.backup"
    copy.parent.mkdir()
    deployment.ok("db", "backup", str(copy))

    def delete() -> None:
        for each in deployment.folder.glob("horae.db*"):
            if each.is_file():
                each.unlink()

    destroy_store(drill, up, delete)
    assert not deployment.path.exists()
    deployment.ok("db", "restore", str(copy))
    deployment.ok("db", "check")
    check_restored(drill)


def test_postgres_dump_is_restored(deployment: Deployment, postgres_server: PostgresServer) -> None:
    url = postgres_server.new_database()
    drill = Drill(deployment, url)
    up = set_up_tasks(drill)
    copy = deployment.folder / "horae.dump"
    _tool("pg_dump", url, "--schema=horae", "--format=custom", f"--file={copy}")
    destroy_store(drill, up, lambda: postgres_server.drop_database(url))
    name = urlsplit(url).path[1:]
    postgres_server.ask(f'CREATE DATABASE "{name}" TEMPLATE template0')
    _tool("pg_restore", url, "--exit-on-error", f"--dbname={url}", str(copy))
    deployment.ok("db", "check")
    check_restored(drill)
    postgres_server.drop_database(url)


def _tool(name: str, url: str, *words: str) -> None:
    """Run a PostgreSQL tool as in docs/operations.md, with the database in the environment."""
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
    """The service has its own user, and an administrator restores as root."""
    deployment.add(name="kept", when="every 1h", say="x")
    copy = tmp_path / "copy"
    deployment.ok("db", "backup", str(copy))
    if os.geteuid() == 0:
        os.chown(deployment.path, 65532, 65532)
    owner = deployment.path.stat().st_uid
    deployment.ok("db", "restore", str(copy), "--yes")
    assert deployment.path.stat().st_uid == owner
