"""Tools of a function: messages, records and the service as the run's principal, on the loop, in a thread and in a process."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from horae import Context, Horae
from horae.model.record import Record
from horae.model.run import Run, RunState
from horae.model.task_data import TASK_DATA_KIND
from horae.targets.function.registry import Isolation
from tests.app.message_functions import CHAT, handle, handle_async, later, read_large, refused

PLACES: list[tuple[Callable[..., Any], Isolation | None]] = [
    (handle, None),
    (handle, "process"),
    (handle_async, None),
    (handle_async, "thread"),
    (handle_async, "process"),
]


def make_app(function: Callable[..., Any], isolate: Isolation | None) -> Horae:
    app = Horae("memory://", zone="UTC")
    app.task(name="work", isolate=isolate, retries=0, give_up_after="never")(function)
    app.task(name="later")(later)
    return app


async def run_once(app: Horae) -> Run:
    return await (await app.schedule("work", "now")).wait(timeout=60)


async def texts(app: Horae) -> list[str]:
    return [each.message.text for each in (await app.messages.read(CHAT)).messages]


async def data_of(app: Horae, task_id: str) -> Any:
    record = await app.store.get_record(TASK_DATA_KIND, task_id)
    return None if record is None else json.loads(record.body)


@pytest.mark.parametrize(("function", "isolate"), PLACES)
async def test_messages_records_and_service_of_a_run(function: Callable[..., Any], isolate: Isolation | None) -> None:
    app = make_app(function, isolate)
    async with app:
        await app.messages.send(CHAT, "one")
        await app.messages.send(CHAT, "two")
        run = await run_once(app)
        assert (run.state, run.result) == (RunState.SUCCEEDED, ["one", "two"]), run.error
        assert await texts(app) == ["one", "two", "re: one", "re: two"]
        (cursor,) = (await app.messages.get(CHAT)).cursors
        assert cursor.number == 2
        assert await data_of(app, run.task_id) == {"runs": 1 if function is handle else 2}
        assert (await app.get("follow-up")).owner == app.who.owner
        await (await app.get(run.task_id)).delete()
        assert await data_of(app, run.task_id) is None, "the data goes with its task"


@pytest.mark.parametrize("isolate", [None, "process"])
async def test_a_failed_run_writes_nothing(isolate: Isolation | None) -> None:
    app = make_app(handle, isolate)
    async with app:
        await app.messages.send(CHAT, "fail")
        run = await run_once(app)
        assert "disk full" in (run.error or "")
        assert await texts(app) == ["fail"]
        (cursor,) = (await app.messages.get(CHAT)).cursors
        assert cursor.number == 0
        assert await data_of(app, run.task_id) is None


@pytest.mark.parametrize("isolate", [None, "thread", "process"])
async def test_refusals_reach_the_function_with_their_codes(isolate: Isolation | None) -> None:
    app = make_app(refused, isolate)
    async with app:
        await app.messages.send(CHAT, "hello")
        await app.schedule("later", "every 1h", name="foreign", owner="bob")
        run = await run_once(app)
        in_process = isolate == "process"
        assert run.result == [
            "message_too_large",
            "tool_call_too_large" if in_process else "message_too_large",
            "no_such_stream",
            "no_such_task",
            "task_data_too_large",
        ], run.error


async def test_a_page_larger_than_a_pipe_reaches_a_child_process() -> None:
    app = make_app(read_large, "process")
    async with app:
        for place in range(12):
            await app.messages.send(CHAT, str(place % 10) * 60_000)
        run = await run_once(app)
        assert run.result == 720_000, run.error


async def test_messages_of_a_run_count_for_its_owner() -> None:
    app = make_app(handle_async, None)
    async with app:
        await app.service.accounts.put(app.who, "ada", quotas={"stream_messages": 2})
        await app.messages.send(CHAT, "one", owner="ada")
        await app.messages.send(CHAT, "two", owner="ada")
        run = await (await app.schedule("work", "now", owner="ada")).wait(timeout=60)
        assert "at most 2 messages" in (run.error or "")
        assert len((await app.messages.read(CHAT, owner="ada")).messages) == 2


class OvertakenRun:
    """A function whose data is changed by another run after it has read it."""

    app: Horae

    async def work(self, context: Context) -> None:
        await context.records.put("number", 1)
        record = Record(TASK_DATA_KIND, context.task_id, context.owner, "{}")
        assert await self.app.store.put_record(record, replacing=None)


async def test_data_that_another_run_has_changed_fails_the_run() -> None:
    overtaken = OvertakenRun()
    overtaken.app = app = make_app(overtaken.work, None)
    async with app:
        run = await run_once(app)
        assert run.state is RunState.FAILED
        assert await data_of(app, run.task_id) == {}


async def call_in_async(context: Context) -> str:
    try:
        context.call(context.commit())
    except RuntimeError as error:
        return str(error)
    return ""


async def test_a_blocking_call_in_an_async_function_is_refused() -> None:
    app = make_app(call_in_async, None)
    async with app:
        run = await run_once(app)
        assert "await it instead" in str(run.result), run.error


def test_messages_of_a_blocking_app() -> None:
    with Horae("memory://", zone="UTC", engine=False).sync() as horae:
        messages = horae.messages
        assert messages.send(CHAT, "one", sender="Ada", id="1") == 1
        assert messages.keep(CHAT, count=5, age="30d").keep == 5
        assert messages.register(CHAT, "mine", after=0).number == 0
        assert [each.message.text for each in messages.read(CHAT, reader="mine").messages] == ["one"]
        assert [cursor.reader for cursor in messages.get(CHAT).cursors] == ["mine"]
        messages.unregister(CHAT, "mine")
        messages.delete(CHAT)
        assert messages.streams() == []
