"""Commands say why no node starts a due task: no engine, no node with its function, or only draining nodes."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from horae import Horae
from tests.cli.command_line import Cli, CommandResult
from tests.cli.operating.deployment import Deployment

JOBS = """
    from horae import Horae

    app = Horae()

    @app.task
    async def remind() -> str:
        return "ok"
"""
NODE = Path(__file__).with_name("node.py")


def declare(cli: Cli, folder: Path) -> Path:
    """Register the function `jobs.remind` of a file, as an app that has ended."""
    folder.mkdir(exist_ok=True)
    file = folder / "jobs.py"
    file.write_text(textwrap.dedent(JOBS))
    start = "import asyncio, jobs\nasync def main():\n    async with jobs.app:\n        pass\nasyncio.run(main())"
    subprocess.run([sys.executable, "-c", start], cwd=folder, env=cli.environment(), check=True, timeout=60)
    return file


def waiting_task(cli: Cli, name: str) -> CommandResult:
    return cli("add", "now", "--function", "remind", "--name", name)


@contextmanager
def plain_node(cli: Cli) -> Iterator[str]:
    """Start a node without the function; yields its id. Its log is in `node.log`."""
    with (cli.directory / "node.log").open("w", encoding="utf-8") as log:
        process = subprocess.Popen(
            [sys.executable, str(NODE), cli.url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env=cli.environment(),
        )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield cli("nodes", "-q").out.strip()
    finally:
        process.communicate(timeout=60)


def fixes(done: CommandResult) -> list[str]:
    return [each["command"] for each in done.json["fixes"]]


def test_add_and_run_of_a_function_name_the_file_to_start(cli: Cli) -> None:
    declare(cli, cli.directory)
    added = waiting_task(cli, "reminder")
    assert "The task waits until one starts: horae up jobs.py" in added.err
    assert "no engine is running: horae up\n" not in added.err
    assert "horae up jobs.py" in cli("run", "reminder").err
    cli("stop", "reminder")
    assert "启动：horae up jobs.py" in cli("run", "reminder", "--lang", "zh").err.replace(":", "：")


def test_why_of_a_function_without_engine_starts_its_file(cli: Cli) -> None:
    declare(cli, cli.directory / "elsewhere")
    waiting_task(cli, "reminder")
    assert fixes(cli("why", "reminder", "--json")) == ["horae up elsewhere/jobs.py"]
    answer = cli("why", "reminder").out
    assert "no engine is running. No running node has the function 'jobs.remind'" in answer
    assert "horae up elsewhere/jobs.py" in answer


def test_why_of_a_function_names_another_store_and_an_absolute_path(cli: Cli, tmp_path: Path) -> None:
    file = declare(cli, tmp_path)
    waiting_task(cli, "reminder")
    below = Cli(tmp_path / "below")
    below.directory.mkdir()
    (fix,) = fixes(below("--store", cli.url, "why", "reminder", "--json"))
    assert fix == f"horae --store {cli.url} up {file}"


def test_started_file_runs_the_waiting_task(cli: Cli) -> None:
    declare(cli, cli.directory)
    waiting_task(cli, "reminder")
    (fix,) = fixes(cli("why", "reminder", "--json"))
    cli.process(*fix.split()[1:], "--seconds", "3", "--no-api")
    (run,) = cli("runs", "--json").json
    assert run["state"] == "succeeded"


async def test_function_of_a_script_without_suffix_has_no_file_to_start(cli: Cli) -> None:
    app = Horae(cli.url, zone="UTC", engine=False)

    async def remind() -> None: ...

    remind.__module__ = "__main__"
    app.task(name="remind")(remind)
    async with app:
        pass
    added = waiting_task(cli, "reminder")
    assert "horae up" in added.err
    assert "file" in added.err


def test_why_and_ls_name_the_function_that_a_running_node_lacks(cli: Cli) -> None:
    declare(cli, cli.directory)
    with plain_node(cli) as node:
        waiting_task(cli, "reminder")
        wait_until_parked(cli)
        assert fixes(cli("why", "reminder", "--json")) == ["horae up jobs.py", f"horae nodes show {node}"]
        assert cli("why", "reminder").out.count("jobs.remind") == 1
        assert "waits: no node has jobs.remind" in cli("ls").out
        assert "没有节点提供 jobs.remind" in cli("ls", "--lang", "zh").out
        assert "for a node with the function jobs.remind" in cli("show", "reminder").out
        assert "embed" in cli("nodes", "show", node).out


def wait_until_parked(cli: Cli) -> None:
    for _ in range(200):
        if cli("show", "reminder", "--json").json["task"]["waiting_for"] is not None:
            return
    pytest.fail("the node did not look at the due entry")


def test_commands_name_the_only_node_as_draining(cli: Cli) -> None:
    with plain_node(cli) as node:
        cli("add", "now", "--function", "endless", "--name", "long")
        wait_until_running(cli)
        cli("nodes", "drain", node)
        wait_until_draining(cli)
        undo = f"horae nodes drain {node} --undo"
        added = cli("add", "now", "--function", "embed", "--name", "second")
        assert "only on a node that is draining" in added.err
        assert "No running node has the function" not in added.err
        assert undo in added.err
        assert undo in cli("add", "now", "--say", "x", "--name", "plain").err
        for name in ("second", "plain"):
            why = cli("why", name, "--json")
            assert "draining" in why.json["sentence"]
            assert "no engine is running" not in why.json["sentence"]
            assert fixes(why)[0] == undo
        status = cli("status")
        assert status.code == 1
        assert "a node is up" not in status.out
        assert undo in status.out
        assert "1 (1 draining)" in status.out
        assert [each["code"] for each in cli("status", "--json").json["problems"]] == ["nodes_draining"]
        assert "排空" in cli("status", "--lang", "zh").out
        cli("nodes", "drain", node, "--undo")
        assert "a node is up" in cli("status").out
        cli("stop", "long")


def wait_until_draining(cli: Cli) -> None:
    """Wait until the node has noticed the drain: until then it still claims due entries."""
    for _ in range(200):
        if "drain" in (cli.directory / "node.log").read_text(encoding="utf-8"):
            return
        cli("nodes", "-q")
    pytest.fail("the node did not notice that it drains")


def wait_until_running(cli: Cli) -> None:
    for _ in range(200):
        if cli("show", "long", "--json").json["task"]["running"]:
            return
    pytest.fail("the run did not start")


def test_notice_of_a_waiting_entry_names_the_store_of_the_app(cli: Cli) -> None:
    """The app of the file uses another store than the default one."""
    (cli.directory / "shop.py").write_text(SHOP, encoding="utf-8")
    cli("add", "now", "--function", "absent", "--store", "sqlite:///shop.db")
    deployment = Deployment(cli.directory)
    try:
        notice = deployment.up("shop.py").expect("waits for a node that can run it")
    finally:
        deployment.end()
    assert "horae --store sqlite:///shop.db ls" in notice
    assert "horae --store sqlite:///shop.db why TASK" in notice


SHOP = """
from horae import Horae

app = Horae("sqlite:///shop.db")

@app.task
def sell() -> None: ...
"""


def test_due_task_names_the_labels_that_it_waits_for(cli: Cli) -> None:
    cli("add", "now", "--say", "x", "--name", "train", "--where", "gpu=a100")
    cli("add", "in 1h", "--say", "x", "--name", "later", "--where", "gpu=a100")
    train, later = cli("ls", "--json").json
    assert (train["waiting_for"], later["waiting_for"]) == ("node:where:gpu=a100;target:event", None)
    assert "no node has gpu=a100" in cli("ls").out
    assert "for a node with the labels gpu=a100" in cli("show", "train").out
    assert "gpu=a100" in cli("show", "train", "--lang", "zh").out
    assert "gpu=a100" in cli("doctor").out
