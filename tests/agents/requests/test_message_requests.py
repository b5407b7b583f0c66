"""Request `message`: rights, the stream of the chat, deliveries, and repetitions."""

from __future__ import annotations

import pytest

from horae.agents.host.outbox import Outbox
from horae.agents.requests.request_records import REQUEST_KIND
from horae.model.accounts.principal import LOCAL
from horae.model.messages import TEXT_BYTES

from .request_harness import CHATS, FAMILY, MAIN, WORK, RequestHarness


async def test_message_is_in_the_stream_and_on_its_way(requests: RequestHarness) -> None:
    answer = await requests.accepted(FAMILY, type="message", chatJid=CHATS[FAMILY], text="hello", groupFolder=FAMILY)
    assert (answer["message"], answer["parts"]) == ("Message sent", 1)
    (delivery,) = await requests.deliveries()
    assert (delivery.owner, delivery.chat, delivery.text) == ("group:family", CHATS[FAMILY], "hello")
    assert delivery.origin.startswith("request:family/")
    assert await requests.texts(FAMILY) == ["hello"]


async def test_messages_keep_their_order(requests: RequestHarness) -> None:
    texts = [f"text {number}" for number in range(20)]
    for text in texts:
        await requests.accepted(FAMILY, type="message", text=text)
    assert await requests.texts(FAMILY) == texts
    assert [each.text for each in await requests.deliveries()] == texts


async def test_texts_beyond_those_that_may_wait_have_failed(
    requests: RequestHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("horae.service.chats.delivery_records.MAX_PENDING", 2)
    for text in ("one", "two", "three"):
        await requests.accepted(FAMILY, type="message", text=text)
    group = await requests.service.groups.find(FAMILY)
    assert group is not None
    await Outbox(requests.service, requests.clock).send(group, "four", "notice", "test")
    rows = (await requests.service.chats.transcript(LOCAL, CHATS[FAMILY])).messages
    states = [None if row.delivery is None else row.delivery.state.value for row in rows]
    assert states == ["pending", "pending", "failed", "failed"]


async def test_texts_of_requests_and_of_the_host_have_one_order(requests: RequestHarness) -> None:
    """All in one millisecond, and then earlier: texts of a chat are sent by the order of their ids."""
    outbox, group = Outbox(requests.service, requests.clock), await requests.service.groups.find(FAMILY)
    assert group is not None
    for number in range(20):
        await requests.accepted(FAMILY, type="message", text=f"request {number}")
        await outbox.send(group, f"host {number}", f"notice {number}", "test")
        if number == 10:
            requests.clock.advance(-5)
    assert [each.text for each in await requests.deliveries()] == [
        f"{kind} {number}" for number in range(20) for kind in ("request", "host")
    ]


async def test_secrets_of_the_agent_are_masked(requests: RequestHarness) -> None:
    await requests.accepted(FAMILY, type="message", text="the secret of family")
    assert await requests.texts(FAMILY) == ["the •••"]
    assert [each.text for each in await requests.deliveries()] == ["the •••"]


async def test_agent_writes_to_its_own_chat_only(requests: RequestHarness) -> None:
    for chat in (CHATS[WORK], CHATS[MAIN], "telegram:unknown", "nonsense", "x" * 400):
        assert await requests.code(FAMILY, type="message", chatJid=chat, text="hi") == "request_foreign_chat"
    assert await requests.deliveries() == []


async def test_main_group_writes_to_any_chat(requests: RequestHarness) -> None:
    await requests.accepted(MAIN, type="message", chatJid=CHATS[WORK], text="to work")
    await requests.accepted(MAIN, type="message", chatJid="telegram:unknown", text="to an unregistered chat")
    assert [(each.owner, each.chat) for each in await requests.deliveries()] == [
        ("group:work", CHATS[WORK]),
        ("group:control", "telegram:unknown"),
    ]
    assert await requests.texts(WORK) == ["to work"]
    assert await requests.code(MAIN, type="message", chatJid="no address", text="x") == "bad_chat_address"


async def test_internal_text_is_not_sent(requests: RequestHarness) -> None:
    await requests.accepted(FAMILY, type="message", text="<internal>secret\nplan</internal> hello")
    answer = await requests.accepted(FAMILY, type="message", text="<internal>secret</internal>")
    assert answer["parts"] == 0
    assert await requests.texts(FAMILY) == ["hello"]
    assert len(await requests.deliveries()) == 1


async def test_long_text_is_split_and_nothing_of_it_is_lost(requests: RequestHarness) -> None:
    text = "天气 " * 20_000
    answer = await requests.accepted(FAMILY, type="message", text=text)
    texts = await requests.texts(FAMILY)
    assert len(texts) == answer["parts"] > 1
    assert "".join(texts).split() == text.split()
    assert all(len(each.encode()) <= TEXT_BYTES for each in texts)
    assert [each.text for each in await requests.deliveries()] == texts


async def test_texts_that_no_store_keeps_are_mended_or_refused(requests: RequestHarness) -> None:
    await requests.accepted(FAMILY, type="message", text="a\0b")
    assert await requests.texts(FAMILY) == ["a\N{REPLACEMENT CHARACTER}b"]
    assert await requests.code(FAMILY, type="message", text="") == "bad_policy"
    assert await requests.code(FAMILY, type="message", text=["x"]) == "bad_policy"
    assert await requests.code(FAMILY, type="message") == "missing_field"
    assert await requests.code(FAMILY, type="message", text="x", sender="a\nb") == "bad_text"


async def test_sender_of_the_request_is_shown_in_the_stream(requests: RequestHarness) -> None:
    await requests.accepted(FAMILY, type="message", text="x", sender="Researcher")
    await requests.accepted(FAMILY, type="message", text="y")
    page = await requests.store.read_messages("group:family", f"chat:{CHATS[FAMILY]}")
    assert page is not None
    assert [each.message.sender for each in page.messages] == ["Researcher", "Andy"]


async def test_repeated_message_is_sent_once(requests: RequestHarness) -> None:
    document = {"type": "message", "text": "hello"}
    first = await requests.ask(FAMILY, "1-a.json", **document)
    again = await requests.ask(FAMILY, "1-a.json", **document)
    assert again == {**first, "repeated": True}
    assert await requests.texts(FAMILY) == ["hello"]
    assert len(await requests.deliveries()) == 1
    unregistered = {"type": "message", "text": "hello", "chatJid": "telegram:7"}
    for _ in range(2):
        await requests.ask(MAIN, "2-a.json", **unregistered)
    assert len(await requests.deliveries()) == 2


async def test_record_of_a_request_expires(requests: RequestHarness) -> None:
    await requests.accepted(FAMILY, type="message", text="x")
    (record,) = (await requests.store.records(REQUEST_KIND)).items
    assert record.owner == "group:family"
    assert record.expires is not None
