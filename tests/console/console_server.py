"""The console on a free loopback port, and browsers that are signed in as one of its accounts."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, ConsoleMessage, Error, Page

from horae.console.request import SESSION_COOKIE
from horae.console.viewer import LANGUAGE_COOKIE, THEME_COOKIE
from horae.model.accounts.principal import Principal
from horae.runtime.api_service import CONSOLE_PATH, mount_console
from horae.service.service import Service
from tests.api.api_server import Api, serve_api
from tests.console.tabs import Tabs, open_tabs

Language = Literal["en", "zh"]
Theme = Literal["light", "dark"]
_LOCALES: Final[dict[Language, str]] = {"en": "en-GB", "zh": "zh-CN"}
SIZES: Final = {"phone": (360, 740), "tablet": (768, 1024), "laptop": (1280, 800), "wide": (1920, 1080)}


@dataclass
class Console:
    """A served console. Problems that browsers report (uncaught errors, blocked content, failed requests) collect in
    `problems`, and fail the test at its end."""

    api: Api
    tabs: Tabs
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
        """Return a new browser context that is signed in as this account; None: not signed in."""
        width, height = SIZES[size]
        context = await self.tabs.browser.new_context(
            viewport={"width": width, "height": height},
            java_script_enabled=scripts,
            color_scheme=theme,
            locale=_LOCALES[language],
            **options,
        )
        self.stack.push_async_callback(context.close)
        await self._add_cookies(context, who, language, theme)
        context.on("page", self._watch)
        return context

    async def open_tab(
        self,
        who: str | None = "ada",
        *,
        language: Language = "en",
        theme: Theme = "light",
        size: str = "laptop",
        scripts: bool = True,
    ) -> Page:
        """Return an empty page, alone in a context that is signed in as this account; None: not signed in."""
        page = await self.stack.enter_async_context(self.tabs.lent(_LOCALES[language], scripts=scripts))
        width, height = SIZES[size]
        await page.set_viewport_size({"width": width, "height": height})
        await page.emulate_media(color_scheme=theme)
        await self._add_cookies(page.context, who, language, theme)
        page.context.on("page", self._watch)
        self.stack.callback(page.context.remove_listener, "page", self._watch)
        self._watch(page)
        self.stack.callback(self._unwatch, page)
        return page

    async def open(self, path: str = "/", who: str | None = "ada", **options: Any) -> Page:
        """Open a page of the console in a tab of its own."""
        page = await self.open_tab(who, **options)
        response = await page.goto(self.url + path)
        assert response is not None
        assert response.ok, f"{path}: {response.status} {await response.text()}"
        return page

    async def _add_cookies(self, context: BrowserContext, who: str | None, language: Language, theme: Theme) -> None:
        cookies: dict[str, str] = {LANGUAGE_COOKIE: language, THEME_COOKIE: theme}
        if who is not None:
            opened = await self.service.sessions.open_with_token(self.api.tokens[who], client="test")
            cookies[SESSION_COOKIE] = opened.cookie
        # The path is that of cookies of the console, so that the console can remove them.
        place = urlsplit(self.url)
        await context.add_cookies(
            [
                {"name": name, "value": value, "domain": place.hostname or "", "path": place.path or "/"}
                for name, value in cookies.items()
            ]
        )

    def _watch(self, page: Page) -> None:
        page.on("pageerror", self._note_error)
        page.on("console", self._note)

    def _unwatch(self, page: Page) -> None:
        page.remove_listener("pageerror", self._note_error)
        page.remove_listener("console", self._note)

    def _note_error(self, error: Error) -> None:
        self.problems.append(str(error.stack or error))

    def _note(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(f"{message.location.get('url', '')}: {message.text}")


@asynccontextmanager
async def serve_in_tabs(tabs: Tabs) -> AsyncIterator[Console]:
    async with serve_api() as api, AsyncExitStack() as stack:
        mount_console(api.app)
        console = Console(api, tabs, stack)
        yield console
        await stack.aclose()
        assert not console.problems, console.problems


@asynccontextmanager
async def serve_console(chromium: str) -> AsyncIterator[Console]:
    """Serve the console and connect to the browser at this address: for programs that are not tests."""
    async with open_tabs(chromium) as tabs, serve_in_tabs(tabs) as console:
        yield console
