"""Snapshots: fields, rights, and that they follow every change."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from horae.agents.requests.request_host import RequestHost
from horae.agents.requests.snapshots import KnownChat
from horae.clock import SystemClock
from horae.model.accounts.principal import LOCAL, Principal

from .request_harness import CHATS, FAMILY, MAIN, WORK, RequestHarness


async def test_snapshot_has_the_fields_of_nanoclaw(requests: RequestHarness) -> None:
    task = await requests.schedule(prompt="weather\nreport", context_mode="group")
    await requests.host.snapshots.refresh()
    (item,) = requests.snapshot(FAMILY)
    assert item == {
        "id": task["id"],
        "groupFolder": FAMILY,
        "prompt": "weather\nreport",
        "script": None,
        "schedule_type": "cron",
        "schedule_value": "0 9 * * *",
        "status": "active",
        "next_run": "2026-03-02T01:00:00.000Z",
        "last_result": None,
        "name": "weather report",
        "key": None,
        "context_mode": "group",
        "description": "every day at 09:00, Asia/Shanghai (cron 0 9 * * *)",
        "zone": "Asia/Shanghai",
    }


async def test_snapshot_shows_the_script_of_a_task_that_waits_for_approval(requests: RequestHarness) -> None:
    await requests.schedule(script="true")
    await requests.host.snapshots.refresh()
    (item,) = requests.snapshot(FAMILY)
    assert (item["script"], item["status"], item["next_run"]) == ("true", "paused", None)


async def test_schedules_are_written_as_nanoclaw_writes_them(requests: RequestHarness) -> None:
    await requests.schedule(schedule_type="interval", schedule_value="600000")
    await requests.schedule(schedule_type="once", schedule_value="2026-06-01T15:30:00")
    await requests.accepted(FAMILY, type="schedule_task", prompt="x", when="on the last Friday of every month at 17:00")
    await requests.host.snapshots.refresh()
    words = [(each["schedule_type"], each["schedule_value"]) for each in requests.snapshot(FAMILY)]
    assert words[:2] == [("interval", "600000"), ("once", "2026-06-01T15:30:00")]
    assert "Friday" in words[2][1]


async def test_agents_see_the_tasks_of_their_group_and_main_sees_all(requests: RequestHarness) -> None:
    own, other = await requests.schedule(FAMILY), await requests.schedule(WORK)
    person = await requests.add_persons_task(FAMILY, prompts=False)
    await requests.add_persons_task(FAMILY, owner=None)
    await requests.host.snapshots.refresh()
    assert {each["id"] for each in requests.snapshot(WORK)} == {other["id"]}
    family = {each["id"] for each in requests.snapshot(FAMILY)}
    assert {own["id"], person} <= family
    assert other["id"] not in family
    assert {each["id"] for each in requests.snapshot(MAIN)} == family | {other["id"]}
    assert {each["groupFolder"] for each in requests.snapshot(MAIN)} == {FAMILY, WORK}


async def test_every_change_shows_also_of_other_processes(requests: RequestHarness) -> None:
    task = await requests.schedule()
    await requests.host.snapshots.refresh()
    # Another process has its own service.
    await requests.service.tasks.pause(Principal("group:family"), task["id"])
    await requests.host.snapshots.refresh()
    (paused,) = requests.snapshot(FAMILY)
    assert (paused["status"], paused["next_run"]) == ("paused", None)
    assert requests.snapshot(MAIN)[0]["status"] == "paused"
    await requests.accepted(FAMILY, type="cancel_task", taskId=task["id"])
    await requests.host.snapshots.refresh()
    assert requests.snapshot(FAMILY) == requests.snapshot(MAIN) == []


async def test_unchanged_snapshots_are_not_written_again(requests: RequestHarness) -> None:
    await requests.schedule()
    await requests.host.snapshots.refresh()
    path = requests.workspace.group_ipc(FAMILY) / "current_tasks.json"
    other = requests.workspace.group_ipc(WORK) / "current_tasks.json"
    before, untouched = path.stat().st_ino, other.stat().st_ino
    await requests.host.snapshots.refresh()
    assert path.stat().st_ino == before
    await requests.schedule(prompt="second")
    await requests.host.snapshots.refresh()
    assert path.stat().st_ino != before
    assert other.stat().st_ino == untouched


async def test_snapshots_are_written_before_an_agent_starts_whatever_is_there(
    requests: RequestHarness, tmp_path: Path
) -> None:
    await requests.schedule()
    await requests.host.write_snapshots(FAMILY)
    path = requests.workspace.group_ipc(FAMILY) / "current_tasks.json"
    outside = tmp_path / "outside.json"
    outside.write_text("mine", encoding="utf-8")
    path.unlink()
    path.symlink_to(outside)
    await requests.host.write_snapshots(FAMILY)
    assert not path.is_symlink()
    assert len(requests.snapshot(FAMILY)) == 1
    assert outside.read_text(encoding="utf-8") == "mine"
    assert path.stat().st_mode & 0o777 == 0o644


async def test_directory_that_is_a_link_stops_no_other_snapshot(requests: RequestHarness, tmp_path: Path) -> None:
    os.symlink(tmp_path, requests.workspace.group_ipc(FAMILY))  # noqa: PTH211 - the link comes first
    await requests.schedule(WORK)
    await requests.host.snapshots.refresh()
    assert len(requests.snapshot(WORK)) == 1
    assert not (tmp_path / "current_tasks.json").exists()


class _Chats:
    async def chats(self) -> Sequence[KnownChat]:
        return [KnownChat("telegram:-900", "Neighbours"), KnownChat(CHATS[FAMILY], "Our family")]


async def test_available_groups_are_for_the_main_group(requests: RequestHarness) -> None:
    await requests.accepted(WORK, type="message", text="x")
    host = RequestHost(requests.service, requests.clock, requests.workspace, chats=_Chats())
    await host.snapshots.refresh()
    listed = requests.snapshot(MAIN, "available_groups.json")
    assert listed["lastSync"] == "2026-03-01T12:00:00.000Z"
    assert listed["groups"] == [
        {"jid": "telegram:-900", "name": "Neighbours", "lastActivity": None, "isRegistered": False},
        {"jid": CHATS[FAMILY], "name": "Our family", "lastActivity": None, "isRegistered": True},
        {"jid": CHATS[MAIN], "name": MAIN, "lastActivity": None, "isRegistered": True},
        {"jid": CHATS[WORK], "name": WORK, "lastActivity": "2026-03-01T12:00:00.000Z", "isRegistered": True},
    ]
    assert requests.snapshot(FAMILY, "available_groups.json")["groups"] == []


async def test_refresh_groups_writes_the_list_again(requests: RequestHarness) -> None:
    await requests.host.snapshots.refresh()
    requests.clock.advance(60)
    answer = await requests.accepted(MAIN, type="refresh_groups")
    assert answer["groups"] == 3
    assert requests.snapshot(MAIN, "available_groups.json")["lastSync"] == "2026-03-01T12:01:00.000Z"


async def test_registered_and_removed_groups_show(requests: RequestHarness) -> None:
    await requests.host.snapshots.refresh()
    await requests.accepted(
        MAIN, type="register_group", jid="telegram:-300", name="Sport", folder="sport", trigger="@C"
    )
    await requests.schedule("sport")
    await requests.host.snapshots.refresh()
    assert len(requests.snapshot("sport")) == len(requests.snapshot(MAIN)) == 1
    chats = requests.snapshot(MAIN, "available_groups.json")["groups"]
    assert "telegram:-300" in {each["jid"] for each in chats}
    await requests.service.groups.remove(LOCAL, "sport")
    requests.host.note_groups_changed()
    await requests.host.snapshots.refresh()
    assert requests.snapshot(MAIN) == []


async def test_snapshot_shows_a_change_before_its_request_is_answered(requests: RequestHarness) -> None:
    for folder in (FAMILY, WORK):
        task = await requests.schedule(folder)
        assert [each["id"] for each in requests.snapshot(folder)] == [task["id"]]
        assert task["id"] in {each["id"] for each in requests.snapshot(MAIN)}
        await requests.accepted(folder, type="cancel_task", taskId=task["id"])
        assert requests.snapshot(folder) == requests.snapshot(MAIN) == []


async def test_loop_follows_a_change(requests: RequestHarness) -> None:
    host = RequestHost(requests.service, SystemClock(), requests.workspace)
    written = asyncio.Event()
    loop = asyncio.get_running_loop()

    async def write(function: Callable[..., Any], *arguments: Any) -> Any:
        done = await asyncio.to_thread(function, *arguments)
        names = [each[:2] for each in arguments[1]]
        if (FAMILY, "current_tasks.json") in names and requests.snapshot(FAMILY):
            loop.call_soon(written.set)
        return done

    host.snapshots._run_blocking = write
    running = asyncio.create_task(host.snapshots.run())
    await requests.schedule()
    host.note_tasks_changed()
    await asyncio.wait_for(written.wait(), 30)
    running.cancel()
    await asyncio.wait([running])
    assert len(requests.snapshot(FAMILY)) == 1


async def test_an_obstacle_of_one_agent_does_not_stop_the_snapshots_of_others(requests: RequestHarness) -> None:
    task = await requests.schedule(WORK)
    for folder in (FAMILY, MAIN):
        for name in ("current_tasks.json", "available_groups.json"):
            place = requests.workspace.group_ipc(folder) / name
            place.unlink(missing_ok=True)
            (place / "inside").mkdir(parents=True)
    await requests.host.snapshots.refresh()
    assert [each["id"] for each in requests.snapshot(WORK)] == [task["id"]]
    await requests.host.write_snapshots(WORK)
