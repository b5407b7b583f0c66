"""The console on a free loopback port, and browsers that are signed in as one of its accounts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, async_playwright

from horae.console.request import SESSION_COOKIE
from horae.console.viewer import LANGUAGE_COOKIE, THEME_COOKIE
from horae.model.accounts.principal import Principal
from horae.runtime.api_service import CONSOLE_PATH, mount_console
from horae.service.service import Service
from tests.api.api_server import Api, serve_api

Language = Literal["en", "zh"]
Theme = Literal["light", "dark"]
SIZES: Final = {"phone": (360, 740), "tablet": (768, 1024), "laptop": (1280, 800), "wide": (1920, 1080)}


@dataclass
class Console:
    """A served console. Problems that browsers report (uncaught errors, blocked content, failed requests) collect in
    `problems`, and fail the test at its end."""

    api: Api
    browser: Browser
    stack: AsyncExitStack
    problems: list[str] = field(default_factory=list)

    @property
    def service(self) -> Service:
        return self.api.service

    @property
    def url(self) -> str:
        return self.api.base + CONSOLE_PATH

    def principal(self, who: str) -> Principal:
        """Return the principal of an account, without scopes taken away."""
        return Principal(who, admin=who == "admin")

    async def open_context(
        self,
        who: str | None = "ada",
        *,
        language: Language = "en",
        theme: Theme = "light",
        size: str = "laptop",
        scripts: bool = True,
        **options: Any,
    ) -> BrowserContext:
        """Return a browser context that is signed in as this account; None: not signed in."""
        width, height = SIZES[size]
        context = await self.browser.new_context(
            viewport={"width": width, "height": height},
            java_script_enabled=scripts,
            color_scheme=theme,
            locale="zh-CN" if language == "zh" else "en-GB",
            **options,
        )
        self.stack.push_async_callback(context.close)
        cookies: dict[str, str] = {LANGUAGE_COOKIE: language, THEME_COOKIE: theme}
        if who is not None:
            opened = await self.service.sessions.open_with_token(self.api.tokens[who], client="test")
            cookies[SESSION_COOKIE] = opened.cookie
        await context.add_cookies(
            [{"name": name, "value": value, "url": f"{self.url}/"} for name, value in cookies.items()]
        )
        context.on("page", self._watch)
        return context

    async def open(self, path: str = "/", who: str | None = "ada", **options: Any) -> Page:
        """Open a page of the console in a new context."""
        context = await self.open_context(who, **options)
        page = await context.new_page()
        response = await page.goto(self.url + path)
        assert response is not None
        assert response.ok, f"{path}: {response.status} {await response.text()}"
        return page

    def _watch(self, page: Page) -> None:
        page.on("pageerror", lambda error: self.problems.append(f"{page.url}: {error}"))
        page.on("console", self._note)

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"{message.location.get('url', '')}: {message.text}")


@asynccontextmanager
async def serve_console(chromium: str, url: str = "memory://") -> AsyncIterator[Console]:
    async with serve_api(url) as api, async_playwright() as playwright, AsyncExitStack() as stack:
        mount_console(api.app)
        browser = await playwright.chromium.connect_over_cdp(chromium)
        console = Console(api, browser, stack)
        yield console
        await stack.aclose()
        assert not console.problems, console.problems
