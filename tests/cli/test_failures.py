"""`horae failures`: groups of failed runs by error, and retry of one group."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from horae import Horae
from horae.model.entry import EntryKind
from horae.model.run import RunState
from horae.testing.factories import HOUR, NOON, a_new_task, a_task, an_ended_run
from tests.cli.command_line import Cli
from tests.cli.histories import write_failure_history
from tests.cli.json_schemas import check_schema


async def _write_failures(path: Path, number: int) -> None:
    task = a_task(name="crawl", owner="local")
    runs = [
        an_ended_run(task, planned=NOON - each * HOUR, state=RunState.FAILED, error=f"HTTP 503 after {each} ms")
        for each in range(number)
    ]
    async with Horae(f"sqlite:///{path}", engine=False) as app:
        await app.service.store.add([a_new_task(task, runs=runs)])


async def _count_retries(path: Path, task_id: str) -> int:
    async with Horae(f"sqlite:///{path}", engine=False) as app:
        facts = await app.service.store.facts(task_id, None)
        return 0 if facts is None else sum(entry.kind is EntryKind.RETRY for entry in facts.entries)


def test_failures_are_grouped_and_a_group_is_retried(cli: Cli) -> None:
    write_failure_history(cli.path)
    (group,) = cli("failures", "--json").json
    check_schema("failures", [group])
    assert (group["newest"]["task"], group["count"], len(group["run_ids"])) == ("nightly-backup", 4, 4)
    shown = cli("failures")
    assert "4     ValueError: disk full  nightly-backup" in shown.out
    assert f"horae failures --retry {group['key']}" in shown.err
    assert cli("failures", "--quiet").out == f"{group['key']}\n"
    assert cli("failures", "report", "--json").json == []
    assert cli("failures", "--query", "state:lost", "--json").json == []
    planned = cli("failures", "--retry", group["key"][:4], "--dry-run")
    assert planned.out == "Would retry 4 occurrences: ValueError: disk full\n"
    report = cli("failures", "--retry", group["key"][:4], "--json").json
    check_schema("retry-report", report)
    assert (set(report["retried"]), report["refused"], report["dry_run"]) == (set(group["run_ids"]), [], False)
    again = cli("failures", "--retry", group["key"])
    assert again.out == "✓ 4 of 4 occurrences are tried again: ValueError: disk full\n"
    assert asyncio.run(_count_retries(cli.path, group["newest"]["task_id"])) == 4


def test_unknown_group_and_stray_dry_run_are_refused(cli: Cli) -> None:
    assert cli("failures", "--json").json == []
    write_failure_history(cli.path)
    refused = cli("failures", "--retry", "ffffffffffffffff", "--json")
    assert (refused.code, refused.problem["code"]) == (3, "no_such_failure_group")
    assert cli("failures", "--dry-run", "--json").problem["code"] == "dry_run_of_nothing"
    assert "没有失败的运行" in cli("failures", "report", "--lang", "zh").err


@pytest.mark.parametrize("number", [20, 21])
def test_retry_of_more_than_twenty_needs_yes(cli: Cli, number: int) -> None:
    asyncio.run(_write_failures(cli.path, number))
    arguments = ["failures", "--retry", "", "--json"]
    done = cli(*arguments)
    if number > 20:
        assert (done.code, done.problem["code"]) == (2, "needs_yes")
        done = cli(*arguments, "--yes")
    assert len(done.json["retried"]) == number
