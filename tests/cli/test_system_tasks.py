"""System tasks on the command line: `--system`, reads by id, refused changes, export and move."""

from __future__ import annotations

import asyncio

from horae.clock import SystemClock
from horae.encryption import Key
from horae.model.task import Target
from horae.runtime.stores import make_store
from horae.service.accounts.secrets import SecretVault
from horae.service.service import Service
from horae.service.tasks.task_request import TaskRequest
from tests.cli.command_line import Cli

TURN = TaskRequest("turn", "every 1h", Target("event", '{"say":"hello"}'), zone="UTC")


def make_system_task(url: str) -> str:
    async def work() -> str:
        store = make_store(url)
        await store.open()
        try:
            clock = SystemClock()
            service = Service(store, clock, "UTC", SecretVault(store, Key.random(), clock))
            return (await service.system_tasks.create("local", TURN)).id
        finally:
            await store.close()

    return asyncio.run(work())


def test_system_tasks_are_listed_when_asked_for(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "hello", "--name", "own")
    system = make_system_task(cli.url)
    assert [each["name"] for each in cli("ls", "--json").json] == ["own"]
    listed = cli("ls", "--system", "--json").json
    assert [(each["name"], each["owner"]) for each in listed] == [("turn", "horae:local")]
    assert cli("ls", "--system", "--owner", "local", "--quiet").out.split() == [system]
    assert cli("ls", "--system", "--owner", "bob", "--json").json == []
    assert "1 of 1" in cli("ls", "--system").err
    assert cli("runs", "--system", "--json").json == []
    assert {each["task_id"] for each in cli("next", "--all", "--system", "--until", "in 3d", "--json").json} == {system}
    assert cli("next", "every 5m", "--system", "--json").problem["code"] == "system_without_all"
    assert cli("failures", "--system", "--json").json == []
    assert cli("run", "own").code == 0
    assert cli("show", system, "--json").json["task"]["id"] == system
    assert cli("why", system).code == 0


def test_changes_of_a_system_task_are_refused_with_a_hint_that_works(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "hello", "--name", "own")
    system = make_system_task(cli.url)
    for command in (("edit", system, "--name", "mine"), ("rm", system, "--yes"), ("cancel", system)):
        refused = cli(*command, "--json")
        assert (refused.code, refused.problem["code"]) == (4, "system_task")
        assert f"horae show {system}." in refused.problem["hint"]
    assert cli("show", system).code == 0
    assert cli("pause", system).code == 0
    made = cli("add", "every 1h", "--say", "x", "--owner", "horae:local", "--json")
    assert made.problem["code"] == "reserved_owner"
    assert "horae:" in made.problem["hint"]


def test_export_leaves_system_tasks_out_and_move_takes_them(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "hello", "--name", "own")
    system = make_system_task(cli.url)
    exported = cli("export").lines
    assert [each["task"]["name"] for each in exported if "task" in each] == ["own"]
    target = f"sqlite:///{cli.directory}/moved.db"
    assert cli("move", cli.url, target).code == 0
    assert [each["id"] for each in cli("ls", "--system", "--json", HORAE_STORE=target).json] == [system]
