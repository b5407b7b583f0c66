"""`horae up` as a process: its output, survival of worker crashes, outage reports, and clean stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from horae import Horae
from tests.cli.operating.deployment import Deployment
from tests.faults.processes import ROOT, is_alive
from tests.servers.ports import HOST, ReservedPort

JOBS: Final = """
import os
import threading
from pathlib import Path
from horae import Context, Horae, RetryPolicy
from datetime import timedelta

app = Horae({store!r})
MARK = Path({mark!r})

@app.task(retry=RetryPolicy(backoff=timedelta(0)))
def leave():
    os._exit(1)

@app.task
def hold(ctx: Context):
    with MARK.open("a") as file:
        print(ctx.attempt, os.getpid(), file=file)
    print("holding", flush=True)
    if ctx.attempt == 1:
        while not ctx.cancelled and not ctx.yield_requested:
            threading.Event().wait(0.02)
    print("done at attempt", ctx.attempt, flush=True)

@app.task("every 1s", name="beat")
def beat():
    pass
"""


def jobs(deployment: Deployment) -> str:
    text = JOBS.format(store=deployment.url, mark=str(deployment.folder / "marks"))
    return str(deployment.write("jobs.py", text))


def test_up_prints_its_state_and_events(deployment: Deployment) -> None:
    up = deployment.up("--demo").ready()
    output = "\n".join(up.output)
    assert "horae 0." in output
    assert "ready in" in output
    assert str(deployment.path) in output
    assert "priority queue · wakes by timer, precise (<100 ms) · 4 queued · next " in output
    assert "rm --label demo=yes --yes" in output
    assert "tick  +" in up.expect("demo-tick")
    up.signal(signal.SIGINT)
    assert up.ends() == 0
    assert up.output[-1].strip() == "stopped"


def test_up_prints_polling_mode_in_chinese(deployment: Deployment) -> None:
    up = deployment.up("--lang", "zh", environment={"HORAE_WAKE": "poll"})
    assert "每 10 秒轮询一次（HORAE_WAKE=poll）" in up.expect("调度")
    up.expect("结束")
    up.signal(signal.SIGTERM)
    assert up.ends() == 0


def test_polling_warns_at_start_that_it_is_not_recommended(deployment: Deployment) -> None:
    shown = deployment.up("--poll", "2", "--lang", "zh", command="worker")
    assert "每 2 秒轮询一次(--poll),不推荐" in shown.expect("不推荐").replace("（", "(").replace("）", ")").replace(
        "，", ","
    )
    shown.signal(signal.SIGTERM)
    assert shown.ends() == 0
    output = deployment.up("--poll", "2", "--json", command="worker")
    scheduler = json.loads(output.expect("node.ready"))["scheduler"]
    assert (scheduler["type"], scheduler["mechanism"], scheduler["precision_ms"]) == ("polling", "interval", 2000)
    output.signal(signal.SIGTERM)
    assert output.ends() == 0


def test_up_json_is_one_document_per_line(deployment: Deployment) -> None:
    up = deployment.up("--demo", "--json")
    first = json.loads(up.expect("node.ready"))
    assert first["path"] == str(deployment.path)
    assert first["scheduler"]["wake"] == "precise"
    assert {name: first["scheduler"][name] for name in ("type", "mechanism", "precision_ms", "status")} == {
        "type": "priority_queue",
        "mechanism": "timer",
        "precision_ms": 100,
        "status": "running",
    }
    assert first["outage"] is None
    output = json.loads(up.expect("task.said"))
    assert (output["task"], output["text"]) == ("demo-tick", "tick")
    up.signal(signal.SIGTERM)
    assert up.ends() == 0
    assert [json.loads(line)["type"] for line in up.output][-1] == "node.stopped"


def test_up_stops_after_seconds(deployment: Deployment) -> None:
    up = deployment.up("--seconds", "0.5")
    assert "by itself after 0.5 s" in up.expect("Ends ")
    assert up.ends() == 0


def test_killed_worker_is_replaced_and_its_run_retried(deployment: Deployment) -> None:
    up = deployment.up(jobs(deployment)).ready()
    deployment.add(name="held", when="now", function="hold")
    up.expect("holding")
    worker = up.worker
    os.kill(worker, signal.SIGKILL)
    assert f"the worker process {worker} died (signal 9)" in up.expect("died")
    up.expect_all("done at attempt 2", "held  lost")
    assert up.worker != worker
    up.signal(signal.SIGTERM)
    assert up.ends() == 0


def test_function_that_exits_the_process_does_not_stop_up(deployment: Deployment) -> None:
    up = deployment.up(jobs(deployment)).ready()
    deployment.add(name="leaver", when="now", function="leave")
    up.expect("died (exit code 1)")
    up.expect("died (exit code 1)")
    assert "leaver" in up.expect("has given up")
    assert up.process.poll() is None
    up.signal(signal.SIGTERM)
    assert up.ends() == 0


def test_stop_releases_running_runs(deployment: Deployment) -> None:
    up = deployment.up(jobs(deployment)).ready()
    held = deployment.add(name="held", when="now", function="hold")
    up.expect("holding")
    up.signal(signal.SIGTERM)
    assert up.ends() == 0
    (run,) = deployment.runs(held)
    assert run.ended is not None
    assert deployment.call_library(lambda app: app.store.nodes()) == ()


def test_second_signal_kills_the_worker(deployment: Deployment) -> None:
    deployment.write(
        "stubborn.py",
        f"from horae import Horae\nimport threading\napp = Horae({deployment.url!r})\n"
        "@app.task\ndef stay():\n    print('staying', flush=True)\n    threading.Event().wait()\n",
    )
    up = deployment.up("stubborn.py").ready()
    deployment.add(name="stay", when="now", function="stay")
    up.expect("staying")
    worker = up.worker
    up.signal(signal.SIGINT)
    up.expect("stopping")
    up.signal(signal.SIGINT)
    assert up.ends() == 130
    assert not is_alive(worker)


def test_worker_ends_with_its_supervisor(deployment: Deployment) -> None:
    up = deployment.up().ready()
    up.process.kill()
    up.expect("stopped")


async def move_stop_back(app: Horae) -> None:
    """Move the recorded stop an hour back; shorter outages are not reported."""
    for name in ("stopped_at", "stopped_unrequested_at"):
        recorded = await app.store.read_metadata(name)
        assert recorded is not None
        await app.store.write_metadata(name, (datetime.fromisoformat(recorded) - timedelta(hours=1)).isoformat())


def test_killed_supervisor_records_no_clean_stop(deployment: Deployment) -> None:
    up = deployment.up().ready()
    up.process.kill()
    up.expect("stopped")
    deployment.call_library(move_stop_back)
    again = deployment.up()
    assert "(killed)" in again.expect("Nothing ran")
    again.signal(signal.SIGTERM)
    assert again.ends() == 0


def test_restart_after_a_kill_of_all_processes_continues(deployment: Deployment) -> None:
    up = deployment.up(jobs(deployment)).ready()
    held = deployment.add(name="held", when="now", function="hold")
    up.expect("holding")
    up.kill_all()
    again = deployment.up(jobs(deployment))
    again.expect("done at attempt 2")
    again.signal(signal.SIGTERM)
    assert again.ends() == 0
    assert [run.state.value for run in deployment.runs(held)] == ["succeeded", "lost"]


def crash_an_hour_ago(url: str) -> None:
    ended = subprocess.run([sys.executable, "-m", "tests.cli.operating.crashed_node", url], cwd=ROOT, check=False)
    assert ended.returncode == 9


def test_up_continues_after_its_output_is_closed(deployment: Deployment) -> None:
    output = deployment.folder / "output"
    reader = f"{sys.executable} -c 'print(input())' > {output}"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -P -m horae up --demo --seconds 7 | {reader}"],
        env=deployment.environment,
        cwd=deployment.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "ready in" in output.read_text(encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    tick = deployment.call_library(lambda app: app.get("demo-tick")).id
    assert deployment.runs(tick)[0].state.value == "succeeded"


def test_outage_is_reported_and_accounted_for_at_start(deployment: Deployment) -> None:
    crash_an_hour_ago(deployment.url)
    up = deployment.up()
    output = up.expect("Nothing ran")
    assert "(killed). 12 instants were due: 1 made up for, 5 merged into a later run, 6 skipped." in output
    up.signal(signal.SIGTERM)
    assert up.ends() == 0


def test_outage_is_reported_in_json(deployment: Deployment) -> None:
    crash_an_hour_ago(deployment.url)
    up = deployment.up("--json")
    outage = json.loads(up.expect("node.ready"))["outage"]
    assert outage["clean"] is False
    assert (outage["due"], outage["made_up"], outage["merged"], outage["skipped"], outage["waiting"]) == (
        12,
        1,
        5,
        6,
        0,
    )
    up.signal(signal.SIGTERM)
    assert up.ends() == 0


@pytest.mark.parametrize(
    ("name", "text", "exit_code", "sentence"),
    [
        ("missing.py", None, 3, "There is no file 'missing.py'."),
        ("no.such.module", None, 3, "There is no module 'no.such.module'."),
        ("broken.py", "def (:\n", 6, "broken.py cannot be imported: invalid syntax (broken.py, line 1)."),
        ("raising.py", "x = 1\n1 / 0\n", 6, "ZeroDivisionError: division by zero (raising.py, line 2)."),
        ("empty.py", "x = 1\n", 3, "There is no Horae object in empty.py."),
        (
            "two.py",
            "from horae import Horae\none, two = Horae(), Horae()\n",
            6,
            "There are several Horae objects in two.py: one, two.",
        ),
        ("two.py:three", "from horae import Horae\none, two = Horae(), Horae()\n", 3, "'three' is not a Horae object"),
        (
            "no_store.py",
            "from horae import Horae\napp = Horae('nowhere://')\n",
            7,
            "'nowhere://' does not name a store.",
        ),
        ("json.py", "", 6, "cannot be loaded under the name 'json'"),
    ],
)
def test_invalid_app_is_one_sentence(
    deployment: Deployment, name: str, text: str | None, exit_code: int, sentence: str
) -> None:
    if text is not None:
        deployment.write(name.partition(":")[0], text)
    done = deployment.horae("up", name)
    assert done.returncode == exit_code
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 2


def test_app_of_a_module_uses_its_own_store_by_default(deployment: Deployment) -> None:
    other = deployment.folder / "other.db"
    deployment.write("two.py", f"from horae import Horae\none, two = Horae('sqlite:///{other}'), Horae()\n")
    up = deployment.up("two:one")
    assert str(other) in up.expect("Data")
    up.signal(signal.SIGTERM)
    assert up.ends() == 0
    moved = deployment.up("two:one", "--store", f"sqlite:///{deployment.folder / 'third.db'}")
    assert "third.db" in moved.expect("Data")
    moved.signal(signal.SIGTERM)
    assert moved.ends() == 0


@pytest.mark.parametrize("replaced", [False, True])
def test_removed_store_file_stops_up_with_an_error(deployment: Deployment, *, replaced: bool) -> None:
    up = deployment.up("--demo").ready()
    if replaced:
        other = deployment.write("other.db", "")
        other.replace(deployment.path)
    else:
        deployment.path.unlink()
    line = up.expect("is gone or was replaced; what was written since is not in it")
    assert str(deployment.path) in line
    assert up.ends() == 7
    assert not any("restarts in" in each for each in up.output)
    assert deployment.path.exists() is replaced


def test_removed_store_file_is_reported_in_json(deployment: Deployment) -> None:
    up = deployment.up("--json")
    up.expect("node.ready")
    deployment.path.unlink()
    assert json.loads(up.expect("store.lost"))["path"] == str(deployment.path)
    assert up.ends() == 7


def test_store_that_cannot_be_reached_is_refused_once(tmp_path: Path) -> None:
    with ReservedPort() as port:
        done = subprocess.run(
            [sys.executable, "-m", "horae", "up", "--port", "0", "--store", f"postgresql://{HOST}:{port.number}/x"],
            cwd=tmp_path,
            env={**os.environ, "HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 7
    assert done.stderr.count("There is no answer from") == 1, done.stderr
