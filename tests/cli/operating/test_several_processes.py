"""`--processes N`: several engines under one supervisor, each a node of its own, and what there is once in one of them."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from horae.node.options import NodeOptions, check_processes
from horae.node.processes import worker_options
from tests.cli.operating.deployment import Deployment, Up
from tests.deploy.notify_receiver import NotifyReceiver
from tests.observe.observed_app import total
from tests.observe.test_processes import expect_event, get, scrape

JOBS: Final = """
import os
from horae import Horae

app = Horae({store!r})

@app.task
def look():
    print("looked", flush=True)
"""


@pytest.fixture
def receiver(tmp_path: Path) -> Iterator[NotifyReceiver]:
    made = NotifyReceiver(tmp_path)
    yield made
    made.close()


def workers(up: Up) -> list[int]:
    """Return the pids of the worker processes."""
    listed = Path(f"/proc/{up.process.pid}/task/{up.process.pid}/children").read_text(encoding="ascii")
    return [
        pid
        for pid in map(int, listed.split())
        if "worker_process" in Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    ]


def live_nodes(deployment: Deployment) -> dict[str, Any]:
    return {node["id"]: node for node in deployment.answer("nodes") if node["state"] == "live"}


def test_each_process_is_a_node_and_a_dead_one_is_restarted(deployment: Deployment) -> None:
    up = deployment.up("--processes", "3", "--label", "zone=a", "--json", "--port", "0")
    assert expect_event(up, "node.warning")["code"] == "processes_on_sqlite"
    url = expect_event(up, "api.ready")["url"]
    up.expect_all(*['"type": "node.ready"'] * 3)
    while len(nodes := {json.loads(line)["node"] for line in up.output if '"node.ready"' in line}) < 3:
        expect_event(up, "node.ready")
    live = live_nodes(deployment)
    assert set(live) == nodes
    assert all(node["labels"]["zone"] == "a" for node in live.values())
    victim = workers(up)[1]
    os.kill(victim, signal.SIGKILL)
    died = expect_event(up, "worker.died")
    assert (died["pid"], died["code"], died["pause"]) == (victim, -signal.SIGKILL, 0.2)
    assert expect_event(up, "node.ready")["restarts"] == 1
    samples = scrape(url)
    assert total(samples, "horae_engine_scraped") == 1
    for process in ("api", "engine", "engine-2", "engine-3"):
        assert total(samples, "horae_build_info", process=process) == 1
    up.signal(signal.SIGTERM)
    assert up.ends() == 0
    assert sum('"node.stopped"' in line for line in up.output) == 3


def test_first_process_shows_the_metrics_of_all(deployment: Deployment) -> None:
    up = deployment.up("--processes", "2", "--json", "--metrics-port", "0", command="worker")
    url = expect_event(up, "metrics.ready")["url"].removesuffix("/metrics")
    for _ in range(2):
        expect_event(up, "node.ready")
    samples = scrape(url)
    assert total(samples, "horae_build_info", process="engine") == total(
        samples, "horae_build_info", process="engine-2"
    )
    assert total(samples, "horae_engine_scraped") == 1
    # Every metric of every process once: Prometheus refuses a page with a sample twice.
    lines = [line.rpartition(" ")[0] for line in get(f"{url}/metrics")[1].splitlines() if not line.startswith("#")]
    assert len(lines) == len(set(lines))
    up.signal(signal.SIGTERM)
    assert up.ends() == 0


def test_app_with_its_own_store_serves_the_api_in_the_first_process(deployment: Deployment) -> None:
    jobs = deployment.write("jobs.py", JOBS.format(store=deployment.url))
    up = deployment.up(str(jobs), "--processes", "2", "--port", "0", environment={"HORAE_STORE": ""})
    up.expect_all("2 of 2 is ready", "http://127.0.0.1:")
    places = [number for number, line in enumerate(up.output) if "  ready in " in line or "2 of 2 is ready" in line]
    assert "2 of 2" in up.output[places[-1]], "the header of the first process comes before the lines of the others"
    first = next(number for number, line in enumerate(up.output) if line.startswith("  Process "))
    assert "processes_on_sqlite" in up.output[first + 1]
    assert max(len(line.rstrip()) for line in up.output[first : first + 2]) <= 80
    assert len(workers(up)) == len(live_nodes(deployment)) == 2
    deployment.add(name="look", when="now", function="look")
    up.expect("looked")
    up.signal(signal.SIGTERM)
    assert up.ends() == 0
    assert sum("stopped" in line for line in up.output) == 1


def test_drained_process_leaves_the_others_at_work(deployment: Deployment, receiver: NotifyReceiver) -> None:
    watchdog = receiver.environment(watchdog=60)
    up = deployment.up("--processes", "2", "--json", command="worker", environment=watchdog)
    assert "STATUS=Ready: engine 1, engine 2." in receiver.wait_for("READY=1")
    first, second = (str(expect_event(up, "node.ready")["node"]) for _ in range(2))
    deployment.horae("nodes", "drain", first, "--wait")
    expect_event(up, "node.drained")
    while set(live_nodes(deployment)) != {second}:
        pass
    deployment.add(name="hello", when="now", say="from the other")
    up.expect("from the other")
    receiver.drain()
    # The heartbeat of the drained process is not waited for.
    receiver.wait_for("WATCHDOG=1")
    deployment.horae("nodes", "drain", second, "--wait")
    assert up.ends() == 0


def test_refusal_to_start_ends_all_and_is_printed_once(deployment: Deployment) -> None:
    jobs = deployment.write("jobs.py", "raise ValueError('broken on purpose')")
    ended = deployment.horae("worker", str(jobs), "--processes", "3")
    assert ended.returncode != 0
    assert (ended.stdout + ended.stderr).count("broken on purpose") == 1


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("up", "--store", "memory://", "--processes", "2"), "processes_in_memory"),
        (("up", "--no-engine", "--processes", "2"), "processes_without_engine"),
    ],
)
def test_processes_without_a_shared_store_or_engine_are_refused(
    deployment: Deployment, arguments: tuple[str, ...], code: str
) -> None:
    ended = deployment.horae(*arguments, "--json")
    assert ended.returncode != 0
    assert code in ended.stdout + ended.stderr


def test_app_in_memory_with_several_processes_is_refused(deployment: Deployment) -> None:
    jobs = deployment.write("jobs.py", JOBS.format(store="memory://"))
    ended = deployment.horae("worker", str(jobs), "--processes", "2", "--json", environment={"HORAE_STORE": ""})
    assert ended.returncode != 0
    assert (ended.stdout + ended.stderr).count("processes_in_memory") == 1


def test_agents_stations_and_api_are_in_exactly_one_process() -> None:
    options = NodeOptions(0.0, processes=3, agents=True, stations=True, api_socket=5, metrics_sockets=(7, 8, 9))
    parts = worker_options(options)
    assert [part.number for part in parts] == [0, 1, 2]
    assert [(part.agents, part.stations, part.api_socket) for part in parts] == [
        (True, True, 5),
        (False, False, None),
        (False, False, None),
    ]
    assert [part.metrics_socket for part in parts] == [7, 8, 9]
    assert worker_options(NodeOptions(0.0, store="sqlite:///x.db", api_socket=5))[0].api_socket is None


def test_one_process_in_memory_is_accepted() -> None:
    check_processes(1, "memory://")
    check_processes(2, "sqlite:///x.db")
