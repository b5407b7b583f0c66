"""Metrics and logs of real processes: `/metrics` of `horae up` covers both processes, a worker has its own endpoint."""

from __future__ import annotations

import json
import os
import signal
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from horae.clock import SystemClock
from horae.errors import Refusal
from horae.node.metrics_endpoint import open_metrics_socket
from horae.observe.metrics_server import EnginePeer
from horae.observe.observer import Observer
from horae.runtime.http_server import open_listener
from horae.runtime.stores import make_store
from horae.settings import Settings, SettingValue
from tests.cli.operating.deployment import Deployment, Up
from tests.observe.observed_app import Samples, parse_samples, total

PROMPT: dict[str, Any] = {"name": "prompt", "when": "now", "zone": "UTC", "say": "hi"}


def expect_event(up: Up, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(up.expect(f'"type": "{kind}"'))
    return found


def get(url: str, **headers: str) -> tuple[int, str]:
    request = urllib.request.Request(url, headers=headers)  # noqa: S310 - our own address
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def scrape(url: str) -> Samples:
    status, text = get(f"{url}/metrics")
    assert status == 200, text
    return parse_samples(text)


def children(up: Up) -> dict[str, int]:
    """Return the pids of the two processes of `horae up` by the module that each runs."""
    listed = Path(f"/proc/{up.process.pid}/task/{up.process.pid}/children").read_text(encoding="ascii")
    found = {}
    for pid in map(int, listed.split()):
        command = Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8").split("\0")
        found[command[command.index("-m") + 1].rpartition(".")[2]] = pid
    return found


def test_metrics_cover_both_processes_and_logs_are_json(deployment: Deployment) -> None:
    log_settings = {"HORAE_LOG": "json", "HORAE_LOG_LEVEL": "debug"}
    up = deployment.up("--port", "0", "--json", "--verbose", environment=log_settings)
    url = expect_event(up, "api.ready")["url"]
    deployment.add(**PROMPT)
    expect_event(up, "run.succeeded")
    _check_metrics(url)
    _check_log_lines(deployment, up)
    # The metrics socket of the engine outlives its process: the next process answers on it.
    before = children(up)["worker_process"]
    os.kill(before, signal.SIGKILL)
    expect_event(up, "node.ready")
    again = scrape(url)
    assert children(up)["worker_process"] != before
    assert total(again, "horae_engine_scraped") == 1
    assert total(again, "horae_starts_total", process="engine") == 0
    up.signal(signal.SIGTERM)
    assert up.ends() == 0
    assert all(json.loads(each) for each in up.output)


def _check_log_lines(deployment: Deployment, up: Up) -> None:
    once = {"retry": {"attempts": 1}}
    task = deployment.add(name="dead-end", when="now", zone="UTC", http="https://absent.invalid/", policies=once)
    line = json.loads(up.expect('"event": "dead-end, attempt 1'))
    # Without a retry, and settled: the next process starts nothing.
    expect_event(up, "run.failed")
    run = deployment.runs(task)[-1]
    assert (line["task"], line["run"], line["level"]) == (task, run.id, "warning")
    assert len(line["trace"]) == 32


def _check_metrics(url: str) -> None:
    samples = scrape(url)
    assert total(samples, "horae_engine_scraped") == 1
    assert total(samples, "horae_starts_total", process="engine") == 1
    assert total(samples, "horae_outcomes_total", process="engine", state="succeeded") == 1
    assert (
        total(samples, "horae_build_info", process="api") == total(samples, "horae_build_info", process="engine") == 1
    )
    assert total(samples, "process_resident_memory_bytes", process="engine") > 0
    assert total(samples, "horae_store_call_seconds_count", process="api", operation="waiting") == 1
    assert total(samples, "horae_nodes", state="live") == 1


def test_worker_serves_its_own_metrics(deployment: Deployment) -> None:
    up = deployment.up("--json", "--verbose", "--metrics-port", "0", command="worker")
    url = expect_event(up, "metrics.ready")["url"].removesuffix("/metrics")
    expect_event(up, "node.ready")
    deployment.add(**PROMPT)
    expect_event(up, "run.succeeded")
    samples = scrape(url)
    assert total(samples, "horae_starts_total", process="engine") == 1
    assert total(samples, "horae_lateness_seconds_count") == 1
    assert total(samples, "horae_nodes", state="live") == 1
    assert get(f"{url}/healthz")[0] == 200
    status, text = get(f"{url}/readyz")
    assert (status, json.loads(text)["parts"]["engine"]) == (200, True)
    assert get(f"{url}/metrics", Host="rebound.example.org")[0] == 401
    assert get(f"{url}/metrics", Authorization="Bearer horae_x_y", Via="1.1 proxy")[0] == 401
    assert get(f"{url}/v1/tasks")[0] == 404
    admin = deployment.call_library(lambda app: app.service.tokens.make_first())
    assert get(f"{url}/metrics", Authorization=f"Bearer {admin}", Via="1.1 proxy")[0] == 200
    up.signal(signal.SIGTERM)
    assert up.ends() == 0


def test_invalid_log_format_is_refused_at_the_start(deployment: Deployment) -> None:
    done = deployment.horae("worker", "--seconds", "5", "--json", environment={"HORAE_LOG": "xml"})
    assert done.returncode != 0
    assert "bad_choice" in done.stderr + done.stdout


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"metrics": "anything", "metrics_port": "0"}, "bad_choice"),
        ({"metrics_port": "many"}, "bad_number"),
        ({"metrics_port": "70000"}, "bad_number"),
        ({"metrics_port": "0", "metrics_host": "absent.invalid"}, "metrics_port_taken"),
    ],
)
def test_invalid_metrics_settings_are_refused(settings: dict[str, str], code: str) -> None:
    with pytest.raises(Refusal) as refused:
        open_metrics_socket(Settings({name: SettingValue(value, "flag") for name, value in settings.items()}), None)
    assert refused.value.code == code


def test_metrics_socket_is_off_by_default() -> None:
    assert open_metrics_socket(Settings({}), None) is None
    assert open_metrics_socket(Settings({"metrics_port": SettingValue("off", "flag")}), None) is None


async def test_unavailable_engine_is_reported_and_other_metrics_are_served() -> None:
    with open_listener("127.0.0.1", 0) as listener:
        absent = EnginePeer("127.0.0.1", listener.getsockname()[1], "key")
    store = make_store("memory://")
    samples = parse_samples(await Observer("api", SystemClock()).text(store, await absent.scrape()))
    assert total(samples, "horae_engine_scraped") == 0
    assert total(samples, "horae_store_up") == 1
