"""Watcher: files of all groups are served in turn, floods are bounded, hostile files are refused, crashes repeat nothing."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from horae.agents.requests.inbox import CLAIM_LEASE_SECONDS, MAX_ANSWERS, MAX_QUARANTINED, Inbox, Request, RequestBox
from horae.agents.requests.request_host import RequestHost
from horae.agents.requests.watcher import RESCAN_SECONDS, take_turns
from horae.clock import SystemClock
from horae.errors import StoreUnavailable
from horae.model.accounts.principal import LOCAL
from horae.model.ids import from_microseconds
from horae.service.accounts.audit import AuditFilter
from tests.sizes import sized

from .request_harness import FAMILY, MAIN, WORK, RequestHarness


async def test_files_are_carried_out_answered_and_removed(requests: RequestHarness) -> None:
    requests.put(FAMILY, "1-a.json", type="schedule_task", prompt="x", when="every 1h")
    requests.put(FAMILY, "2-a.json", type="message", text="hello")
    await requests.look()
    assert requests.answer(FAMILY, "1-a.json")["status"] == "accepted"
    assert requests.answer(FAMILY, "2-a.json")["message"] == "Message sent"
    assert [*requests.box(FAMILY).iterdir(), *requests.workspace.claimed.iterdir()] == []


async def test_files_of_one_millisecond_are_carried_out_in_the_order_written(requests: RequestHarness) -> None:
    for number, suffix in enumerate("zyxwv"):
        path = requests.put(FAMILY, f"1700000000000-{suffix}.json", type="message", text=suffix)
        os.utime(path, ns=(0, 1_700_000_000_000_000_000 + number))
    await requests.look()
    assert await requests.texts(FAMILY) == list("zyxwv")


async def test_a_directory_of_any_depth_is_removed_from_the_quarantine(requests: RequestHarness) -> None:
    """Its removal would otherwise end the watcher of all groups."""
    deep = requests.box(FAMILY) / "000.json"
    deep.mkdir()
    directory = os.open(deep, os.O_RDONLY)
    for _ in range(2 * sys.getrecursionlimit()):
        os.mkdir("d", dir_fd=directory)
        inner = os.open("d", os.O_RDONLY, dir_fd=directory)
        os.close(directory)
        directory = inner
    os.close(directory)
    for number in range(1, MAX_QUARANTINED + 1):
        (requests.box(FAMILY) / f"{number:03}.json").write_text("[]", encoding="utf-8")
    requests.put(WORK, "1.json", type="message", text="hello")
    await requests.look()
    kept = sorted(path.name for path in (requests.workspace.quarantine / FAMILY).iterdir())
    assert (len(kept), kept[0]) == (MAX_QUARANTINED, "00000002-001.json")
    assert await requests.texts(WORK) == ["hello"]


async def test_hostile_files_are_answered_and_quarantined(requests: RequestHarness, tmp_path: Path) -> None:
    secret = tmp_path / "secret.json"
    secret.write_text('{"type": "message", "text": "s3cret"}', encoding="utf-8")
    box = requests.box(FAMILY)
    (box / "01-link.json").symlink_to(secret)
    (box / "02-hard.json").hardlink_to(secret)
    os.mkfifo(box / "03-fifo.json")
    (box / "04-directory.json").mkdir()
    (box / "05-huge.json").write_bytes(b'{"a": "' + b"x" * 2_000_000 + b'"}')
    (box / "06-half.json").write_text('{"type": "mess', encoding="utf-8")
    (box / "07-deep.json").write_text('{"a":' * 100_000, encoding="utf-8")
    (box / "08-twice.json").write_text('{"type": "message", "type": "why"}', encoding="utf-8")
    (box / "09-list.json").write_text("[]", encoding="utf-8")
    with socket.socket(socket.AF_UNIX) as listener:
        previous = Path.cwd()
        os.chdir(box)
        try:
            listener.bind("10-socket.json")
        finally:
            os.chdir(previous)
    requests.put(FAMILY, "11-good.json", type="message", text="hello")
    await requests.look()
    names = sorted(path.name for path in requests.box(FAMILY, "answers").iterdir())
    assert len(names) == 11
    refused = [requests.answer(FAMILY, name) for name in names[:10]]
    assert {each["code"] for each in refused} == {"request_unreadable"}
    assert requests.answer(FAMILY, "11-good.json")["status"] == "accepted"
    assert await requests.texts(FAMILY) == ["hello"]
    assert len(list((requests.workspace.quarantine / FAMILY).iterdir())) == 10
    assert "s3cret" in secret.read_text(encoding="utf-8")
    assert await rows(requests) == []
    requests.clock.advance(1)
    await requests.look()
    ((folder, detail),) = await rows(requests)
    assert (folder, detail["refused"], detail["codes"]) == (FAMILY, 10, {"request_unreadable": 10})
    assert detail["problem"]


async def test_refused_requests_are_counted_in_one_row_a_minute(requests: RequestHarness) -> None:
    """Files of another group's task, of the main flag and of a forged identity among them."""
    task = await requests.schedule(WORK)
    forged = {"taskId": task["id"], "groupFolder": WORK, "isMain": True}
    for number in range(130):
        requests.put(FAMILY, f"{number:03d}-a.json", type="cancel_task", **forged)
        requests.put(FAMILY, f"{number:03d}-b.json", type="register_group", jid="x", isMain=True)
        await requests.look()
        requests.clock.advance(1)
    await requests.look()
    requests.clock.advance(60)
    await requests.look()
    found = await rows(requests)
    assert 2 <= len(found) <= 4
    assert {folder for folder, _ in found} == {FAMILY}
    codes = Counter[str]()
    for _, detail in found:
        codes.update(detail["codes"])
    assert codes["no_such_task"] == 130
    assert codes.total() == sum(detail["refused"] for _, detail in found) == 260


async def rows(requests: RequestHarness) -> list[tuple[str, Mapping[str, Any]]]:
    page = await requests.service.audit.page(LOCAL, wanted=AuditFilter(action="request.refused"))
    return [(each.subject, each.detail) for each in page.items]


async def test_directories_that_are_links_lead_nowhere(requests: RequestHarness, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "1-a.json").write_text('{"type": "message", "text": "x"}', encoding="utf-8")
    for name in ("tasks", "answers"):
        requests.box(FAMILY, name).rmdir()
        (requests.workspace.group_ipc(FAMILY) / name).symlink_to(outside)
    requests.put(FAMILY, "2-a.json", type="message", text="hello")
    await requests.look()
    assert [path.name for path in outside.iterdir()] == ["1-a.json"]
    assert await requests.texts(FAMILY) == ["hello"]
    for _ in range(3):
        requests.clock.advance(61)
        await requests.look()
    ((folder, detail),) = await rows(requests)
    assert (folder, detail["codes"]) == (FAMILY, {"unsafe_directory": 1})
    assert "tasks is not a directory" in detail["problem"]


async def test_answer_that_cannot_be_written_stops_no_other_group(
    requests: RequestHarness, caplog: pytest.LogCaptureFixture
) -> None:
    (requests.box(FAMILY, "answers") / "1-a.json" / "full").mkdir(parents=True)
    requests.put(FAMILY, "1-a.json", type="message", text="one")
    requests.put(FAMILY, "2-a.json", type="message", text="two")
    requests.put(WORK, "1-b.json", type="message", text="three")
    await requests.look()
    assert requests.answer(FAMILY, "2-a.json")["status"] == requests.answer(WORK, "1-b.json")["status"] == "accepted"
    assert await requests.texts(FAMILY) == ["one", "two"]
    assert not list(requests.workspace.claimed.iterdir())
    assert "was not written" in caplog.text


async def test_file_that_cannot_be_claimed_stops_no_other(
    requests: RequestHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a user other than root, the host cannot move a read-only directory."""
    rename = os.rename

    def refuse(name: Any, *arguments: Any, **options: Any) -> None:
        if str(name) == "1-a.json":
            raise PermissionError(name)
        rename(name, *arguments, **options)

    monkeypatch.setattr(os, "rename", refuse)
    requests.put(FAMILY, "1-a.json", type="message", text="one")
    requests.put(FAMILY, "2-a.json", type="message", text="two")
    requests.put(WORK, "1-b.json", type="message", text="three")
    await requests.look()
    assert await requests.texts(FAMILY) == ["two"]
    assert await requests.texts(WORK) == ["three"]


async def test_directory_of_an_unregistered_group_is_not_read(requests: RequestHarness) -> None:
    path = requests.put("stranger", "1-a.json", type="message", text="x")
    await requests.look()
    assert path.exists()


async def test_flood_is_bounded_counted_and_delays_no_other_group(requests: RequestHarness) -> None:
    host = requests.host
    await requests.service.accounts.put(LOCAL, "group:family", quotas={"requests_per_minute": 20})
    box = requests.box(FAMILY)
    document = json.dumps({"type": "pause_task", "taskId": "none"})
    files = sized(600, soak=10_000)
    for number in range(files):
        (box / f"{number:06d}-a.json").write_text(document, encoding="utf-8")
    requests.put(WORK, "1-a.json", type="message", text="hello")
    assert await host.watcher.look()
    assert requests.answer(WORK, "1-a.json")["status"] == "accepted"
    while await host.watcher.look():
        pass
    assert not list(box.iterdir())
    codes = {requests.answer(FAMILY, path.name)["code"] for path in requests.box(FAMILY, "answers").iterdir()}
    assert {"request_flood"} <= codes <= {"request_flood", "no_such_task"}
    assert len(list(requests.box(FAMILY, "answers").iterdir())) <= MAX_ANSWERS + 100
    requests.clock.advance(61)
    requests.put(FAMILY, "9999999-a.json", type="message", text="hello")
    await host.watcher.look()
    assert requests.answer(FAMILY, "9999999-a.json")["status"] == "accepted"
    rows = await requests.service.audit.page(LOCAL, wanted=AuditFilter(action="request.flood"))
    assert [(each.subject, each.detail, each.agent) for each in rows.items] == [
        (FAMILY, {"refused": files - 20}, FAMILY)
    ]


async def test_limit_of_requests_is_a_quota_of_the_group_or_of_its_agent(requests: RequestHarness) -> None:
    service, load = requests.service, requests.host.watcher._load_limit
    assert await load(FAMILY) == 600
    await service.accounts.put(LOCAL, "group:family", quotas={"requests_per_minute": 3})
    assert (await load(FAMILY), await load(WORK)) == (3, 600)
    for number in range(5):
        requests.put(FAMILY, f"{number}-a.json", type="message", text=str(number))
    await requests.look()
    answers = [requests.answer(FAMILY, f"{number}-a.json") for number in range(5)]
    assert [each.get("code") for each in answers] == [None, None, None, "request_flood", "request_flood"]
    assert "requests_per_minute" in answers[-1]["hint"]
    await service.accounts.put(LOCAL, "group:family", quotas={"requests_per_minute": 60})
    requests.clock.advance(10)
    for number in range(5, 10):
        requests.put(FAMILY, f"{number}-a.json", type="message", text=str(number))
    await requests.look()
    assert {requests.answer(FAMILY, f"{number}-a.json")["status"] for number in range(5, 10)} == {"accepted"}


def test_groups_take_turns() -> None:
    claimed = [Request(folder, RequestBox.TASKS, str(number)) for folder in "ab" for number in range(3)]
    served = [(each.folder, each.name) for each in take_turns([*claimed, Request("c", RequestBox.TASKS, "0")])]
    assert served == [("a", "0"), ("b", "0"), ("c", "0"), ("a", "1"), ("b", "1"), ("a", "2"), ("b", "2")]


async def test_request_that_the_store_cannot_take_waits_claimed(
    requests: RequestHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in (1, 2):
        requests.put(FAMILY, f"{number}-a.json", type="message", text=str(number))
    append = requests.store.append_messages

    async def fail(*_arguments: Any) -> Any:
        raise StoreUnavailable("gone")

    monkeypatch.setattr(requests.store, "append_messages", fail)
    assert not await requests.host.watcher.look()
    assert len(list(requests.workspace.claimed.iterdir())) == 2
    monkeypatch.setattr(requests.store, "append_messages", append)
    await requests.look()
    assert await requests.texts(FAMILY) == ["1", "2"]


async def test_defect_of_the_host_answers_one_request_and_serves_the_next(
    requests: RequestHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_arguments: Any, **_options: Any) -> Any:
        raise KeyError("planted")

    monkeypatch.setattr(requests.service.tasks, "create", fail)
    requests.put(FAMILY, "1-a.json", type="schedule_task", prompt="x", when="every 1h")
    requests.put(FAMILY, "2-a.json", type="message", text="hello")
    await requests.look()
    assert requests.answer(FAMILY, "1-a.json")["code"] == "request_failed"
    assert requests.answer(FAMILY, "2-a.json")["status"] == "accepted"
    assert "planted" in caplog.text


async def test_claimed_requests_are_recovered_at_the_start(requests: RequestHarness) -> None:
    requests.put(FAMILY, "1-a.json", type="message", text="hello")
    assert len(list(requests.host.inbox.claim([FAMILY]))) == 1
    again = RequestHost(requests.service, requests.clock, requests.workspace)
    await again.watcher.recover()
    await again.watcher.look()
    assert await requests.texts(FAMILY) == ["hello"]
    assert requests.answer(FAMILY, "1-a.json")["status"] == "accepted"


async def test_requests_of_a_host_that_has_ended_are_taken_over_by_a_live_one(requests: RequestHarness) -> None:
    requests.put(FAMILY, "1-a.json", type="schedule_task", prompt="x", when="every 1h")
    live = RequestHost(requests.service, requests.clock, requests.workspace)
    assert len(list(requests.host.inbox.claim([FAMILY]))) == 1  # and then the host ends
    await live.watcher.look()
    requests.clock.advance(CLAIM_LEASE_SECONDS - 1)
    requests.put(FAMILY, "2-a.json", type="message", text="hello")
    await live.watcher.look()
    assert await requests.texts(FAMILY) == ["hello"]
    assert (await requests.service.tasks.count(LOCAL)).number == 0, "its host may be at work"
    requests.clock.advance(1)
    await live.watcher.look()
    assert requests.answer(FAMILY, "1-a.json")["status"] == "accepted"
    assert (await requests.service.tasks.count(LOCAL)).number == 1
    assert not list(requests.workspace.claimed.iterdir())


async def test_request_that_two_hosts_carry_out_has_one_effect(requests: RequestHarness) -> None:
    """The first host hangs between its claim and its execution, and continues after the other one has taken over."""
    requests.put(FAMILY, "1-a.json", type="schedule_task", prompt="x", when="every 1h")
    live = RequestHost(requests.service, requests.clock, requests.workspace)
    (claimed,) = requests.host.inbox.claim([FAMILY])
    await live.watcher.look()
    requests.clock.advance(CLAIM_LEASE_SECONDS)
    await live.watcher.look()
    answer = await requests.executor.execute(claimed)
    requests.host.inbox.answer(claimed, answer)
    assert answer["repeated"]
    assert answer["task"] == requests.answer(FAMILY, "1-a.json")["task"]
    assert (await requests.service.tasks.count(LOCAL)).number == 1


async def test_stray_files_among_the_claimed_ones_are_left_alone(requests: RequestHarness) -> None:
    for name in ("note.txt", "a~b", "a~nobox~c.json"):
        (requests.workspace.claimed / name).write_text("x", encoding="utf-8")
    await requests.host.watcher.recover()
    assert not await requests.host.watcher.look()


async def test_loop_serves_files_as_they_come(requests: RequestHarness) -> None:
    assert RESCAN_SECONDS == 1
    host = RequestHost(requests.service, SystemClock(), requests.workspace)
    answered = asyncio.Event()
    answer = host.inbox.answer
    loop = asyncio.get_running_loop()

    def note(request: Request, document: Any) -> None:
        answer(request, document)
        loop.call_soon_threadsafe(answered.set)

    host.inbox.answer = note  # type: ignore[method-assign, assignment]
    running = asyncio.create_task(host.run())
    requests.put(MAIN, "1-a.json", type="message", text="one")
    host.watcher.wake()
    await asyncio.wait_for(answered.wait(), 30)
    answered.clear()
    requests.put(MAIN, "2-a.json", type="message", text="two")
    await asyncio.wait_for(answered.wait(), 30)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await requests.texts(MAIN) == ["one", "two"]


def test_unchanged_empty_directory_is_listed_until_no_file_can_be_hidden(tmp_path: Path) -> None:
    clock = _StepClock()
    inbox = Inbox(tmp_path / "ipc", tmp_path / "claimed", tmp_path / "quarantine", clock)
    box = tmp_path / "ipc" / "andy" / "tasks"
    box.mkdir(parents=True)
    changed = box.stat().st_mtime_ns
    assert list(inbox.claim(["andy"])) == []
    # Written within the same step of the file system's clock: the time of the directory does not show it.
    (box / "1-a.json").write_text("{}", encoding="utf-8")
    os.utime(box, ns=(changed, changed))
    assert [each.name for each in inbox.claim(["andy"])] == ["1-a.json"]
    for _ in range(3):
        clock.seconds += 1
        assert list(inbox.claim(["andy"])) == []
    (box / "2-a.json").write_text("{}", encoding="utf-8")
    assert [each.name for each in inbox.claim(["andy"])] == ["2-a.json"]


def test_time_of_a_request_is_that_of_its_last_change_which_its_writer_cannot_set(tmp_path: Path) -> None:
    inbox = Inbox(tmp_path / "ipc", tmp_path / "claimed", tmp_path / "quarantine")
    box = tmp_path / "ipc" / "andy" / "tasks"
    box.mkdir(parents=True)
    file = box / "1-a.json"
    file.write_text("{}", encoding="utf-8")
    future = SystemClock().now() + timedelta(days=1)
    os.utime(file, (future.timestamp(), future.timestamp()))
    changed = file.stat().st_ctime_ns
    (claimed,) = inbox.claim(["andy"])
    assert claimed.written == from_microseconds(changed // 1000)
    # The claim has changed the file: after a restart the time is not known.
    (recovered,) = inbox.recover()
    assert recovered == claimed._replace(written=None)


class _StepClock(SystemClock):
    seconds = 0.0

    def steady(self) -> float:
        return self.seconds
