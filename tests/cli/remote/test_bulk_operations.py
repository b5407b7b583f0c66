"""Bulk commands through a server: one request, or a background operation for many tasks."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from horae.client.bulk import RemoteBulk
from horae.client.connection import Connection
from horae.clock import SystemClock
from horae.errors import Conflict
from horae.ports.store import TaskFilter
from horae.service.tasks import lookup
from tests.cli.remote.server import RemoteCli

MANY = 230


class CountingConnection(Connection):
    """Connection that records its requests."""

    def __init__(self, cli: RemoteCli) -> None:
        super().__init__(cli.server.url, cli.server.tokens["local"], SystemClock())
        self.requests: list[str] = []

    async def request(self, method: str, path: str, *more: Any, **others: Any) -> Any:
        self.requests.append(f"{method} {path}")
        return await super().request(method, path, *more, **others)


async def _make(cli: RemoteCli, number: int) -> None:
    connection = CountingConnection(cli)
    tasks = [{"name": f"task {each}", "when": "every 1h", "zone": "UTC", "say": "x"} for each in range(number)]
    await connection.post("/v1/tasks/bulk", {"tasks": tasks})
    await connection.close()


async def _pause(cli: RemoteCli) -> list[str]:
    connection = CountingConnection(cli)
    try:
        seen: list[int] = []
        bulk = RemoteBulk(connection, SystemClock())
        report = await bulk.act(TaskFilter(text="task"), "pause", {"note": "rain"}, seen.append)
        assert (report.matched, report.done, report.refused) == ((await bulk.count(TaskFilter())).number,) * 2 + ((),)
        assert seen == sorted(seen)
        assert seen[-1] == report.matched
        return connection.requests
    finally:
        await connection.close()


@pytest.mark.parametrize("number", [3, MANY])
async def test_bulk_pause_is_one_request_and_a_large_one_an_operation(cli: RemoteCli, number: int) -> None:
    await _make(cli, number)
    requests = await _pause(cli)
    assert requests[0] == "POST /v1/tasks/actions"
    assert requests[-1] == "GET /v1/tasks"
    assert {each.rpartition("/")[0] for each in requests[1:-1]} == ({"GET /v1/operations"} if number == MANY else set())


async def test_bulk_commands_work_through_a_server(cli: RemoteCli) -> None:
    await _make(cli, MANY)
    cli.on_store("cancel", "task 7")
    done = cli("pause", "--all", "--until", "2099-01-01 09:00", "--yes", "--json")
    assert done.code == 0, done.err
    assert (done.json["matched"], done.json["done"]) == (MANY, MANY - 1)
    assert [each["code"] for each in done.json["refused"]] == ["task_cancelled"]
    paused = cli("ls", "--query", "state:paused task", "--json", "--limit", "1").json[0]
    assert paused["pause"]["until"] == "2099-01-01T09:00:00.000Z"


@pytest.mark.parametrize("number", [3, MANY])
async def test_bulk_pause_is_undone_through_a_server(cli: RemoteCli, number: int) -> None:
    await _make(cli, number)
    cli.on_store("pause", "task 1", "--reason", "held")
    before = cli("ls", "--json", "--limit", "500").json
    paused = cli("pause", "--all", "--yes", "--json").json
    cli.on_store("cancel", "task 2")
    undone = cli("undo", paused["undo"], "--json")
    assert undone.code == 0, undone.err
    assert (undone.json["matched"], undone.json["done"], undone.json["undo"]) == (number, number - 1, None)
    assert [(each["task"], each["code"]) for each in undone.json["refused"]] == [("task 2", "changed_since")]
    after = cli("ls", "--json", "--limit", "500").json
    assert [each for each in after if each["name"] != "task 2"] == [each for each in before if each["name"] != "task 2"]
    assert cli("undo", paused["undo"], "--json").problem["code"] == "already_undone"


async def test_stopped_operation_is_reported(cli: RemoteCli, monkeypatch: pytest.MonkeyPatch) -> None:
    await _make(cli, MANY)

    connection = CountingConnection(cli)
    once = connection.get

    async def stopped(path: str, *more: Any) -> Any:
        return {**await once(path, *more), "state": "interrupted", "done": 7}

    monkeypatch.setattr(connection, "get", stopped)
    try:
        with pytest.raises(Conflict, match="7 of") as caught:
            await RemoteBulk(connection, SystemClock()).act(TaskFilter(text="task"), "pause", {}, lambda _: None)
        assert caught.value.code == "operation_ended_early"
    finally:
        await connection.close()


async def test_bulk_removal_reports_more_than_the_server_counts(
    cli: RemoteCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _make(cli, 25)
    # The server runs in this process.
    monkeypatch.setattr(lookup, "MAX_COUNTED", 10)
    monkeypatch.setattr(lookup, "MAX_PAGE_SIZE", 10)
    requests = cli("rm", "--text", "task")
    assert requests.code != 0
    assert "10+" in requests.err
    assert "25" in cli("rm", "--all").err, "an exact count is shown exactly"


async def test_empty_owner_filter_matches_nothing_at_a_server(cli: RemoteCli) -> None:
    await _make(cli, 2)
    done = cli("pause", "--owner", "", "--state", "active", "--yes", "--json")
    assert (done.json["matched"], done.json["done"]) == (0, 0)
    assert cli("ls", "--query", "state:paused", "--json").json == []


class BlockingClock(SystemClock):
    """Clock that signals a sleep and never returns from it."""

    def __init__(self) -> None:
        self.waits = asyncio.Event()

    async def pause(self, seconds: float) -> None:
        del seconds
        self.waits.set()
        await asyncio.Event().wait()


async def test_cancelled_wait_stops_the_operation(cli: RemoteCli) -> None:
    await _make(cli, MANY)

    connection, clock = CountingConnection(cli), BlockingClock()
    going = asyncio.ensure_future(
        RemoteBulk(connection, clock).act(TaskFilter(text="task"), "pause", {}, lambda _: None)
    )
    await clock.waits.wait()
    going.cancel()
    (ending,) = await asyncio.gather(going, return_exceptions=True)
    assert isinstance(ending, asyncio.CancelledError)
    await connection.close()
    (first, last) = connection.requests
    assert first == "POST /v1/tasks/actions"
    assert last.startswith("POST /v1/operations/opn_")
    assert last.endswith("/cancel")
