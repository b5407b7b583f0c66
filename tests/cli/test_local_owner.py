"""Local user as one owner: for the command line, for the first token, and for webhooks made with it."""

from __future__ import annotations

import asyncio
import re
import signal
from pathlib import Path

import pytest

from horae import Horae
from horae.model.accounts.account import Owner, owner_record
from horae.model.accounts.principal import Role, Scope
from horae.model.record import RecordWrite
from tests.cli.command_line import Cli
from tests.cli.operating.deployment import Deployment
from tests.servers.ports import ReservedPort


@pytest.fixture
def old_deployment(cli: Cli) -> Cli:
    """Deployment of an earlier version: tasks of `local`, and a token of `admin`, the only account."""
    cli("add", "every 1h", "--say", "x", "--name", "mine", "--key", "mine")
    asyncio.run(write_old_accounts(cli.url))
    return cli


async def write_old_accounts(url: str) -> None:
    async with Horae(url, engine=False, zone="UTC") as app:
        account = Owner("admin", Role.ADMIN, app.clock.now())
        assert await app.store.write_records([RecordWrite(owner_record(account))])
        await app.service.tokens.make(app.who, owner="admin", name="first", scopes=list(Scope))


def test_the_token_of_up_and_the_command_line_belong_to_one_owner(tmp_path: Path) -> None:
    deployment, reserved = Deployment(tmp_path), ReservedPort()
    url = f"http://127.0.0.1:{reserved.number}"
    try:
        up = deployment.up("--port", str(reserved.number))
        up.expect(url)
        here = deployment.answer("add", "every 1h", "--say", "hello", "--name", "here")
        there = deployment.answer("add", "every 1h", "--say", "hello", "--name", "there", "--server", url)
        assert here["task"]["owner"] == there["task"]["owner"] == "local"
        hook = deployment.answer("webhook", "add", "https://example.com/hook", "--server", url)
        assert hook["owner"] == "local"
        owners = {each["name"]: each["role"] for each in deployment.answer("owner", "ls")}
        assert owners == {"local": "admin"}
        up.signal(signal.SIGTERM)
        assert up.ends() == 0
    finally:
        deployment.end()
        reserved.release()


def test_deployment_of_two_owners_works_and_doctor_explains_the_merge(old_deployment: Cli) -> None:
    cli = old_deployment
    assert "Tasks made here belong to local, the first token to admin" in cli("doctor").out
    assert cli("add", "every 2h", "--say", "x", "--name", "mine", "--key", "mine").code == 0
    assert [(task["name"], task["owner"]) for task in cli("ls", "--json").json] == [("mine", "local")]
    made = cli("token", "make", "laptop", "--json")
    assert (made.code, made.json["owner"], "admin" in made.json["scopes"]) == (0, "local", True)
    assert {each["owner"] for each in cli("token", "ls", "--json").json} == {"admin", "local"}
    assert "first token to admin" not in cli("doctor").out
    assert {each["name"] for each in cli("owner", "ls", "--json").json} == {"admin", "local"}


def test_lists_show_owners_where_there_are_several(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "x", "--name", "report")
    assert "OWNER" not in cli("ls").out
    cli("owner", "set", "bob", "--role", "member")
    cli("add", "every 1h", "--say", "x", "--name", "report", "--owner", "bob")
    listed = cli("ls").out
    assert re.findall(r"^(\S+)", listed, re.MULTILINE) == ["OWNER", "local", "bob"]
    refused = cli("pause", "report")
    assert refused.code == 5
    for owner in ("local", "bob"):
        assert f"report ({owner})" in refused.err
    assert "OWNER" not in cli("ls", "--owner", "bob").out


def test_an_ambiguous_name_over_http_names_owner_and_name_of_each_candidate(cli: Cli) -> None:
    for owner in ("ada", "bob"):
        cli("owner", "set", owner, "--role", "member")
        cli("add", "every 1h", "--say", "x", "--name", f"{owner}'s report", "--owner", owner, "--label", "team=a")
    refused = cli("show", "tsk_")
    assert "ada's report (ada)" in refused.err
    assert "bob's report (bob)" in refused.err
