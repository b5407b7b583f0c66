"""Sender of deliveries in virtual time: order, parts, delays, uncertain answers, receipts, channels that are gone."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest

from horae.agents.channels.refusals import refuse
from horae.agents.delivery import receipts
from horae.agents.delivery import sender as sender_module
from horae.agents.delivery.sender import SENDS_PER_CHANNEL, DeliverySender
from horae.errors import StoreUnavailable
from horae.model.agents.delivery import (
    FINISHED_RETENTION,
    MAX_PENDING,
    SEND_WINDOW,
    Delivery,
    DeliveryState,
    UncertainPolicy,
    delivery_from,
)
from horae.model.events.event import EventKind
from horae.model.record import Record, RecordWrite
from horae.ports.channel import DeliveryReceipt, DeliveryRefused, ReceiptState
from horae.service.chats.delivery_records import DeliveryIds, DeliveryQueue, DeliveryRecords
from horae.stores.memory import MemoryStore
from horae.testing.factories import HOUR, NOON, SECOND
from horae.virtual_time import VirtualClock
from tests.agents.delivery.scripted_channel import (
    OWNER,
    KeyedScriptedChannel,
    Outbox,
    ScriptedChannel,
    busy,
    no_answer,
)

FORBIDDEN = DeliveryRefused(refuse("channel_forbidden", service="Test", problem="kicked"))


class Setting:
    """A store, one channel `test`, a sender and an outbox."""

    def __init__(self, clock: VirtualClock, channel: ScriptedChannel, policy: UncertainPolicy) -> None:
        self.clock = clock
        self.channel = channel
        self.store = MemoryStore()
        self.outbox = Outbox(self.store)
        self.channels = {"test": channel}
        self.sender = DeliverySender(self.store, self.channels, clock, lambda: {"test", "other"}, policy)

    async def add(self, text: str, chat: str = "test:1") -> str:
        added = await self.outbox.add(chat, text, self.clock.now())
        self.sender.notify()
        return added

    async def until(self, is_true: Callable[[Delivery], bool], delivery_id: str) -> Delivery:
        while not is_true(found := await self.outbox.get(delivery_id)):
            await self.clock.pause(0.5)
        return found

    async def ended(self, delivery_id: str) -> Delivery:
        return await self.until(lambda found: not found.is_pending, delivery_id)

    async def events(self) -> list[EventKind]:
        return [each.event.kind for each in await self.store.events(0)]


@asynccontextmanager
async def sending(
    clock: VirtualClock,
    channel: ScriptedChannel | None = None,
    policy: UncertainPolicy = UncertainPolicy.REPEAT,
) -> AsyncIterator[Setting]:
    setting = Setting(clock, channel or ScriptedChannel(), policy)
    await setting.store.open()
    running = asyncio.create_task(setting.sender.run())
    try:
        yield setting
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def test_text_is_sent_once_with_its_key_and_recorded(clock: VirtualClock) -> None:
    async with sending(clock) as setting:
        sent = await setting.ended(await setting.add("hello"))
        assert (sent.state, sent.parts, sent.attempts) == (DeliveryState.SENT, ("m1",), 1)
        assert setting.channel.arrived == [("1", "hello")]
        assert setting.channel.keys == [f"{sent.id}.0"]
        assert await setting.events() == [EventKind.DELIVERY_SENT]
        record = await setting.store.get_record("delivery.finished", sent.id)
        assert record is not None
        assert sent.ended is not None
        assert record.expires == sent.ended + FINISHED_RETENTION


async def test_texts_of_a_chat_keep_their_order_while_other_chats_go_on(clock: VirtualClock) -> None:
    async with sending(clock) as setting:
        setting.channel.answers["1"] = [busy(30)]
        first = [await setting.add(text) for text in ("one", "two", "three")]
        other = [await setting.add(text, "test:2") for text in ("a", "b")]
        for each in other:
            await setting.ended(each)
        assert setting.channel.arrived == [("2", "a"), ("2", "b")]
        for each in first:
            await setting.ended(each)
        assert setting.channel.texts("1") == ["one", "two", "three"]
        assert (await setting.outbox.get(first[0])).attempts == 2


async def test_slow_chat_holds_up_no_other(clock: VirtualClock) -> None:
    async with sending(clock) as setting:
        gate = setting.channel.gates["1"] = asyncio.Event()
        slow = await setting.add("slow")
        await setting.ended(await setting.add("quick", "test:2"))
        assert setting.channel.arrived == [("2", "quick")]
        gate.set()
        await setting.ended(slow)


async def test_channel_sends_to_a_limited_number_of_chats_at_once(clock: VirtualClock) -> None:
    async with sending(clock) as setting:
        chats = [str(number) for number in range(20)]
        gate = asyncio.Event()
        setting.channel.gates = dict.fromkeys(chats, gate)
        added = [await setting.add("hello", f"test:{chat}") for chat in chats]
        await clock.pause(10)
        assert len(setting.channel.keys) == SENDS_PER_CHANNEL
        gate.set()
        for each in added:
            await setting.ended(each)


async def test_lost_channel_ends_a_text_after_the_part_that_is_being_sent(clock: VirtualClock) -> None:
    async with sending(clock) as setting:
        setting.channel.on_send = lambda _text: setting.channels.clear()
        added = await setting.add("aaaaaaaaa bbbbbbbbb")
        await setting.until(lambda found: len(found.parts) == 1, added)
        await clock.pause(10)
        assert setting.channel.texts("1") == ["aaaaaaaaa "]
        assert (await setting.outbox.get(added)).is_pending


async def test_rate_limit_in_the_middle_goes_on_with_the_missing_parts(clock: VirtualClock) -> None:
    async with sending(clock) as setting:
        setting.channel.answers["1"] = [None, None, busy(5), None, busy(5)]
        sent = await setting.ended(await setting.add("aaaaaaaaa bbbbbbbbb ccccccccc ddddddddd"))
        assert "".join(setting.channel.texts("1")) == "aaaaaaaaa bbbbbbbbb ccccccccc ddddddddd"
        assert (len(sent.parts), sent.attempts, sent.failures) == (4, 3, 0)
        assert sent.ended is not None
        assert sent.ended - NOON < 12 * SECOND


async def test_refused_text_has_failed_with_its_words_and_the_next_one_is_sent(clock: VirtualClock) -> None:
    async with sending(clock) as setting:
        setting.channel.answers["1"] = [FORBIDDEN]
        refused, following = await setting.add("no"), await setting.add("yes")
        failed = await setting.ended(refused)
        assert failed.state is DeliveryState.FAILED
        assert "kicked" in failed.problem
        assert (await setting.ended(following)).state is DeliveryState.SENT
        assert await setting.events() == [EventKind.DELIVERY_FAILED, EventKind.DELIVERY_SENT]


async def test_delay_is_reported_once_and_fails_after_a_day() -> None:
    clock = VirtualClock(NOON)
    setting = Setting(clock, ScriptedChannel(), UncertainPolicy.REPEAT)
    await setting.store.open()
    setting.channel.answers["1"] = [busy(1) for _ in range(2_000)]
    added = await setting.add("never")
    while (found := await setting.outbox.get(added)).is_pending:
        clock.advance(0 if found.not_before is None else (found.not_before - clock.now()).total_seconds())
        await setting.sender.step()
        await setting.sender.wait_idle()
    assert (found.state, found.problem) == (DeliveryState.FAILED, "Too Many Requests")
    assert found.ended == NOON + SEND_WINDOW
    assert 90 < found.attempts < 120
    assert await setting.events() == [EventKind.DELIVERY_DELAYED, EventKind.DELIVERY_FAILED]


async def test_text_without_an_answer_is_repeated_and_the_record_says_so(clock: VirtualClock) -> None:
    async with sending(clock) as setting:
        setting.channel.answers["1"] = [no_answer()]
        sent = await setting.ended(await setting.add("twice?"))
        assert setting.channel.texts("1") == ["twice?", "twice?"]
        assert (sent.state, sent.repeated_parts, sent.uncertain_since) == (DeliveryState.SENT, 1, None)
        assert len(set(setting.channel.keys)) == 1


async def test_text_without_an_answer_is_not_repeated_where_the_operator_forbids_it(clock: VirtualClock) -> None:
    async with sending(clock, policy=UncertainPolicy.FAIL) as setting:
        setting.channel.answers["1"] = [busy(), no_answer()]
        failed = await setting.ended(await setting.add("once at most"))
        assert failed.state is DeliveryState.FAILED
        assert "may have arrived" in failed.problem
        assert setting.channel.texts("1") == ["once at "]
        assert (await setting.ended(await setting.add("fine"))).state is DeliveryState.SENT


async def test_part_that_was_being_sent_at_a_crash_is_not_repeated_where_the_operator_forbids_it(
    clock: VirtualClock,
) -> None:
    channel = ScriptedChannel()
    async with sending(clock, channel, UncertainPolicy.FAIL) as setting:
        channel.gates["1"] = asyncio.Event()
        crashed = await setting.add("unknown")
        await setting.until(lambda found: found.uncertain_since is not None, crashed)
        successor = DeliverySender(setting.store, {"test": ScriptedChannel()}, clock, tuple, UncertainPolicy.FAIL)
        await successor.step()
        await successor.wait_idle()
        assert "may have arrived" in (await setting.outbox.get(crashed)).problem


async def test_service_that_drops_repetitions_gets_them_within_its_window(clock: VirtualClock) -> None:
    async with sending(clock, KeyedScriptedChannel(), UncertainPolicy.FAIL) as setting:
        setting.channel.answers["1"] = [no_answer(60)]
        assert (await setting.ended(await setting.add("keyed"))).state is DeliveryState.SENT
        setting.channel.answers["1"] = [no_answer(3_600)]
        late = await setting.ended(await setting.add("too late"))
        assert (late.state, late.attempts) == (DeliveryState.FAILED, 1)


async def test_defect_of_a_channel_delays_its_text_alone(clock: VirtualClock, caplog: pytest.LogCaptureFixture) -> None:
    async with sending(clock) as setting:
        setting.channel.answers["1"] = [RuntimeError("bug"), refuse("channel_forbidden", service="T", problem="file")]
        sent = await setting.ended(await setting.add("in the end"))
        assert (sent.state, sent.attempts) == (DeliveryState.SENT, 3)
    assert "could not be sent" in caplog.text


async def test_text_of_spaces_is_sent_without_a_part(clock: VirtualClock) -> None:
    async with sending(clock) as setting:
        sent = await setting.ended(await setting.add("   \n"))
        assert (sent.state, sent.parts) == (DeliveryState.SENT, ())
        assert setting.channel.arrived == []


async def test_replaced_chat_is_followed_and_reported(clock: VirtualClock) -> None:
    moves: list[tuple[str, str]] = []
    async with sending(clock) as setting:

        async def note(before: str, after: str) -> None:
            moves.append((before, after))

        setting.sender.tools.on_moved = note
        setting.channel.moved["1"] = "9"
        setting.channel.answers["9"] = [busy()]
        sent = await setting.ended(await setting.add("aaaaaaaaa bbbbbbbbb"))
        assert sent.chat == "test:9"
        assert setting.channel.arrived == [("9", "aaaaaaaaa "), ("9", "bbbbbbbbb")]
        assert moves == [("test:1", "test:9")]


async def test_discarded_delivery_is_not_sent_further(clock: VirtualClock) -> None:
    async with sending(clock) as setting:
        records = DeliveryRecords(setting.store)
        discarded: list[str] = []

        def discard(_text: str) -> None:
            setting.store._data.records.write(("delivery.pending", discarded[0]), None)

        setting.channel.on_send = discard
        discarded.append(await setting.outbox.add("test:1", "aaaaaaaaa bbbbbbbbb", clock.now()))
        setting.sender.notify()
        while await records.get(discarded[0]) is not None:
            await clock.pause(0.1)
        await setting.sender.wait_idle()
        assert setting.channel.texts("1") == ["aaaaaaaaa "]


async def test_receipts_move_the_state_and_never_back(clock: VirtualClock) -> None:
    async with sending(clock) as setting:
        sent = await setting.ended(await setting.add("hello"))

        async def report(state: ReceiptState, part: str = "m1") -> DeliveryState:
            await setting.sender.on_receipt("test", DeliveryReceipt("1", part, state))
            return (await setting.outbox.get(sent.id)).state

        assert await report(ReceiptState.READ, "unknown") is DeliveryState.SENT
        assert await report(ReceiptState.READ, "unknown") is DeliveryState.SENT
        assert await report(ReceiptState.DELIVERED) is DeliveryState.RECEIVED
        assert await report(ReceiptState.READ) is DeliveryState.READ
        assert await report(ReceiptState.DELIVERED) is DeliveryState.READ
        assert await report(ReceiptState.FAILED) is DeliveryState.FAILED
        assert (await setting.events())[-1] is EventKind.DELIVERY_FAILED


async def test_receipt_before_its_part_is_recorded_counts(clock: VirtualClock) -> None:
    async with sending(clock) as setting:
        await setting.sender.on_receipt("test", DeliveryReceipt("1", "m1", ReceiptState.READ))
        added = await setting.add("hello")
        await setting.until(lambda found: found.state is DeliveryState.READ, added)


async def test_receipts_of_another_process_reach_the_delivery_before_and_after_it_is_recorded(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receipts, "REMEMBERED", 1)
    async with sending(clock) as setting:
        web_server = receipts.Receipts(setting.store, DeliveryRecords(setting.store), clock)
        for state in (ReceiptState.DELIVERED, ReceiptState.READ):
            await web_server.on_receipt("test", DeliveryReceipt("1", "m1", state))
        first = await setting.ended(await setting.add("hello"))
        await setting.until(lambda found: found.state is DeliveryState.READ, first.id)
        assert await setting.store.get_record(receipts.RECEIPT_KIND, "test:m1") is None
        second = await setting.ended(await setting.add("again"))
        for name in ("x", "y"):
            await web_server.on_receipt("test", DeliveryReceipt("1", name, ReceiptState.READ))
        failure = DeliveryReceipt("1", "m2", ReceiptState.FAILED, refuse("channel_window_closed", service="Test"))
        await web_server.on_receipt("test", failure)
        failed = await setting.outbox.get(second.id)
        assert failed.state is DeliveryState.FAILED
        assert failed.problem
        assert await setting.store.drop_expired(clock.now() + receipts.KEPT_FOR, 10) == 2


async def test_receipt_that_is_kept_while_its_part_is_recorded_counts(clock: VirtualClock) -> None:
    async with sending(clock) as setting:
        other = receipts.Receipts(setting.store, DeliveryRecords(setting.store), clock)
        put_record = setting.store.put_record

        async def record_part_meanwhile(record: Record, *, replacing: int | None) -> bool:
            setting.store.put_record = put_record  # type: ignore[method-assign]
            await setting.ended(await setting.add("hello"))
            return await put_record(record, replacing=replacing)

        setting.store.put_record = record_part_meanwhile  # type: ignore[method-assign]
        await other.on_receipt("test", DeliveryReceipt("1", "m1", ReceiptState.READ))
        (found,) = [delivery_from(each) for each in (await setting.store.records("delivery.finished")).items]
        assert found.state is DeliveryState.READ


async def test_text_for_a_channel_that_is_gone_is_reported_and_sent_when_it_returns(clock: VirtualClock) -> None:
    async with sending(clock) as setting:
        gone = await setting.add("kept", "former:1")
        elsewhere = await setting.add("by another process", "other:1")
        waiting = await setting.until(lambda found: bool(found.problem), gone)
        assert "[channels.former]" in waiting.problem
        assert await setting.events() == [EventKind.DELIVERY_DELAYED]
        await clock.pause(20)
        assert (await setting.outbox.get(elsewhere)).attempts == 0
        setting.channels["former"] = setting.channel
        assert (await setting.ended(gone)).state is DeliveryState.SENT


async def test_sender_goes_on_after_an_outage_of_the_store(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sending(clock) as setting:
        write, failures = setting.store.write_with_events, iter([True] * 3)

        async def fail(*arguments: object) -> bool:
            if next(failures, False):
                raise StoreUnavailable("away")
            return await write(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(setting.store, "write_with_events", fail)
        await setting.ended(await setting.add("hello"))
        assert setting.channel.texts("1") == ["hello"]


async def test_failed_scan_and_failed_attempt_are_tried_again(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with sending(clock) as setting:
        for name in ("records", "get_record"):
            call, failures = getattr(setting.store, name), iter([StoreUnavailable("away"), RuntimeError("bug")])

            async def fail(
                *arguments: object, call: object = call, failures: object = failures, **options: object
            ) -> object:
                error = next(failures, None)  # type: ignore[call-overload]
                if error is not None and arguments[:1] == ("delivery.pending",) and isinstance(error, StoreUnavailable):
                    raise error
                return await call(*arguments, **options)  # type: ignore[operator]

            monkeypatch.setattr(setting.store, name, fail)
        added = await setting.outbox.add("test:1", "hello", clock.now())
        while not setting.channel.arrived:
            await clock.pause(0.5)
        await setting.ended(added)
        assert setting.channel.texts("1") == ["hello"]


async def test_stopping_sender_ends_after_the_part_that_is_being_sent(clock: VirtualClock) -> None:
    channel = ScriptedChannel()
    async with sending(clock, channel) as setting:
        gate = channel.gates["1"] = asyncio.Event()
        added = await setting.add("aaaaaaaaa bbbbbbbbb")
        while not channel.keys:
            await clock.pause(0.1)
        asyncio.get_running_loop().call_later(1, gate.set)
    assert channel.texts("1") == ["aaaaaaaaa "]
    assert len((await setting.outbox.get(added)).parts) == 1


async def test_send_that_does_not_end_is_cancelled_when_the_sender_stops(clock: VirtualClock) -> None:
    channel = ScriptedChannel()
    async with sending(clock, channel) as setting:
        channel.gates["1"] = asyncio.Event()
        added = await setting.add("stuck")
        while not channel.keys:
            await clock.pause(0.1)
        began = clock.now()
    assert clock.now() - began < 10 * SECOND
    assert (await setting.outbox.get(added)).is_pending


def test_ids_ascend_within_a_millisecond_and_when_the_clock_is_set_back() -> None:
    ids = DeliveryIds(lambda size: b"\xff" * size)
    made = [ids.next(NOON), ids.next(NOON), ids.next(NOON - HOUR), ids.next(NOON + HOUR)]
    assert made == sorted(set(made))
    assert {len(each) for each in made} == {len(made[0])}


async def test_too_many_waiting_texts_of_an_owner_fail_at_once() -> None:
    store, outbox = MemoryStore(), None
    await store.open()
    outbox = Outbox(store)
    for number in range(MAX_PENDING - 1):
        await outbox.add("test:1", str(number), NOON)
    queue = DeliveryQueue(store)
    texts = [queue.make(OWNER, "test:1", text, NOON, "run_1") for text in ("the last", "one too many")]
    states = [json.loads(each.record.body)["state"] for each in await queue.writes(texts)]
    assert states == ["pending", "failed"]
    (accepted,) = await queue.writes([texts[1]._replace(owner="group:other")])
    assert accepted == RecordWrite(accepted.record)
    assert accepted.record.kind == "delivery.pending"


async def test_more_waiting_texts_than_an_owner_may_have_fail(
    clock: VirtualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sender_module, "MAX_PENDING", 3)
    async with sending(clock) as setting:
        setting.channel.gates["1"] = asyncio.Event()
        added = [await setting.outbox.add("test:1", str(number), clock.now()) for number in range(5)]
        other = await setting.outbox.add("test:2", "other owner", clock.now(), "group:other")
        setting.sender.notify()
        assert "wait to be sent already" in (await setting.ended(added[4])).problem
        assert (await setting.ended(added[3])).state is DeliveryState.FAILED
        assert (await setting.ended(other)).state is DeliveryState.SENT
        setting.channel.gates["1"].set()
        await setting.ended(added[2])
        assert setting.channel.texts("1") == ["0", "1", "2"]


async def test_signs_of_typing_and_read_marks_reach_the_channel_that_this_process_has(clock: VirtualClock) -> None:
    async with sending(clock) as setting:
        await setting.sender.typing_signs.show("test:1")
        await setting.sender.typing_signs.show("other:1")
        await setting.sender.typing_signs.confirm_read("test:1", "7")
        await setting.sender.typing_signs.confirm_read("other:1", "7")
        assert setting.channel.typed == ["1"]
        assert setting.channel.confirmed == [("1", "7")]


async def test_finished_delivery_is_removed_after_a_month(clock: VirtualClock) -> None:
    async with sending(clock) as setting:
        sent = await setting.ended(await setting.add("hello"))
        assert await setting.store.drop_expired(clock.now() + FINISHED_RETENTION - timedelta(minutes=1), 10) == 0
        assert await setting.store.drop_expired(clock.now() + FINISHED_RETENTION, 10) == 1
        with pytest.raises(LookupError):
            await setting.outbox.get(sent.id)
