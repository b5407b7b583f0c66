"""Groups in the console: the list, registration, change, stop and removal; both languages, and what members see."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from horae.choices import Language
from horae.model.accounts.principal import LOCAL
from horae.model.agents.known_chat import KnownChat, known_chat_record
from horae.model.record import RecordWrite
from horae.testing.factories import NOON
from tests.console.accessibility import violations_of
from tests.console.console_server import Console

PICTURES = os.environ.get("GROUP_PICTURES")


async def picture(page: Page, name: str) -> None:
    """Keep a picture of the page where the environment names a directory."""
    if PICTURES:
        await page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


async def test_chat_without_a_group_is_registered_with_one_click(console: Console) -> None:
    known = KnownChat("telegram:7", "Ann", NOON, is_direct=True)
    assert await console.service.store.write_records([RecordWrite(known_chat_record(known))])
    page = await console.open("/groups", "admin")
    await expect(page.get_by_text("horae group add ann telegram:7 --name Ann --no-trigger")).to_be_visible()
    assert not await violations_of(page)
    await page.get_by_role("link", name="Register").click()
    await page.get_by_role("button", name="Register a chat").click()
    await expect(page.get_by_role("heading", name="Ann")).to_be_visible()
    group = await console.service.groups.get(LOCAL, "ann")
    assert (group.chat, group.name, group.requires_trigger) == ("telegram:7", "Ann", False)
    await page.goto(f"{console.url}/groups")
    await expect(page.get_by_text("Chats without a group")).to_have_count(0)


async def test_group_is_registered_changed_stopped_and_removed(console: Console) -> None:
    page = await console.open("/chats", "admin")
    await page.get_by_role("link", name="Groups").click()
    await expect(page.get_by_text("There are no groups.")).to_be_visible()
    await page.get_by_label("Folder").fill("family")
    await page.get_by_label("Chat", exact=False).first.fill("telegram:-100")
    await page.locator("#field-zone").fill("Asia/Shanghai")
    await page.locator("#field-mounts").fill("/srv/photos:photos:rw\n/srv/music")
    await page.get_by_role("button", name="Register a chat").click()
    await expect(page.get_by_role("heading", name="family")).to_be_visible()
    group = await console.service.groups.get(LOCAL, "family")
    assert (group.chat, group.zone) == ("telegram:-100", "Asia/Shanghai")
    assert [tuple(each) for each in group.mounts] == [("/srv/photos", "photos", True), ("/srv/music", "music", False)]
    await page.get_by_text("Change the group").click()
    await page.locator("#field-zone").fill("")
    await page.locator("#field-mounts").fill("/srv/music:songs")
    await page.get_by_label("Main group").select_option("true")
    await page.get_by_label("Longest time without output").fill("10m")
    await picture(page, "group-change")
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_text("main group", exact=True)).to_be_visible()
    group = await console.service.groups.get(LOCAL, "family")
    assert (group.zone, group.is_main, group.limits.timeout.total_seconds()) == (None, True, 600)
    assert [each.name for each in group.mounts] == ["songs"]
    await page.get_by_role("button", name="Stop", exact=True).click()
    await expect(page.get_by_text("family is stopped.")).to_be_visible()
    assert (await console.service.groups.get(LOCAL, "family")).is_stopped
    await page.get_by_role("button", name="Start", exact=True).click()
    await expect(page.get_by_text("family is started.")).to_be_visible()
    await page.get_by_text("Remove…").click()
    await page.get_by_role("textbox", name="family").fill("family")
    await page.get_by_role("button", name="Remove", exact=True).click()
    await expect(page.get_by_text("family is removed.")).to_be_visible()
    assert await console.service.groups.find("family") is None


async def test_refused_form_is_shown_again_at_its_field(console: Console) -> None:
    page = await console.open("/groups", "admin")
    await page.get_by_label("Folder").fill("global")
    await page.get_by_label("Chat", exact=False).first.fill("web:1")
    await page.get_by_role("button", name="Register a chat").click()
    await expect(page.locator("#field-folder-problem")).to_contain_text("global")
    await expect(page.get_by_label("Chat", exact=False).first).to_have_value("web:1")
    await page.get_by_label("Folder").fill("family")
    await page.locator("#field-mounts").fill("photos")
    await page.get_by_role("button", name="Register a chat").click()
    await expect(page.locator("#field-mounts-problem")).to_be_visible()
    console.problems.clear()


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_pages_fit_a_phone_and_are_accessible(console: Console, language: Language) -> None:
    groups = console.service.groups
    await groups.add(
        LOCAL, "family", "telegram:-100123", name="家庭", zone="Asia/Shanghai", mounts=[("/srv/a", "a", True)]
    )
    await groups.add(LOCAL, "work", "xmpp:" + "x" * 80, is_main=True, is_stopped=True)
    for size in ("phone", "laptop"):
        for path in ("/groups", "/group?folder=family"):
            page = await console.open(path, "admin", language=language, size=size)
            width = await page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert width <= 0, (path, size)
            assert await violations_of(page) == []
            await picture(page, f"{path.strip('/').partition('?')[0]}-{language}-{size}")


async def test_member_sees_no_group(console: Console) -> None:
    await console.service.groups.add(LOCAL, "family", "web:1")
    page = await console.open("/groups", "ada")
    await expect(page.get_by_text("There are no groups.")).to_be_visible()
    await expect(page.get_by_role("button", name="Register a chat")).to_have_count(0)
