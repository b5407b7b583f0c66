"""Output of `horae up` and of lists: one line per failure, one zone per log, finished tasks only on request."""

from __future__ import annotations

import re
import signal
from datetime import timedelta
from typing import Final

from horae import RetryPolicy
from tests.cli.operating.deployment import Deployment, Up

JOBS: Final = """
from horae import Context, Horae

app = Horae({store!r}, zone="Asia/Shanghai")

@app.task
def flaky(ctx: Context) -> str:
    if ctx.attempt == 1:
        raise ValueError("once is enough")
    return "well"

@app.task(retries=0)
def broken() -> None:
    raise ValueError("for ever")

@app.task
def finished() -> None:
    pass
"""


IN_A_SECOND: Final = RetryPolicy(attempts=2, backoff=timedelta(seconds=1), jitter="none")


def stopped(up: Up) -> int:
    up.signal(signal.SIGTERM)
    return up.ends()


def jobs(deployment: Deployment) -> str:
    return str(deployment.write("jobs.py", JOBS.format(store=deployment.url)))


def test_failure_and_successful_retry_are_one_line_each(deployment: Deployment) -> None:
    app = jobs(deployment)
    up = deployment.up(app).ready()
    deployment.call_library(
        lambda app: app.schedule({"kind": "function", "name": "flaky"}, "now", name="flaky", retry=IN_A_SECOND)
    )
    failed = up.expect("✕ flaky")
    assert "failed (attempt 1): ValueError: once is enough · tried again at" in failed
    recovered = up.expect("✓ flaky")
    assert "succeeded (attempt 2)" in recovered
    deployment.ok("add", "now", "--function", "broken", "--name", "broken", "--retries", "0")
    given_up = up.expect("✕ broken")
    task = deployment.answer("show", "broken")["task"]["id"]
    (short,) = re.findall(r"has given up; see: horae why (tsk_[0-9a-f]+)", given_up)
    assert task.startswith(short)
    assert stopped(up) == 0
    whole = "\n".join(up.output)
    assert whole.count("once is enough") == 1
    assert whole.count("for ever") == 1
    assert "WARNING" not in whole


def test_text_log_has_one_zone(deployment: Deployment) -> None:
    app = jobs(deployment)
    up = deployment.up(app, "--json", environment={"HORAE_ZONE": "Asia/Shanghai"})
    up.expect("node.ready")
    deployment.ok("add", "now", "--function", "broken", "--name", "broken", "--retries", "0")
    up.expect("task.failed")
    assert stopped(up) == 0
    (line,) = [each for each in up.output if "WARNING broken, attempt 1" in each]
    times = re.findall(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} ([+-]\d\d:\d\d)", line)
    assert times == ["+08:00", "+08:00"], line


def test_finished_tasks_are_hidden_by_default(deployment: Deployment) -> None:
    app = jobs(deployment)
    up = deployment.up(app, "--verbose").ready()
    deployment.ok("add", "now", "--function", "finished", "--name", "finished")
    deployment.ok("add", "every 1h", "--say", "x", "--name", "hourly")
    up.expect("✓ finished")
    deployment.ok("add", "now", "--function", "broken", "--name", "broken", "--retries", "0")
    up.expect("✕ broken")
    assert stopped(up) == 0
    listed = deployment.horae("ls")
    assert re.findall(r"^(\w+)", listed.stdout, re.MULTILINE) == ["NAME", "hourly", "broken"]
    assert "1 finished task is hidden; horae ls --all shows it" in listed.stderr
    assert "2 of 2 tasks · 1 failed · times in" in listed.stderr, "what has given up is not failing any more"
    assert [task["name"] for task in deployment.answer("ls")] == ["hourly", "broken"]
    everything = deployment.horae("ls", "--all")
    assert re.findall(r"^(\w+)", everything.stdout, re.MULTILINE) == ["NAME", "finished", "hourly", "broken"]
    assert "hidden" not in everything.stderr
    assert [task["name"] for task in deployment.answer("ls", "--state", "completed")] == ["finished"]
    deployment.ok("cancel", "hourly", "--yes")
    deployment.ok("rm", "broken", "--yes")
    nothing = deployment.horae("ls")
    assert nothing.stdout == ""
    assert "no unfinished tasks; horae ls --all shows what is finished: 2" in nothing.stderr


def test_times_of_a_column_all_have_seconds_or_none_has(deployment: Deployment) -> None:
    deployment.ok("add", "every day at 09:00", "--say", "x", "--name", "whole")
    assert re.search(r"\b09:00$|\b09:00 ", deployment.ok("ls"))
    deployment.ok("add", "0 30 9 * * *", "--say", "x", "--name", "still-whole")
    deployment.ok("add", "15 31 9 * * *", "--say", "x", "--name", "odd")
    times = re.findall(r"\b\d\d:\d\d(?::\d\d)?(?=\s+active)", deployment.ok("ls"))
    assert sorted(times) == ["09:00:00", "09:30:00", "09:31:15"]
    fires = deployment.ok("next", "every 90s", "-n", "4", "--after", "2026-11-17 09:00", "--zone", "UTC")
    assert len(re.findall(r"\d\d:\d\d:\d\d \+00:00", fires)) == 4


def test_runs_of_several_zones_are_listed_in_the_user_zone(deployment: Deployment) -> None:
    app = jobs(deployment)
    up = deployment.up(app, "--verbose").ready()
    for zone in ("Asia/Tokyo", "America/New_York"):
        deployment.ok("add", "now", "--function", "finished", "--name", zone, "--zone", zone)
        up.expect(f"✓ {zone}")
    assert stopped(up) == 0
    listed = deployment.horae("runs", environment={"HORAE_ZONE": "Europe/Berlin"}).stdout
    assert len(re.findall(r"[+-]\d\d:\d\d  ", listed)) == len(re.findall(r"\+0[12]:00  ", listed)) == 2
