"""Accessibility check of a page with axe: every violation, with the elements that have it."""

from __future__ import annotations

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import Page


async def violations_of(page: Page) -> list[str]:
    found = await Axe().run(page)
    return [
        f"{each['id']}: {each['help']}: {node['html'][:200]}"
        for each in found.response["violations"]
        for node in each["nodes"]
    ]
