"""Hints of commands for another owner repeat that owner; hints for a missing scope name what the role allows."""

from __future__ import annotations

import shlex

import pytest

from tests.cli.remote.server import SESSIONS, RemoteCli, command_for, without_store

in_both_sessions = pytest.mark.parametrize("session", SESSIONS)


@in_both_sessions
def test_hint_of_a_secret_for_another_owner_keeps_the_owner(cli: RemoteCli, session: str) -> None:
    horae = command_for(session, cli)
    horae("owner", "add", "bob", "--role", "member")
    hint = horae("secret", "set", "tok", "--owner", "bob", "--json").problem["hint"]
    assert without_store(hint).endswith("horae secret set tok --owner bob -")
    as_argument = horae("secret", "set", "tok", "value", "--owner", "bob", "--json").problem
    assert without_store(as_argument["hint"]).endswith("horae secret set tok --owner bob -")
    assert horae(*shlex.split(hint[hint.index("horae ") :])[1:], stdin="x").code == 0
    assert [each["owner"] for each in horae("secret", "ls", "--json").json] == ["bob"]
    assert "horae secret set NAME --owner local" in without_store(horae("secret", "ls", "--owner", "local").err)


def as_role(cli: RemoteCli, role: str) -> dict[str, str]:
    cli("owner", "set", "bob", "--role", role)
    cli.token_file("bob").write_text(
        cli("token", "make", "b", "--owner", "bob", "--json").json["text"], encoding="utf-8"
    )
    return {"HORAE_TOKEN_FILE": str(cli.token_file("bob"))}


def test_hint_names_no_scope_that_the_role_cannot_have(cli: RemoteCli) -> None:
    refused = cli("owner", "add", "eve", "--json", **as_role(cli, "member"))
    assert (refused.code, refused.problem["code"]) == (4, "not_allowed")
    assert "no token of it can have that scope. Ask an admin to do it for you." in refused.problem["hint"]


def test_viewer_hint_names_the_needed_role(cli: RemoteCli) -> None:
    viewer = as_role(cli, "viewer")
    refused = cli("add", "every 1h", "--say", "x", "--json", **viewer)
    assert refused.problem["code"] == "not_allowed"
    hint = refused.problem["hint"]
    assert cli(*hint[hint.index("horae ") :].split()[1:]).code == 0
    assert cli("owner", "show", "bob", "--json").json["role"] == "member"


def test_token_without_scope_gets_the_command_for_another_token(cli: RemoteCli) -> None:
    cli("owner", "add", "bob", "--role", "member")
    made = cli("token", "make", "r", "--owner", "bob", "--scope", "tasks:read", "--json").json
    cli.token_file("bob").write_text(made["text"], encoding="utf-8")
    refused = cli("add", "every 1h", "--say", "x", "--json", HORAE_TOKEN_FILE=str(cli.token_file("bob")))
    hint = refused.problem["hint"]
    assert cli(*hint[hint.index("horae ") :].split()[1:]).code == 0
