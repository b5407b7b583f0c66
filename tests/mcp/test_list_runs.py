"""`list_runs` of an agent fills its pages with runs of the agent's own tasks only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.cli.command_line import Cli
from tests.mcp.stdio_server import connect_stdio

WHEN = "every day at 09:00 10 times"


async def add_own_task(cli: Cli) -> str:
    async with connect_stdio(cli) as tools:
        made = await tools("schedule_task", when=WHEN, do="look", name="own", zone="UTC")
    return str(made["task"]["id"])


async def list_own_runs(cli: Cli, limit: int) -> list[list[dict[str, Any]]]:
    """Return all pages of runs."""
    pages: list[list[dict[str, Any]]] = []
    cursor: dict[str, str] = {}
    async with connect_stdio(cli) as tools:
        while True:
            page = await tools("list_runs", limit=limit, **cursor)
            pages.append(page["runs"])
            if page["next_cursor"] is None:
                return pages
            cursor = {"cursor": page["next_cursor"]}


async def test_pages_are_full_although_other_tasks_ran_in_between(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    own = await add_own_task(cli)
    cli("add", "in 1h", "--name", "other", "--say", "hi", "--overlap", "queue_all")
    for _ in range(4):  # alternating, so that runs of another task lie between its own
        for task in (own, "other", "other"):
            assert cli("run", task).code == 0
        assert cli.process("up", "--seconds", "0.7", "--no-api").code == 0
    for limit, sizes in ((2, [2, 2]), (7, [4])):
        pages = await list_own_runs(cli, limit)
        ids = [run["id"] for page in pages for run in page]
        assert len(ids) == len(set(ids)) == 4
        assert {run["task_id"] for page in pages for run in page} == {own}
        assert [len(page) for page in pages if page] == sizes
