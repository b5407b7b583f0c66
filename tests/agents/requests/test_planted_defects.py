"""Planted defects: each guarantee of requests has a scenario that finds its absence."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from itertools import count
from typing import Any

import pytest

from horae.agents.requests import executor, watcher
from horae.agents.requests.inbox import Inbox, Request
from horae.agents.requests.principals import GroupAccount
from horae.agents.requests.request_host import RequestHost
from horae.agents.requests.request_records import RequestRecord
from horae.agents.requests.snapshots import Snapshots
from horae.errors import StoreUnavailable
from horae.model.accounts.principal import LOCAL, Principal

from .request_harness import CHATS, FAMILY, MAIN, WORK, RequestHarness


async def repeats_nothing(requests: RequestHarness) -> bool:
    """A request that is read again after a crash has one effect."""
    for _ in range(2):
        await requests.ask(FAMILY, "1-a.json", type="schedule_task", prompt="x", when="every 1h")
    return (await requests.service.tasks.count(LOCAL)).number == 1


async def trusts_the_directory(requests: RequestHarness) -> bool:
    """A file that claims to be of the main group gains nothing."""
    answer = await requests.ask(FAMILY, type="message", text="x", chatJid=CHATS[WORK], groupFolder=MAIN)
    return bool(answer["status"] == "refused")


async def serves_in_turn(requests: RequestHarness) -> bool:
    """The store fails while the first group is served: the second has been served before."""
    host = RequestHost(requests.service, requests.clock, requests.workspace)
    for number in range(5):
        requests.put(FAMILY, f"{number}-a.json", type="message", text="x")
        requests.put(WORK, f"{number}-b.json", type="message", text="x")
    served: list[str] = []
    execute = host.executor.execute

    async def execute_three(request: Request) -> Any:
        if len(served) == 3:
            raise StoreUnavailable("gone")
        served.append(request.folder)
        return await execute(request)

    host.executor.execute = execute_three  # type: ignore[method-assign]
    await host.watcher.look()
    return set(served) == {FAMILY, WORK}


async def shows_changes(requests: RequestHarness) -> bool:
    """The snapshot shows the change of another process."""
    task = await requests.schedule()
    await requests.host.snapshots.refresh()
    await requests.service.tasks.pause(Principal("group:family"), task["id"])
    await requests.host.snapshots.refresh()
    return bool(requests.snapshot(FAMILY)[0]["status"] == "paused")


async def reports_refusals(requests: RequestHarness) -> bool:
    """The agent learns that its request was refused, and why."""
    requests.put(FAMILY, "1-a.json", type="schedule_task", prompt="x", schedule_type="cron", schedule_value="0 9 * *")
    await requests.look()
    path = requests.box(FAMILY, "answers") / "1-a.json"
    return path.exists() and requests.answer(FAMILY, "1-a.json")["status"] == "refused"


async def schedules_in_the_zone(requests: RequestHarness) -> bool:
    """Nine o'clock is that of the group, which is in Shanghai."""
    task = await requests.schedule()
    return "T09:00:00.000+08:00" in task["next_runs"][0]["at_local"]


SCENARIOS = (
    repeats_nothing,
    trusts_the_directory,
    serves_in_turn,
    shows_changes,
    reports_refusals,
    schedules_in_the_zone,
)


@pytest.mark.parametrize("scenario", SCENARIOS)
async def test_guarantee_holds(requests: RequestHarness, scenario: Any) -> None:
    assert await scenario(requests)


async def test_missing_record_is_found(requests: RequestHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    init, names = RequestRecord.__init__, count()

    def forget(record: RequestRecord, request: Request, *arguments: Any) -> None:
        init(record, request._replace(name=str(next(names))), *arguments)

    monkeypatch.setattr(RequestRecord, "__init__", forget)
    assert not await repeats_nothing(requests)


async def test_identity_of_the_content_is_found(requests: RequestHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    open_account = executor.RequestExecutor._open_account

    async def trust(self: executor.RequestExecutor, request: Request) -> Any:
        claimed = (request.document or {}).get("groupFolder", request.folder)
        return await open_account(self, request._replace(folder=str(claimed)))

    monkeypatch.setattr(executor.RequestExecutor, "_open_account", trust)
    assert not await trusts_the_directory(requests)


async def test_service_without_turns_is_found(requests: RequestHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    def keep_order(requests: Iterable[Request]) -> Iterable[Request]:
        return requests

    monkeypatch.setattr(watcher, "take_turns", keep_order)
    assert not await serves_in_turn(requests)


async def test_snapshot_that_reads_no_events_is_found(
    requests: RequestHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read_nothing(_self: Snapshots) -> None:
        return

    monkeypatch.setattr(Snapshots, "_read_events", read_nothing)
    assert not await shows_changes(requests)


async def test_refusal_that_is_only_logged_is_found(
    requests: RequestHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """NanoClaw wrote a warning to its log and deleted the file: the agent believed that the task was scheduled."""

    def log_only(self: Inbox, request: Request, answer: Any) -> None:
        logging.getLogger("horae").warning("refused: %s", answer)
        self._put_aside(request)

    monkeypatch.setattr(Inbox, "answer", log_only)
    assert not await reports_refusals(requests)
    assert "refused" in caplog.text


async def test_zone_of_the_process_is_found(requests: RequestHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(GroupAccount, "zone", "UTC")
    assert not await schedules_in_the_zone(requests)
