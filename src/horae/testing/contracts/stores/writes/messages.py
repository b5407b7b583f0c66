"""Contract of message streams: numbers, deduplication, owners, cursors that move with a run, retention with gaps."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
import json
from datetime import datetime
from typing import Final

from .....errors import Conflict, InvalidTask, NotFound, TooMuch
from .....lifecycle.control.control import delete
from .....lifecycle.settle import settle as settle_by_core
from .....model.events.event import EventKind
from .....model.messages import (
    CursorMove,
    Gap,
    KeepRules,
    NewMessage,
    RunWrites,
    Stream,
    StreamQuota,
    StreamUsage,
)
from .....model.outcome import Failed, Outcome, Skipped, Succeeded
from .....model.record import Record, RecordWrite
from .....model.run import Run, RunState
from .....model.task_data import TASK_DATA_KIND
from .....ports.full_store import FullStore
from .....ports.messages import MessageTrim
from ....decisions import lose
from ....factories import DAY, HOUR, MICROSECOND, MINUTE, NODE, NOON, a_settlement, a_task
from ..contract import Contract
from ..setup import add_tasks, get_run, start_run

_CHAT: Final = "chat:1"
_READER: Final = "handled"


def a_message(
    place: int, stream: str = _CHAT, text: str | None = None, at: datetime = NOON, source: str = "web"
) -> NewMessage:
    return NewMessage(stream, f"message {place} 漢字 🌱" if text is None else text, "Ada", source, f"id-{place}", at)


async def fill(store: FullStore, count: int, owner: str = "ada", stream: str = _CHAT, at: datetime = NOON) -> None:
    """Append messages with the numbers 1 to `count`."""
    await store.append_messages(owner, [a_message(place, stream, at=at) for place in range(1, count + 1)])


async def numbers_of(store: FullStore, after: int = 0, reader: str | None = None, owner: str = "ada") -> list[int]:
    page = await store.read_messages(owner, _CHAT, after, 100, reader)
    assert page is not None
    return [message.number for message in page.messages]


async def position(store: FullStore, reader: str = _READER, owner: str = "ada") -> int | None:
    state = await store.stream(owner, _CHAT)
    return None if state is None else next((each.number for each in state.cursors if each.reader == reader), None)


def a_move(*numbers: int, reader: str = _READER, at: datetime = NOON) -> CursorMove:
    return CursorMove(_CHAT, reader, tuple((number, number) for number in numbers), at)


async def _chat(store: FullStore, count: int = 5) -> Run:
    """A stream with a registered reader, and a live run of its owner."""
    run = await start_run(store, a_task(owner="ada"))
    await fill(store, count)
    await store.register_reader("ada", _CHAT, _READER, 0, NOON)
    return run


async def _settle(store: FullStore, run: Run, writes: RunWrites, outcome: Outcome | None = None) -> frozenset[str]:
    settlement = a_settlement(run, outcome=outcome or Succeeded(), writes=writes)
    return await store.settle([settlement], settle_by_core)


class MessagesContract(Contract):
    async def test_messages_are_numbered_in_the_order_of_their_append(self, store: FullStore) -> None:
        given = [a_message(1), a_message(2, at=NOON + MICROSECOND), a_message(3, at=NOON - DAY)]
        assert await store.append_messages("ada", given[:2]) == (1, 2)
        assert await store.append_messages("ada", given[2:]) == (3,)
        page = await store.read_messages("ada", _CHAT)
        assert page is not None
        assert [each.message for each in page.messages] == given
        assert [each.number for each in page.messages] == [1, 2, 3]
        assert (page.stream.first, page.stream.last, page.next_after, page.gaps) == (1, 3, None, ())

    async def test_a_repeated_append_returns_the_first_number(self, store: FullStore) -> None:
        await fill(store, 3)
        assert await store.append_messages("ada", [a_message(2, text="other"), a_message(4)]) == (2, 4)
        assert await store.append_messages("ada", [a_message(9), a_message(9, text="again")]) == (5, 5)
        assert await store.append_messages("ada", [a_message(2, source="mail")]) == (6,)
        page = await store.read_messages("ada", _CHAT, 1, 1)
        assert page is not None
        assert page.messages[0].message == a_message(2)

    async def test_data_of_a_task_is_deleted_with_it(self, store: FullStore) -> None:
        kept, deleted = a_task(), a_task()
        await add_tasks(store, kept, deleted)
        for task in (kept, deleted):
            await store.put_record(Record(TASK_DATA_KIND, task.id, task.owner, '{"a":1}'), replacing=None)
        await store.change(deleted.id, None, lambda facts: delete(facts, NOON + MINUTE))
        assert await store.get_record(TASK_DATA_KIND, deleted.id) is None
        assert await store.get_record(TASK_DATA_KIND, kept.id) is not None

    async def test_one_append_writes_to_several_streams(self, store: FullStore) -> None:
        given = [a_message(1, "b"), a_message(2, "a"), a_message(3, "b")]
        assert await store.append_messages("ada", given) == (1, 1, 2)
        streams = await store.streams("ada")
        assert [(stream.name, stream.last) for stream in streams.items] == [("a", 1), ("b", 2)]

    async def test_references_and_sizes_are_kept(self, store: FullStore) -> None:
        message = a_message(1, text="é" * 10)._replace(references='[{"url":"https://example.com/\\"漢\\""}]')
        await store.append_messages("ada", [message])
        page = await store.read_messages("ada", _CHAT)
        assert page is not None
        assert page.messages[0].message == message
        assert page.stream.bytes == message.size == 20 + len(message.references.encode())

    async def test_concurrent_appends_leave_no_hole(self, store: FullStore) -> None:
        async with self.another(store) as other:
            appends = [
                (other if place % 2 else store).append_messages("ada", [a_message(place)]) for place in range(20)
            ]
            numbers = [number for (number,) in await asyncio.gather(*appends)]
        assert sorted(numbers) == list(range(1, 21)) == await numbers_of(store)

    async def test_concurrent_repetitions_append_once(self, store: FullStore) -> None:
        async with self.another(store) as other:
            appends = [(other if place % 2 else store).append_messages("ada", [a_message(1)]) for place in range(8)]
            assert set(await asyncio.gather(*appends)) == {(1,)}
        assert await numbers_of(store) == [1]

    async def test_pages_are_bounded(self, store: FullStore) -> None:
        await fill(store, 5)
        page = await store.read_messages("ada", _CHAT, 1, 2)
        assert page is not None
        assert ([each.number for each in page.messages], page.next_after) == ([2, 3], 3)
        large = [a_message(place, "large", "x" * 60_000) for place in range(20)]
        await store.append_messages("ada", large)
        page = await store.read_messages("ada", "large", 0, 100)
        assert page is not None
        assert (len(page.messages), page.next_after) == (17, 17)

    async def test_a_foreign_stream_is_like_an_absent_one(self, store: FullStore) -> None:
        await fill(store, 2)
        assert await store.read_messages("bob", _CHAT) is None
        assert await store.stream("bob", _CHAT) is None
        assert await store.register_reader("bob", _CHAT, _READER, 0, NOON) is None
        assert not await store.remove_reader("bob", _CHAT, _READER)
        assert not await store.delete_stream("bob", _CHAT)
        assert await store.append_messages("bob", [a_message(7)]) == (1,)
        assert await numbers_of(store) == [1, 2]

    async def test_streams_are_listed_by_owner_and_name(self, store: FullStore) -> None:
        for owner, name in (("bob", "c"), ("ada", "b"), ("ada", "a"), ("ada", "c")):
            await fill(store, 1, owner, name)
        first = await store.streams(None, None, 3)
        rest = await store.streams(None, first.after, 3)
        assert [(each.owner, each.name) for each in (*first.items, *rest.items)] == [
            ("ada", "a"),
            ("ada", "b"),
            ("ada", "c"),
            ("bob", "c"),
        ]
        assert rest.after is None
        page = await store.streams("ada", None, 2)
        assert [each.name for each in (await store.streams("ada", page.after)).items] == ["c"]

    async def test_quotas_refuse_an_append_whole(self, store: FullStore) -> None:
        await fill(store, 1)
        for quota in (StreamQuota(1), StreamQuota(5, 40), StreamQuota(messages=1), StreamQuota(text_bytes=5)):
            try:
                await store.append_messages("ada", [a_message(2), a_message(3, "other")], quota)
            except (TooMuch, InvalidTask):
                pass
            else:
                raise AssertionError("the quota was exceeded")
        assert await store.stream_usage("ada") == StreamUsage(1, a_message(1).size)
        assert await numbers_of(store) == [1]

    async def test_quotas_refuse_a_settlement_whole(self, store: FullStore) -> None:
        run = await _chat(store, 3)
        writes = RunWrites(messages=(a_message(9),), moves=(a_move(1, 2, 3),), quota=StreamQuota(messages=3))
        for write in (_settle(store, run, writes), store.commit_writes(run.id, run.token, writes)):
            try:
                await write
            except TooMuch:
                pass
            else:
                raise AssertionError("the quota was exceeded")
        assert (await get_run(store, run)).live
        assert (await numbers_of(store), await position(store)) == ([1, 2, 3], 0)

    async def test_an_append_is_an_event_without_the_text(self, store: FullStore) -> None:
        await fill(store, 2)
        await fill(store, 2)
        (event,) = [each.event for each in await store.events(0)]
        assert (event.kind, event.owner, event.task_id, event.at) == (EventKind.MESSAGE_APPENDED, "ada", "", NOON)
        assert json.loads(event.detail or "") == {"stream": _CHAT, "first": 1, "last": 2}

    async def test_records_are_attached_to_an_append(self, store: FullStore) -> None:
        writing = RecordWrite(Record("note", "a", "ada", "{}"))
        assert await store.append_messages("ada", [a_message(1)], attached_records=[writing]) == (1,)
        try:
            await store.append_messages("ada", [a_message(2)], attached_records=[writing])
        except Conflict:
            pass
        else:
            raise AssertionError("the record was written twice")
        assert await numbers_of(store) == [1]

    # --- readers ---------------------------------------------------------------------------------------------------

    async def test_reading_moves_no_cursor(self, store: FullStore) -> None:
        await fill(store, 3)
        await store.register_reader("ada", _CHAT, _READER, 1, NOON)
        assert await numbers_of(store, reader=_READER) == [2, 3] == await numbers_of(store, reader=_READER)
        assert await store.read_messages("ada", _CHAT, reader="other") is None

    async def test_a_registered_reader_stays_where_it_is(self, store: FullStore) -> None:
        await fill(store, 3)
        end = await store.register_reader("ada", _CHAT, "end", None, NOON)
        assert end is not None
        assert end.number == 3
        assert await store.register_reader("ada", _CHAT, "end", 0, NOON + HOUR) == end
        beyond = await store.register_reader("ada", _CHAT, "beyond", 99, NOON)
        assert beyond is not None
        assert beyond.number == 3
        assert await store.remove_reader("ada", _CHAT, "end")
        assert not await store.remove_reader("ada", _CHAT, "end")
        assert await position(store, "end") is None

    # --- writes of runs --------------------------------------------------------------------------------------------

    async def test_a_settlement_carries_messages_records_and_moves(self, store: FullStore) -> None:
        run = await _chat(store)
        record = RecordWrite(Record("note", "a", "ada", "{}"))
        answer = a_message(9)
        assert (
            await _settle(store, run, RunWrites((record,), (answer,), (a_move(1, 2, at=NOON + HOUR),))) == frozenset()
        )
        assert (await get_run(store, run)).state is RunState.SUCCEEDED
        assert await position(store) == 2
        assert await numbers_of(store, 2) == [3, 4, 5, 6]
        assert await store.get_record("note", "a") is not None
        event = (await store.events(0))[-1].event
        assert (event.kind, event.task_id, event.run_id) == (EventKind.MESSAGE_APPENDED, run.task_id, run.id)

    async def test_a_stale_token_writes_nothing_of_a_settlement(self, store: FullStore) -> None:
        run = await _chat(store)
        writes = RunWrites((RecordWrite(Record("note", "a", "ada", "{}")),), (a_message(9),), (a_move(1),))
        assert await _settle(store, run._replace(token=run.token + 1), writes) == {run.id}
        assert not await store.commit_writes(run.id, run.token + 1, writes)
        assert not await store.commit_writes("run_unknown", run.token, writes)
        assert (await position(store), await numbers_of(store)) == (0, [1, 2, 3, 4, 5])
        assert await store.get_record("note", "a") is None

    async def test_a_run_that_was_taken_over_moves_no_cursor(self, store: FullStore) -> None:
        run = await _chat(store)
        await store.recover(NODE, 0, lose, 10)
        assert not await store.commit_writes(run.id, run.token, RunWrites(moves=(a_move(1),)))
        assert await _settle(store, run, RunWrites(moves=(a_move(1),))) == {run.id}
        assert await position(store) == 0

    async def test_a_failed_run_has_handled_nothing(self, store: FullStore) -> None:
        run = await _chat(store)
        await _settle(store, run, RunWrites((), (a_message(9),), (a_move(1),)), Failed("no"))
        assert (await get_run(store, run)).state is RunState.FAILED
        assert (await position(store), await numbers_of(store)) == (0, [1, 2, 3, 4, 5])

    async def test_a_run_that_skipped_itself_has_handled_its_messages(self, store: FullStore) -> None:
        run = await _chat(store)
        await _settle(store, run, RunWrites(moves=(a_move(1),)), Skipped("nothing to do"))
        assert await position(store) == 1

    async def test_a_changed_record_writes_nothing_of_a_settlement(self, store: FullStore) -> None:
        run = await _chat(store)
        stale = RecordWrite(Record("note", "a", "ada", "{}"), 7)
        try:
            await _settle(store, run, RunWrites((stale,), (a_message(9),), (a_move(1),)))
        except Conflict:
            pass
        else:
            raise AssertionError("the record had another version")
        assert (await get_run(store, run)).live
        assert (await position(store), await numbers_of(store)) == (0, [1, 2, 3, 4, 5])

    async def test_a_move_of_an_unknown_reader_writes_nothing(self, store: FullStore) -> None:
        run = await _chat(store)
        for move in (a_move(1, reader="other"), a_move(1)._replace(stream="other")):
            try:
                await _settle(store, run, RunWrites((), (a_message(9),), (move,)))
            except NotFound:
                pass
            else:
                raise AssertionError("there is no such reader")
        assert (await get_run(store, run)).live
        assert await numbers_of(store) == [1, 2, 3, 4, 5]

    async def test_cursors_move_over_acknowledged_numbers_without_a_hole(self, store: FullStore) -> None:
        run = await _chat(store)
        for numbers, expected in (((1, 2, 4), 2), ((4,), 2), ((3, 4), 4), ((1,), 4), ((5, 6, 99), 5)):
            assert await store.commit_writes(run.id, run.token, RunWrites(moves=(a_move(*numbers),)))
            assert await position(store) == expected
        assert (await get_run(store, run)).live

    async def test_a_progress_write_leaves_the_run_as_it_is(self, store: FullStore) -> None:
        run = await _chat(store)
        assert await store.commit_writes(run.id, run.token, RunWrites((), (a_message(9),), (a_move(1),)))
        assert await get_run(store, run) == run
        assert await numbers_of(store, reader=_READER) == [2, 3, 4, 5, 6]
        assert await store.check() == ()

    async def test_settlements_of_one_batch_share_a_stream(self, store: FullStore) -> None:
        first = await _chat(store)
        second = await start_run(store, a_task(owner="ada"))
        batch = [
            a_settlement(first, outcome=Succeeded(), writes=RunWrites((), (a_message(8),), (a_move(1, 2),))),
            a_settlement(second, outcome=Succeeded(), writes=RunWrites((), (a_message(9),), (a_move(3),))),
        ]
        assert await store.settle(batch, settle_by_core) == frozenset()
        assert (await position(store), await numbers_of(store, 5)) == (3, [6, 7])

    # --- retention -------------------------------------------------------------------------------------------------

    async def test_retention_removes_what_every_reader_has_passed(self, store: FullStore) -> None:
        run = await _chat(store)
        await store.register_reader("ada", _CHAT, "seen", 4, NOON)
        await store.commit_writes(run.id, run.token, RunWrites(moves=(a_move(1, 2),)))
        rules = KeepRules(100, 90 * DAY, HOUR)
        assert (await store.trim_messages(NOON + HOUR, rules, 100)).messages == 0
        trimmed = await store.trim_messages(NOON + 2 * HOUR, rules, 100)
        assert (trimmed.messages, trimmed.more) == (2, False)
        page = await store.read_messages("ada", _CHAT)
        assert page is not None
        assert ([each.number for each in page.messages], page.gaps) == ([3, 4, 5], ())
        assert (await store.trim_messages(NOON + 2 * HOUR, rules, 100)).messages == 0
        assert await store.check() == ()

    async def test_a_stream_without_readers_keeps_its_messages(self, store: FullStore) -> None:
        await fill(store, 3)
        assert (await store.trim_messages(NOON + DAY, KeepRules(100, 90 * DAY, HOUR), 100)).messages == 0

    async def test_unread_messages_beyond_the_count_leave_a_gap(self, store: FullStore) -> None:
        await _chat(store)
        later = NOON + MINUTE
        assert (await store.trim_messages(later, KeepRules(3), 100)).messages == 2
        page = await store.read_messages("ada", _CHAT, reader=_READER)
        assert page is not None
        assert page.gaps == (Gap(1, 2, later),)
        assert [each.number for each in page.messages] == [3, 4, 5]
        await store.append_messages("ada", [a_message(6)])
        await store.trim_messages(later + MINUTE, KeepRules(3), 100)
        page = await store.read_messages("ada", _CHAT, 1)
        assert page is not None
        assert page.gaps == (Gap(2, 3, later + MINUTE),)
        assert page.gaps[0].length == 2
        assert await store.check() == ()

    async def test_a_cursor_moves_over_a_gap(self, store: FullStore) -> None:
        run = await _chat(store)
        await store.trim_messages(NOON, KeepRules(3), 100)
        await store.commit_writes(run.id, run.token, RunWrites(moves=(a_move(3),)))
        assert await position(store) == 3
        await store.trim_messages(NOON + 2 * DAY, KeepRules(3), 100)
        state = await store.stream("ada", _CHAT)
        assert state is not None
        assert state.gaps == ()

    async def test_messages_beyond_an_age_go(self, store: FullStore) -> None:
        await store.append_messages("ada", [a_message(1), a_message(2, at=NOON + HOUR), a_message(3)])
        assert (await store.trim_messages(NOON + DAY + MINUTE, KeepRules(keep_for=DAY), 100)).messages == 1
        assert await numbers_of(store) == [2, 3]
        await store.put_stream(Stream("ada", _CHAT, NOON, keep_for=HOUR))
        assert (await store.trim_messages(NOON + DAY, KeepRules(), 100)).messages == 2
        assert await numbers_of(store) == []
        assert await store.append_messages("ada", [a_message(4)]) == (4,)
        assert await store.check() == ()

    async def test_a_stream_has_caps_of_its_own(self, store: FullStore) -> None:
        created = await store.put_stream(Stream("ada", _CHAT, NOON, keep=2))
        assert created == Stream("ada", _CHAT, NOON, keep=2)
        await fill(store, 5)
        await fill(store, 5, stream="other")
        assert (await store.trim_messages(NOON, KeepRules(), 100)).messages == 3
        assert await numbers_of(store) == [4, 5]
        after = await store.put_stream(Stream("ada", _CHAT, NOON + HOUR))
        assert (after.created, after.keep, after.last) == (NOON, None, 5)

    async def test_retention_works_in_small_batches(self, store: FullStore) -> None:
        await fill(store, 5)
        await fill(store, 5, stream="other")
        removed: list[MessageTrim] = []
        while not removed or removed[-1].more:
            removed.append(await store.trim_messages(NOON, KeepRules(1), 3))
        assert [each.messages for each in removed] == [3, 3, 2]
        assert await store.check() == ()

    async def test_a_deleted_stream_is_gone_with_everything(self, store: FullStore) -> None:
        await _chat(store)
        for place in range(0, 1_200, 300):
            batch = [a_message(number, text="x") for number in range(100 + place, 400 + place)]
            await store.append_messages("ada", batch)
        assert await store.delete_stream("ada", _CHAT)
        assert await store.stream("ada", _CHAT) is None
        assert await store.stream_usage("ada") == StreamUsage()
        assert await store.append_messages("ada", [a_message(1)]) == (1,)
        assert await position(store) is None
        assert await store.check() == ()

    async def test_too_many_readers_are_refused(self, store: FullStore) -> None:
        await fill(store, 1)
        quota = StreamQuota(readers=2)
        for place in range(2):
            await store.register_reader("ada", _CHAT, f"reader-{place}", 0, NOON, quota=quota)
        try:
            await store.register_reader("ada", _CHAT, "one-more", 0, NOON, quota=quota)
        except TooMuch:
            pass
        else:
            raise AssertionError("a reader too many")
