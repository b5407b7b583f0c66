"""Chats in the console: the list, one chat with live messages and states, the form, and what other owners see."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from horae.model.accounts.principal import LOCAL, Role
from horae.model.agents.delivery import Delivery, add_delivery, as_delayed, as_failed, as_sent
from horae.model.messages import KeepRules
from horae.ports.channel import IncomingMessage, MessageChange, QuotedMessage
from horae.ports.chat_messages import assistant_message, to_stream_message
from horae.service.chats.delivery_records import DeliveryIds, DeliveryRecords
from tests.console.accessibility import violations_of
from tests.console.console_server import Console

RUN = "run_" + "1" * 32


async def add_groups(console: Console) -> None:
    """A web group with a token of its own, and one in Telegram."""
    await console.service.groups.add(LOCAL, "family", "web:family", name="Family")
    await console.service.groups.add(LOCAL, "work", "telegram:-100", name="Work")
    await console.service.accounts.put(LOCAL, "group:family", role=Role.MEMBER)
    _, console.api.tokens["family"] = await console.service.tokens.make(LOCAL, owner="group:family", name="x")


async def answer(console: Console, text: str, folder: str = "family", chat: str = "web:family") -> Delivery:
    now = console.api.app.context.clock.now()
    delivery = Delivery(DeliveryIds().next(now), f"group:{folder}", chat, text, now, RUN)
    delivery = delivery._replace(message_id=delivery.id)
    message = assistant_message(f"chat:{chat}", text, "Andy", delivery.id, now)
    store = console.service.store
    await store.append_messages(delivery.owner, [message], attached_records=[add_delivery(delivery)])
    return delivery


async def test_person_writes_and_the_answer_appears_with_its_state(console: Console) -> None:
    await add_groups(console)
    page = await console.open("/chats", "family")
    await expect(page.get_by_role("row")).to_have_count(2)
    await page.get_by_role("link", name="Family").click()
    await expect(page.get_by_text("No messages yet.")).to_be_visible()
    await page.get_by_label("Message", exact=True).fill("@Andy good morning\nhow are you?")
    await page.get_by_role("button", name="Send").click()
    own = page.locator("li.own")
    await expect(own).to_contain_text("how are you?")
    await page.get_by_label("Message", exact=True).fill("second")
    await page.get_by_label("Message", exact=True).press("Enter")
    await expect(own).to_have_count(2)
    delivery = await answer(console, "Good morning!")
    answered = page.locator("li.assistant")
    await expect(answered).to_contain_text("Good morning!")
    await expect(answered).to_contain_text("waiting")
    now = console.api.app.context.clock.now()
    await DeliveryRecords(console.service.store).change(delivery.id, now, lambda found: as_sent(found, now))
    await expect(answered).to_contain_text("sent")
    await expect(answered.get_by_role("link", name="its run")).to_have_attribute("href", f"/console/runs/{RUN}")
    assert await violations_of(page) == []
    transcript = await console.service.chats.transcript(LOCAL, "web:family")
    assert [each.message.text for each in transcript.messages] == [
        "@Andy good morning\nhow are you?",
        "second",
        "Good morning!",
    ]


async def test_form_without_scripts_and_its_repetition(console: Console) -> None:
    await add_groups(console)
    page = await console.open("/chat?chat=web:family", "family", scripts=False, size="phone")
    await page.get_by_label("Message", exact=True).fill("hello")
    await page.get_by_role("button", name="Send").click()
    await expect(page.locator("li.own")).to_have_count(1)


async def test_other_channels_are_read_only_and_open_deliveries_can_be_sent_again(console: Console) -> None:
    await add_groups(console)
    now = console.api.app.context.clock.now()
    store = console.service.store
    incoming = IncomingMessage(
        "-100",
        "7",
        "7",
        "42",
        "安 Ann",
        "look",
        now,
        MessageChange.EDITED,
        QuotedMessage("3", "Bob", "before"),
        ("photo",),
    )
    await store.append_messages("group:work", [to_stream_message("chat:telegram:-100", "telegram", incoming, now)])
    failed, late = [await answer(console, text, "work", "telegram:-100") for text in ("refused", "delayed")]
    records = DeliveryRecords(store)
    await records.change(failed.id, now, lambda found: as_failed(found, now, "the bot was kicked"))
    await records.change(late.id, now, lambda found: as_delayed(found, now, now - now, "Too Many Requests"))
    page = await console.open("/chat?chat=telegram:-100", "admin")
    await expect(page.locator("li.other")).to_contain_text("edited")
    await expect(page.locator("li.other")).to_contain_text("answers Bob")
    await expect(page.locator("#read-only")).to_contain_text("telegram")
    await expect(page.get_by_role("button", name="Send", exact=True)).to_have_count(0)
    listed = page.locator(".deliveries > li")
    await expect(listed).to_have_count(2)
    await expect(listed.first).to_contain_text("the bot was kicked")
    assert await violations_of(page) == []
    await page.get_by_role("button", name="Send again").click()
    await expect(page.get_by_text("The text is sent again.")).to_be_visible()
    await page.locator(".deliveries > li").filter(has_text="delayed").get_by_role("button", name="Discard").click()
    await expect(page.get_by_text("The text is discarded.")).to_be_visible()
    assert (await console.service.deliveries.get(LOCAL, failed.id)).is_pending
    assert [each.id for each in (await console.service.deliveries.page(LOCAL)).items] == [failed.id]


async def test_foreign_chats_are_absent_and_older_messages_have_pages(console: Console) -> None:
    await add_groups(console)
    for number in range(60):
        await console.service.chats.send(LOCAL, "web:family", f"message {number + 1}")
    for path in ("/chat?chat=web:family", "/chat?chat=web:none"):
        tab = await console.open_tab("ada")
        response = await tab.goto(console.url + path)
        assert response is not None
        assert response.status == 404
    console.problems.clear()
    page = await console.open("/chats", "ada")
    await expect(page.get_by_text("There are no groups yet.")).to_be_visible()
    page = await console.open("/chat?chat=web:family", "admin", language="zh", size="phone")
    await expect(page.locator(".bubbles > li")).to_have_count(50)
    await page.get_by_role("link", name="更早的消息").click()
    await expect(page.locator(".bubbles > li").first).to_contain_text("message 1")
    now = console.api.app.context.clock.now()
    await console.service.store.trim_messages(now, KeepRules(keep=55), 1_000)
    await page.reload()
    await expect(page.get_by_text("更早的消息已不再保留")).to_be_visible()
    await page.get_by_role("link", name="最新的消息").click()
    await expect(page.locator(".bubbles > li").last).to_contain_text("message 60")
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert await violations_of(page) == []


async def test_sign_of_the_working_assistant(console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    await add_groups(console)

    async def is_working(_group: object) -> bool:
        return True

    monkeypatch.setattr(console.service.chats, "is_working", is_working)
    page = await console.open("/chat?chat=web:family", "family")
    await expect(page.get_by_text("The assistant is working …")).to_be_visible()
