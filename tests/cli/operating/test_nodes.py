"""Several nodes on one store, as processes: listed, drained, and with one lease setting."""

from __future__ import annotations

import json
import signal
from itertools import pairwise
from typing import Any, Final

from horae.model.reason import Reason
from horae.model.run import RunState
from tests.cli.operating.deployment import Deployment, Up
from tests.servers.redis import RedisServer

HOLDS: Final = """
import threading
from pathlib import Path
from horae import Context, Horae

app = Horae({store!r})
GATE = Path({gate!r})

@app.task
def hold(ctx: Context):
    print("holding", flush=True)
    while not GATE.exists():
        threading.Event().wait(0.02)
    print("let go", flush=True)
"""


def jobs(deployment: Deployment) -> str:
    text = HOLDS.format(store=deployment.url, gate=str(deployment.folder / "gate"))
    return str(deployment.write("jobs.py", text))


def node_of(up: Up) -> str:
    return str(json.loads(up.expect('"node.ready"'))["node"])


def list_nodes(deployment: Deployment) -> dict[str, Any]:
    return {node["id"]: node for node in deployment.answer("nodes")}


def test_drained_node_finishes_its_runs_and_is_not_restarted(deployment: Deployment) -> None:
    up = deployment.up(jobs(deployment), "--json")
    node = node_of(up)
    held = deployment.add(name="held", when="now", function="hold")
    up.expect("holding")
    answer = deployment.horae("nodes", "drain", node[:12], "--wait", "--timeout", "1s")
    assert (answer.returncode, node in answer.stdout) == (8, True)
    assert "it claims nothing more" in answer.stderr
    assert list_nodes(deployment)[node]["state"] == "draining"
    left = deployment.add(name="left", when="now", say="for others")
    (deployment.folder / "gate").touch()
    gone = deployment.horae("nodes", "drain", node, "--wait")
    if gone.returncode:
        assert "There is no node" in gone.stderr, "it may have been faster"
    assert up.ends() == 0
    kinds = [json.loads(line)["type"] for line in up.output if line.startswith("{")]
    assert kinds[-3:] == ["node.drained", "node.stopping", "node.stopped"]
    assert "worker.died" not in kinds
    assert [run.state for run in deployment.runs(held)] == [RunState.SUCCEEDED]
    assert deployment.runs(left) == ()
    assert list_nodes(deployment) == {}


def test_rolling_restart_accounts_for_every_instant(deployment: Deployment) -> None:
    """Nodes are replaced one by one: every instant of a task has a row, and no run is lost."""
    old = [deployment.up("--json", command="worker") for _ in range(2)]
    names = [node_of(up) for up in old]
    beat = deployment.add(name="beat", when="every 1s", say="tick")
    assert list_nodes(deployment).keys() == set(names)
    new: list[Up] = []
    first = ""
    for up, name in zip(old, names, strict=True):
        new.append(deployment.up("--json", "-v", command="worker"))
        first = first or node_of(new[-1])
        new[-1].expect_all('"node.ready"')
        assert "is gone" in deployment.ok("nodes", "drain", name, "--wait")
        assert up.ends() == 0
    # All of that may take less than a second: wait for two more runs, on the only node that is left.
    (host,) = {node["host"] for node in list_nodes(deployment).values()}
    deployment.ok("nodes", "drain", first, "--wait")
    for _ in range(2):
        new[1].expect('"run.succeeded"')
    deployment.ok("nodes", "drain", "--host", host, "--wait")
    assert [up.ends() for up in new] == [0, 0]
    runs = sorted(deployment.runs(beat), key=lambda run: run.planned)
    # On a busy machine an instant may be merged into the next one, which is also a row.
    assert {(run.state, run.reason) for run in runs} <= {(RunState.SUCCEEDED, None), (RunState.SKIPPED, Reason.MERGED)}
    spans = [(run.planned, run.planned) if run.span is None else (run.span.first, run.span.last) for run in runs]
    assert {(later[0] - earlier[1]).total_seconds() for earlier, later in pairwise(spans)} == {1.0}


def test_drain_can_be_undone_for_all_nodes_of_a_machine(deployment: Deployment) -> None:
    up = deployment.up(jobs(deployment), "--json")
    node = node_of(up)
    deployment.add(name="held", when="now", function="hold")
    up.expect("holding")
    host = list_nodes(deployment)[node]["host"]
    (answer,) = deployment.answer("nodes", "drain", "--host", host)
    assert answer == {"id": node, "host": host, "draining": True}
    assert "排空中" in deployment.ok("nodes", "--lang", "zh")
    assert "claims again" in deployment.ok("nodes", "drain", node, "--undo")
    assert list_nodes(deployment)[node]["state"] == "live"
    deployment.add(name="said", when="now", say="here again")
    up.expect("here again")
    (deployment.folder / "gate").touch()
    up.expect("let go")
    up.signal(signal.SIGTERM)
    assert up.ends() == 0


def test_worker_accepts_polling_options(deployment: Deployment) -> None:
    up = deployment.up("--poll", "0.3", "--batch", "2", "--concurrency", "3", "--lease", "120", command="worker")
    assert "polling every 0.3 s (--poll), not recommended · up to 0.3 s late" in up.expect("Scheduler")
    up.expect("Ends ")
    (node,) = list_nodes(deployment).values()
    assert (node["capacity"], node["load"], node["state"]) == (3, 0, "live")
    deployment.add(name="said", when="now", say="found by a look")
    up.expect("found by a look")
    up.signal(signal.SIGTERM)
    assert up.ends() == 0


def test_node_with_another_lease_is_refused_while_nodes_live(deployment: Deployment) -> None:
    first = deployment.up("--lease", "20", command="worker").ready()
    for command in ("up", "worker"):
        refused = deployment.up(command=command)
        assert "those that run on this store have one of 20 s" in refused.expect("lease")
        assert "--lease 20" in refused.expect("Start it with")
        assert refused.ends() == 5
    second = deployment.up("--lease", "20", "--seconds", "0.1")
    assert second.ends() == 0
    first.signal(signal.SIGTERM)
    assert first.ends() == 0
    assert deployment.up("--seconds", "0.1").ends() == 0


def test_invalid_arguments_are_refused(deployment: Deployment) -> None:
    deployment.ok("add", "every 1h", "--say", "x")
    for arguments in (
        ("drain",),
        ("drian", "nod_1"),
        ("nod_1",),
        ("--wait",),
        ("drain", "nod_1", "--host", "here"),
        ("drain", "nod_1", "--undo", "--wait"),
    ):
        assert deployment.horae("nodes", *arguments).returncode == 2
    assert deployment.horae("nodes", "drain", "nod_1").returncode == 3
    for arguments in (("--poll", "61"), ("--poll", "0"), ("--batch", "0"), ("--concurrency", "0"), ("--lease", "0.5")):
        assert deployment.horae("worker", *arguments).returncode == 2


def test_list_says_what_a_store_on_a_server_can_lose(deployment: Deployment, redis_url: str) -> None:
    said = deployment.horae("nodes", environment={"HORAE_STORE": redis_url})
    assert "Durable: " in said.stdout
    assert "appendfsync always" in said.stdout
    with RedisServer(settings={"appendfsync": "everysec"}) as server:
        said = deployment.horae("nodes", environment={"HORAE_STORE": server.new_database()})
        assert "it can lose what it acknowledged in about the last second" in said.stdout
    assert "Durable" not in deployment.horae("nodes").stdout
