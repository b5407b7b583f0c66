"""Steps that tests of the administration pages share: forms of refused roles and expected refusals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from playwright.async_api import Page

from tests.console.console_server import Console

_REFUSED: Final = re.compile(r"the server responded with a status of 4\d\d")


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
