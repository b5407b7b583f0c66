"""Tasks of a revoked, read-only or over-quota owner do not fire: every view says so, with a fix."""

from __future__ import annotations

from typing import Final

import pytest

from tests.cli.json_schemas import check_schema
from tests.cli.remote.server import SESSIONS, Command, RemoteCli, command_for, without_store

in_both_sessions = pytest.mark.parametrize("session", SESSIONS)
CHANGES: Final = {
    "revoked": (("owner", "revoke", "bob", "--yes"), "horae owner restore bob"),
    "viewer": (("owner", "set", "bob", "--role", "viewer"), "horae owner set bob --role member"),
}
by_change = pytest.mark.parametrize("change", CHANGES)


def task_of_bob(horae: Command, cli: RemoteCli) -> None:
    horae("owner", "add", "bob", "--role", "member")
    text = cli("token", "make", "bob", "--owner", "bob", "--json").json["text"]
    cli.token_file("bob").write_text(text, encoding="utf-8")
    assert cli("add", "every 1h", "--say", "x", "--name", "news", HORAE_TOKEN_FILE=str(cli.token_file("bob"))).code == 0


def new_token_of_bob(cli: RemoteCli) -> dict[str, str]:
    """Make a new token: a server caches the quotas of a token for half a second."""
    text = cli("token", "make", "another", "--owner", "bob", "--json").json["text"]
    cli.token_file("bob").write_text(text, encoding="utf-8")
    return {"HORAE_TOKEN_FILE": str(cli.token_file("bob"))}


def one_line(text: str) -> str:
    return " ".join(text.split())


@in_both_sessions
@by_change
def test_every_view_shows_a_task_blocked_by_its_owner(cli: RemoteCli, session: str, change: str) -> None:
    horae = command_for(session, cli)
    task_of_bob(horae, cli)
    command, remedy = CHANGES[change]
    before = horae("status", "--json").json["problems"]
    assert horae(*command).code == 0
    assert "does not fire: owner revoked or viewer" in one_line(horae("ls").out)
    assert "不会触发" in horae("show", "news", "--lang", "zh").out
    (listed,) = horae("ls", "--json").json
    assert listed["waiting_for"] == "owner:owner_revoked"
    check_schema("task", listed)
    for view in (("show", "news"), ("why", "news")):
        assert "horae owner show bob" in without_store(one_line(horae(*view).out)), view
    why = horae("why", "news", "--json").json
    assert (why["verdict"], why["reason"]) == ("pending", "owner_revoked")
    assert "It will be skipped" in why["sentence"]
    status = horae("status", "--json").json
    check_schema("status", status)
    assert [each["kind"] for each in status["overview"]["needs_you"]] == ["owner_revoked"]
    assert status["problems"] == before, "rights are taken away on purpose"
    assert "news: does not fire" in one_line(horae("status").out)
    assert "its tasks do not fire" in one_line(horae("owner", "ls").out)
    assert remedy in without_store(one_line(horae("owner", "show", "bob").out))
    checks = {each["check"]: each for each in cli.on_store("doctor", "--json").json["checks"]}
    assert "bob" in checks["owners"]["message"]
    assert horae(*remedy.split()[1:]).code == 0
    assert "does not fire" not in one_line(horae("ls").out)
    assert "does not fire" not in one_line(horae("status").out)


@in_both_sessions
@pytest.mark.usefixtures("node")
def test_waiting_for_a_run_that_is_skipped_recommends_why(cli: RemoteCli, session: str) -> None:
    horae = command_for(session, cli)
    task_of_bob(horae, cli)
    horae("owner", "revoke", "bob", "--yes")
    done = horae("run", "news", "--wait", "--json")
    assert (done.code, done.problem["code"]) == (9, "awaited_run_skipped")
    assert "owner was revoked" in done.problem["detail"]
    hint = done.problem["hint"]
    why = horae(*hint[hint.index("horae ") :].split()[1:], "--json").json
    assert (why["verdict"], why["reason"]) == ("skipped", "owner_revoked")
    assert [without_store(fix["command"]) for fix in why["fixes"]] == ["horae owner show bob"]


@in_both_sessions
@pytest.mark.usefixtures("node")
def test_owner_over_stored_bytes_quota_is_shown_the_fix(cli: RemoteCli, session: str) -> None:
    horae = command_for(session, cli)
    task_of_bob(horae, cli)
    assert horae("run", "news", "--wait").code == 0
    assert horae("owner", "set", "bob", "--quota", "stored_bytes=50").code == 0
    refused = horae("run", "news", "--wait", "--json").problem
    assert (refused["code"], "horae owner show bob" in without_store(refused["hint"])) == ("quota_used_up", True)
    assert "owner has used up a quota" in one_line(horae("ls").out)
    assert "for room in a quota of its owner" in one_line(horae("show", "news").out)
    next_instant = horae("show", "news", "--json").json["task"]["next"]
    why = horae("why", "news", "--at", next_instant, "--json").json
    assert (why["verdict"], why["reason"]) == ("pending", "quota")
    assert "Quota: stored_bytes" in why["sentence"]
    assert [without_store(fix["command"]) for fix in why["fixes"]] == ["horae owner show bob"]
    assert "配额：stored_bytes" in one_line(horae("why", "news", "--at", next_instant, "--lang", "zh").out)
    assert "used up its stored bytes" in one_line(horae("owner", "ls").out)
    assert "存储字节数已用完" in one_line(horae("owner", "ls", "--lang", "zh").out)
    owner = horae("owner", "show", "bob", "--json").json
    check_schema("owner", owner)
    assert owner["storage_full"]["bytes"] >= 50
    assert owner["exhausted"] is None
    refused = cli("add", "every 1h", "--say", "x", "--json", **new_token_of_bob(cli)).problem
    assert refused["code"] == "too_many_bytes"
    assert "results and logs" in refused["detail"]
    shown = without_store(one_line(horae("owner", "show", "bob").out))
    remedy = "horae owner set bob --quota stored_bytes=1048576"
    assert remedy in shown
    assert remedy in refused["hint"]
    assert horae(*remedy.split()[1:]).code == 0
    assert horae("owner", "show", "bob", "--json").json["storage_full"] is None
    assert horae("run", "news", "--wait").code == 0
    assert cli("add", "every 1h", "--say", "x", **new_token_of_bob(cli)).code == 0
