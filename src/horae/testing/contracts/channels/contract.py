"""Contract of channels: each message is received once and in order, texts arrive whole, and failures are named."""
# ruff: noqa: S101 - asserting is what a contract does

from __future__ import annotations

import asyncio
import logging
from datetime import UTC, datetime, timedelta

import pytest

from ....errors import Refusal
from ....ports.channel import DeliveryDelayed, DeliveryRefused, MessageChange, Sent, send_text
from .harness import ChatService, RecordingListener, connected, end

PERMANENT_CODES = {"channel_credentials", "channel_forbidden", "channel_chat_unknown", "channel_rejected"}


class ChannelContract:
    """A subclass has the asynchronous fixture `service`, a `ChatService`."""

    @pytest.fixture
    def listener(self) -> RecordingListener:
        return RecordingListener()

    async def test_a_message_arrives_with_its_fields(self, service: ChatService, listener: RecordingListener) -> None:
        async with connected(service, listener):
            written = await service.write("@Andy 每天早上9点给我发天气预报 🌤️")
            message = await listener.next()
        assert message.text == "@Andy 每天早上9点给我发天气预报 🌤️"
        assert (message.chat, message.id, message.sender_name) == (service.chat, written, service.person)
        assert message.sender
        assert message.change is MessageChange.NEW
        assert not message.from_me
        assert abs(message.sent - datetime.now(UTC)) < timedelta(minutes=5)  # noqa: TID251 - services stamp real time

    async def test_messages_arrive_in_order(self, service: ChatService, listener: RecordingListener) -> None:
        async with connected(service, listener):
            for number in range(20):
                await service.write(f"message {number}")
            received = [(await listener.next()).text for _ in range(20)]
        assert received == [f"message {number}" for number in range(20)]

    async def test_equal_texts_are_two_messages(self, service: ChatService, listener: RecordingListener) -> None:
        async with connected(service, listener):
            await service.write("yes")
            await service.write("yes")
            first, second = await listener.next(), await listener.next()
        assert first.text == second.text == "yes"
        assert first.source_id != second.source_id

    async def test_a_message_that_the_service_repeats_is_received_once(
        self, service: ChatService, listener: RecordingListener
    ) -> None:
        async with connected(service, listener):
            written = await service.write("once")
            assert (await listener.next()).text == "once"
            await service.repeat(written)
            await service.write("next")
            assert (await listener.next()).text == "next"

    async def test_a_message_that_was_not_stored_arrives_again(
        self, service: ChatService, listener: RecordingListener
    ) -> None:
        async with connected(service, listener):
            listener.failures = 1
            await service.write("kept")
            await service.write("then")
            assert (await listener.next()).text == "kept"
            assert (await listener.next()).text == "then"

    async def test_a_crash_before_the_confirmation_repeats_the_message(
        self, service: ChatService, listener: RecordingListener
    ) -> None:
        listener.holds = True
        before = datetime.now(UTC) - timedelta(minutes=1)  # noqa: TID251 - services stamp real time
        async with connected(service, listener):
            writing = asyncio.create_task(service.write("survives"))
            lost = await listener.next_held()
        await writing
        after = RecordingListener()
        async with connected(service, after, since=before):
            again = await after.next()
        assert (again.text, again.source_id) == ("survives", lost.source_id)

    async def test_the_channel_does_not_report_its_own_texts(
        self, service: ChatService, listener: RecordingListener
    ) -> None:
        async with connected(service, listener) as channel:
            await channel.send(service.chat, "from the channel")
            await service.write("from the person")
            assert (await listener.next()).text == "from the person"
        assert await service.sent_texts() == ["from the channel"]

    async def test_edits_are_reported(self, service: ChatService, listener: RecordingListener) -> None:
        if not service.has_edits:
            return
        async with connected(service, listener):
            written = await service.write("9 点")
            first = await listener.next()
            await service.edit(written, "10 点")
            edited = await listener.next()
        assert (edited.text, edited.id, edited.change) == ("10 点", first.id, MessageChange.EDITED)
        assert edited.source_id != first.source_id

    async def test_deletions_are_reported(self, service: ChatService, listener: RecordingListener) -> None:
        if not service.has_deletions:
            return
        async with connected(service, listener):
            written = await service.write("forget this")
            first = await listener.next()
            await service.delete(written)
            deleted = await listener.next()
        assert (deleted.id, deleted.change, deleted.chat) == (first.id, MessageChange.DELETED, service.chat)
        assert deleted.source_id != first.source_id

    async def test_an_answer_names_the_quoted_message(self, service: ChatService, listener: RecordingListener) -> None:
        if not service.has_quotes:
            return
        async with connected(service, listener):
            written = await service.write("shall we?")
            await listener.next()
            await service.write("yes, gladly", quoted=written)
            answer = await listener.next()
        assert answer.text == "yes, gladly"
        assert answer.quoted is not None
        assert answer.quoted.id == written

    async def test_a_long_text_arrives_in_order_and_whole(
        self, service: ChatService, listener: RecordingListener
    ) -> None:
        async with connected(service, listener) as channel:
            text = a_long_text(channel.limit.most)
            sent = await send_text(channel, service.chat, text, key="long")
            assert len(sent) >= 3
            assert len({each.id for each in sent}) == len(sent)
        assert visible("".join(await service.sent_texts())) == visible(text)

    async def test_special_characters_arrive_unchanged(self, service: ChatService, listener: RecordingListener) -> None:
        text = 'a < b & c > d "e" \'f\' *g* _h_ `i` <@U1> &amp; 你好\n\t第二行 🇩🇪 \\ {"j": 1}'
        async with connected(service, listener) as channel:
            await channel.send(service.chat, text)
        assert await service.sent_texts() == [text]

    async def test_a_text_of_the_greatest_length_is_sent_whole(
        self, service: ChatService, listener: RecordingListener
    ) -> None:
        """Of characters that services count in different ways: in UTF-16 units, escaped, or in bytes."""
        async with connected(service, listener) as channel:
            limit = channel.limit
            texts = [character * (limit.most // limit.measure(character)) for character in ("x", "&", "😀", "好")]
            for text in texts:
                assert limit.measure(text) > limit.most - limit.measure(text[0])
                await channel.send(service.chat, text)
        assert await service.sent_texts() == texts

    async def test_a_text_above_the_limit_is_refused(self, service: ChatService, listener: RecordingListener) -> None:
        async with connected(service, listener) as channel:
            with pytest.raises(DeliveryRefused) as refused:
                await channel.send(service.chat, "x" * (channel.limit.most + 1))
        assert refused.value.refusal.code == "channel_text_too_long"
        assert await service.sent_texts() == []

    async def test_a_rate_limit_delays_the_text(self, service: ChatService, listener: RecordingListener) -> None:
        async with connected(service, listener) as channel:
            service.limit_rate(7)
            with pytest.raises(DeliveryDelayed) as delayed:
                await channel.send(service.chat, "later")
            assert delayed.value.after == timedelta(seconds=7) if service.names_delays else delayed.value.after
            assert not delayed.value.is_uncertain
            service.end_rate_limit()
            await channel.send(service.chat, "later")
        assert await service.sent_texts() == ["later"]

    async def test_a_delayed_long_text_goes_on_with_the_missing_parts(
        self, service: ChatService, listener: RecordingListener
    ) -> None:
        record = PartRecord()
        async with connected(service, listener) as channel:
            text = a_long_text(channel.limit.most)
            service.limit_rate(3, after=1)
            with pytest.raises(DeliveryDelayed) as delayed:
                await send_text(channel, service.chat, text, on_sent=record)
            assert list(delayed.value.sent) == record.parts
            assert len(record.parts) == 1
            service.end_rate_limit()
            await send_text(channel, service.chat, text, already_sent=len(record.parts))
        assert visible("".join(await service.sent_texts())) == visible(text)

    async def test_an_unknown_chat_is_refused(self, service: ChatService, listener: RecordingListener) -> None:
        async with connected(service, listener) as channel:
            with pytest.raises(DeliveryRefused) as refused:
                await channel.send(service.unknown_chat, "hello")
        assert refused.value.refusal.code in PERMANENT_CODES

    async def test_revoked_credentials_refuse_texts_and_connections(
        self, service: ChatService, listener: RecordingListener
    ) -> None:
        await service.revoke()
        channel = service.open()
        service.attach(channel)
        try:
            with pytest.raises(Refusal) as refused:
                await channel.connect(listener)
            assert refused.value.code == "channel_credentials"
            with pytest.raises(DeliveryRefused) as unsent:
                await channel.send(service.chat, "hello")
            assert unsent.value.refusal.code == "channel_credentials"
        finally:
            await channel.aclose()

    async def test_the_channel_reconnects(self, service: ChatService, listener: RecordingListener) -> None:
        async with connected(service, listener) as channel:
            await service.write("before")
            assert (await listener.next()).text == "before"
            await service.interrupt()
            with pytest.raises(DeliveryDelayed):
                await channel.send(service.chat, "while it is down")
            await service.resume()
            await listener.wait_connected()
            await service.write("after")
            assert (await listener.next()).text == "after"
            await channel.send(service.chat, "up again")
        assert (await service.sent_texts())[-1] == "up again"

    async def test_a_cancelled_connection_ends_within_a_second(
        self, service: ChatService, listener: RecordingListener
    ) -> None:
        channel = service.open()
        service.attach(channel)
        connection = asyncio.create_task(channel.connect(listener))
        await listener.wait_connected()
        connection.cancel()
        done, _ = await asyncio.wait([connection], timeout=1)
        await channel.aclose()
        assert done
        assert connection.cancelled()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        own = [task for task in others if "horae.agents.channels" in repr(task)]
        assert own == []

    async def test_a_connection_that_cannot_begin_ends_when_cancelled(
        self, service: ChatService, listener: RecordingListener
    ) -> None:
        await service.interrupt()
        channel = service.open()
        connection = asyncio.create_task(channel.connect(listener))
        try:
            await asyncio.wait([connection], timeout=0.05)
            assert not connection.done()
        finally:
            await end(connection)
            await channel.aclose()
            await service.resume()

    async def test_typing_and_read_marks_never_fail(self, service: ChatService, listener: RecordingListener) -> None:
        async with connected(service, listener) as channel:
            written = await service.write("are you there?")
            await listener.next()
            await channel.confirm_read(service.chat, written)
            await channel.typing(service.chat)
            await channel.typing(service.unknown_chat)
            await service.interrupt()
            await channel.typing(service.chat)
            await channel.confirm_read(service.chat, written)
            await service.resume()

    async def test_no_log_and_no_error_shows_a_secret(
        self, service: ChatService, listener: RecordingListener, caplog: pytest.LogCaptureFixture
    ) -> None:
        texts: list[str] = []
        with caplog.at_level(logging.DEBUG):
            async with connected(service, listener) as channel:
                texts.append(repr(channel))
                with pytest.raises(DeliveryRefused) as refused:
                    await channel.send(service.unknown_chat, "hello")
                texts += str(refused.value), repr(refused.value.refusal.facts)
                await service.interrupt()
                with pytest.raises(DeliveryDelayed) as delayed:
                    await channel.send(service.chat, "hello")
                texts.append(str(delayed.value))
                await service.resume()
                await listener.wait_connected()
            await service.revoke()
            channel = service.open()
            service.attach(channel)
            with pytest.raises(Refusal) as revoked:
                await channel.connect(RecordingListener())
            texts += str(revoked.value), repr(revoked.value.facts)
            await channel.aclose()
        texts += [record.getMessage() for record in caplog.records if record.name.startswith(("horae", "slixmpp"))]
        texts += [state.problem for state in listener.states]
        assert [text for text in texts for secret in service.secrets if secret in text] == []


class PartRecord:
    """Keeps the parts that were sent, as a caller's store would."""

    def __init__(self) -> None:
        self.parts: list[Sent] = []

    async def __call__(self, sent: Sent) -> None:
        self.parts.append(sent)


def visible(text: str) -> str:
    """Return the text without white space, which services remove at the ends of a part."""
    return "".join(text.split())


def a_long_text(most: int) -> str:
    """Return a text of several parts, in two languages, with sentences and lines."""
    lines = [f"{number}. 第{number}行,天气很好。The weather is fine, and stays so!" for number in range(1, most // 12)]
    return "\n".join(lines)
