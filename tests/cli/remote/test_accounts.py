"""Owners, tokens, webhooks and the audit trail from the command line, on a file and through a server."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from horae.clock import SystemClock
from tests.cli.json_schemas import check_schema
from tests.cli.remote.server import SESSIONS, Command, RemoteCli, command_for, without_store

in_both_sessions = pytest.mark.parametrize("session", SESSIONS)


@in_both_sessions
def test_token_is_shown_once_accepted_and_revoked(cli: RemoteCli, session: str) -> None:
    horae = command_for(session, cli)
    horae("owner", "set", "bob", "--role", "member")
    made = horae(
        "token", "make", "laptop", "--owner", "bob", "--expires", "in 2 days", "--scope", "tasks:read", "--json"
    )
    check_schema("token-made", made.json)
    text, name = made.json["text"], made.json["id"]
    assert (made.json["owner"], made.json["scopes"]) == ("bob", ["tasks:read"])
    cli.token_file("bob").write_text(text, encoding="utf-8")
    assert cli("ls", "--json", HORAE_TOKEN_FILE=str(cli.token_file("bob"))).json == []
    refused = cli("add", "every 1h", "--say", "x", "--json", HORAE_TOKEN_FILE=str(cli.token_file("bob")))
    assert (refused.code, refused.problem["code"]) == (4, "not_allowed")
    listed = horae("token", "ls", "--owner", "bob", "--json")
    check_schema("tokens", listed.json)
    assert [each["id"] for each in listed.json] == [name]
    assert text not in listed.out
    check_schema("token", horae("token", "revoke", "laptop", "--yes", "--json").json)
    assert "revoked" in horae("token", "ls").out
    assert "已作废" in horae("token", "ls", "--lang", "zh").out


def test_revoked_token_is_refused_with_exit_code_4(cli: RemoteCli) -> None:
    cli("owner", "set", "bob", "--role", "member")
    made = cli("token", "make", "x", "--owner", "bob", "--json").json
    cli.token_file("bob").write_text(made["text"], encoding="utf-8")
    cli("token", "revoke", made["id"], "--yes")
    done = cli("ls", "--json", HORAE_TOKEN_FILE=str(cli.token_file("bob")))
    assert (done.code, done.problem["code"], done.problem["status"]) == (4, "bad_token", 401)
    assert made["text"] not in done.err


@in_both_sessions
def test_token_make_prints_only_the_token_to_stdout(cli: RemoteCli, session: str) -> None:
    made = command_for(session, cli)("token", "make", "x")
    assert made.code == 0
    assert made.out.startswith("horae_")
    assert len(made.out.splitlines()) == 1
    assert "shown this once" in made.err


@in_both_sessions
def test_owner_is_created_shown_changed_revoked_and_restored(cli: RemoteCli, session: str) -> None:
    horae = command_for(session, cli)
    made = horae(
        "owner",
        "set",
        "bob",
        "--role",
        "viewer",
        "--quota",
        "active_tasks=7",
        "--note",
        "ops",
        "--language",
        "zh",
        "--json",
    )
    check_schema("owner", made.json)
    assert (made.json["role"], made.json["quotas"]["active_tasks"], made.json["chosen"]) == (
        "viewer",
        7,
        {"active_tasks": 7},
    )
    changed = horae(
        "owner", "set", "bob", "--quota", "active_tasks=usual", "--quota", "shortest_interval=never", "--json"
    )
    assert changed.json["chosen"] == {"shortest_interval": None}
    assert changed.json["version"] == 2
    check_schema("owners", horae("owner", "ls", "--json").json)
    shown = horae("owner", "show", "bob")
    assert "viewer" in shown.out
    assert "ops" in shown.out
    assert horae("owner", "revoke", "bob", "--json").problem["code"] == "needs_yes"
    revoked = horae("owner", "revoke", "bob", "--yes", "--json").json
    check_schema("owner", revoked)
    assert revoked["revoked"] is not None
    assert "停用" in horae("owner", "ls", "--lang", "zh").out
    assert horae("owner", "restore", "bob", "--json").json["revoked"] is None


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["owner", "set", "local"], "nothing_set"),
        (["owner", "set", "bob", "--quota", "wishes=3"], "bad_quota"),
        (["owner", "set", "bob", "--role", "king"], "bad_choice"),
        (["token", "make", "x", "--scope", "all"], "bad_choice"),
        (["token", "revoke", "nothing", "--yes"], "no_such_token"),
    ],
)
def test_invalid_arguments_are_refused(cli: RemoteCli, arguments: list[str], code: str) -> None:
    for session in SESSIONS:
        done = command_for(session, cli)(*arguments, "--json")
        check_schema("problem", done.problem)
        assert done.problem["code"] == code
        assert done.code != 0


@in_both_sessions
def test_audit_trail_is_shown_and_verified(cli: RemoteCli, session: str) -> None:
    horae = command_for(session, cli)
    horae("add", "every 1h", "--say", "x", "--name", "x")
    horae("pause", "x")
    rows = horae("audit", "ls", "--json")
    check_schema("audit", rows.json)
    assert [each["action"] for each in rows.json][:2] == ["task.pause", "task.create"]
    actors = {"file": ("local", "cli"), "server": (cli("token", "ls", "--json").json[0]["id"], "http")}
    assert (rows.json[0]["actor"], rows.json[0]["via"]) == actors[session]
    verdict = horae("audit", "verify", "--json")
    check_schema("audit-verify", verdict.json)
    assert verdict.json["ok"] is True
    assert horae("audit", "ls", "--limit", "1").err.count("audit ls --limit 1 --after") == 1
    row = rows.json[0]
    assert row in horae("audit", "ls", "--action", row["action"], "--subject", row["subject"], "--json").json
    assert horae("audit", "ls", "--actor", "nobody-here", "--json").json == []


@in_both_sessions
def test_altered_audit_row_is_found_with_exit_code_1(cli: RemoteCli, session: str) -> None:
    horae = command_for(session, cli)
    horae("add", "every 1h", "--say", "x", "--name", "x")
    number = horae("audit", "ls", "--json").json[0]["number"]
    with sqlite3.connect(cli.path) as database:
        database.execute("UPDATE records SET body = replace(body, 'task.create', 'task.delete') WHERE kind = 'audit'")
    done = horae("audit", "verify", "--json")
    check_schema("audit-verify", done.json)
    assert (done.code, done.json["ok"], done.json["broken"]) == (1, False, number)
    assert "审计记录" in horae("audit", "verify", "--lang", "zh").err


# --- webhooks ----------------------------------------------------------------------------------------------------------


class Receiver(BaseHTTPRequestHandler):
    """Answers 200 at /yes, and an error elsewhere."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200 if self.path == "/yes" else 503)
        self.end_headers()
        self.wfile.write(b"thanks")

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def receiver() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@in_both_sessions
def test_webhook_is_created_tested_rotated_and_removed(cli: RemoteCli, session: str, receiver: str) -> None:
    near = {"HORAE_OUTGOING_NETWORKS": "127.0.0.0/8"}
    horae = command_for(session, cli)
    made = horae(
        "webhook", "add", f"{receiver}/yes", "--type", "run.*,task.failed", "--note", "pager", "--json", **near
    )
    check_schema("webhook-made", made.json)
    name = made.json["id"]
    assert made.json["secret"].startswith("whsec_")
    assert made.json["types"] == ["run.*", "task.failed"]
    for arguments, schema in ((("ls",), "webhooks"), (("show", name), "webhook")):
        found = horae("webhook", *arguments, "--json")
        check_schema(schema, found.json)
        assert made.json["secret"] not in found.out
    assert "run.* task.failed" in horae("webhook", "show", name).out
    tried = horae("webhook", "test", name, "--json", **near)
    check_schema("delivery", tried.json)
    assert tried.json["state"] == "delivered"
    listed = horae("webhook", "deliveries", name, "--json")
    check_schema("deliveries", listed.json)
    again = horae("webhook", "redeliver", name, listed.json[0]["id"], **near)
    assert (again.code, "200" in again.out) == (0, True)
    assert len(horae("webhook", "deliveries", name, "--json").json[0]["attempts"]) == 2
    rotated = horae("webhook", "rotate", name, "--json")
    check_schema("webhook-made", rotated.json)
    assert rotated.json["secret"] != made.json["secret"]
    gone = horae("webhook", "rm", name, "--yes", "--json")
    check_schema("forgotten", gone.json)
    assert horae("webhook", "ls", "--json").json == []


@in_both_sessions
def test_failed_webhook_test_exits_with_1(cli: RemoteCli, session: str, receiver: str) -> None:
    near = {"HORAE_OUTGOING_NETWORKS": "127.0.0.0/8"}
    horae = command_for(session, cli)
    name = horae("webhook", "add", f"{receiver}/no", "--json", **near).json["id"]
    done = horae("webhook", "test", name, **near)
    assert (done.code, "503" in done.out) == (1, True)


def test_member_sees_only_own_tasks_and_account(cli: RemoteCli) -> None:
    cli("owner", "set", "ada", "--role", "member")
    text = cli("token", "make", "x", "--owner", "ada", "--json").json["text"]
    cli.token_file("ada").write_text(text, encoding="utf-8")
    ada = {"HORAE_TOKEN_FILE": str(cli.token_file("ada"))}
    theirs = cli("add", "every 1h", "--say", "x", "--name", "not-hers", "--json").json["task"]["id"]
    mine = cli("add", "every 1h", "--say", "x", "--name", "hers", "--json", **ada).json["task"]
    assert mine["owner"] == "ada"
    assert [each["name"] for each in cli("ls", "--json", **ada).json] == ["hers"]
    assert [each["name"] for each in cli("owner", "ls", "--json", **ada).json] == ["ada"]
    for name in (theirs, "not-hers"):
        done = cli("show", name, "--json", **ada)
        assert (done.code, done.problem["code"]) == (3, "no_such_task")
    assert {each["task_id"] for each in cli("events", "--json", **ada).json} == {mine["id"]}
    assert cli("audit", "verify", "--json", **ada).problem["code"] == "not_allowed"
    # Her quota is refused like any other limit, with the allowed value.
    short = cli("add", "every 1s", "--say", "x", "--json", **ada)
    assert short.code != 0
    assert short.problem["code"] == "interval_too_short"
    assert "10" in short.problem["detail"] + short.problem["hint"]


def assert_approval_is_recommended(horae: Command, task_id: str) -> None:
    why = horae("why", "call", "--json").json
    assert (why["verdict"], why["reason"]) == ("paused", "awaiting_approval")
    assert [without_store(fix["command"]) for fix in why["fixes"]] == [f"horae approve {task_id}"]
    assert "its owner or an admin" in why["fixes"][0]["does"]
    for command in (("why", "call"), ("show", "call"), ("status",)):
        text = without_store(" ".join(horae(*command).out.split()))
        assert f"horae approve {task_id}" in text, command
        assert "horae resume" not in text
        assert "horae run " not in text
    assert "paused: needs approval" in horae("ls").out


def assert_restart_is_recommended(horae: Command) -> None:
    for command in (("why", "call"), ("show", "call")):
        text = without_store(" ".join(horae(*command).out.split()))
        assert "horae agent restart helper --owner local" in text, command
        assert "horae resume" not in text


@in_both_sessions
def test_task_of_an_agent_waits_for_approval(cli: RemoteCli, session: str) -> None:
    horae = command_for(session, cli)
    text = cli("token", "make", "helper", "--agent", "helper", "--json").json["text"]
    cli.token_file("helper").write_text(text, encoding="utf-8")
    helper = {"HORAE_TOKEN_FILE": str(cli.token_file("helper"))}
    wish = ["add", "every 1h until 2026-12-01", "--http", "https://example.com/x", "--name", "call", "--json"]
    until = (SystemClock().now() + timedelta(days=3)).strftime("%Y-%m-%d")
    made = cli(*[each.replace("2026-12-01", until) for each in wish], **helper)
    assert made.code == 0, made.err
    assert made.json["task"]["pause"]["cause"] == "awaiting_approval"
    assert_approval_is_recommended(horae, made.json["task"]["id"])
    assert horae("approve", "call", "--json").problem["code"] == "needs_yes"
    approved = horae("approve", "call", "--yes", "--json")
    assert approved.code == 0, approved.err
    assert (approved.json["state"], approved.json["pause"]) == ("active", None)
    assert "horae approve" not in horae("show", "call").out
    assert horae("agent", "stop", "helper", "--json").json == {"agent": "helper", "tasks": 1, "stopped": True}
    assert_restart_is_recommended(horae)
    assert horae("agent", "restart", "helper", "--json").json == {"agent": "helper", "tasks": 1, "stopped": False}


@in_both_sessions
def test_agents_are_listed(cli: RemoteCli, session: str) -> None:
    horae = command_for(session, cli)
    horae("token", "make", "helper", "--agent", "helper")
    found = horae("agent", "ls", "--json")
    check_schema("agents", found.json)
    assert [each["name"] for each in found.json] == ["helper"]
    assert "helper" in horae("agent", "ls").out
