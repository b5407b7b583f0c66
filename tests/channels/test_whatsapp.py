"""WhatsApp channel against an imitation of the Cloud API: the channel contract, the webhook's checks, receipts and error codes."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from horae.agents.channels.webhook import MAX_BODY_BYTES
from horae.ports.channel import DeliveryDelayed, DeliveryReceipt, DeliveryRefused, ReceiptState
from horae.testing.contracts.channels import ChannelContract, RecordingListener
from horae.testing.contracts.channels.harness import connected
from tests.channels.asgi_call import call_webhook
from tests.channels.whatsapp_service import PERSON, VERIFY_TOKEN, WhatsAppChats, WhatsAppService, sign, wrap


@pytest.fixture
async def service() -> AsyncIterator[WhatsAppChats]:
    server = await WhatsAppService().start()
    yield WhatsAppChats(server)
    await server.close()


class TestContract(ChannelContract):
    """The suite that every channel passes."""


# --- webhook -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "status"),
    [
        (f"hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token={VERIFY_TOKEN}", 200),
        ("hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=wrong", 403),
        (f"hub.mode=other&hub.challenge=1158201444&hub.verify_token={VERIFY_TOKEN}", 403),
        ("", 403),
    ],
)
async def test_address_is_verified_by_token(service: WhatsAppChats, query: str, status: int) -> None:
    async with connected(service, RecordingListener()):
        answer = await call_webhook(service.channel, "GET", query=query)
    assert answer.status == status
    assert (answer.body == b"1158201444") is (status == 200)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Hub-Signature-256": ""},
        {"X-Hub-Signature-256": "sha256="},
        {"X-Hub-Signature-256": "sha256=" + "0" * 64},
        sign(wrap({"messages": []}), "another secret"),
        sign(wrap({"messages": []}) + b" "),
        {"X-Hub-Signature": "sha1=abc"},
        {"X-Hub-Signature-256": "sha256=é"},
    ],
)
async def test_call_without_the_right_signature_is_refused(service: WhatsAppChats, headers: dict[str, str]) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        body = wrap({"messages": [{"from": PERSON, "id": "wamid.1", "type": "text", "text": {"body": "forged"}}]})
        answer = await call_webhook(service.channel, "POST", body, headers=headers)
        assert answer.status == 401
        await service.write("real")
        assert (await listener.next()).text == "real"


async def test_large_body_is_refused_unread(service: WhatsAppChats) -> None:
    async with connected(service, RecordingListener()):
        body = b" " * (MAX_BODY_BYTES + 1)
        declared = {"Content-Length": str(len(body))}
        assert (await call_webhook(service.channel, "POST", b"", headers=declared)).status == 413
        assert (await call_webhook(service.channel, "POST", body)).status == 413
        assert (await call_webhook(service.channel, "PUT", b"")).status == 405


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b'{"entry": 5}', b'{"entry": [{"changes": [{"value": []}]}]}'])
async def test_signed_nonsense_does_no_harm(service: WhatsAppChats, body: bytes) -> None:
    async with connected(service, RecordingListener()):
        answer = await call_webhook(service.channel, "POST", body, headers=sign(body))
    assert answer.status in {200, 400}


async def test_call_is_refused_for_later_while_the_channel_is_not_connected(service: WhatsAppChats) -> None:
    service.attach(service.open())
    await service.write("early")
    assert set(service.statuses) == {503}
    listener = RecordingListener()
    async with connected(service, listener):
        assert (await listener.next()).text == "early"


async def test_repetitions_at_the_same_time_are_received_once(service: WhatsAppChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        written = await service.write("once")
        await asyncio.gather(*(service.repeat(written) for _ in range(5)))
        await service.write("next")
        assert [(await listener.next()).text for _ in range(2)] == ["once", "next"]


async def test_messages_of_another_number_of_the_app_are_ignored(service: WhatsAppChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        await service.call({"messages": [{"from": "1", "id": "wamid.9", "type": "text", "text": {"body": "x"}}]}, "999")
        await service.write("mine")
        assert (await listener.next()).text == "mine"


async def test_message_from_the_phone_of_the_account_is_marked(service: WhatsAppChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        echo = {"from": "15550783881", "to": PERSON, "id": "wamid.7", "timestamp": "1739321024", "type": "text"}
        await service.call({"message_echoes": [{**echo, "text": {"body": "by hand"}}]})
        message = await listener.next()
    assert (message.chat, message.text, message.from_me) == (PERSON, "by hand", True)


@pytest.mark.parametrize(
    ("message", "text", "attachments"),
    [
        ({"type": "image", "image": {"caption": "看", "id": "1"}}, "看", ("image",)),
        ({"type": "audio", "audio": {"id": "1"}}, "", ("audio",)),
        ({"type": "interactive", "interactive": {"button_reply": {"id": "1", "title": "Yes"}}}, "Yes", ()),
        ({"type": "button", "button": {"text": "Stop"}}, "Stop", ()),
        ({"type": "reaction", "reaction": {"emoji": "👍"}}, "👍", ("reaction",)),
        ({"type": "unsupported"}, "", ("unsupported",)),
    ],
)
async def test_other_kinds_of_messages(
    service: WhatsAppChats, message: dict[str, object], text: str, attachments: tuple[str, ...]
) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        await service.report(message)
        received = await listener.next()
    assert (received.text, received.attachments) == (text, attachments)


# --- sending -------------------------------------------------------------------------------------------------------------


async def test_closed_window_is_refused(service: WhatsAppChats) -> None:
    service.server.is_window_closed = True
    async with connected(service, RecordingListener()) as channel:
        with pytest.raises(DeliveryRefused) as refused:
            await channel.send(PERSON, "hello")
    assert refused.value.refusal.code == "channel_window_closed"


async def test_receipts_are_reported(service: WhatsAppChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener) as channel:
        sent = await channel.send(PERSON, "hello")
        for status in ("sent", "delivered", "read"):
            await service.call({"statuses": [{"id": sent.id, "status": status, "recipient_id": PERSON}]})
        states = [await listener.next_receipt() for _ in range(2)]
    assert states == [
        DeliveryReceipt(PERSON, sent.id, ReceiptState.DELIVERED),
        DeliveryReceipt(PERSON, sent.id, ReceiptState.READ),
    ]


async def test_window_that_was_closed_when_the_text_went_out_is_reported(service: WhatsAppChats) -> None:
    """Meta accepts the text, and reports the failure to the webhook."""
    listener = RecordingListener()
    async with connected(service, listener) as channel:
        sent = await channel.send(PERSON, "hello")
        errors = [{"code": 131047, "title": "Re-engagement message"}]
        await service.call(
            {"statuses": [{"id": sent.id, "status": "failed", "recipient_id": PERSON, "errors": errors}]}
        )
        receipt = await listener.next_receipt()
    assert receipt.state is ReceiptState.FAILED
    assert receipt.refusal is not None
    assert receipt.refusal.code == "channel_window_closed"


async def test_typing_answers_the_newest_message(service: WhatsAppChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener) as channel:
        await channel.typing(PERSON)
        written = await service.write("hello")
        await channel.typing(PERSON)
    assert [mark["message_id"] for mark in service.server.marks] == [written]
    assert service.server.marks[0]["typing_indicator"] == {"type": "text"}


@pytest.mark.parametrize("length", ["²", "-1", "1e9", "9" * 30, "x"])
async def test_odd_length_of_a_body_does_no_harm(service: WhatsAppChats, length: str) -> None:
    async with connected(service, RecordingListener()):
        answer = await call_webhook(service.channel, "POST", b"{}", headers={"Content-Length": length} | sign(b"{}"))
    assert answer.status in {200, 413}


@pytest.mark.parametrize(("status", "code"), [(429, 130429), (400, 130429), (400, 131056), (400, 80007)])
async def test_limits_are_known_by_their_codes(service: WhatsAppChats, status: int, code: int) -> None:
    async with connected(service, RecordingListener()):
        service.server.limit_answer = status, code
        service.limit_rate(9)
        with pytest.raises(DeliveryDelayed) as delayed:
            await service.channel.send(service.chat, "hello", key="1")
        assert not delayed.value.is_uncertain
