"""`horae agent` and `horae secret revoke` refuse unknown agents with a hint that works as written."""

from __future__ import annotations

import shlex

import pytest

from tests.cli.remote.server import SESSIONS, Command, RemoteCli, command_for, without_store

in_both_sessions = pytest.mark.parametrize("session", SESSIONS)
by_command = pytest.mark.parametrize("command", ["show", "stop", "restart"])


def run_hint(horae: Command, hint: str) -> int:
    """Run the command at the end of a hint."""
    return horae(*shlex.split(hint[hint.index("horae ") :])[1:]).code


@in_both_sessions
@by_command
def test_unknown_agent_is_refused_with_the_nearest_name(cli: RemoteCli, session: str, command: str) -> None:
    horae = command_for(session, cli)
    horae("token", "make", "claude", "--agent", "claude")
    refused = horae("agent", command, "cluade", "--json")
    assert (refused.code, refused.problem["code"], refused.problem["status"]) == (3, "no_such_agent", 404)
    assert without_store(refused.problem["hint"]).endswith(f"Did you mean: horae agent {command} claude")
    assert run_hint(horae, refused.problem["hint"]) == 0
    assert horae("agent", "show", "claude", "--json").json["stopped"] is (command == "stop")
    assert "是不是" in horae("agent", command, "cluade", "--lang", "zh").err


@in_both_sessions
@by_command
def test_agent_of_another_owner_is_refused_and_an_admin_is_shown_the_owner(
    cli: RemoteCli, session: str, command: str
) -> None:
    horae = command_for(session, cli)
    horae("owner", "add", "bob", "--role", "member")
    horae("token", "make", "claude", "--agent", "claude", "--owner", "bob")
    refused = horae("agent", command, "claude", "--json")
    assert (refused.code, refused.problem["code"]) == (3, "no_such_agent")
    assert without_store(refused.problem["hint"]).endswith(f"horae agent {command} claude --owner bob")
    assert run_hint(horae, refused.problem["hint"]) == 0
    assert horae("agent", "show", "claude", "--owner", "bob", "--json").json["stopped"] is (command == "stop")


def test_member_sees_no_agents_of_other_owners(cli: RemoteCli) -> None:
    cli("owner", "add", "bob", "--role", "member")
    cli("token", "make", "claude", "--agent", "claude")
    token = cli("token", "make", "bob", "--owner", "bob", "--json").json["text"]
    cli.token_file("bob").write_text(token, encoding="utf-8")
    refused = cli("agent", "stop", "claude", "--json", HORAE_TOKEN_FILE=str(cli.token_file("bob")))
    assert (refused.code, refused.problem["code"]) == (3, "no_such_agent")
    assert without_store(refused.problem["hint"]).endswith(
        "It has no agents. A token makes one: horae token make claude --agent claude"
    )
    assert "local" not in refused.err


@in_both_sessions
def test_agent_without_similar_names_lists_those_of_its_owner(cli: RemoteCli, session: str) -> None:
    horae = command_for(session, cli)
    for name in ("one", "two"):
        horae("token", "make", name, "--agent", name)
    assert horae("agent", "stop", "zzz", "--json").problem["hint"].endswith("Its agents are: one, two.")


@in_both_sessions
def test_agent_with_settings_and_no_token_can_be_stopped_before_its_first_token(cli: RemoteCli, session: str) -> None:
    """The documented order for an agent that must not start by itself: set, stop, then the token."""
    horae = command_for(session, cli)
    assert horae("agent", "stop", "robot").code == 3
    assert horae("agent", "set", "robot", "--quota", "active_tasks=3").code == 0
    assert horae("agent", "stop", "robot").code == 0
    horae("token", "make", "robot", "--agent", "robot")
    assert horae("agent", "show", "robot", "--json").json["stopped"] is True


@in_both_sessions
def test_grant_that_was_never_given_is_not_reported_as_taken_back(cli: RemoteCli, session: str) -> None:
    horae = command_for(session, cli)
    horae("secret", "set", "tok", "-", stdin="x")
    horae("secret", "grant", "tok", "--agent", "claude")
    refused = horae("secret", "revoke", "tok", "--agent", "cluade", "--json")
    assert (refused.code, refused.problem["code"]) == (3, "no_such_grant")
    assert "claude" in refused.problem["hint"]
    assert horae("secret", "revoke", "tok", "--agent", "claude").code == 0
    again = horae("secret", "revoke", "tok", "--agent", "claude", "--json")
    assert (again.code, again.problem["hint"]) == (3, "No agent has it.")
