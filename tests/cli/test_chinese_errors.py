"""Chinese output of run errors and usage errors; the ledger stores English."""

from __future__ import annotations

import asyncio

import pytest

from horae.testing import TimeTravel
from tests.cli.command_line import Cli
from tests.cli.histories import hour_before, make_app, write_failure_history

TIMED_OUT = "5 秒内没有任何信号"


@pytest.fixture
def silent_task(cli: Cli) -> Cli:
    """A store with one task whose only run timed out."""
    app = make_app(cli.path)

    @app.task(name="silent")
    async def silent() -> None:
        await asyncio.Event().wait()

    start = hour_before(1)
    with TimeTravel(app, start, store="own") as time:
        time.run(app.schedule("silent", f"10 {start.hour} * * *", name="silent", retries=0, timeout="5s"))
        time.travel("20m")
    return cli


@pytest.mark.parametrize("command", [("why", "silent"), ("show", "silent"), ("runs", "silent"), ("ls",)])
def test_own_error_of_a_run_is_shown_in_chinese(silent_task: Cli, command: tuple[str, ...]) -> None:
    done = silent_task(*command, "--lang", "zh")
    assert done.code == 0
    assert TIMED_OUT in done.out
    assert "silent for" not in done.out
    assert "silent for 5 s" in silent_task(*command, "--lang", "en").out


def test_run_in_full_shows_its_own_error_in_chinese(silent_task: Cli) -> None:
    (run,) = silent_task("runs", "silent", "--json").json
    assert run["error"] == "silent for 5 s"
    assert TIMED_OUT in silent_task("show", run["id"], "--lang", "zh").out
    assert silent_task("show", run["id"], "--lang", "zh", "--json").json["error"] == "silent for 5 s"


def test_foreign_error_stays_as_it_was_raised(cli: Cli) -> None:
    write_failure_history(cli.path)
    assert "ValueError: disk full" in cli("why", "nightly-backup", "--lang", "zh").out


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("agent", "show"), "缺少参数 'AGENT'。"),
        (("add",), "缺少参数 'WHEN'。"),
        (("ls", "--jsn"), "没有选项 --jsn。相近的选项：--json"),
        (("ls", "--xyzzy"), "没有选项 --xyzzy。"),
        (("show", "a", "b", "c"), "多余的参数：b c"),
        (("skip", "x", "many"), "'[N]' 的值无效：应为整数。"),
        (("resume", "x", "--missed", "foo"), "'foo' 不在可选值之中：'skip', 'latest', 'all', 'merge'。"),
        (("runs", "--limit", "0"), "'--limit' / '-n' 的值无效：不能小于 1。"),
        (("ls", "--label"), "选项 '--label' 需要一个值。"),
        (("ls", "--json=1"), "选项 '--json' 不接受值。"),
        (("lss",), "没有命令 'lss'。是否想输入 'ls'？"),
    ],
)
def test_usage_error_is_in_chinese(cli: Cli, arguments: tuple[str, ...], shown: str) -> None:
    done = cli(*arguments, LANG="zh_CN.UTF-8")
    assert done.code == 2
    assert shown in done.err
    assert "可以查看：horae" in done.err or done.err.startswith("{")


def test_usage_error_as_json_is_in_chinese(cli: Cli) -> None:
    assert cli("agent", "show", "--json", LANG="zh_CN.UTF-8").problem["detail"] == "缺少参数 'AGENT'。"


def test_invalid_choice_in_english_has_no_prefix_of_the_validation(cli: Cli) -> None:
    assert "Invalid value for '--missed': 'foo' is not one of" in cli("resume", "x", "--missed", "foo").err
