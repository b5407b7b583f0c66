"""Reads of a turn: bounded by the messages of its prompt, however many messages that wake nothing wait in the chat."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from random import Random
from typing import Any, NamedTuple

import pytest

from horae.agents.router.position import POSITION_KIND
from horae.agents.target.stream_reader import StreamReader
from horae.agents.target.turn_state import MessageBatch
from horae.engine.run_messages import RunMessages
from horae.model.agents.group import Group
from horae.model.messages import CursorMove, RunWrites
from horae.model.run import Run
from horae.ports.channel import IncomingMessage
from horae.ports.chat_messages import to_stream_message
from horae.ports.target import DEFAULT_READER
from tests.agents.host.host_harness import HostHarness, open_host

WAITING = 2_000


@pytest.fixture
async def host() -> AsyncIterator[HostHarness]:
    async with open_host() as harness:
        yield harness


class LiveRun(NamedTuple):
    run: Run
    key: str = "key"


class CountingMessages:
    """Messages of a run that counts its reads."""

    def __init__(self, messages: RunMessages) -> None:
        self._messages = messages
        self.pages = 0
        self.read_messages = 0

    async def read(self, *arguments: Any, **options: Any) -> Any:
        page = await self._messages.read(*arguments, **options)
        self.pages += 1
        self.read_messages += len(page.messages)
        return page


async def post(host: HostHarness, group: Group, texts: Sequence[str], prefix: str) -> None:
    reports = [
        IncomingMessage("1", f"{prefix}{n}", f"{prefix}{n}", "ada", "Ada", text, host.clock.now())
        for n, text in enumerate(texts)
    ]
    stored = [to_stream_message(group.stream, "test", each, host.clock.now()) for each in reports]
    for begin in range(0, len(stored), 100):
        await host.store.append_messages(group.owner, stored[begin : begin + 100])


def reader_of(host: HostHarness, group: Group, run: Run) -> tuple[StreamReader, CountingMessages]:
    messages = CountingMessages(RunMessages(host.store, LiveRun(run), host.clock.now))
    return StreamReader(messages, host.store, group, "UTC"), messages  # type: ignore[arg-type]


async def test_a_turn_reads_a_bounded_number_of_messages_that_wait(host: HostHarness) -> None:
    group = await host.add_group()
    await post(host, group, [f"earlier {number};" for number in range(WAITING)], "a")
    await host.look()
    await post(host, group, ["@Andy answer"], "b")
    await host.look()
    (run,) = await host.turns()
    reader, messages = reader_of(host, group, run)

    batch = await reader.next_batch()

    assert batch is not None
    assert (batch.first, batch.handled, batch.length) == (1, WAITING + 1, 200)
    assert f"earlier {WAITING - 1};" in batch.prompt
    assert f"earlier {WAITING - 200};" not in batch.prompt
    assert f"{WAITING - 199}" in batch.prompt, "the prompt says how many messages it leaves out"
    assert (messages.pages, messages.read_messages) == (2, 400)


async def test_an_idle_agent_reads_a_bounded_number_of_messages_that_wake_nothing(host: HostHarness) -> None:
    group = await host.add_group()
    await post(host, group, ["@Andy answer"], "a")
    await host.look()
    (run,) = await host.turns()
    reader, messages = reader_of(host, group, run)
    assert await reader.next_batch() is not None
    await post(host, group, [f"chatter {number};" for number in range(WAITING)], "b")
    await host.look()
    assert await reader.next_batch(1) is None
    messages.pages = 0

    await post(host, group, ["more"], "c")
    await host.look()
    assert await reader.next_batch(1) is None

    assert messages.pages <= 3


async def test_a_reader_without_the_position_of_the_router_finds_the_same_messages(host: HostHarness) -> None:
    group = await host.add_group()
    await post(host, group, ["earlier"] * 500 + ["@Andy answer"], "a")
    await host.look()
    (run,) = await host.turns()
    bounded = await reader_of(host, group, run)[0].next_batch()
    record = await host.store.get_record(POSITION_KIND, group.folder)
    assert record is not None
    await host.store.drop_record(POSITION_KIND, group.folder, record.version)

    assert await reader_of(host, group, run)[0].next_batch() == bounded


@pytest.mark.parametrize("seed", range(20))
async def test_bounded_reads_find_the_batch_of_a_whole_scan(
    seed: int, host: HostHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any order of messages, looks of the router and turns; small pages instead of many messages."""
    for name in (
        "target.stream_reader.PAGE_MESSAGES",
        "target.stream_reader.MAX_TURN_MESSAGES",
        "router.turn.MAX_TURN_MESSAGES",
    ):
        monkeypatch.setattr(f"horae.agents.{name}", 4)
    random, group, number = Random(seed), await host.add_group(), 0
    await post(host, group, ["@Andy first"], "first")
    await host.look()
    (run,) = await host.turns()
    await host.store.register_reader(group.owner, group.stream, DEFAULT_READER, 0, host.clock.now())
    for step in range(40):
        count = random.randrange(12)
        texts = [f"@Andy {each}" if random.random() < 0.1 else f"text {each}" for each in range(number, number + count)]
        number += count
        await post(host, group, texts, f"{step}-")
        if random.random() < 0.7:
            await host.look()
        handled = await host.handled(group)
        batch = await reader_of(host, group, run)[0].next_batch(handled)
        assert batch == await scan(host, group, run, handled)
        if batch is not None and random.random() < 0.5:
            move = CursorMove(group.stream, DEFAULT_READER, ((handled + 1, batch.handled),), host.clock.now())
            assert await host.store.commit_writes(run.id, run.token, RunWrites(moves=(move,)))


async def scan(host: HostHarness, group: Group, run: Run, handled: int) -> MessageBatch | None:
    reader, _ = reader_of(host, group, run)

    async def read_from_the_cursor(handled: int) -> int:
        del handled
        return 0

    reader._find_start = read_from_the_cursor  # type: ignore[method-assign]
    return await reader.next_batch(handled)
