"""A refused private address names the setting that allows it, for tasks and webhooks."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

import pytest

from horae.cli.commands.access.webhook import with_key_hint
from horae.cli.output.printer import Printer
from horae.clock import SystemClock
from horae.outgoing.refusals import refuse_address
from horae.runtime.service_factory import make_service
from horae.runtime.stores import make_store
from horae.runtime.target_kinds import TargetKinds
from horae.service.events.webhook_dispatcher import WebhookDispatcher
from horae.settings import read_settings
from tests.cli.command_line import Cli
from tests.cli.node_process import running_node

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


def follow(cli: Cli, hint: str, way: str) -> dict[str, str]:
    """Follow the hint: write its line at the top of `horae.toml`, or set its variable."""
    if way == "toml":
        (line,) = re.findall(r"outgoing_networks = \[.*?\]", hint)
        file = cli.directory / "horae.toml"
        existing = file.read_text(encoding="utf-8") if file.exists() else ""
        file.write_text(f"{line}\n{existing}", encoding="utf-8")
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


NODE_REFUSES: Final = {"HORAE_OUTGOING_NETWORKS": "127.0.0.0/8"}
"""Environment of the command line only: the node does not have it."""


@pytest.mark.parametrize("target", ["http://127.0.0.1:9/x", "http://localhost:9/x", "http://[::1]:9/x"])
def test_hint_says_where_to_set_it_and_to_restart_the_node(cli: Cli, target: str) -> None:
    for command in (("add", "in 1h", "--http", target), ("webhook", "add", target)):
        hint = cli(*command, "--json").problem["hint"]
        assert hint.startswith("Where the node runs, ")
        assert "then restart the node" in hint
        chinese = cli(*command, "--json", "--lang", "zh").problem["hint"]
        assert chinese.startswith("请在节点运行的地方")
        assert "然后重新启动节点" in chinese


def test_hint_of_a_refused_program_says_to_restart_the_node(cli: Cli) -> None:
    hint = cli("add", "in 1h", "--json", "--command", "--", "true").problem["hint"]
    assert "where the node runs" in hint
    assert "then restart the node" in hint


def test_creation_warns_when_the_running_node_does_not_allow_the_network(cli: Cli) -> None:
    adding = ("add", "in 1h", "--http", "http://127.0.0.1:9/x")
    hooking = ("webhook", "add", "http://127.0.0.1:9/x")
    with running_node(cli):
        task = cli(*adding, **NODE_REFUSES)
        webhook = cli(*hooking, **NODE_REFUSES)
        shape = cli(*adding, "--json", **NODE_REFUSES)
    for done in (task, webhook):
        assert done.code == 0
        assert "No running node allows this network" in done.err
        assert "HORAE_OUTGOING_NETWORKS=127.0.0.0/8" in done.err
        assert "restart the node" in done.err
    assert [each["code"] for each in shape.json["warnings"]] == ["network_refused"]


def test_creation_does_not_warn_when_the_running_node_allows_the_network(cli: Cli) -> None:
    with running_node(cli, **NODE_REFUSES):
        assert "network" not in cli("add", "in 1h", "--http", "http://127.0.0.1:9/x").err
        assert "network" not in cli("webhook", "add", "http://127.0.0.1:9/x").err
    assert "network" not in cli("add", "in 1h", "--http", "http://127.0.0.1:9/y", **NODE_REFUSES).err


def test_why_and_doctor_name_what_the_node_refused(cli: Cli) -> None:
    assert cli("add", "in 1h", "--name", "call", "--http", "http://127.0.0.1:9/x", **NODE_REFUSES).code == 0
    with running_node(cli):
        assert cli("run", "call", "--wait", **NODE_REFUSES).code == 9
        why = cli("why", "call")
        doctor = cli("doctor", "--json")
    assert "HORAE_OUTGOING_NETWORKS=127.0.0.0/8" in why.out
    assert "restart the node" in why.out
    assert "horae retry run_" in why.out
    assert "horae logs" not in why.out
    (check,) = [each for each in doctor.json["checks"] if each["check"] == "targets"]
    assert check["grade"] == "error"
    assert "call" in check["message"]
    assert "restart the node" in check["fix"]


async def deliver(url: str) -> None:
    """Deliver due webhooks once, as a node that allows public addresses only."""
    store, clock = make_store(url), SystemClock()
    await store.open()
    service = make_service(url, store, clock, "UTC", TargetKinds(read_settings({})))
    try:
        await WebhookDispatcher(store, service.webhooks.client, service.event_encoder, clock).step()
    finally:
        await service.webhooks.close()
        await store.close()


async def test_webhook_commands_and_doctor_say_that_the_node_refuses_the_network(cli: Cli) -> None:
    made = cli("webhook", "add", "http://127.0.0.1:9/hook", "--json", **NODE_REFUSES).json
    assert made["blocked"] is None
    assert cli("add", "in 1h", "--say", "hello").code == 0
    await deliver(cli.url)
    ls, show, zh = cli("webhook", "ls"), cli("webhook", "show", made["id"]), cli("webhook", "ls", "--lang", "zh")
    for done in (ls, show):
        assert "not allowed by the node" in done.out
        assert 'outgoing_networks = ["127.0.0.0/8"]' in done.err
        assert "restart the node" in done.err
    assert "节点不允许" in zh.out
    assert "重新启动节点" in zh.err
    assert cli("webhook", "show", made["id"], "--json").json["blocked"]["networks"] == ["127.0.0.0/8"]
    attempts = cli("webhook", "deliveries", made["id"], "--json").json[0]["attempts"]
    assert attempts[-1]["answer"].endswith("It counts for tasks and webhooks.")
    doctor = cli("doctor", "--json")
    assert doctor.code == 1
    (check,) = [each for each in doctor.json["checks"] if each["check"] == "webhooks"]
    assert made["id"] in check["message"]
    assert "HORAE_OUTGOING_NETWORKS=127.0.0.0/8" in check["fix"]
    assert "webhook.blocked" in [each["type"] for each in cli("events", "--json").json]


def test_refused_webhook_names_the_setting_of_the_command_and_the_key_file_of_a_database_server() -> None:
    refusal = refuse_address("localhost", ["127.0.0.1/32"])
    at_server = with_key_hint(Printer(store="postgresql://localhost/horae"), refusal)
    at_file = with_key_hint(Printer(store="sqlite:///horae.db"), refusal)
    for language in ("en", "zh"):
        assert "--store" in refusal.in_language(language).hint
        assert "HORAE_KEY_FILE" in at_server.in_language(language).hint
        assert "HORAE_KEY_FILE" not in at_file.in_language(language).hint
