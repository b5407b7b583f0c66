"""`horae move` as a process: resumed after a kill, and refused for stores with running nodes."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from horae.cli.transfer.move import _store_name
from horae.model.run import RunState
from horae.ports.journal import Line
from horae.ports.transfer import Part, TransferItem
from horae.stores.sqlite import SQLiteStore
from horae.testing.contracts.stores.writes.transfer import read_all_parts
from horae.testing.factories import HOUR, MINUTE, NOON, a_new_task, a_task, an_ended_run, an_entry
from tests.cli.operating.deployment import Deployment

TASKS = 1_500


async def write_large_store(path: Path) -> None:
    """Write tasks, runs and log lines for many transfer pages."""
    store = SQLiteStore(path)
    await store.open()
    tasks = [a_task(key=f"key {place}", owner=f"owner {place % 3}") for place in range(TASKS)]
    runs = [[an_ended_run(task, planned=NOON - place * MINUTE) for place in range(2)] for task in tasks]
    changes = [
        a_new_task(task, entries=[an_entry(task, due=NOON + 10_000 * 24 * HOUR)], runs=some)
        for task, some in zip(tasks, runs, strict=True)
    ]
    await store.add(changes)
    await store.write_lines([Line(some[0].id, NOON, "info", f"line {place}") for some in runs for place in range(2)])
    await store.close()


async def count_parts(path: Path) -> dict[Part, list[TransferItem]]:
    store = SQLiteStore(path)
    await store.open()
    try:
        assert await store.check() == ()
        return await read_all_parts(store, 1_000)
    finally:
        await store.close()


class MoveProcess:
    """`horae move` as a process whose output is read while it runs."""

    def __init__(self, deployment: Deployment, target: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "horae", "move", deployment.url, f"sqlite:///{target}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            text=True,
            cwd=deployment.folder,
            env=deployment.environment,
        )

    def kill_at(self, words: str) -> None:
        """Kill the process when a line contains these words."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if words in line:
                break
        else:
            raise AssertionError(f"no line with {words!r}")
        self.process.kill()
        self.process.communicate()
        assert self.process.returncode == -signal.SIGKILL


@pytest.mark.parametrize("moments", [["copying"], ["comparing"], ["copying", "copying", "comparing"]], ids=len)
async def test_killed_move_is_resumed_with_the_same_result(deployment: Deployment, moments: list[str]) -> None:
    await write_large_store(deployment.path)
    target = deployment.folder / "target.db"
    for moment in moments:
        MoveProcess(deployment, target).kill_at(moment)
    answer = deployment.answer("move", deployment.url, f"sqlite:///{target}")
    assert answer["resumed"] is True
    assert await count_parts(target) == await count_parts(deployment.path)
    again = deployment.answer("move", deployment.url, f"sqlite:///{target}")
    assert (again["moved_before"], again["parts"]) == (True, answer["parts"])
    fresh = deployment.answer("move", deployment.url, f"sqlite:///{deployment.folder}/fresh.db")
    assert fresh["parts"] == answer["parts"]
    assert {each["part"]: each["number"] for each in fresh["parts"]}["tasks"] == TASKS


def test_store_with_a_running_node_is_neither_source_nor_target(deployment: Deployment) -> None:
    deployment.add(name="said", when="every 1h", say="hello")
    up = deployment.up().ready()
    fresh = f"sqlite:///{deployment.folder}/fresh.db"
    for arguments in ((deployment.url, fresh), (deployment.url, fresh, "--dry-run")):
        done = deployment.horae("move", *arguments)
        assert (done.returncode, "A node is at work on" in done.stderr) == (5, True), done.stderr
        assert not (deployment.folder / "fresh.db").exists()
    up.signal(signal.SIGTERM)
    assert up.ends() == 0
    deployment.ok("move", deployment.url, fresh)
    busy = deployment.up("--store", fresh).ready()
    done = deployment.horae("move", deployment.url, fresh)
    assert (done.returncode, "A node is at work on" in done.stderr) == (5, True), done.stderr
    busy.signal(signal.SIGTERM)
    assert busy.ends() == 0


def test_run_of_a_killed_node_is_recovered_after_the_move(deployment: Deployment) -> None:
    deployment.write(
        "jobs.py",
        "import asyncio, os\nfrom horae import Horae\napp = Horae(os.environ['HORAE_STORE'])\n\n\n"
        "@app.task(name='once')\nasync def once() -> str:\n"
        "    print('begun', flush=True)\n"
        "    if os.environ.get('HANG'):\n        await asyncio.Event().wait()\n    return 'done'\n",
    )
    task_id = deployment.add(name="task", when="now", function="once")
    up = deployment.up("jobs.py", environment={"HANG": "1"})
    up.expect("begun")
    up.kill_all()
    target = deployment.folder / "target.db"
    answer = deployment.answer("move", deployment.url, f"sqlite:///{target}")
    assert {each["part"]: each["number"] for each in answer["parts"]}["nodes"] == 1
    moved = Deployment(deployment.folder)
    moved.path, moved.url = target, f"sqlite:///{target}"
    again = moved.up("jobs.py", "-v")
    try:
        again.expect("begun")
        again.expect("succeeded")
        again.signal(signal.SIGTERM)
        assert again.ends() == 0
    finally:
        moved.end()
    assert [run.state for run in moved.runs(task_id)] == [RunState.SUCCEEDED, RunState.LOST]
    assert [run.state for run in deployment.runs(task_id)] == [RunState.RUNNING]


def test_secrets_move_with_their_key_file(deployment: Deployment) -> None:
    deployment.ok("secret", "set", "token", "-", stdin="hush")
    (deployment.folder / "there").mkdir()
    target = f"sqlite:///{deployment.folder}/there/target.db"
    output = deployment.horae("move", deployment.url, target)
    assert output.returncode == 0
    here, there = deployment.folder / "horae.key", deployment.folder / "there" / "horae.key"
    assert f"Copy {here} to {there}" in output.stderr
    assert f"start nodes on {target} only" in output.stderr
    answer = deployment.answer("move", deployment.url, target)
    assert (answer["key_file"], answer["key_file_wanted"]) == (str(here), str(there))
    local_move = deployment.answer("move", deployment.url, f"sqlite:///{deployment.folder}/local.db")
    assert (local_move["key_file"], local_move["key_file_wanted"]) == (None, None)
    here.rename(there)
    rotated = deployment.answer("secret", "rotate", "--store", target)
    assert rotated["resealed"] == 1


def refusal(deployment: Deployment, *arguments: str) -> tuple[int, Any]:
    done = deployment.horae("move", *arguments, "--lang", "zh")
    return done.returncode, done.stderr


def test_invalid_move_is_refused_in_both_languages(deployment: Deployment) -> None:
    deployment.add(name="said", when="every 1h", say="hello")
    other = Deployment(deployment.folder)
    other.path, other.url = deployment.folder / "other.db", f"sqlite:///{deployment.folder}/other.db"
    other.add(name="theirs", when="every 1h", say="hello")
    code, output = refusal(deployment, deployment.url, other.url)
    assert (code, "不是空的：其中有 1 个 tasks" in output) == (5, True)
    code, output = refusal(deployment, deployment.url, f"sqlite:///{deployment.folder}/./horae.db")
    assert (code, "不能迁移到它自己" in output) == (6, True)
    assert refusal(deployment, f"sqlite:///{deployment.folder}/absent.db", other.url)[0] == 3
    assert refusal(deployment, deployment.url, "nothing://at/all")[0] == 7
    for urls in ((deployment.url, "memory://"), ("memory://", deployment.url)):
        assert refusal(deployment, *urls)[0] not in (0, 1)
    assert deployment.horae("move", deployment.url).returncode == 2


async def test_move_dry_run_writes_nothing(deployment: Deployment) -> None:
    await asyncio.to_thread(deployment.add, name="said", when="every 1h", say="hello")
    absent = deployment.folder / "absent.db"
    answer = deployment.answer("move", deployment.url, f"sqlite:///{absent}", "--dry-run")
    assert (answer["dry_run"], absent.exists()) == (True, False)
    assert {each["digest"] for each in answer["parts"]} == {None}
    output = deployment.horae("move", deployment.url, f"sqlite:///{absent}", "--dry-run")
    assert "nothing was written" in output.stderr
    before = await count_parts(deployment.path)
    deployment.ok("move", deployment.url, f"sqlite:///{absent}")
    assert await count_parts(deployment.path) == before


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("sqlite:////a/../b.db", "sqlite:////b.db"),
        ("postgresql://ada:hush@db:5433/horae", "postgresql://db:5433/horae"),
        ("postgresql://db/horae?schema=two&password=hush", "postgresql://db/horae?schema=two"),
        ("postgresql:///horae?host=/run/postgresql&connections=9", "postgresql:///horae?host=/run/postgresql"),
        ("mysql://ada:hush@db/horae?prefix=two_&connections=9", "mysql://db/horae?prefix=two_"),
    ],
)
def test_store_name_has_no_password(url: str, name: str) -> None:
    assert _store_name(url) == name
