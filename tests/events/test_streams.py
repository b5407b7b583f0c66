"""Streams of events over HTTP: everything once, in order, only one's own; resumed after anything."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

import pytest

from horae.api import event_streams
from horae.model.accounts.principal import LOCAL
from horae.model.events.event import EventKind
from horae.model.task import Task
from horae.ports.full_store import FullStore
from horae.service.accounts.tokens import CACHED_SECONDS
from horae.service.events import event_tail as tails
from tests.api.api_server import Api

from .event_server import SECONDS, Frame, Reader, added, happens, many_happen, reading, serve_api, slow_session


async def test_what_happens_is_told_as_cloud_events() -> None:
    async with serve_api() as api, reading(api) as reader:
        task = await added(api.service.store)
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


async def test_two_owners_hear_only_what_is_theirs_and_an_admin_hears_both() -> None:
    async with (
        serve_api() as api,
        reading(api) as ada,
        reading(api, who="bob") as bob,
        reading(api, who="admin") as all_,
    ):
        hers, his = await added(api.service.store, "ada"), await added(api.service.store, "bob")
        for number in range(50):
            await happens(api.service.store, hers, detail=f"ada {number}")
            await happens(api.service.store, his, detail=f"bob {number}")
        for reader, name in ((ada, "ada"), (bob, "bob")):
            assert await reader.details(51) == [None, *(f"{name} {number}" for number in range(50))]
        assert len(await all_.details(102)) == 102


async def test_an_agent_hears_nothing_and_nobody_without_a_token() -> None:
    async with serve_api() as api:
        stream = {"Accept": "text/event-stream"}
        for who, status in (("robot", 403), (None, 401)):
            for headers in (stream, {}):
                assert (await api.get("/v1/events", who=who, headers=headers)).status == status
        assert (await api.get("/v1/events", who="vic")).status == 200


async def test_a_stream_goes_on_where_another_ended_without_loss_or_doubling() -> None:
    """Cut at every place while events go on: what all pieces heard is the whole, once and in order."""

    async with serve_api() as api:
        task = await added(api.service.store)
        heard: list[str] = []
        writing = asyncio.ensure_future(_write(api.service.store, task, 600))
        last = "0"
        while len(heard) < 601:
            async with reading(api, headers={"Last-Event-ID": last}) as reader:
                heard += await reader.details(min(37, 601 - len(heard)))
                last = reader.last
        await writing
        assert heard == [None, *(f"{number}" for number in range(600))]


async def _write(store: FullStore, task: Task, number: int) -> None:
    """With breaks, so that readers come and go between."""
    for each in range(number):
        await happens(store, task, detail=f"{each}")
        if each % 10 == 0:
            await asyncio.get_running_loop().run_in_executor(None, lambda: None)


async def test_history_is_paged_and_then_goes_on_live() -> None:
    async with serve_api() as api:
        task = await added(api.service.store)
        await many_happen(api.service.store, task, [f"{number}" for number in range(3 * tails.PAGE_SIZE + 7)])
        async with reading(api, "?after=0") as reader:
            old = await reader.details(3 * tails.PAGE_SIZE + 8)
            assert old[1:] == [f"{number}" for number in range(3 * tails.PAGE_SIZE + 7)]
            await happens(api.service.store, task, detail="new")
            assert await reader.details(1) == ["new"]


async def test_filters_by_kind_and_task() -> None:
    async with serve_api() as api:
        one, other = await added(api.service.store), await added(api.service.store)
        query = f"?types=task.e*,task.failing&task={one.id}&after=0"
        async with reading(api, query) as reader:
            for task in (one, other):
                await happens(api.service.store, task, EventKind.TASK_PAUSED, "no")
                await happens(api.service.store, task, EventKind.TASK_EDITED, task.id)
                await happens(api.service.store, task, EventKind.TASK_FAILING, task.id)
            await happens(api.service.store, one, detail="last")
            assert await reader.details(3) == [one.id, one.id, "last"]
        page = (await api.get(f"/v1/events{query}")).json
        assert [each["data"]["detail"] for each in page["items"]] == [one.id, one.id, "last"]
        assert (await api.get("/v1/events?types=run.exploded")).status == 422
        assert (await api.get("/v1/events?tipes=run.*")).status == 400


async def test_lines_of_json_say_the_same() -> None:
    async with serve_api() as api:
        task = await added(api.service.store)
        headers = {"Accept": "application/x-ndjson", "Authorization": f"Bearer {api.tokens['ada']}"}
        async with api.session.get(f"{api.base}/v1/events?after=0", headers=headers) as answer:
            assert await answer.content.readline() == b"\n"
            created = json.loads(await answer.content.readline())
            assert (created["type"], created["sequence"]) == ("dev.horae.task.created.v1", "1".zfill(19))
            await happens(api.service.store, task, detail="new")
            assert json.loads(await answer.content.readline())["data"]["detail"] == "new"


async def test_pages_lead_through_everything_and_say_where_to_go_on() -> None:
    async with serve_api() as api:
        task = await added(api.service.store)
        await many_happen(api.service.store, task, [f"{number}" for number in range(450)])
        found, after = [], 0
        while True:
            page = (await api.get(f"/v1/events?after={after}&limit=200")).json
            found += [each["data"]["number"] for each in page["items"]]
            if page["next"] == after:
                break
            after = page["next"]
        assert found == list(range(1, 452))
        assert (await api.get("/v1/events", who="bob")).json == {"items": [], "next": 0, "last": 0}


async def test_a_token_that_is_revoked_ends_its_streams_and_no_others() -> None:
    async with serve_api() as api:
        token, text = await api.service.tokens.make(LOCAL, owner="ada", name="second")
        api.tokens["second"] = text
        task = await added(api.service.store)
        async with reading(api) as other, reading(api, who="second") as reader:
            await api.service.tokens.revoke(LOCAL, token.id)
            frame = await reader.frame()
            assert frame is not None
            assert (frame.event, frame.data["reason"]) == ("end", "revoked")
            assert await reader.frame() is None
            await happens(api.service.store, task, detail="still here")
            assert await other.details(1) == ["still here"]


def test_a_stream_ends_within_a_second_of_its_token() -> None:
    """At worst a token was remembered just before it was revoked, and forgotten just after a look."""
    assert CACHED_SECONDS + event_streams.CHECK_SECONDS < 1


async def test_a_position_that_the_log_no_longer_has_is_told_and_the_rest_follows() -> None:
    async with serve_api() as api:
        task = await added(api.service.store)
        await many_happen(api.service.store, task, ["old"] * 10)
        before = api.service.store
        await before.trim(task.created.replace(year=2027), 0, 1_000)
        await happens(api.service.store, task, detail="kept")
        async with reading(api, headers={"Last-Event-ID": "3"}) as reader:
            frame = await reader.frame()
            assert frame is not None
            assert (frame.event, frame.data) == ("gap", {"after": 3, "resumes": 11})
            assert await reader.details(1) == ["kept"]
        problem = await api.get("/v1/events?after=3")
        assert (problem.status, problem.code) == (410, "events_gone")
        assert (await api.get("/v1/events?after=0")).status == 200
        async with reading(api, "?after=999") as reader:
            frame = await reader.frame()
            assert frame is not None
            assert (frame.event, frame.data) == ("gap", {"after": 999, "resumes": 12})


async def test_two_hundred_readers_hear_everything_once() -> None:
    async with serve_api() as api, asyncio.TaskGroup() as group:
        task = await added(api.service.store)
        ready = asyncio.Barrier(201)

        async def read() -> list[str]:
            async with reading(api, who="ada") as reader:
                await ready.wait()
                return await reader.details(20)

        readers = [group.create_task(read()) for _ in range(200)]
        await ready.wait()
        for number in range(20):
            await happens(api.service.store, task, detail=f"{number}")
        for each in readers:
            assert await each == [f"{number}" for number in range(20)]
        assert api.app.state.context.tail.listening <= 200


async def test_who_reads_too_slowly_is_cut_off_and_resumes_and_nobody_else_notices() -> None:
    async with serve_api() as api:
        task = await added(api.service.store)
        async with slow_session() as session, reading(api) as fast:
            slow = Api(api.base, api.app, api.service, session, api.tokens)
            async with reading(slow) as reader:
                heard = 0
                while heard < 16_000:
                    await many_happen(api.service.store, task, ["x" * 1_000] * 1_000)
                    heard += len(await fast.details(1_000))
                frames = [frame async for frame in _all(reader)]
                numbers = [int(frame.id) for frame in frames[:-1]]
                assert frames[-1].event == "end"
                assert frames[-1].data == {"reason": "too slow", "after": numbers[-1]}
                assert len(numbers) < 16_000
            async with reading(api, headers={"Last-Event-ID": reader.last}) as again:
                while len(numbers) < 16_000:
                    frame = await again.frame()
                    assert frame is not None
                    numbers.append(int(frame.id))
            assert numbers == list(range(2, 16_002))


async def _all(reader: Reader) -> AsyncIterator[Frame]:
    while (frame := await reader.frame()) is not None:
        yield frame


async def test_a_quiet_stream_gives_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "HEARTBEAT_SECONDS", 0.0)

    async with serve_api() as api, reading(api) as reader:
        async with asyncio.timeout(SECONDS):
            assert await reader.answer.content.readline() == b":\n"


async def test_who_takes_nothing_at_all_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_streams, "STUCK_SECONDS", 1.0)
    monkeypatch.setattr(tails, "MAX_EVENTS_BEHIND", 10**9)
    async with asyncio.timeout(SECONDS), serve_api() as api, slow_session() as session:
        task = await added(api.service.store)
        slow = Api(api.base, api.app, api.service, session, api.tokens)
        async with reading(slow):
            for _ in range(16):
                await many_happen(api.service.store, task, ["x" * 1_000] * 1_000)
            while api.app.state.context.tail.listening:
                assert (await api.get("/healthz", who=None)).status == 200


async def test_nobody_reads_the_log_when_nobody_listens() -> None:
    async with serve_api() as api:
        async with reading(api):
            reader = api.app.state.context.tail.tail._reader
            assert not reader.done()
        await asyncio.wait_for(asyncio.shield(reader), 5)
        assert api.app.state.context.tail.listening == 0
