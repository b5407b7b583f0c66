"""The journal writer: lines from any thread, few writes, bounded, never in the way of a settlement."""

from __future__ import annotations

import asyncio
import logging
import threading

import pytest

from horae.clock import Clock, SystemClock
from horae.engine import journal_writer as scribe_module
from horae.engine.journal_writer import BATCH_SECONDS, LINE_OVERHEAD, JournalWriter, RunLogUsage
from horae.model.limits import LOG_BYTES
from horae.ports.journal import Line
from horae.stores.memory import MemoryStore
from horae.testing.factories import NOON, a_new_task, a_run, a_task
from horae.virtual_time import VirtualClock
from tests.unit.engine.engine_setup import FaultyStore, as_store

TASK = a_task()
RUN = a_run(TASK)


class Writer(JournalWriter):
    """Writer with one run, whose lines it counts."""

    usage = RunLogUsage()

    def log(self, line: Line) -> None:
        self.write(line, self.usage)


def make_line(text: str = "so far, so good") -> Line:
    return Line(RUN.id, NOON, "info", text)


async def make_writer(store: FaultyStore, clock: Clock, run_bytes: int = LOG_BYTES) -> Writer:
    await as_store(store).add([a_new_task(TASK, runs=[RUN])])
    scribe = Writer(as_store(store), clock, run_bytes)
    scribe.usage = RunLogUsage()
    scribe.start()
    return scribe


async def texts(store: FaultyStore) -> list[str]:
    return [line.line.text for line in await as_store(store).lines(RUN.id)]


async def test_a_burst_of_lines_is_one_write_soon(clock: VirtualClock) -> None:
    store = FaultyStore()
    scribe = await make_writer(store, clock)
    for number in range(50):
        scribe.log(make_line(str(number)))
    assert store.count("write_lines") == 0
    await clock.pause(2 * BATCH_SECONDS)
    assert store.count("write_lines") == 1
    assert await texts(store) == [str(number) for number in range(50)]
    scribe.log(make_line("later"))
    await clock.pause(2 * BATCH_SECONDS)
    assert store.count("write_lines") == 2


async def test_flush_writes_all_lines(clock: VirtualClock) -> None:
    store = FaultyStore()
    scribe = await make_writer(store, clock)
    scribe.log(make_line("one"))
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
            scribe.log(make_line(f"{name}/{number}"))

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
    scribe.log(make_line("is anybody there?"))


async def test_lines_are_written_after_a_store_error(clock: VirtualClock) -> None:
    store = FaultyStore()
    scribe = await make_writer(store, clock)
    store.fail_before("write_lines", times=2)
    scribe.log(make_line("one"))
    await scribe.flush()
    scribe.log(make_line("two"))
    assert await texts(store) == []
    await clock.pause(5)
    assert await texts(store) == ["one", "two"]


async def test_buffer_is_bounded_and_keeps_the_newest_lines(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scribe_module, "MAX_PENDING_BYTES", 10 * (LINE_OVERHEAD + 2))

    store = FaultyStore()
    scribe = await make_writer(store, clock)
    for number in range(15):
        scribe.log(make_line(f"{number:02}"))
    store.block("write_lines")
    store.fail_before("write_lines")
    flush = asyncio.ensure_future(scribe.flush())
    await clock.pause(0)
    for number in range(15, 22):
        scribe.log(make_line(str(number)))
    store.unblock()
    await flush
    await clock.pause(5)
    assert await texts(store) == [str(number) for number in range(12, 22)]


async def test_dropped_lines_are_counted_in_the_log(clock: VirtualClock, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger="horae"):
        store = FaultyStore()
        scribe = await make_writer(store, clock)
        store.fail_before("write_lines", error=UnicodeError("a lone surrogate"))
        scribe.log(make_line("\ud800"))
        await scribe.flush()
        scribe.log(make_line("fine"))
        await clock.pause(1)
        assert await texts(store) == ["fine"]
    assert "cannot be kept" in caplog.text


async def test_stopped_log_writer_can_be_restarted(clock: VirtualClock) -> None:
    store = FaultyStore()
    scribe = await make_writer(store, clock)
    scribe.log(make_line("one"))
    await clock.pause(BATCH_SECONDS / 2)
    await scribe.stop()
    scribe.start()
    scribe.log(make_line("two"))
    await clock.pause(1)
    assert await texts(store) == ["one", "two"]


async def test_many_lines_are_several_writes_in_order(clock: VirtualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scribe_module, "MAX_BATCH", 10)
    store = FaultyStore()
    scribe = await make_writer(store, clock)
    for number in range(25):
        scribe.log(make_line(str(number)))
    await scribe.flush()
    assert store.count("write_lines") == 3
    assert await texts(store) == [str(number) for number in range(25)]


async def test_error_in_the_middle_of_a_flush_keeps_the_order(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scribe_module, "MAX_BATCH", 10)
    store = FaultyStore()
    scribe = await make_writer(store, clock)
    for number in range(10):
        scribe.log(make_line(str(number)))
    await scribe.flush()
    store.fail_before("write_lines")
    for number in range(10, 35):
        scribe.log(make_line(str(number)))
    await scribe.flush()
    assert len(await texts(store)) == 10
    await clock.pause(5)
    assert await texts(store) == [str(number) for number in range(35)]


async def test_log_of_a_run_is_bounded_by_its_bytes_with_a_final_notice(clock: VirtualClock) -> None:
    store = FaultyStore()
    scribe = await make_writer(store, clock, run_bytes=30)
    for _ in range(5):
        scribe.log(make_line("漢字十二個"[:4]))  # 12 bytes
    await scribe.flush()
    *kept, last = await as_store(store).lines(RUN.id)
    assert [each.line.text for each in kept] == ["漢字十二"] * 2
    assert (last.line.level, last.line.text.startswith("More was said")) == ("warning", True)
    assert scribe.usage.lines == 5


async def test_lines_beyond_the_bound_of_a_run_do_not_reach_the_buffer(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scribe_module, "LOG_LINES", 3)
    store = FaultyStore()
    scribe = await make_writer(store, clock)
    for number in range(10):
        scribe.log(make_line(str(number)))
    await scribe.flush()
    assert await texts(store) == ["0", "1", "2", "3"], "one more, from which the journal sees that lines were dropped"
