"""Steps that tests of the administration pages share: forms of refused roles, expected refusals, accessibility of many pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from playwright.async_api import Page

from tests.console.accessibility import violations_of
from tests.console.console_server import Console, Language, Theme

_REFUSED: Final = re.compile(r"the server responded with a status of 4\d\d")
COMBINATIONS: Final[tuple[tuple[Language, Theme, str], ...]] = (("en", "light", "laptop"), ("zh", "dark", "phone"))
"""Language, theme and size: each of them once."""


def take_refusals(console: Console, number: int) -> None:
    """Drop the notes that the browser makes about so many refused forms."""
    notes = [each for each in console.problems if _REFUSED.search(each)]
    assert len(notes) == number, console.problems
    console.problems[:] = [each for each in console.problems if each not in notes]


async def post(console: Console, page: Page, path: str, fields: Mapping[str, str]) -> tuple[int, str]:
    """Send a form with the session of a page, as a changed page could; return status and content."""
    token = await page.locator("[name=csrf]").first.get_attribute("value")
    headers = {"Origin": console.api.base}
    sent = await page.request.post(console.url + path, form={"csrf": token or "", **fields}, headers=headers)
    return sent.status, await sent.text()


async def check_pages(console: Console, who: str, paths: Iterable[str]) -> None:
    """Check that pages have no accessibility violation and do not scroll sideways, in both languages and themes."""
    for language, theme, size in COMBINATIONS:
        context = await console.open_context(who, language=language, theme=theme, size=size)
        page = await context.new_page()
        for path in paths:
            response = await page.goto(console.url + path)
            assert response is not None
            assert response.ok, path
            assert await violations_of(page) == [], path
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), (path, size)
