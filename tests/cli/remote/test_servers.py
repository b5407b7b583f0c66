"""Unreachable, foreign, older and restarting servers, and commands that need the store itself."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from horae import Horae
from horae.version import __version__
from horae.wire.tasks.task import read_task
from tests.cli.json_schemas import check_schema
from tests.cli.operating.deployment import Deployment
from tests.cli.remote.server import RemoteCli, Server
from tests.servers.ports import ReservedPort


def free_port() -> int:
    """Return a port without a listener."""
    with socket.socket() as line:
        line.bind(("127.0.0.1", 0))
        port: int = line.getsockname()[1]
        return port


def test_unreachable_server_exits_with_7(cli: RemoteCli) -> None:
    for language, word in (("en", "cannot be reached"), ("zh", "无法连接")):
        done = cli("ls", "--json", "--lang", language, "--server", f"http://127.0.0.1:{free_port()}")
        check_schema("problem", done.problem)
        assert (done.code, done.problem["code"]) == (7, "server_unreachable")
        assert word in done.problem["detail"]
        assert done.problem["hint"]


@pytest.mark.parametrize(
    "address", ["127.0.0.1:4672/", "ftp://example.com", "http://ada:secret@example.com", "http://x/?token=y", "http://"]
)
def test_bad_server_address_is_refused_without_its_secrets(cli: RemoteCli, address: str) -> None:
    done = cli("ls", "--json", "--server", address)
    assert done.code != 0
    assert done.problem["code"] in ("bad_server_address", "no_such_context")
    assert "secret" not in done.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["up"],
        ["worker"],
        ["mcp"],
        ["move", "sqlite:///a.db", "sqlite:///b.db"],
        ["db", "check"],
        ["db", "backup", "x.db"],
        ["secret", "rotate"],
    ],
    ids=" ".join,
)
def test_local_commands_are_refused_at_a_server(cli: RemoteCli, arguments: list[str]) -> None:
    done = cli(*arguments, "--server", cli.server.url, "--json")
    assert (done.code, done.problem["code"]) == (2, "only_here")
    assert done.problem["hint"]


def test_store_option_wins_over_the_server(cli: RemoteCli) -> None:
    assert cli("db", "check", "--json").problem["code"] == "only_here_variable"
    assert cli.on_store("db", "check", "--json").code == 0


def test_apply_export_and_import_work_through_a_server(cli: RemoteCli, tmp_path: Path) -> None:
    file = cli.directory / "tasks.json"
    file.write_text('{"lanes": {"a": 2}, "tasks": [{"name": "x", "when": "every 1h", "say": "x", "lane": "a"}]}')
    applied = cli("apply", "-f", str(file), "--yes", "--json")
    assert (applied.code, applied.json["new"], applied.json["applied"]) == (0, 1, True), applied.err
    again = cli("apply", "-f", str(file), "--yes", "--json")
    assert (again.json["new"], again.json["same"]) == (0, 1)
    exported = tmp_path / "all.jsonl"
    assert cli("export", "--out", str(exported)).code == 0
    taken = cli("import", str(exported), "--json")
    assert (taken.code, taken.json["same"]) == (0, 1), taken.err
    table = cli.directory / "crontab"
    table.write_text("5 4 * * * backup\n", encoding="utf-8")
    # The import pauses what the server would refuse, with the reason: no program may run there.
    assert [each["code"] for each in cli("import", str(table), "--json").json["unclear"]] == ["command_none_allowed"]
    file.write_text('{"tasks": []}')
    pruned = cli("apply", "-f", str(file), "--prune", "--yes", "--json")
    assert (pruned.code, pruned.json["gone"]) == (0, 1)
    assert cli("simulate", "--for", "3h", "--json").code == 0


def test_completion_reads_names_from_the_server(cli: RemoteCli) -> None:
    cli("add", "every 1h", "--say", "x", "--name", "there")
    assert "there" in cli("completion", "answer", "--", "show", "th").out
    assert "local" in cli("completion", "answer", "--", "owner", "show", "lo").out
    assert cli("completion", "answer", "--", "--server", f"http://127.0.0.1:{free_port()}", "show", "th").out == ""


def test_doctor_checks_the_selected_server(cli: RemoteCli) -> None:
    answer = cli("doctor", "--json").json
    check_schema("doctor", answer)
    found = {each["check"]: each for each in answer["checks"]}
    assert found["server"]["grade"] == found["token"]["grade"] == found["server_clock"]["grade"] == "ok"
    assert __version__ in found["server"]["message"]
    # No node runs due tasks there.
    assert found["ready"]["grade"] == "error"
    assert "store" not in found
    of_server = {each["check"]: each for each in answer["server_checks"]}
    assert {"python", "store", "integrity", "disk", "lateness"} <= of_server.keys()
    assert str(cli.path) in of_server["store"]["message"]
    chinese = cli("doctor", "--lang", "zh").out
    assert "服务器上：" in chinese
    assert "数据库完好" in chinese
    missing = cli("doctor", "--json", "--server", f"http://127.0.0.1:{free_port()}")
    assert missing.code == 1
    assert {each["check"]: each["grade"] for each in missing.json["checks"]}["server"] == "error"


# --- other servers -----------------------------------------------------------------------------------------------------


class ForeignServer(BaseHTTPRequestHandler):
    """Web server of another kind or version; the path selects its answer."""

    seen: list[str]

    def do_GET(self) -> None:
        self.seen.append(f"{self.path} {self.headers.get('authorization', '')}")
        if self.path == "/healthz":
            self._answer(200, {"version": "9.9.9"})
        elif self.path.startswith("/page/"):
            self._answer(200, None)
        elif self.path.startswith("/moved/"):
            self.send_response(302)
            self.send_header("Location", f"http://{self.headers['host']}/thief")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path.startswith("/newer/healthz"):
            self._answer(200, {"version": "9.9.9"})
        elif self.path.startswith("/newer/"):
            self._answer(404, {"code": "no_such_path", "title": "not found", "detail": "There is nothing.", "hint": ""})
        elif self.path.startswith("/odd/"):
            self._answer(200, {"items": [{"no": "task"}], "next_cursor": None})

    def _answer(self, status: int, value: Any) -> None:
        body = b"<html>hello</html>" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def foreign_server() -> Iterator[tuple[str, list[str]]]:
    seen: list[str] = []
    kind = type("Listening", (ForeignServer,), {"seen": seen})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", seen
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    ("path", "code"), [("page", "not_our_server"), ("odd", "not_our_server"), ("newer", "other_version")]
)
def test_foreign_server_is_recognised(
    cli: RemoteCli, foreign_server: tuple[str, list[str]], path: str, code: str
) -> None:
    done = cli("ls", "--json", "--server", f"{foreign_server[0]}/{path}")
    check_schema("problem", done.problem)
    assert (done.code, done.problem["code"]) == (7, code)
    if code == "other_version":
        assert "9.9.9" in done.problem["detail"]
        assert __version__ in done.problem["detail"]


def test_token_is_not_sent_after_a_redirect(cli: RemoteCli, foreign_server: tuple[str, list[str]]) -> None:
    address, seen = foreign_server
    done = cli("ls", "--json", "--server", f"{address}/moved")
    assert (done.code, done.problem["code"]) == (7, "not_our_server")
    assert not any(each.startswith("/thief") for each in seen)


# --- streams -----------------------------------------------------------------------------------------------------------


def test_followed_events_continue_after_a_server_restart(cli: RemoteCli) -> None:
    """Each event once, although some happened while the server was down."""
    reserved = ReservedPort()
    port = reserved.number
    first = Server(cli.url, port)
    opened = first.start()
    token = cli.directory / "own.token"
    token.write_text(opened.tokens["local"], encoding="utf-8")
    environment = cli.environment(HORAE_SERVER=opened.url, HORAE_TOKEN_FILE=str(token))
    following = subprocess.Popen(
        [sys.executable, "-m", "horae", "events", "--follow", "--after", "0", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=cli.directory,
    )
    try:
        assert following.stdout is not None
        cli.on_store("add", "every 1h", "--say", "x", "--name", "a")
        seen = [json.loads(following.stdout.readline())]
        first.stop()
        cli.on_store("pause", "a")
        second = Server(cli.url, port)
        second.start()
        seen.append(json.loads(following.stdout.readline()))
        cli.on_store("resume", "a")
        seen.append(json.loads(following.stdout.readline()))
        second.stop()
    finally:
        following.kill()
        following.communicate()
        reserved.release()
    assert [each["type"] for each in seen] == ["task.created", "task.paused", "task.resumed"]
    assert [each["number"] for each in seen] == sorted({each["number"] for each in seen})
    for each in seen:
        check_schema("event", each)


async def test_page_has_the_requested_length(cli: RemoteCli) -> None:
    """Also when the server limits its pages."""
    wishes = [read_task({"name": f"t{number:03d}", "when": "every 1h", "say": "x"}) for number in range(205)]

    async with Horae(cli.url, engine=False) as app:
        await app.service.tasks.create_many(app.who, wishes, lambda task: task.id)
    assert len(cli("ls", "--quiet", "--limit", "205").out.splitlines()) == 205
    assert len(cli("ls", "--quiet", "--all").out.splitlines()) == 205
    page = cli("ls", "--quiet", "--limit", "3")
    assert len(page.out.splitlines()) == 3
    cursor = cli("ls", "--limit", "3").err.rpartition("--after ")[2].strip()
    following = cli("ls", "--quiet", "--limit", "202", "--after", cursor)
    assert len(following.out.splitlines()) == 202
    assert not set(page.out.split()) & set(following.out.split())


def test_commands_use_the_first_token_of_a_local_deployment(tmp_path: Path) -> None:
    """`horae up` and commands in separate processes: no login is needed on the same machine."""
    deployment, reserved = Deployment(tmp_path), ReservedPort()
    url = f"http://127.0.0.1:{reserved.number}"
    try:
        up = deployment.up("--port", str(reserved.number))
        up.expect(url)
        made = deployment.answer("add", "every 1h", "--say", "hello", "--name", "hello", "--server", url)
        assert made["task"]["owner"] == "local"
        run = deployment.answer("run", "hello", "--wait", "--server", url)
        assert run["state"] == "succeeded"
        assert deployment.answer("login", url)["owner"] == "local"
        assert [each["name"] for each in deployment.answer("ls", "--server", f"127.0.0.1-{reserved.number}")] == [
            "hello"
        ]
        up.signal(signal.SIGTERM)
        assert up.ends() == 0
    finally:
        deployment.end()
        reserved.release()
