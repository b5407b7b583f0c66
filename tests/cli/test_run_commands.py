"""`horae run`, `logs --follow`, `retry`, `stop`, `backfill` and `watch` with an engine in another process."""

from __future__ import annotations

import subprocess

import pytest

from tests.cli.command_line import Cli
from tests.cli.histories import write_failure_history, write_missed_history
from tests.cli.terminal import Terminal

NODE = pytest.mark.usefixtures("node")


def add(cli: Cli, function: str, *options: str) -> None:
    assert cli("add", "every 1h", "--function", function, "--name", function, *options).code == 0


def test_run_without_an_engine_is_queued(cli: Cli) -> None:
    add(cli, "embed")
    done = cli("run", "embed")
    assert done.code == 0
    assert "will run once more when a node starts it: run_" in done.out
    assert "no engine is running: horae up" in done.err
    add(cli, "other")
    assert cli("run", "other", "--json").json["task"] == "other"


def test_wait_timeout_exits_with_8(cli: Cli) -> None:
    add(cli, "embed")
    done = cli("run", "embed", "--wait", "--timeout", "0.05s", "--json")
    assert (done.code, done.problem["code"]) == (8, "wait_timed_out")


@NODE
def test_run_can_be_awaited_and_followed(cli: Cli) -> None:
    add(cli, "embed")
    done = cli.process("run", "embed", "--follow")
    assert done.code == 0, done.err
    assert "started +" in done.out.splitlines()[0]
    assert [line.split()[-2:] for line in done.out.splitlines()[1:5]] == [[str(each), "ok"] for each in range(1, 5)]
    assert done.out.splitlines()[-1].startswith("✓ succeeded in ")
    assert "100 %  batch 4" in done.err
    waited = cli("run", "embed", "--wait", "--json")
    assert (waited.code, waited.json["state"], waited.json["result"]) == (0, "succeeded", "done")
    streamed = cli("run", "embed", "--follow", "--json").lines
    assert [line["level"] for line in streamed[:-1]].count("progress") == 4
    assert streamed[-1]["state"] == "succeeded"


@NODE
def test_awaited_run_that_fails_exits_with_9(cli: Cli) -> None:
    add(cli, "broken", "--retries", "0")
    done = cli.process("run", "broken", "--wait", "--json")
    assert (done.code, done.json["state"], done.problem["code"]) == (9, "failed", "awaited_run_failed")
    assert "ValueError: disk full" in done.problem["detail"]
    answer = cli("run", "broken", "--wait")
    assert answer.out.startswith("✕ failed in ")
    assert "horae retry run_" in answer.err


@NODE
def test_failed_run_is_retried(cli: Cli) -> None:
    add(cli, "broken", "--retries", "0")
    run = cli("run", "broken", "--wait", "--json").json
    assert cli("retry", "broken", "--json").json["run_id"] == run["id"]
    with Terminal(cli, "watch", "broken", "--plain") as terminal:
        terminal.wait_for("watching from event")
        assert cli("retry", cli("run", "broken", "--wait", "--json").json["id"]).code == 0
        terminal.wait_for("run.failed")


def test_retry_without_a_failed_run_is_refused(cli: Cli) -> None:
    add(cli, "embed")
    assert cli("retry", "embed").code == 3
    assert cli("retry", "run_nothing").code == 3
    assert cli("retry", "nothing").code == 3


@NODE
def test_running_run_is_stopped(cli: Cli, node: subprocess.Popen[str]) -> None:
    assert node.poll() is None
    add(cli, "endless")
    queued = cli("run", "endless", "--json").json["run_id"]
    with Terminal(cli, "logs", queued, "--follow") as following:
        conflict = cli("run", "endless", "--wait", "--timeout", "0.05s", "--json")
        assert conflict.code in (5, 8)
        wait_until_live(cli, queued)
        assert cli("run", "endless", "--json").problem["code"] == "already_running"
        assert "running" in cli("ls").out
        stopped = cli("stop", queued)
        assert stopped.code == 0
        following.ended()
    ended = cli("stop", queued, "--json")
    assert (ended.code, ended.problem["code"]) == (5, "run_over")
    assert {run["state"] for run in cli("runs", "endless", "--json").json} == {"cancelled"}


def wait_until_live(cli: Cli, run: str) -> None:
    """Poll by command until the run is live."""
    while cli("why", run, "--json").code != 0:
        pass


@NODE
def test_occurrence_of_a_past_instant_can_be_run(cli: Cli) -> None:
    assert cli("add", "0 * * * *", "--function", "embed", "--name", "embed").code == 0
    done = cli("run", "embed", "--as-of", "yesterday 03:00", "--wait", "--json")
    assert done.code == 0, done.err
    assert (done.json["origin"], done.json["planned"][11:16]) == ("backfill", "03:00")
    assert cli("run", "embed", "--as-of", "yesterday 03:30").code == 6


@NODE
def test_instant_is_accepted_as_lists_show_it(cli: Cli) -> None:
    """A grid that starts between two seconds is shown without its fraction; a day means its last instant."""
    every = '{"kind":"every","interval":"PT6H","start":"2026-01-01T00:00:00.480699Z","zone":"UTC"}'
    assert cli("add", every, "--function", "embed", "--name", "embed").code == 0
    for named, hour in (("yesterday 12:00", 12), ("yesterday 06:00:00", 6), ("yesterday", 18)):
        done = cli("run", "embed", "--as-of", named, "--wait", "--json")
        assert done.code == 0, done.err
        assert done.json["planned"][11:] == f"{hour:02}:00:00.480699Z"
    assert cli("run", "embed", "--as-of", "yesterday 06:00:00.0").code == 6


def test_backfill_counts_and_needs_yes(cli: Cli) -> None:
    cli("add", "0 * * * *", "--say", "tick", "--zone", "UTC")
    tried = cli("backfill", "tick", "--from", "yesterday 01:00", "--to", "yesterday 10:00", "--dry-run", "--json").json
    assert (tried["count"], tried["dry_run"]) == (10, True)
    day = ["backfill", "tick", "--from", "yesterday", "--to", "yesterday"]
    assert cli(*day).code == 2
    assert cli(*day, "--yes").out == "✓ tick: 24 occurrences will run, one by one\n"
    again = cli(*day, "--yes", "--json")
    assert (again.code, again.problem["code"]) == (5, "backfill_going")
    assert cli("backfill", "tick", "--from", "2020-01-02", "--to", "2020-01-01").code == 6


def test_watch_without_a_terminal_prints_one_line_per_event(cli: Cli) -> None:
    add(cli, "embed")
    done = cli("watch", "--seconds", "0", "--json")
    assert (done.code, done.out) == (0, "")
    with Terminal(cli, "watch", "embed", "--json") as terminal:
        terminal.wait_for("watching from event")
        cli("add", "every 5m", "--say", "other")
        cli("pause", "embed")
        terminal.wait_for('"type": "task.paused"')
    assert "task.created" not in terminal.shown


def test_watch_on_a_terminal_ends_with_q(cli: Cli) -> None:
    write_failure_history(cli.path)
    with Terminal(cli, "watch") as terminal:
        terminal.wait_for("nightly-backup: fails again and again")
        terminal.wait_for("Last failures")
        terminal.wait_for("disk full")
        terminal.press("q")
        assert terminal.ended() == 0


def test_watch_ends_silently_on_interrupt(cli: Cli) -> None:
    write_missed_history(cli.path, "skip")
    with Terminal(cli, "watch", LANG="zh_CN.UTF-8") as terminal:
        terminal.wait_for("接下来")
        terminal.interrupt()
        assert terminal.ended() == 0
    assert "Traceback" not in terminal.shown


@NODE
def test_nodes_are_listed(cli: Cli) -> None:
    (node,) = cli("nodes", "--json").json
    assert node["id"].startswith("nod_")
    assert node["id"] in cli("nodes").out
    (seen,) = cli("overview", "--json").json["nodes"]
    assert seen.keys() == node.keys() - {"state", "renewed_ago_ms", "clock_step", "functions"}
    assert all(seen[each] == node[each] for each in seen if each != "renewed")
