"""One wish for many tasks at a server: one request, however many they are, and an operation where they are too many for one."""

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


class Counting(Connection):
    """Notes what was asked."""

    def __init__(self, cli: RemoteCli) -> None:
        super().__init__(cli.server.url, cli.server.tokens["local"], SystemClock())
        self.asked: list[str] = []

    async def request(self, method: str, path: str, *more: Any, **others: Any) -> Any:
        self.asked.append(f"{method} {path}")
        return await super().request(method, path, *more, **others)


async def _make(cli: RemoteCli, number: int) -> None:
    connection = Counting(cli)
    tasks = [{"name": f"task {each}", "when": "every 1h", "zone": "UTC", "say": "x"} for each in range(number)]
    await connection.post("/v1/tasks/bulk", {"tasks": tasks})
    await connection.close()


async def _pause(cli: RemoteCli) -> list[str]:
    connection = Counting(cli)
    try:
        seen: list[int] = []
        bulk = RemoteBulk(connection, SystemClock())
        report = await bulk.act(TaskFilter(text="task"), "pause", {"note": "rain"}, seen.append)
        assert (report.matched, report.done, report.refused) == ((await bulk.count(TaskFilter())).number,) * 2 + ((),)
        assert seen == sorted(seen)
        assert seen[-1] == report.matched
        return connection.asked
    finally:
        await connection.close()


@pytest.mark.parametrize("number", [3, MANY])
async def test_one_request_does_it_and_many_are_followed(cli: RemoteCli, number: int) -> None:
    await _make(cli, number)
    asked = await _pause(cli)
    assert asked[0] == "POST /v1/tasks/actions"
    assert asked[-1] == "GET /v1/tasks"
    assert {each.rpartition("/")[0] for each in asked[1:-1]} == ({"GET /v1/operations"} if number == MANY else set())


async def test_the_command_line_does_many_at_a_server(cli: RemoteCli) -> None:
    await _make(cli, MANY)
    cli.on_store("cancel", "task 7")
    done = cli("pause", "--all", "--until", "2099-01-01 09:00", "--yes", "--json")
    assert done.code == 0, done.err
    assert (done.json["matched"], done.json["done"]) == (MANY, MANY - 1)
    assert [each["code"] for each in done.json["refused"]] == ["task_cancelled"]
    paused = cli("ls", "--query", "state:paused task", "--json", "--limit", "1").json[0]
    assert paused["pause"]["until"] == "2099-01-01T09:00:00.000Z"


async def test_what_ends_too_early_is_told(cli: RemoteCli, monkeypatch: pytest.MonkeyPatch) -> None:
    await _make(cli, MANY)

    connection = Counting(cli)
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


async def test_who_removes_more_than_a_server_counts_is_told_that_there_are_more(
    cli: RemoteCli, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _make(cli, 25)
    # The server of these tests lives in this process.
    monkeypatch.setattr(lookup, "MAX_COUNTED", 10)
    monkeypatch.setattr(lookup, "MAX_PAGE_SIZE", 10)
    asked = cli("rm", "--text", "task")
    assert asked.code != 0
    assert "10+" in asked.err
    assert "25" in cli("rm", "--all").err, "what is counted anyway is told exactly"


async def test_a_condition_that_is_empty_is_one_at_a_server_too(cli: RemoteCli) -> None:
    await _make(cli, 2)
    done = cli("pause", "--owner", "", "--state", "active", "--yes", "--json")
    assert (done.json["matched"], done.json["done"]) == (0, 0)
    assert cli("ls", "--query", "state:paused", "--json").json == []


class _Waiting(SystemClock):
    """Tells when somebody waits, and lets nobody go on."""

    def __init__(self) -> None:
        self.waits = asyncio.Event()

    async def pause(self, seconds: float) -> None:
        del seconds
        self.waits.set()
        await asyncio.Event().wait()


async def test_whoever_stops_waiting_stops_the_operation(cli: RemoteCli) -> None:
    await _make(cli, MANY)

    connection, clock = Counting(cli), _Waiting()
    going = asyncio.ensure_future(
        RemoteBulk(connection, clock).act(TaskFilter(text="task"), "pause", {}, lambda _: None)
    )
    await clock.waits.wait()
    going.cancel()
    (ending,) = await asyncio.gather(going, return_exceptions=True)
    assert isinstance(ending, asyncio.CancelledError)
    await connection.close()
    (first, last) = connection.asked
    assert first == "POST /v1/tasks/actions"
    assert last.startswith("POST /v1/operations/opn_")
    assert last.endswith("/cancel")
