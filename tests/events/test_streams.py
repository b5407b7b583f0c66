"""Event streams over HTTP: every event once, in order, of the caller's owner only, with resume, filters and limits."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from horae.model.accounts.principal import LOCAL
from horae.model.events.event import EventKind
from horae.model.task import Task
from horae.ports.full_store import FullStore
from horae.service.accounts.tokens import CACHED_SECONDS
from horae.service.events import event_tail as tails
from horae.web import event_streams
from tests.api.api_server import Api

from .event_server import (
    SECONDS,
    Frame,
    Reader,
    add_task,
    read_stream,
    record_event,
    record_events,
    serve_api,
    slow_session,
)


async def test_events_are_streamed_as_cloud_events() -> None:
    async with serve_api() as api, read_stream(api) as reader:
        task = await add_task(api.service.store)
        frame = await reader.frame()
        assert frame is not None
        assert frame.event == "task.created"
        assert frame.data == {
            "specversion": "1.0",
            "id": f"evt_{frame.id}",
            "source": "/owners/ada",
            "type": "dev.horae.task.created.v1",
            "subject": task.id,
            "time": "2026-03-01T12:00:00.000000Z",
            "datacontenttype": "application/json",
            "data": {
                "number": int(frame.id),
                "kind": "task.created",
                "owner": "ada",
                "task_id": task.id,
                "run_id": None,
                "detail": None,
            },
            "sequence": frame.id.zfill(19),
        }
        assert reader.answer.headers["content-type"].startswith("text/event-stream")


async def test_owners_get_their_own_events_and_an_admin_all() -> None:
    async with (
        serve_api() as api,
        read_stream(api) as ada,
        read_stream(api, who="bob") as bob,
        read_stream(api, who="admin") as all_,
    ):
        hers, his = await add_task(api.service.store, "ada"), await add_task(api.service.store, "bob")
        for number in range(50):
            await record_event(api.service.store, hers, detail=f"ada {number}")
            await record_event(api.service.store, his, detail=f"bob {number}")
        for reader, name in ((ada, "ada"), (bob, "bob")):
            assert await reader.read_details(51) == [None, *(f"{name} {number}" for number in range(50))]
        assert len(await all_.read_details(102)) == 102


async def test_agents_and_anonymous_callers_are_refused() -> None:
    async with serve_api() as api:
        stream = {"Accept": "text/event-stream"}
        for who, status in (("robot", 403), (None, 401)):
            for headers in (stream, {}):
                assert (await api.get("/v1/events", who=who, headers=headers)).status == status
        assert (await api.get("/v1/events", who="vic")).status == 200


async def test_stream_resumes_by_last_event_id_without_loss_or_duplicates() -> None:
    """Reconnects repeatedly while events are written: all parts together are the whole log, once and in order."""

    async with serve_api() as api:
        task = await add_task(api.service.store)
        received: list[str] = []
        writing = asyncio.ensure_future(_write_events(api.service.store, task, 600))
        last = "0"
        while len(received) < 601:
            async with read_stream(api, headers={"Last-Event-ID": last}) as reader:
                received += await reader.read_details(min(37, 601 - len(received)))
                last = reader.last
        await writing
        assert received == [None, *(f"{number}" for number in range(600))]


async def _write_events(store: FullStore, task: Task, number: int) -> None:
    """Write events with breaks, so that readers connect in between."""
    for each in range(number):
        await record_event(store, task, detail=f"{each}")
        if each % 10 == 0:
            await asyncio.get_running_loop().run_in_executor(None, lambda: None)


async def test_stream_sends_the_history_and_then_live_events() -> None:
    async with serve_api() as api:
        task = await add_task(api.service.store)
        await record_events(api.service.store, task, [f"{number}" for number in range(3 * tails.PAGE_SIZE + 7)])
        async with read_stream(api, "?after=0") as reader:
            old = await reader.read_details(3 * tails.PAGE_SIZE + 8)
            assert old[1:] == [f"{number}" for number in range(3 * tails.PAGE_SIZE + 7)]
            await record_event(api.service.store, task, detail="new")
            assert await reader.read_details(1) == ["new"]


async def test_stream_and_page_are_filtered_by_kind_and_task() -> None:
    async with serve_api() as api:
        one, other = await add_task(api.service.store), await add_task(api.service.store)
        query = f"?types=task.e*,task.failing&task={one.id}&after=0"
        async with read_stream(api, query) as reader:
            for task in (one, other):
                await record_event(api.service.store, task, EventKind.TASK_PAUSED, "no")
                await record_event(api.service.store, task, EventKind.TASK_EDITED, task.id)
                await record_event(api.service.store, task, EventKind.TASK_FAILING, task.id)
            await record_event(api.service.store, one, detail="last")
            assert await reader.read_details(3) == [one.id, one.id, "last"]
        page = (await api.get(f"/v1/events{query}")).json
        assert [each["data"]["detail"] for each in page["items"]] == [one.id, one.id, "last"]
        assert (await api.get("/v1/events?types=run.exploded")).status == 422
        assert (await api.get("/v1/events?tipes=run.*")).status == 400


async def test_ndjson_stream_has_the_same_events() -> None:
    async with serve_api() as api:
        task = await add_task(api.service.store)
        headers = {"Accept": "application/x-ndjson", "Authorization": f"Bearer {api.tokens['ada']}"}
        async with api.session.get(f"{api.base}/v1/events?after=0", headers=headers) as answer:
            assert await answer.content.readline() == b"\n"
            created = json.loads(await answer.content.readline())
            assert (created["type"], created["sequence"]) == ("dev.horae.task.created.v1", "1".zfill(19))
            await record_event(api.service.store, task, detail="new")
            assert json.loads(await answer.content.readline())["data"]["detail"] == "new"


async def test_pages_cover_the_whole_log_with_next_positions() -> None:
    async with serve_api() as api:
        task = await add_task(api.service.store)
        await record_events(api.service.store, task, [f"{number}" for number in range(450)])
        found, after = [], 0
        while True:
            page = (await api.get(f"/v1/events?after={after}&limit=200")).json
            found += [each["data"]["number"] for each in page["items"]]
            if page["next"] == after:
                break
            after = page["next"]
        assert found == list(range(1, 452))
        assert (await api.get("/v1/events", who="bob")).json == {"items": [], "next": 0, "last": 0}


async def test_revoked_token_ends_its_streams_and_no_others() -> None:
    async with serve_api() as api:
        token, text = await api.service.tokens.make(LOCAL, owner="ada", name="second")
        api.tokens["second"] = text
        task = await add_task(api.service.store)
        async with read_stream(api) as other, read_stream(api, who="second") as reader:
            await api.service.tokens.revoke(LOCAL, token.id)
            frame = await reader.frame()
            assert frame is not None
            assert (frame.event, frame.data["reason"]) == ("end", "revoked")
            assert await reader.frame() is None
            await record_event(api.service.store, task, detail="still here")
            assert await other.read_details(1) == ["still here"]


def test_stream_ends_within_a_second_after_its_token_is_revoked() -> None:
    """Worst case: the token was cached just before it was revoked, and expires just after a check."""
    assert CACHED_SECONDS + event_streams.CHECK_SECONDS < 1


async def test_removed_position_is_reported_as_a_gap_and_the_rest_follows() -> None:
    async with serve_api() as api:
        task = await add_task(api.service.store)
        await record_events(api.service.store, task, ["old"] * 10)
        before = api.service.store
        await before.trim(task.created.replace(year=2027), 0, 1_000)
        await record_event(api.service.store, task, detail="remaining")
        async with read_stream(api, headers={"Last-Event-ID": "3"}) as reader:
            frame = await reader.frame()
            assert frame is not None
            assert (frame.event, frame.data) == ("gap", {"after": 3, "resumes": 11})
            assert await reader.read_details(1) == ["remaining"]
        problem = await api.get("/v1/events?after=3")
        assert (problem.status, problem.code) == (410, "events_gone")
        assert (await api.get("/v1/events?after=0")).status == 200
        async with read_stream(api, "?after=999") as reader:
            frame = await reader.frame()
            assert frame is not None
            assert (frame.event, frame.data) == ("gap", {"after": 999, "resumes": 12})


async def test_two_hundred_readers_get_every_event_once() -> None:
    async with serve_api() as api, asyncio.TaskGroup() as group:
        task = await add_task(api.service.store)
        ready = asyncio.Barrier(201)

        async def read() -> list[str]:
            async with read_stream(api, who="ada") as reader:
                await ready.wait()
                return await reader.read_details(20)

        readers = [group.create_task(read()) for _ in range(200)]
        await ready.wait()
        for number in range(20):
            await record_event(api.service.store, task, detail=f"{number}")
        for each in readers:
            assert await each == [f"{number}" for number in range(20)]
        assert api.app.context.tail.listening <= 200


async def test_slow_reader_is_cut_off_and_resumes_without_affecting_others() -> None:
    async with serve_api() as api:
        task = await add_task(api.service.store)
        async with slow_session() as session, read_stream(api) as fast:
            slow = Api(api.base, api.app, api.service, session, api.tokens)
            async with read_stream(slow) as reader:
                received = 0
                while received < 16_000:
                    await record_events(api.service.store, task, ["x" * 1_000] * 1_000)
                    received += len(await fast.read_details(1_000))
                frames = [frame async for frame in _read_all(reader)]
                numbers = [int(frame.id) for frame in frames[:-1]]
                assert frames[-1].event == "end"
                assert frames[-1].data == {"reason": "too slow", "after": numbers[-1]}
                assert len(numbers) < 16_000
            async with read_stream(api, headers={"Last-Event-ID": reader.last}) as again:
                while len(numbers) < 16_000:
                    frame = await again.frame()
                    assert frame is not None
                    numbers.append(int(frame.id))
            assert numbers == list(range(2, 16_002))


async def _read_all(reader: Reader) -> AsyncIterator[Frame]:
    while (frame := await reader.frame()) is not None:
        yield frame


async def test_idle_stream_sends_heartbeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "HEARTBEAT_SECONDS", 0.0)

    async with serve_api() as api, read_stream(api) as reader:
        async with asyncio.timeout(SECONDS):
            assert await reader.answer.content.readline() == b":\n"


async def test_stuck_reader_is_disconnected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "STUCK_SECONDS", 1.0)
    monkeypatch.setattr(tails, "MAX_EVENTS_BEHIND", 10**9)
    async with asyncio.timeout(SECONDS), serve_api() as api, slow_session() as session:
        task = await add_task(api.service.store)
        slow = Api(api.base, api.app, api.service, session, api.tokens)
        async with read_stream(slow):
            for _ in range(16):
                await record_events(api.service.store, task, ["x" * 1_000] * 1_000)
            while api.app.context.tail.listening:
                assert (await api.get("/healthz", who=None)).status == 200


async def test_log_is_not_read_without_streams() -> None:
    async with serve_api() as api:
        async with read_stream(api):
            reader = api.app.context.tail.tail._reader
            assert not reader.done()
        await asyncio.wait_for(asyncio.shield(reader), 5)
        assert api.app.context.tail.listening == 0
