"""Function facts in command output: unused retries, unknown names, functions of a node, and edits."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from horae import Horae
from tests.app.declared_functions import declaring_app, register
from tests.cli.command_line import Cli, CommandResult
from tests.cli.remote.server import RemoteCli


def test_receipt_of_at_most_once_shows_no_retries(cli: Cli) -> None:
    once = ("--guarantee", "at_most_once")
    done = cli("add", "every 1h", "--say", "x", "--name", "tick", *once)
    assert "no retries (at_most_once)" in done.out
    assert "retries 3" not in done.out
    assert "不重试" in cli("add", "every 1h", "--say", "x", "--name", "zh", *once, "--lang", "zh").out
    assert "no retries (at_most_once)" in cli("show", "tick").out
    assert "retries 5" in cli("add", "every 1h", "--say", "x", "--retries", "5", "--name", "often").out


async def _declare_once(url: str) -> None:
    app = Horae(url, zone="UTC", engine=False)

    @app.task(name="pay", retries=4, guarantee="at_most_once")
    async def pay() -> None: ...

    async with app:
        pass


async def test_declared_retries_of_at_most_once_are_not_shown(cli: Cli) -> None:
    await _declare_once(cli.url)
    done = cli("add", "in 1h", "--function", "pay")
    assert "retries 4" not in done.out
    assert "guarantee at_most_once" in done.out


@pytest.mark.parametrize("when", ["now", "in 1h"])
async def test_why_names_the_nearest_function(cli: Cli, when: str) -> None:
    await register(cli.url)
    cli("add", when, "--function", "reprot", "--name", "letters")
    why = cli("why", "letters")
    assert "No node has registered a function 'reprot'. Did you mean 'report'?" in why.out
    assert "horae edit letters --function report" in why.out
    assert "是不是“report”" in cli("why", "letters", "--lang", "zh").out
    assert cli("edit", "letters", "--function", "report").code == 0
    mended = cli("why", "letters", "--json").json
    assert "Did you mean" not in mended["sentence"]
    assert "No running node has the function 'report'." in mended["sentence"]


async def test_why_does_not_mention_a_function_that_a_node_has(cli: Cli) -> None:
    await _asked_while_running(cli)


async def _asked_while_running(cli: Cli) -> None:
    async with declaring_app(cli.url, engine=True):
        await asyncio.to_thread(cli, "add", "in 1h", "--function", "report", "--name", "letters")
        why: CommandResult = await asyncio.to_thread(cli, "why", "letters")
        assert "node" not in why.out
        await _look_at_nodes(cli)


async def _look_at_nodes(cli: Cli) -> None:
    (node,) = (await asyncio.to_thread(cli, "nodes", "--json")).json
    assert node["functions"] == ["mail", "report"]
    assert "mail, report" in (await asyncio.to_thread(cli, "nodes")).out
    shown = await asyncio.to_thread(cli, "nodes", "show", node["id"][:12])
    assert node["id"] in shown.out
    assert [line.split()[-1] for line in shown.out.splitlines()[-2:]] == ["mail", "report"]
    (again,) = (await asyncio.to_thread(cli, "nodes", "show", node["id"], "--json")).json
    assert again["functions"] == ["mail", "report"]
    assert (await asyncio.to_thread(cli, "nodes", "show", "nod_x")).code == 3
    assert (await asyncio.to_thread(cli, "nodes", "show")).code == 2


def policies(task: dict[str, Any]) -> tuple[Any, ...]:
    chosen = task["policies"]
    return chosen["retry"]["attempts"], chosen["guarantee"], chosen["timeout"], task["lane"], task["labels"]


MAIL = (1, "at_most_once", "PT1M30S", "mailer", {"team": "ops"})
USUAL: tuple[Any, ...] = (4, "at_least_once", "PT5M", None, {})


async def test_edit_takes_what_the_new_function_declares(cli: Cli) -> None:
    await register(cli.url)
    made = cli("add", "every day at 09:00", "--function", "report", "--name", "letters", "--json").json["task"]
    assert policies(made) == USUAL
    mail = ("--function", "mail", "--payload", '{"user": 7}')
    assert cli("edit", "letters", *mail, "--dry-run", "--json").json["changed"]["lane"]["to"] == "mailer"
    edited = cli("edit", "letters", *mail, "--json").json["task"]
    assert policies(edited) == MAIL
    assert edited["zone"] == made["zone"]
    back = cli("edit", "letters", "--function", "report", "--payload", "{}", "--json").json["task"]
    assert policies(back) == USUAL


async def test_edit_keeps_what_was_chosen_for_the_task(cli: Cli) -> None:
    await register(cli.url)
    chosen = ("--retries", "9", "--lane", "bulk", "--label", "team=web")
    cli("add", "every day at 09:00", "--function", "report", "--name", "letters", *chosen)
    mail = ("--function", "mail", "--payload", '{"user": 7}', "--timeout", "7s")
    edited = cli("edit", "letters", *mail, "--json").json["task"]
    assert policies(edited) == (10, "at_most_once", "PT7S", "bulk", {"team": "web"})


async def test_functions_at_a_server(tmp_path: Path) -> None:
    cli = RemoteCli(tmp_path)
    try:
        await register(cli.url)
        cli("add", "every day at 09:00", "--function", "reprot", "--name", "letters")
        assert "Did you mean 'report'?" in cli("why", "letters").out
        cli("edit", "letters", "--function", "mail", "--payload", '{"user": 7}')
        assert policies(cli("show", "letters", "--json").json["task"]) == MAIL
    finally:
        cli.stop()
