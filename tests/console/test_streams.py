"""Message streams in the console: the list, one stream with readers and gaps, pages, and what other owners see."""

from __future__ import annotations

import re

from playwright.async_api import expect

from horae.console.pages.streams import PAGE_SIZE, show_text
from horae.model.accounts.principal import LOCAL, Principal
from horae.model.messages import KeepRules
from horae.service.messages.streams import MessageDraft
from tests.console.accessibility import violations_of
from tests.console.console_server import Console
from tests.handled_messages import handle_messages

ADA = Principal("ada")
COUNT = PAGE_SIZE + 10


async def fill_streams(console: Console) -> None:
    streams = console.service.streams
    await streams.send(ADA, "chat:1", [MessageDraft(f"message {place}", "Grace") for place in range(1, COUNT + 1)])
    await streams.register(ADA, "chat:1", "handled", after=COUNT - 2)
    await streams.send(LOCAL, "chat:1", [MessageDraft("of another owner")], "bob")


async def test_a_stream_shows_its_messages_readers_and_gaps(console: Console) -> None:
    await fill_streams(console)
    page = await console.open("/streams", "ada")
    await expect(page.get_by_role("row")).to_have_count(2)
    await page.get_by_role("link", name="chat:1").click()
    messages = page.locator("ol.messages > li")
    await expect(messages).to_have_count(PAGE_SIZE)
    await expect(messages.last).to_contain_text(f"message {COUNT}")
    await expect(page.locator(f"#message-{COUNT - 2}")).to_contain_text("handled is here")
    await expect(page.get_by_role("row").last).to_contain_text(re.compile(r"handled\s*58\s*2"))
    await page.get_by_role("link", name="Older messages").click()
    await expect(messages.first).to_contain_text("message 1")
    await page.get_by_role("link", name="Newest messages").click()
    await expect(messages.last).to_contain_text(f"message {COUNT}")
    assert await violations_of(page) == []

    now = console.api.app.context.clock.now()
    await console.service.store.trim_messages(now, KeepRules(keep=1), 1_000)
    await page.reload()
    await expect(page.get_by_text("59 to 59", exact=False)).to_be_visible()
    await expect(messages).to_have_count(1)


async def test_a_run_and_a_stream_link_to_each_other(console: Console) -> None:
    run = await handle_messages(console.service.store, "ada")
    page = await console.open("/stream?name=chat:1", "ada")
    await page.get_by_role("row").last.get_by_role("link", name="run").click()
    await expect(page).to_have_url(f"{console.url}/runs/{run.id}")
    await page.get_by_role("link", name="chat:1 1–3").click()
    await expect(page.locator("ol.messages > li")).to_have_count(3)
    page = await console.open(f"/runs/{run.id}", "admin")
    await page.get_by_role("link", name="chat:1 1–3").click()
    await expect(page.locator("ol.messages > li")).to_have_count(3)
    assert await violations_of(page) == []


async def test_streams_of_other_owners_are_like_absent_ones(console: Console) -> None:
    await fill_streams(console)
    page = await console.open_tab("bob")
    response = await page.goto(f"{console.url}/stream?name=chat:1&owner=ada")
    assert response is not None
    assert response.status == 404
    console.problems.clear()
    page = await console.open("/stream?name=chat:1", "bob")
    await expect(page.locator("ol.messages")).to_contain_text("of another owner")
    page = await console.open("/streams", "admin")
    await expect(page.get_by_role("row")).to_have_count(3)
    await page.get_by_role("row").filter(has_text="ada").get_by_role("link").click()
    await expect(page.locator("ol.messages")).to_contain_text(f"message {COUNT}")


async def test_no_streams_and_chinese(console: Console) -> None:
    page = await console.open("/streams", "vic", language="zh")
    await expect(page.get_by_role("heading", name="没有消息流。")).to_be_visible()
    assert await violations_of(page) == []


def test_control_characters_of_a_message_are_replaced() -> None:
    assert show_text("a\r\nb\t\x1b[31m\u202e") == "a\nb\t�[31m�"
