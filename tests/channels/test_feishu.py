"""Feishu channel against an imitation of the open platform: the channel contract, the webhook's checks, tokens and repetitions."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any

import pytest

from horae.ports.channel import DeliveryDelayed, DeliveryRefused
from horae.testing.contracts.channels import ChannelContract, RecordingListener
from horae.testing.contracts.channels.harness import connected
from tests.channels.asgi_call import call_webhook
from tests.channels.feishu_service import VERIFICATION_TOKEN, FeishuChats, FeishuService, encrypt, sign


@pytest.fixture
async def service() -> AsyncIterator[FeishuChats]:
    server = await FeishuService().start()
    yield FeishuChats(server)
    await server.close()


class TestContract(ChannelContract):
    """The suite that every channel passes."""


# --- webhook -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encrypts", [True, False])
@pytest.mark.parametrize(("token", "status"), [(VERIFICATION_TOKEN, 200), ("wrong", 403), ("", 403)])
async def test_address_is_verified_by_token(service: FeishuChats, encrypts: bool, token: str, status: int) -> None:  # noqa: FBT001 - a parameter of the test
    service.encrypts = encrypts
    document = {"challenge": "ajls384kdjx98XX", "token": token, "type": "url_verification"}
    body = encrypt(document) if encrypts else json.dumps(document).encode()
    async with connected(service, RecordingListener()):
        answer = await call_webhook(service.channel, "POST", body)
    assert answer.status == status
    assert status != 200 or json.loads(answer.body) == {"challenge": "ajls384kdjx98XX"}


async def test_message_without_encryption_is_checked_by_token(service: FeishuChats) -> None:
    service.encrypts = False
    listener = RecordingListener()
    async with connected(service, listener):
        document = service.event("im.message.receive_v1", {})
        document["header"]["token"] = "wrong"  # noqa: S105 - a wrong one
        answer = await call_webhook(service.channel, "POST", json.dumps(document).encode())
        assert answer.status == 403
        await service.write("你好")
        assert (await listener.next()).text == "你好"


@pytest.mark.parametrize("defect", ["no signature", "other key", "other body", "plain", "other cipher"])
async def test_event_without_the_right_signature_is_refused(service: FeishuChats, defect: str) -> None:
    document = service.event("im.message.recalled_v1", {"message_id": "om_1", "chat_id": service.chat})
    body = encrypt(document, "another key") if defect == "other cipher" else encrypt(document)
    headers = {
        "no signature": {},
        "other key": sign(body, "another key"),
        "other body": sign(body + b" "),
        "plain": sign(json.dumps(document).encode()),
        "other cipher": sign(body),
    }[defect]
    body = json.dumps(document).encode() if defect == "plain" else body
    listener = RecordingListener()
    async with connected(service, listener):
        answer = await call_webhook(service.channel, "POST", body, headers=headers)
        assert answer.status == 401
        await service.write("real")
        assert (await listener.next()).text == "real"


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"{", b'{"encrypt": 5}', b'{"encrypt": "AAAA"}', b'{"encrypt": "\\ud800"}']
)
async def test_nonsense_is_refused(service: FeishuChats, body: bytes) -> None:
    async with connected(service, RecordingListener()):
        assert (await call_webhook(service.channel, "POST", body, headers=sign(body))).status in {400, 401}
        assert (await call_webhook(service.channel, "GET")).status == 400


@pytest.mark.parametrize(
    ("kind", "content", "text", "attachments"),
    [
        ("image", {"image_key": "1"}, "", ("image",)),
        (
            "post",
            {
                "title": "计划",
                "content": [
                    [{"tag": "text", "text": "看 "}, {"tag": "a", "text": "这里", "href": "https://a.example"}],
                    [{"tag": "at", "user_name": "Andy"}, {"tag": "img"}, 5],
                ],
            },
            "计划\n看 这里 (https://a.example)\n@Andy[img]",
            (),
        ),
    ],
)
async def test_other_kinds_of_messages(
    service: FeishuChats, kind: str, content: dict[str, Any], text: str, attachments: tuple[str, ...]
) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        await service.report(kind, content)
        received = await listener.next()
    assert (received.text, received.attachments) == (text, attachments)


async def test_mentions_read_as_names(service: FeishuChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        mentions = [{"key": "@_user_1", "name": "Andy"}, {"key": "@_user_10", "name": "安"}]
        await service.report("text", {"text": "@_user_1 问 @_user_10"}, mentions=mentions)
        assert (await listener.next()).text == "@Andy 问 @安"


async def test_messages_of_bots_are_ignored(service: FeishuChats) -> None:
    listener = RecordingListener()
    async with connected(service, listener):
        event = {"sender": {"sender_type": "app"}, "message": {"message_id": "om_x", "chat_id": service.chat}}
        await service.call(service.event("im.message.receive_v1", event))
        await service.call(service.event("im.chat.updated_v1", {}))
        await service.write("person")
        assert (await listener.next()).text == "person"


# --- sending -------------------------------------------------------------------------------------------------------------


async def test_token_is_used_until_it_ends_and_then_renewed(service: FeishuChats) -> None:
    async with connected(service, RecordingListener()) as channel:
        await channel.send(service.chat, "one")
        await channel.send(service.chat, "two")
        assert service.server.tokens_issued == 1
        service.server.tokens.clear()
        await channel.send(service.chat, "three")
    assert service.server.tokens_issued == 2
    assert await service.sent_texts() == ["one", "two", "three"]


async def test_text_whose_answer_was_lost_is_not_shown_twice(service: FeishuChats) -> None:
    async with connected(service, RecordingListener()) as channel:
        service.server.lost_answers = 1
        with pytest.raises(DeliveryDelayed) as delayed:
            await channel.send(service.chat, "once", key="run-1")
        assert not delayed.value.is_uncertain
        await channel.send(service.chat, "once", key="run-1")
    assert await service.sent_texts() == ["once"]


async def test_text_without_a_key_whose_answer_was_lost_is_uncertain(service: FeishuChats) -> None:
    async with connected(service, RecordingListener()) as channel:
        service.server.lost_answers = 1
        with pytest.raises(DeliveryDelayed) as delayed:
            await channel.send(service.chat, "twice")
    assert delayed.value.is_uncertain


async def test_muted_chat_is_refused(service: FeishuChats) -> None:
    service.server.muted.add(service.chat)
    async with connected(service, RecordingListener()) as channel:
        with pytest.raises(DeliveryRefused) as refused:
            await channel.send(service.chat, "hello")
    assert refused.value.refusal.code == "channel_forbidden"


async def test_text_of_the_largest_size_is_accepted(service: FeishuChats) -> None:
    """Each of these characters is escaped twice: the limit counts bytes of the request."""
    async with connected(service, RecordingListener()) as channel:
        await channel.send(service.chat, '"' * (channel.limit.most // 4))
        await channel.send(service.chat, "好" * (channel.limit.most // 3))
    assert [len(text) for text in await service.sent_texts()] == [35_000, 46_666]


@pytest.mark.parametrize(("status", "code"), [(429, 99991400), (400, 99991400), (400, 230020)])
async def test_limit_delays_a_text_by_the_time_of_the_service(service: FeishuChats, status: int, code: int) -> None:
    async with connected(service, RecordingListener()):
        service.server.limit_answer = status, code
        service.limit_rate(9)
        with pytest.raises(DeliveryDelayed) as delayed:
            await service.channel.send(service.chat, "hello", key="1")
        assert delayed.value.after == timedelta(seconds=9)
        assert not delayed.value.is_uncertain
