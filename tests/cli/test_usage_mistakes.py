"""Common usage mistakes: mistyped names and methods, misplaced commands, closed pipes."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from contextlib import redirect_stdout
from datetime import timedelta
from pathlib import Path

import pytest

from horae import Horae
from horae.cli.output.event_lines import EventFollower
from horae.cli.output.printer import Printer
from horae.wire.tasks.task import read_task
from tests.cli.command_line import Cli
from tests.cli.histories import FixedClock, hour_before, write_failure_history


@pytest.mark.parametrize("command", ["show", "why", "pause", "run", "runs"])
def test_nearest_task_name_is_suggested(cli: Cli, command: str) -> None:
    cli("add", "every 1h", "--say", "tick")
    done = cli(command, "tcik")
    assert done.code == 3
    assert "Did you mean 'tick'?" in done.err
    assert "是不是“tick”" in cli(command, "tcik", "--lang", "zh").err
    assert "Did you mean" not in cli(command, "nothing like it").err


def test_unknown_http_method_is_named(cli: Cli) -> None:
    done = cli("add", "every 1h", "--http", "FOO", "http://localhost/", "--json")
    assert (done.code, done.problem["code"]) == (2, "no_method")
    assert "'FOO'" in done.problem["detail"]


def test_command_without_two_dashes_is_refused(cli: Cli) -> None:
    done = cli("add", "in 1h", "--command", "ls", "--json")
    assert (done.code, done.problem["code"]) == (2, "command_not_behind")
    assert "--command -- " in done.problem["hint"]


def test_closed_pipe_exits_with_141(cli: Cli) -> None:
    for number in range(3):
        cli("add", "every 1h", "--say", f"{number} " + "x" * 10_000, "--name", f"task {number}")
    process = subprocess.Popen(
        [sys.executable, "-m", "horae", "ls", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=cli.environment(),
        cwd=cli.directory,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    output = process.stderr.read()
    process.stderr.close()
    assert (process.wait(60), output) == (141, b"")


def test_wait_without_an_engine_says_so(cli: Cli) -> None:
    cli("add", "every 1h", "--say", "tick")
    done = cli("run", "tick", "--wait", "--timeout", "1ms")
    assert done.code == 8
    assert done.err.startswith("no engine is running")


def test_fires_below_a_second_show_milliseconds(cli: Cli) -> None:
    out = cli("add", "every 250ms", "--say", "tick", "--zone", "UTC").out
    fires = re.findall(r"\d\d:\d\d:\d\d(?:\.\d+)? \+00:00", out)
    assert len(set(fires)) == 3
    assert "." not in cli("add", "every 10s", "--say", "tock", "--zone", "UTC").out.partition("Does")[0]


def test_overview_in_chinese(cli: Cli) -> None:
    write_failure_history(cli.path)
    out = cli("overview", "--lang", "zh").out
    assert "2 个活动 · 1 个暂停" in out
    assert "个成功" in out
    assert "active" not in out


async def test_node_reports_long_overdue_entries(tmp_path: Path) -> None:
    url, start = f"sqlite:///{tmp_path / 'horae.db'}", hour_before(1)

    async def output_after(length: timedelta) -> str:
        app = Horae(url, engine=False, zone="UTC", clock=FixedClock(start + length))
        following = EventFollower(app, Printer(), verbose=False)
        output = io.StringIO()
        async with app:
            with redirect_stdout(output), pytest.raises(NotImplementedError):  # the clock does not sleep: one poll
                await following.watch_waiting()
        return output.getvalue()

    async def create_task() -> None:
        async with Horae(url, engine=False, zone="UTC", clock=FixedClock(start)) as app:
            await app.service.tasks.create(app.who, read_task({"name": "a", "when": "in 1s", "say": "x"}))

    await create_task()
    assert (await output_after(timedelta(seconds=20))) == ""
    assert "1 entry is overdue by more than 30 s" in (await output_after(timedelta(minutes=1)))
