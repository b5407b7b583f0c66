"""`horae ls`, `runs`, `why`, `logs`, `overview`: what they show, and that they change nothing."""

from __future__ import annotations

import asyncio
import re
from datetime import timedelta
from pathlib import Path

import pytest

from horae import Horae
from horae.model.lanes.lane import MAX_LANE_LIMIT
from horae.ports.journal import Line
from horae.ports.store import RunFilter
from tests.cli.command_line import Cli
from tests.cli.histories import record_outage, write_failure_history, write_missed_history
from tests.cli.terminal import Terminal


def test_read_commands_create_no_store(cli: Cli) -> None:
    for command in ("ls", "runs", "events", "lanes", "nodes"):
        done = cli(command, "--json")
        assert (done.code, done.json) == (0, []), command
    listed = cli("ls")
    assert (listed.code, listed.out) == (0, "")
    assert f'no tasks yet in {cli.path}; try: horae add "every 10s" --say tick' in listed.err
    assert cli("overview", "--json").json["tasks"]["active"] == 0
    assert cli("show", "x").code == 3
    assert cli("pause", "--all", "--json").json == {"matched": 0, "done": 0, "refused": [], "undo": None}
    assert not cli.path.exists()


def test_empty_store_differs_from_an_empty_filter_result(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "x", "--name", "only")
    assert cli("rm", "only", "--yes").code == 0
    assert "no tasks yet" in cli("ls").err
    assert "no task fits" in cli("ls", "--state", "paused").err


def test_states_are_translated_in_text_but_not_in_json(cli: Cli) -> None:
    write_failure_history(cli.path)
    listed, ran = cli("ls", "--lang", "zh").out, cli("runs", "--lang", "zh").out
    assert ("暂停：on holiday" in listed, "paused" in listed) == (True, False)
    assert ("✓ 成功" in ran, "succeeded" in ran) == (True, False)
    assert "\tactive\t" in cli("ls", "--lang", "zh", "--plain").out
    assert "✓ succeeded\t" in cli("runs", "--lang", "zh", "--plain").out


def test_list_shows_schedule_last_next_and_state(cli: Cli) -> None:
    write_failure_history(cli.path)
    done = cli("ls")
    rows = {line.split("  ")[0]: line for line in done.out.splitlines()}
    assert re.search(r"✓ \d+[hm]  \+0ms", rows["report"])
    assert re.search(r"✕ \d+[hm]  ValueError: disk full", rows["nightly-backup"])
    assert rows["nightly-backup"].endswith("failing (4)")
    assert rows["weekly-digest"].endswith("paused: on holiday")
    assert "3 of 3 tasks · 1 failing · 1 paused · times in UTC" in done.err


def test_list_is_filtered_sorted_and_paged(cli: Cli) -> None:
    for number in range(5):
        cli(
            "add",
            f"every {5 - number}h",
            "--say",
            f"task {number}",
            "--label",
            f"odd={number % 2}",
            "--lane",
            f"l{number}",
        )
    cli("pause", "task 3")

    def names(*options: str) -> list[str]:
        return [task["name"] for task in cli("ls", "--json", *options).json]

    assert names() == [f"task {number}" for number in range(5)]
    assert names("--sort", "next") == ["task 4", "task 2", "task 1", "task 0"]
    assert names("--sort", "next", "--label", "odd=0") == ["task 4", "task 2", "task 0"]
    assert names("--label", "odd=1") == ["task 1", "task 3"]
    assert names("--state", "paused") == ["task 3"]
    assert names("--state", "paused,active", "--lane", "l2") == ["task 2"]
    assert names("--text", "TASK 4") == ["task 4"]
    assert names("--kind", "http") == []
    assert names("--owner", "nobody") == []
    assert names("--query", "-state:paused label:odd=1") == ["task 1"]
    assert names("--query", '"task 4"', "--lane", "l4") == ["task 4"]
    assert names("--all", "--limit", "2") == names()
    first = cli("ls", "--json", "--limit", "2")
    assert [task["name"] for task in first.json] == ["task 0", "task 1"]
    following = re.search(r"horae ls --limit 2 --after (\S+)", first.err)
    assert following is not None
    assert names("--after", following.group(1)) == ["task 2", "task 3", "task 4"]
    assert "no task fits" in cli("ls", "--text", "nothing like it").err


def test_invalid_query_is_shown_with_its_position(cli: Cli) -> None:
    cli("add", "every 5m", "--say", "tick")
    done = cli("ls", "--query", "tick stat:active")
    assert done.code == 6
    source, caret = (line for line in done.err.splitlines() if "stat:active" in line or "^" in line)
    assert source.index("stat:") == caret.index("^")
    assert cli("runs", "--query", "late:>5s", "--json").problem["code"] == "query_key_unanswered"
    assert cli("runs", "--query", "state:failed due:today task:tick", "--json").json == []
    assert cli("pause", "--query", "  ", "--json").problem["code"] == "no_task_named"
    assert cli("ls", "--query", "state:active", "--state", "paused", "--json").problem["code"] == "query_key_twice"


def test_quiet_plain_and_fields(cli: Cli) -> None:
    task = cli("add", "every 5m", "--say", "tick", "--json").json["task"]
    assert cli("ls", "-q").out == f"{task['id']}\n"
    assert cli("ls", "-q").err == ""
    (row,) = cli("ls", "--plain").out.splitlines()
    assert row.split("\t")[0] == "tick"
    assert row.split("\t")[-1] == task["id"]
    assert cli("ls", "--fields", "name,state").json == [{"name": "tick", "state": "active"}]
    refused = cli("ls", "--fields", "nonsense")
    assert (refused.code, refused.problem["code"]) == (2, "unknown_output_field")
    assert cli("ls", HORAE_OUTPUT="json").json[0]["name"] == "tick"
    (cli.directory / "horae.toml").write_text('output = "json"\n', encoding="utf-8")
    assert cli("ls").json[0]["name"] == "tick"


def test_colour_only_when_requested(cli: Cli) -> None:
    cli("add", "every 5m", "--say", "tick")
    assert "\x1b" not in cli("ls").out
    assert "\x1b[" in cli("ls", "--color", "always").out
    assert "\x1b" not in cli("ls", "--color=never").out


@pytest.mark.parametrize("missed", ["skip", "latest"])
async def test_missed_occurrences_are_shown_by_every_command(cli: Cli, missed: str) -> None:
    last = await asyncio.to_thread(write_missed_history, cli.path, missed)
    await record_outage(cli.url, last - timedelta(minutes=29), last + timedelta(minutes=5))
    rows = [run for run in cli("runs", "report", "--json").json if run["state"] == "skipped"]
    assert sum(run["count"] for run in rows) == (3 if missed == "skip" else 2)
    assert {run["reason"] for run in rows} == {"missed_skipped" if missed == "skip" else "merged"}
    number = 3 if missed == "skip" else 2
    assert f"△ {number} missed" in cli("ls").out
    assert f"{number} missed in 24 h" in cli("ls").err
    assert cli("ls", "--json").json[0]["missed_24h"] == number
    assert f"△ {number} missed" in cli("runs", "report").out
    middle = f"{last - timedelta(minutes=10):%Y-%m-%dT%H:%M:%SZ}"
    why = cli("why", "report", "--at", middle)
    assert why.code == 0
    # With a date before the time if the outage crosses midnight.
    assert re.search(rf"No engine ran (\S+ )*{last - timedelta(minutes=29):%H:%M:%S}–", why.out)
    assert "UTC (stopped gracefully)" in why.out
    if missed == "skip":
        assert f"horae run report --as-of {middle}" in why.out
        assert "horae edit report --missed 'latest within 7d'" in why.out


def test_command_suggested_by_why_works(cli: Cli) -> None:
    last = write_missed_history(cli.path, "skip")
    fixes = cli("why", "report", "--at", f"{last:%Y-%m-%dT%H:%M:%SZ}", "--json").json["fixes"]
    commands = [fix["command"].split()[1:] for fix in fixes]
    assert commands[0][:2] == ["run", "report"]
    assert cli(*commands[0]).code == 0
    assert cli("show", "report", "--json").json["task"]["next"] is not None


def test_why_in_both_languages_for_every_kind_of_answer(cli: Cli) -> None:
    write_failure_history(cli.path)
    ran = cli("why", "nightly-backup")
    assert "The target ran and failed." in ran.out
    assert "horae retry run_" in ran.out
    assert "目标已运行" in cli("why", "nightly-backup", "--lang", "zh").out
    run = cli("runs", "nightly-backup", "--json").json[0]
    assert cli("why", run["id"], "--json").json["runs"][-1]["id"] == run["id"]
    paused = cli(
        "why", "weekly-digest", "--at", cli("show", "weekly-digest", "--json").json["fires_if_resumed"][0]["at"]
    )
    assert "has been paused since" in paused.out
    assert "horae resume weekly-digest" in paused.out
    assert cli("why", "report", "--at", "2026-13-45").code == 6
    assert cli("why", "nothing").code == 3


def test_overdue_task_without_an_engine_is_explained(cli: Cli) -> None:
    cli("add", "now", "--say", "tick")
    why = cli("why", "tick", "--json").json
    assert (why["verdict"], why["fixes"][0]["command"]) == ("overdue", "horae up")


def test_runs_are_found_by_state_and_time(cli: Cli) -> None:
    write_failure_history(cli.path)
    everything = cli("runs", "--json").json
    assert [run["planned"] for run in everything] == sorted((run["planned"] for run in everything), reverse=True)
    failed = cli("runs", "--failed", "--json").json
    assert {run["task"] for run in failed} == {"nightly-backup"}
    assert {run["state"] for run in cli("runs", "--state", "succeeded", "--json").json} == {"succeeded"}
    middle = everything[len(everything) // 2]["planned"]
    since = cli("runs", "--since", middle, "--json").json
    until = cli("runs", "--until", middle, "--json").json
    assert {run["id"] for run in since} | {run["id"] for run in until} == {run["id"] for run in everything}
    assert min(run["planned"] for run in since) == middle == max(run["planned"] for run in until)
    first = cli("runs", "--limit", "2", "--json")
    following = re.search(r"--after (\S+)", first.err)
    assert following is not None
    rest = cli("runs", "--after", following.group(1), "--json").json
    assert [run["id"] for run in (*first.json, *rest)] == [run["id"] for run in everything]
    assert cli("runs", "--state", "nonsense").code == 6
    assert cli("runs", "--since", "nonsense").code == 6


async def test_logs_of_a_run_and_of_the_newest_of_a_task(cli: Cli) -> None:
    await asyncio.to_thread(write_failure_history, cli.path)
    async with Horae(cli.url, engine=False) as app:
        page = await app.store.runs(RunFilter(), limit=1)
        run = page.items[0]
        at = run.planned
        await app.store.write_lines(
            [
                Line(run.id, at, "info", "hello"),
                Line(run.id, at, "progress", "0.5000 half"),
                Line(run.id, at, "error", "\x1b[31mbad"),
            ]
        )
    shown = cli("logs", run.id)
    assert [line.split(maxsplit=2)[1:] for line in shown.out.splitlines()] == [
        ["INFO", "hello"],
        ["PROGRESS", "0.5000 half"],
        ["ERROR", "\N{REPLACEMENT CHARACTER}[31mbad"],
    ]
    assert [line["level"] for line in cli("logs", run.id, "--json").json] == ["info", "progress", "error"]
    assert len(cli("logs", run.id, "--follow", "--json").lines) == 3
    assert "50 %  half" in cli("logs", run.id, "--follow").err
    assert "it wrote no log lines" in cli("logs", "report").err
    assert cli("logs", "run_nothing").code == 3
    cli("add", "every 5m", "--say", "fresh")
    assert cli("logs", "fresh").code == 3


def test_events_are_read_after_a_number(cli: Cli) -> None:
    cli("add", "every 5m", "--say", "a")
    cli("add", "every 5m", "--say", "b")
    cli("pause", "a")
    events = cli("events", "--json").json
    assert [event["type"] for event in events] == ["task.created", "task.created", "task.paused"]
    assert cli("events", "--after", str(events[1]["number"]), "--json").json == events[2:]
    assert cli("events", "--limit", "1", "--json").json == events[2:]
    assert "task.paused" in cli("events").out
    assert cli("events", "--plain").out.splitlines()[0].split("\t")[2] == "task.created"


async def test_overview_names_running_tasks(cli: Cli) -> None:
    app = Horae(f"sqlite:///{cli.path}")
    going, over = asyncio.Event(), asyncio.Event()

    @app.task
    async def embed() -> None:
        going.set()
        await over.wait()

    async with app:
        await app.schedule(embed, "now", name="embed-books")
        await going.wait()
        answer = await asyncio.to_thread(cli.process, "overview")
        over.set()
    outcome = answer.out
    assert "◐ embed-books" in outcome


def test_overview_counts_and_names_failures(cli: Cli) -> None:
    write_failure_history(cli.path)
    cli("add", "now", "--say", "waiting")
    overview = cli("overview", "--json").json
    assert overview["tasks"] == {"active": 3, "paused": 1, "completed": 0, "failed": 0, "cancelled": 0}
    assert overview["last_24h"]["outcomes"]["failed"] == 4
    assert {need["task"]: need["kind"] for need in overview["needs_you"]}["nightly-backup"] == "failing"
    answer = cli("overview").out
    assert "3 active · 1 paused" in answer
    assert "nightly-backup: fails again and again" in answer
    assert "no engine is running: horae up" in answer
    assert "没有节点在运行" in cli("overview", "--lang", "zh").out


def test_lanes_and_their_limits(cli: Cli) -> None:
    gpu = {"name": "gpu", "limit": 3, "taken": 0, "rate": None, "next_start_at": None}
    assert cli("lane", "gpu", "3", "--json").json == gpu
    status = {**gpu, "waiting": 0, "oldest": None, "idle": 0}
    assert cli("lanes", "--json").json == [status]
    assert "gpu   3      0      -     0                0" in cli("lanes").out
    detail = {**status, "runs": [], "others": 0, "queue": [], "more": False}
    assert cli("lane", "gpu", "--json").json == detail
    assert "gpu  0 of 3 in use" in cli("lane", "gpu").out
    assert cli("lane", "gpu", "--quiet").out == ""
    assert cli("lane", "gpu", "1000001").code == 6
    assert "at most 4 runs of gpu" in cli("lane", "gpu", "4").out


def test_lane_without_limit_and_rate_says_that_there_is_no_limit(cli: Cli) -> None:
    cli("lane", "api", "--rate", "100/1s")
    assert cli("lane", "api", "--no-rate").out == "✓ api has no limit\n"
    assert cli("lane", "api", "--no-rate", LC_MESSAGES="zh_CN.UTF-8").out == "✓ api 没有上限\n"
    assert cli("lane", "api", str(MAX_LANE_LIMIT)).out == "✓ api has no limit\n"
    assert cli("lane", "api", "5").out == "✓ at most 5 runs of api at once\n"


def test_rate_of_a_lane(cli: Cli) -> None:
    assert (
        cli("lane", "api", "--rate", "100/1s").out == "✓ at most 100/1s: so many starts of api within any such period\n"
    )
    assert "api   -      0      100/1s  0                0" in cli("lanes").out
    assert "api  0 in use, no limit" in cli("lane", "api").out
    assert cli("lane", "api", "5", "--json").json["rate"] == "100/1s", "a new limit keeps the rate"
    assert cli("lane", "api", "--rate", "7/1h", "--json").json["limit"] == 5, "a new rate keeps the limit"
    assert cli("lane", "api", "--no-rate", "--json").json["rate"] is None
    assert cli("lane", "api", "--no-rate", "--json").json == {
        "name": "api", "limit": 5, "taken": 0, "rate": None, "next_start_at": None
    }  # fmt: skip
    refused = cli("lane", "api", "--rate", "100 a second")
    assert refused.code == 6
    assert "Write it as 100/1s" in refused.err
    assert cli("lane", "api", "--rate", "0/1s").code == 6
    assert cli("lane", "api", "--rate", "1/1s", "--no-rate").code == 6
    assert "0 of 5 in use" in cli("lane", "api").out


def test_read_commands_change_nothing(cli: Cli) -> None:
    write_failure_history(cli.path)
    run = cli("runs", "--json").json[0]["id"]
    before = _digest(cli.path)
    for arguments in (
        ["ls"], ["ls", "--sort", "next"], ["show", "report"], ["why", "report"], ["why", run], ["runs"], ["logs", run],
        ["events"], ["overview"], ["lanes"], ["nodes"], ["next", "--task", "report"], ["explain", "--task", "report"],
        ["edit", "report", "--when", "every 5m", "--dry-run"], ["add", "every 5m", "--say", "x", "--dry-run"],
        ["backfill", "report", "--from", "yesterday", "--to", "today", "--dry-run"], ["watch", "--seconds", "0"],
    ):  # fmt: skip
        for output in ([], ["--json"], ["--plain"], ["--quiet"]):
            assert cli(*arguments, *output).code == 0, arguments
    assert _digest(cli.path) == before


async def _last_event(path: Path) -> int:
    async with Horae(f"sqlite:///{path}", engine=False) as app:
        return await app.store.last_event()


def _digest(path: Path) -> tuple[bytes, int]:
    number = asyncio.run(_last_event(path))
    return path.read_bytes(), number


def test_next_and_explain_of_a_task(cli: Cli) -> None:
    cli("add", "0 9 * * *", "--say", "tick", "--zone", "Asia/Shanghai")
    done = cli("next", "--task", "tick", "-n", "2", "--json").json
    assert [fire["at_local"][11:16] for fire in done["fires"]] == ["09:00", "09:00"]
    assert "every day at 09:00, Asia/Shanghai" in cli("explain", "--task", "tick").out
    assert cli("next", "--task", "nothing").code == 3
    assert cli("next").code == 2
    assert cli("next", "every 5m", "--task", "tick").code == 2


@pytest.mark.usefixtures("node")
def test_empty_logs_explain_which_lines_are_stored(cli: Cli) -> None:
    cli("add", "every 1h", "--function", "broken", "--retries", "0", "--name", "broken")
    cli("run", "broken", "--wait")
    done = cli("logs", "broken")
    assert "ctx.log(…) and ctx.progress(…) are kept here, print() and logging go to the output of the node" in done.err
    assert "print()" in cli("logs", "broken", "--lang", "zh").err


@pytest.mark.parametrize("command", [["events", "--follow"], ["watch", "--plain"]], ids=" ".join)
def test_ctrl_c_ends_a_stream_of_events_with_success(cli: Cli, command: list[str]) -> None:
    cli("add", "every 1h", "--say", "x")
    with Terminal(cli, *command) as terminal:
        terminal.wait_for("Ctrl-C")
        terminal.interrupt()
        assert terminal.ended() == 0
        assert "Interrupted" not in terminal.shown
