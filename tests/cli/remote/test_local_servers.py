"""Commands to a server on this machine send the token stored for that address, and explain a refused token."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from select import select
from threading import Thread
from typing import Any, Final

import pytest

from tests.cli.operating.deployment import Deployment, Up

_APP: Final = """from horae import Horae

app = Horae("sqlite:///jobs.db")


@app.task
def report() -> str:
    return "done"
"""
_WITH_API: Final = {"HORAE_API": "on", "HORAE_STORE": ""}
_WRONG: Final = f"horae_{'0' * 32}_{'1' * 64}\n"


class AppDeployment(Deployment):
    """Commands use the default store of the user; the server uses that of the app."""

    @property
    def environment(self) -> dict[str, str]:
        return super().environment | {"HORAE_STORE": ""}

    def serve(self, *arguments: str) -> tuple[Up, str]:
        up = self.up("jobs.py", "--port", "0", "--json", *arguments, environment=_WITH_API)
        return up, str(json.loads(up.expect('"api.ready"'))["url"])

    def problem(self, *arguments: str, **environment: str) -> dict[str, Any]:
        done = self.horae(*arguments, "--json", environment=environment)
        assert done.returncode == 4, done.stderr
        found: dict[str, Any] = json.loads(done.stderr.splitlines()[-1])
        return found


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[AppDeployment]:
    found = AppDeployment(tmp_path)
    found.write("jobs.py", _APP)
    yield found
    found.end()


class Recorder(BaseHTTPRequestHandler):
    """Another program on the port, which records the headers of every request."""

    seen: list[str]

    def do_GET(self) -> None:
        self.seen.append(str(self.headers))
        self.send_error(500)

    def log_message(self, *_: object) -> None: ...


def test_token_beside_store_of_running_server_is_sent(deployment: AppDeployment) -> None:
    # First token of the default store, which does not belong to this server.
    deployment.horae("up", "--port", "0", "--seconds", "0.2", environment=_WITH_API)
    up, url = deployment.serve()
    assert deployment.answer("--server", url, "add", "every 1h", "--say", "x", "--name", "here")
    assert [each["name"] for each in deployment.answer("--server", url, "ls")] == ["here"]
    local = url.replace("127.0.0.1", "localhost")
    assert [each["name"] for each in deployment.answer("--server", local, "ls")] == ["here"]
    assert deployment.answer("login", local)["owner"] == "local"
    (entry,) = (deployment.folder / "XDG_DATA_HOME").rglob("servers/*.json")
    assert entry.stat().st_mode & 0o777 == 0o600
    assert "horae_" not in entry.read_text(encoding="utf-8")
    up.signal(signal.SIGTERM)
    assert up.ends() == 0
    assert not entry.exists()


def test_restarted_server_process_is_listed_again(deployment: AppDeployment) -> None:
    up, url = deployment.serve()
    up.expect('"node.ready"')
    os.kill(up.worker, signal.SIGKILL)
    up.expect('"worker.died"')
    up.expect('"node.ready"')
    assert deployment.answer("--server", url, "ls") == []


def test_token_of_killed_server_goes_to_no_other_program(deployment: AppDeployment) -> None:
    up, url = deployment.serve()
    ended = os.pidfd_open(up.worker)
    up.kill_all()
    select([ended], [], [])
    os.close(ended)
    assert [*deployment.folder.rglob("servers/*.json")], "the entry is left behind"
    Recorder.seen = []
    with ThreadingHTTPServer(("127.0.0.1", int(url.rpartition(":")[2])), Recorder) as other:
        Thread(target=other.serve_forever, daemon=True).start()
        assert deployment.problem("--server", url, "ls")["code"] == "no_token_here"
        other.shutdown()
    assert not [each for each in Recorder.seen if "Bearer" in each]


def test_token_is_not_sent_to_another_port_of_this_machine(deployment: AppDeployment) -> None:
    deployment.serve()
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"http://127.0.0.1:{other.getsockname()[1]}"
        assert deployment.problem("--server", address, "ls")["code"] == "no_token_here"


def test_refused_token_is_named_with_commands_that_replace_it(deployment: AppDeployment) -> None:
    _, url = deployment.serve()
    token_path = deployment.folder / "jobs.db.token"
    (first,) = deployment.answer("--server", url, "token", "ls")
    deployment.ok("--server", url, "token", "revoke", first["id"], "--yes")
    refused = deployment.problem("--server", url, "ls")
    assert (refused["code"], str(token_path) in refused["detail"]) == ("bad_token", True)
    make, login = re.findall(r"'(horae [^']*)'", refused["hint"])
    made = deployment.ok(*shlex.split(make.replace("OWNER", "local"))[1:])
    assert deployment.problem(*shlex.split(login)[1:])["code"] == "bad_token", (
        "the stored token is still the revoked one"
    )
    deployment.ok(*shlex.split(login)[1:], "--token-stdin", stdin=made)
    assert deployment.answer("--server", url, "ls") == []


def test_refused_token_of_variable_and_context_is_named(deployment: AppDeployment) -> None:
    _, url = deployment.serve()
    wrong = deployment.write("wrong.token", _WRONG)
    variable = deployment.problem("--server", url, "ls", HORAE_TOKEN_FILE=str(wrong))
    assert "HORAE_TOKEN_FILE" in variable["detail"]
    assert str(wrong) in variable["detail"]
    deployment.ok("login", url, "--name", "prod")
    (token,) = deployment.answer("token", "ls")
    deployment.ok("token", "revoke", token["id"], "--yes")
    refused = deployment.problem("--server", "prod", "ls", "--lang", "zh")
    assert "上下文“prod”" in refused["detail"]
    assert f"horae login {url} --name prod" in refused["hint"]
