"""A node without the key of a store on a server cannot sign webhooks: every view of a webhook says so."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import SimpleQueue
from threading import Thread
from typing import Final

import pytest

from tests.cli.operating.deployment import TIMEOUT_SECONDS, Deployment

_LOOPBACK: Final = {"HORAE_API": "on", "HORAE_OUTGOING_NETWORKS": "127.0.0.0/8"}


class Receiver:
    """Loopback receiver that accepts everything and records event types."""

    def __init__(self) -> None:
        self.types: SimpleQueue[str] = SimpleQueue()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                receiver.types.put(body["type"])
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    opened = Receiver()
    thread = Thread(target=opened.server.serve_forever, daemon=True)
    thread.start()
    yield opened
    opened.server.shutdown()
    opened.server.server_close()
    thread.join()


def test_node_without_key_is_reported_until_it_has_the_key(deployment: Deployment, receiver: Receiver) -> None:
    key = {"HORAE_KEY_FILE": str(deployment.folder / "key"), **_LOOPBACK}
    node = deployment.up("--port", "0", environment=_LOOPBACK).serving()
    added = deployment.horae("webhook", "add", receiver.url, "--type", "run.succeeded", environment=key)
    assert added.returncode == 0
    assert "running nodes do not have the key" in added.stderr
    assert "HORAE_KEY_FILE" in added.stderr
    (name,) = re.findall(r"whk_\w+", added.stderr)
    tried = deployment.horae("webhook", "test", name, environment=key)
    assert (tried.returncode, "204" in tried.stdout) == (0, True)
    assert "running nodes do not have the key" in tried.stderr
    assert receiver.types.get(timeout=TIMEOUT_SECONDS).endswith("webhook.test.v1")

    deployment.ok("add", "now", "--say", "hello")
    assert "HORAE_KEY_FILE" in node.expect(f"may not deliver to the webhook {name}")
    shown = deployment.horae("webhook", "show", name)
    assert "no key to sign with" in shown.stdout
    assert "HORAE_KEY_FILE" in shown.stderr
    checks = json.loads(deployment.horae("doctor", "--json").stdout)
    (found,) = [each for each in checks["checks"] if each["check"] == "webhooks"]
    assert (found["grade"], name in str(found), "HORAE_KEY_FILE" in str(found)) == ("error", True, True)

    node.signal(signal.SIGTERM)
    assert node.ends() == 0
    again = deployment.up("--port", "0", environment=key).serving()
    assert receiver.types.get(timeout=TIMEOUT_SECONDS).endswith("run.succeeded.v1")
    other = deployment.horae("webhook", "add", receiver.url, "--type", "run.failed", environment=key)
    assert "running nodes" not in other.stderr
    again.signal(signal.SIGTERM)
    assert again.ends() == 0


def test_node_with_another_key_is_reported(deployment: Deployment, receiver: Receiver) -> None:
    keys = [{"HORAE_KEY_FILE": str(deployment.folder / name), **_LOOPBACK} for name in ("key", "absent")]
    node = deployment.up("--port", "0", environment=keys[1]).serving()
    added = deployment.horae("webhook", "add", receiver.url, "--type", "run.succeeded", "--json", environment=keys[0])
    name = json.loads(added.stdout)["id"]
    deployment.ok("add", "now", "--say", "hello")
    assert str(deployment.folder / "absent") in node.expect(f"may not deliver to the webhook {name}")
    blocked = deployment.answer("webhook", "show", name)["blocked"]
    assert blocked["networks"] == []
    assert "HORAE_KEY_FILE" in blocked["hint"]
