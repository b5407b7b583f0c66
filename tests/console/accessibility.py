"""Accessibility check of a page with axe: every violation, with the elements that have it."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.async_playwright import Axe  # type: ignore[import-untyped]
from playwright.async_api import Page


async def violations_of(page: Page) -> list[str]:
    return await _run(page, None)


async def contrast_violations_of(page: Page) -> list[str]:
    """Check colours only: nothing else depends on the theme."""
    return await _run(page, {"runOnly": {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}})


async def _run(page: Page, options: dict[str, Any] | None) -> list[str]:
    found = await Axe().run(page, options=options)
    return [
        f"{each['id']}: {each['help']}: {node['html'][:200]}"
        for each in found.response["violations"]
        for node in each["nodes"]
    ]
