"""A refused private address names the one setting that allows it: followed as written, it works for tasks and webhooks."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

import pytest

from tests.cli.driving import Cli

WAYS: Final = ("toml", "environment")


class Sink:
    """A web server on loopback that answers everything with 200."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        sink = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sink.paths.append(self.path)
                self.rfile.read(int(self.headers.get("Content-Length", "0")))
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]


@pytest.fixture
def sink() -> Iterator[Sink]:
    opened = Sink()
    thread = threading.Thread(target=opened.server.serve_forever, daemon=True)
    thread.start()
    yield opened
    opened.server.shutdown()
    opened.server.server_close()
    thread.join()


@contextmanager
def running_node(cli: Cli, **environment: str) -> Iterator[None]:
    """A node in the folder of `cli`, with the settings that are there."""
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("node.py")), cli.url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=cli.directory,
        env=cli.environment(**environment),
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        yield
    finally:
        process.communicate(timeout=60)


def follow(cli: Cli, hint: str, way: str) -> dict[str, str]:
    """Do what the hint says: write its line at the top of `horae.toml`, or set its variable."""
    if way == "toml":
        (line,) = re.findall(r"outgoing_networks = \[.*?\]", hint)
        file = cli.directory / "horae.toml"
        kept = file.read_text(encoding="utf-8") if file.exists() else ""
        file.write_text(f"{line}\n{kept}", encoding="utf-8")
        return {}
    ((name, value),) = re.findall(r"(HORAE_\w+)=(\S+)", hint)
    return {name: value}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_following_the_hint_lets_a_task_call_a_private_address(cli: Cli, sink: Sink, way: str, host: str) -> None:
    (cli.directory / "horae.toml").write_text('[targets.command]\nallow = ["true"]\n', encoding="utf-8")
    adding = ("add", "in 1h", "--name", "call", "--http", "POST", f"http://{host}:{sink.port}/task", "--json")
    refused = cli(*adding)
    assert refused.problem["code"] == "address_not_public"
    environment = follow(cli, refused.problem["hint"], way)
    assert cli(*adding, **environment).code == 0
    with running_node(cli, **environment):
        done = cli("run", "call", "--wait", "--json", **environment)
    assert done.code == 0, done.err
    assert set(sink.paths) == {"/task"}


@pytest.mark.parametrize("way", WAYS)
def test_following_the_hint_lets_a_webhook_call_a_private_address(cli: Cli, sink: Sink, way: str) -> None:
    adding = ("webhook", "add", f"http://127.0.0.1:{sink.port}/hook", "--json")
    refused = cli(*adding)
    assert refused.problem["code"] == "address_not_public"
    environment = follow(cli, refused.problem["hint"], way)
    made = cli(*adding, **environment)
    assert made.code == 0, made.err
    assert cli("webhook", "test", made.json["id"], "--json", **environment).code == 0
    assert sink.paths == ["/hook"]


def test_one_setting_counts_for_tasks_and_webhooks(cli: Cli) -> None:
    allowed = {"HORAE_OUTGOING_NETWORKS": "10.1.2.3/32"}
    assert cli("add", "in 1h", "--http", "http://10.1.2.3/task", **allowed).code == 0
    assert cli("webhook", "add", "http://10.1.2.3/hook", **allowed).code == 0
    assert cli("add", "in 1h", "--http", "http://10.1.2.4/task", **allowed).code != 0


def test_the_hint_names_the_smallest_network(cli: Cli) -> None:
    refused = cli("add", "in 1h", "--http", "http://10.1.2.3/task", "--json")
    assert 'outgoing_networks = ["10.1.2.3/32"]' in refused.problem["hint"]
    zh = cli("add", "in 1h", "--http", "http://[fd00::7]/task", "--json", "--lang", "zh")
    assert "HORAE_OUTGOING_NETWORKS=fd00::7/128" in zh.problem["hint"]


def test_a_text_in_the_file_is_read_like_the_variable(cli: Cli) -> None:
    (cli.directory / "horae.toml").write_text('outgoing_networks = "10.1.2.3/32, 127.0.0.0/8"\n', encoding="utf-8")
    assert cli("webhook", "add", "http://10.1.2.3/hook").code == 0


@pytest.mark.parametrize("way", WAYS)
def test_the_older_name_still_counts_for_tasks(cli: Cli, way: str) -> None:
    environment = {}
    if way == "toml":
        text = '[targets.http]\nallow_networks = ["10.0.0.0/8"]\n'
        (cli.directory / "horae.toml").write_text(text, encoding="utf-8")
    else:
        environment = {"HORAE_HTTP_ALLOW_NETWORKS": "10.0.0.0/8"}
    assert cli("add", "in 1h", "--http", "http://10.1.2.3/task", **environment).code == 0


def test_the_command_line_takes_the_setting_of_the_node_on_its_store(cli: Cli, sink: Sink) -> None:
    address = f"http://127.0.0.1:{sink.port}"
    assert cli("add", "in 1h", "--http", f"{address}/task").code != 0
    with running_node(cli, HORAE_OUTGOING_NETWORKS="127.0.0.0/8"):
        assert cli("add", "in 1h", "--name", "call", "--http", "POST", f"{address}/task").code == 0
        assert cli("run", "call", "--wait").code == 0
        assert cli("webhook", "add", f"{address}/hook").code == 0
    with running_node(cli):
        assert cli("add", "in 1h", "--http", f"{address}/task").code != 0


def test_a_run_that_a_node_refuses_names_the_setting(cli: Cli) -> None:
    allowed = {"HORAE_OUTGOING_NETWORKS": "127.0.0.0/8"}
    assert cli("add", "in 1h", "--name", "call", "--http", "http://127.0.0.1:9/x", **allowed).code == 0
    with running_node(cli):
        done = cli("run", "call", "--wait", "--json", **allowed)
    assert "HORAE_OUTGOING_NETWORKS=127.0.0.0/8" in done.out + done.err
