"""The journal writer: lines from any thread, few writes, bounded, never in the way of a settlement."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from horae.clock import Clock, SystemClock
from horae.engine import journal_writer as scribe_module
from horae.engine.journal_writer import BATCH_SECONDS, JournalWriter
from horae.ports.journal import Line
from horae.stores.memory import MemoryStore
from horae.testing.factories import NOON, a_new_task, a_run, a_task
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import FaultyStore, as_store

TASK = a_task()
RUN = a_run(TASK)


def make_line(text: str = "so far, so good") -> Line:
    return Line(RUN.id, NOON, "info", text)


async def make_writer(store: FaultyStore, clock: Clock) -> JournalWriter:
    await as_store(store).add([a_new_task(TASK, runs=[RUN])])
    scribe = JournalWriter(as_store(store), clock)
    scribe.start()
    return scribe


async def texts(store: FaultyStore) -> list[str]:
    return [line.line.text for line in await as_store(store).lines(RUN.id)]


async def test_a_burst_of_lines_is_one_write_soon(clock: VirtualClock) -> None:
    store = FaultyStore()
    scribe = await make_writer(store, clock)
    for number in range(50):
        scribe.write(make_line(str(number)))
    assert store.count("write_lines") == 0
    await clock.pause(2 * BATCH_SECONDS)
    assert store.count("write_lines") == 1
    assert await texts(store) == [str(number) for number in range(50)]
    scribe.write(make_line("later"))
    await clock.pause(2 * BATCH_SECONDS)
    assert store.count("write_lines") == 2


async def test_flush_writes_all_lines(clock: VirtualClock) -> None:
    store = FaultyStore()
    scribe = await make_writer(store, clock)
    scribe.write(make_line("one"))
    store.block("write_lines")
    first = asyncio.ensure_future(scribe.flush())
    await clock.pause(0)
    second = asyncio.ensure_future(scribe.flush())
    await clock.pause(0)
    assert not second.done(), "the line is still on its way"
    store.unblock()
    await asyncio.gather(first, second)
    assert await texts(store) == ["one"]


async def test_lines_may_come_from_many_threads() -> None:
    store = FaultyStore(MemoryStore())
    scribe = await make_writer(store, SystemClock())

    def speak(name: int) -> None:
        for number in range(100):
            scribe.write(make_line(f"{name}/{number}"))

    threads = [threading.Thread(target=speak, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    await scribe.stop()
    said = await texts(store)
    assert len(said) == 400
    for name in range(4):
        assert [each for each in said if each.startswith(f"{name}/")] == [f"{name}/{n}" for n in range(100)]


def test_thread_that_outlives_the_loop_may_log() -> None:
    scribe = asyncio.run(make_writer(FaultyStore(MemoryStore()), SystemClock()))
    scribe.write(make_line("is anybody there?"))


async def test_lines_are_written_after_a_store_error(clock: VirtualClock) -> None:
    store = FaultyStore()
    scribe = await make_writer(store, clock)
    store.fail_before("write_lines", times=2)
    scribe.write(make_line("one"))
    await scribe.flush()
    scribe.write(make_line("two"))
    assert await texts(store) == []
    await clock.pause(5)
    assert await texts(store) == ["one", "two"]


async def test_buffer_is_bounded_and_keeps_the_newest_lines(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scribe_module, "MAX_PENDING", 10)

    store = FaultyStore()
    scribe = await make_writer(store, clock)
    for number in range(15):
        scribe.write(make_line(str(number)))
    store.block("write_lines")
    store.fail_before("write_lines")
    flush = asyncio.ensure_future(scribe.flush())
    await clock.pause(0)
    for number in range(15, 22):
        scribe.write(make_line(str(number)))
    store.unblock()
    await flush
    await clock.pause(5)
    assert await texts(store) == [str(number) for number in range(12, 22)]


async def test_dropped_lines_are_counted_in_the_log(clock: VirtualClock, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger="horae"):
        store = FaultyStore()
        scribe = await make_writer(store, clock)
        store.fail_before("write_lines", error=UnicodeError("a lone surrogate"))
        scribe.write(make_line("\ud800"))
        await scribe.flush()
        scribe.write(make_line("fine"))
        await clock.pause(1)
        assert await texts(store) == ["fine"]
    assert "cannot be kept" in caplog.text


async def test_stopped_log_writer_can_be_restarted(clock: VirtualClock) -> None:
    store = FaultyStore()
    scribe = await make_writer(store, clock)
    scribe.write(make_line("one"))
    await clock.pause(BATCH_SECONDS / 2)
    await scribe.stop()
    scribe.start()
    scribe.write(make_line("two"))
    await clock.pause(1)
    assert await texts(store) == ["one", "two"]
