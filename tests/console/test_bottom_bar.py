"""Navigation of a phone: a bar at the bottom of the window with the main pages, and a list of the others above it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

import pytest
from playwright.async_api import Locator, Page, expect

from horae.console.renderer import navigation
from horae.console.viewer import Viewer
from horae.model.accounts.principal import Principal
from tests.console.accessibility import violations_of
from tests.console.console_server import Console, Language

NOW = datetime(2026, 11, 18, tzinfo=UTC)
MIN_TARGET = 44
LABELS: dict[Language, list[str]] = {
    "en": ["Now", "Tasks", "Runs", "Calendar", "More"],
    "zh": ["现在", "任务", "运行", "日历", "更多"],
}


def names_for(principal: Principal, *, is_simple: bool = False) -> tuple[list[str], list[str]]:
    links = navigation(Viewer(principal, "en", "UTC", "auto", "", "", NOW, is_simple))
    return [each.name for each in links.main], [each.name for each in links.others]


def test_navigation_has_the_pages_of_the_role() -> None:
    main, others = (
        ["now", "tasks", "runs", "calendar"],
        ["streams", "stations", "activity", "approvals", "settings", "simple"],
    )
    assert names_for(Principal("ada")) == (main, others)
    assert names_for(Principal("local", admin=True)) == (main, ["lanes", "chats", *others])
    assert names_for(Principal("group:family")) == (main, ["chats", *others])
    assert names_for(Principal("ada"), is_simple=True) == (["simple"], [])


class Box(NamedTuple):
    top: float
    bottom: float
    width: float
    height: float


async def box_of(element: Locator) -> Box:
    box = await element.bounding_box()
    assert box is not None
    return Box(box["y"], box["y"] + box["height"], box["width"], box["height"])


async def scroll_to_end(page: Page) -> None:
    await page.evaluate("window.scrollTo(0, document.documentElement.scrollHeight)")


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_bar_leads_to_every_page_and_covers_nothing(console: Console, language: Language) -> None:
    page = await console.open("/settings", language=language, size="phone", scripts=False)
    bar, others = page.locator("nav.pages"), page.locator("#other-pages")
    targets = await bar.locator("> a, > button").all()
    assert [(await each.inner_text()).strip() for each in targets] == LABELS[language]
    for target in targets:
        box = await box_of(target)
        assert min(box.width, box.height) >= MIN_TARGET
    await expect(bar.locator("> [aria-current]")).to_have_text(LABELS[language][-1])

    await scroll_to_end(page)
    assert (await box_of(page.locator("footer"))).bottom <= (await box_of(bar)).top
    await page.locator("main button:visible").last.focus()
    assert (await box_of(page.locator(":focus"))).bottom <= (await box_of(bar)).top

    await expect(others).to_be_hidden()
    await targets[-1].click()
    await expect(others.locator("[aria-current=page]")).to_have_attribute("data-path", "/settings")
    assert all([(await box_of(each)).height >= MIN_TARGET for each in await others.locator("a").all()])
    await others.locator("[data-path='/activity']").click()
    await expect(page).to_have_url(f"{console.url}/activity")
    await expect(others).to_be_hidden()
    await bar.locator("[data-path='/']").click()
    await expect(bar.locator("> [aria-current=page]")).to_have_text(LABELS[language][0])


async def test_open_list_is_accessible_and_closes_with_escape(console: Console) -> None:
    page = await console.open("/", size="phone")
    button = page.locator(".more-pages")
    await button.click()
    assert await violations_of(page) == []
    await page.keyboard.press("Escape")
    await expect(page.locator("#other-pages")).to_be_hidden()
    await expect(button).to_be_focused()
    # In a wider window the same links are in the line of the others, without the button.
    await page.set_viewport_size({"width": 1280, "height": 800})
    await expect(button).to_be_hidden()
    await expect(page.locator("#other-pages a").last).to_be_in_viewport(ratio=1)
