"""Browser tabs of one test process, used again by later tests.

A new context and page cost a second of processor time, a page in an open tab a tenth of it. Tests stay apart: a tab that
comes back has no cookie, route or second page left, and each test serves its console at another origin.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, Error, Page, async_playwright


class Tabs:
    """Free tabs by locale and whether scripts run: both are fixed when a context is made."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self._free: dict[tuple[str, bool], list[Page]] = defaultdict(list)

    @asynccontextmanager
    async def lent(self, locale: str, *, scripts: bool) -> AsyncIterator[Page]:
        """Yield an empty page that is alone in its context, until the block ends."""
        free = self._free[locale, scripts]
        page = free.pop() if free else await self._open(locale, scripts=scripts)
        try:
            yield page
        finally:
            if await _clear(page):
                free.append(page)

    async def _open(self, locale: str, *, scripts: bool) -> Page:
        context = await self.browser.new_context(locale=locale, java_script_enabled=scripts)
        return await context.new_page()


async def _clear(page: Page) -> bool:
    """Leave the page and forget what a test left; False: the tab is broken and closed."""
    context = page.context
    try:
        for other in context.pages:
            if other is not page:
                await other.close()
        await page.unroute_all()
        await page.evaluate("try { sessionStorage.clear() } catch {}")
        await page.mouse.move(0, 0)
        await page.goto("about:blank")
        await context.clear_cookies()
    except Error:
        await context.close()
        return False
    return True


@asynccontextmanager
async def open_tabs(chromium: str) -> AsyncIterator[Tabs]:
    """Connect to the browser at this address of its debugging port."""
    async with async_playwright() as playwright:
        yield Tabs(await playwright.chromium.connect_over_cdp(chromium))
