"""Lateness of a recovered or retried run counts from its due instant; settlement delay is separate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli.operating.deployment import Deployment

APP = """
import asyncio
import os
from datetime import timedelta

from horae import Context, Horae, Retry

app = Horae()


@app.task
def kills_its_process_once(context: Context) -> str:
    if context.attempt == 1:
        os._exit(9)
    return str(context.lateness.total_seconds())


@app.task
def asks_for_another_try(context: Context) -> str:
    if context.attempt == 1:
        raise Retry(after=timedelta(seconds=1))
    return str(context.lateness.total_seconds())


@app.task
async def waits_at_the_first_attempt(context: Context) -> str:
    print("attempt", context.attempt, "started", flush=True)
    if context.attempt == 1:
        await asyncio.Event().wait()
    return str(context.lateness.total_seconds())
"""


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    made = Deployment(tmp_path)
    made.write("jobs.py", APP)
    yield made
    made.end()


def last_run(deployment: Deployment, function: str) -> dict[str, Any]:
    """Return the succeeded attempt from `horae runs`."""
    deployment.ok("add", "now", "--function", f"jobs.{function}", "--name", function)
    up = deployment.up("jobs.py", "--verbose")
    up.expect("succeeded")
    run: dict[str, Any] = deployment.answer("runs", function)[0]
    return run


@pytest.mark.parametrize(
    ("function", "english", "chinese"),
    [
        ("kills_its_process_once", "Attempt 2 took over from attempt 1, which was lost: ", "第 2 次尝试接替了丢失的第 1 次："),
        ("asks_for_another_try", "It was attempt 2, the retry after attempt 1 ended as failed.", "这是第 2 次尝试"),
    ],
)  # fmt: skip
def test_lateness_counts_from_the_planned_instant(
    deployment: Deployment, function: str, english: str, chinese: str
) -> None:
    assert_lateness_is_shown(deployment, last_run(deployment, function), english, chinese)


def assert_lateness_is_shown(deployment: Deployment, run: dict[str, Any], english: str, chinese: str) -> None:
    due, started = (datetime.fromisoformat(run[name]) for name in ("planned", "started"))
    late = (started - due).total_seconds()
    assert run["attempt"] == 2
    assert late > 0.1
    assert run["lateness_ms"] == pytest.approx(1000 * late, abs=1)
    assert float(run["result"]) == pytest.approx(late, abs=0.05)
    output = deployment.ok("why", run["id"])
    assert f"{late:.3f} s after it was due" in output
    assert english in " ".join(output.split())
    assert chinese in deployment.ok("why", run["id"], "--lang", "zh")


def test_run_taken_over_from_a_killed_worker_is_late_since_its_planned_instant(deployment: Deployment) -> None:
    holder = deployment.up("jobs.py", "--lease", "2", command="worker").ready()
    deployment.ok("add", "now", "--function", "jobs.waits_at_the_first_attempt", "--name", "waits")
    holder.expect("attempt 1 started")
    heir = deployment.up("jobs.py", "--lease", "2", "--verbose", command="worker").ready()
    holder.kill_all()
    heir.expect("attempt 2 started")
    heir.expect("succeeded")
    run, lost = deployment.answer("runs", "waits")
    assert [lost["attempt"], lost["state"]] == [1, "lost"]
    assert run["planned"] == lost["planned"]
    assert_lateness_is_shown(
        deployment,
        run,
        "Attempt 2 took over from attempt 1, which was lost: ",
        "第 2 次尝试接替了丢失的第 1 次：",
    )


@pytest.mark.parametrize("command", ["overview", "status"])
def test_settlement_delay_is_shown_beside_lateness(deployment: Deployment, command: str) -> None:
    deployment.ok("add", "every 1s", "--say", "tick")
    assert "  Saved  no delay measured in the last 5 min" in deployment.horae(command).stdout
    up = deployment.up("--verbose").ready()
    up.expect("succeeded")
    while not (found := deployment.answer("overview"))["settlement_delay"]["counted"]:
        up.expect("succeeded")
    delay = found["settlement_delay"]
    assert delay["window_ms"] == 300_000
    assert 0 <= delay["p50_ms"] <= delay["p99_ms"] <= delay["max_ms"] < 60_000
    english = next(line for line in deployment.ok(command).splitlines() if line.strip().startswith("Saved"))
    assert re.search(r"p50 \S+ · p99 \S+ · max \S+ after the run ended \(\d+ in 5 min\)", english)
    assert "运行结束后 p50" in deployment.ok(command, "--lang", "zh")
