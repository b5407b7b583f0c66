"""`python -m tests.console.screenshots FOLDER [PATH…]`: every page of the seeded store as pictures, in four widths, both themes and
both languages. With paths, such as `/` or `/tasks`, only those routes."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Final

from playwright.async_api import Page

from tests.console.chromium import started_chromium
from tests.console.console_server import SIZES, Console, Language, Theme, serve_console
from tests.console.pages import html_pages
from tests.console.seeded import seed_store

LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")
ACCOUNTS: Final = ("admin", "ada")
THEMES: Final[tuple[Theme, ...]] = ("light", "dark")


async def take(chromium: str, folder: Path, routes: Sequence[str]) -> int:
    """Take the pictures; returns how many."""
    number = 0
    async with serve_console(chromium) as console:
        pages = await html_pages(console, await seed_store(console.api), *ACCOUNTS)
        wanted = [each for each in pages if not routes or each.route in routes]
        for language, theme in product(LANGUAGES, THEMES):
            contexts = {who: await console.open_context(who, language=language, theme=theme) for who in ACCOUNTS}
            tabs = {who: await context.new_page() for who, context in contexts.items()}
            for each in wanted:
                page = tabs[each.who]
                await page.goto(console.url + each.paths[0], wait_until="load")
                number += await _take_sizes(page, folder, f"{_file_name(each.route)}-{language}-{theme}")
            for tab in tabs.values():
                await tab.close()
        number += await _take_sign_in(console, folder)
        console.problems.clear()
    return number


async def _take_sizes(page: Page, folder: Path, name: str) -> int:
    for width, height in SIZES.values():
        await page.set_viewport_size({"width": width, "height": height})
        # A window as high as the page: in a picture that is higher than the window, bars would cross the middle.
        whole = await page.evaluate("document.documentElement.scrollHeight")
        await page.set_viewport_size({"width": width, "height": max(height, whole)})
        await page.screenshot(path=folder / f"{name}-{width}.png", full_page=True)
    return len(SIZES)


async def _take_sign_in(console: Console, folder: Path) -> int:
    number = 0
    for language, theme in product(LANGUAGES, THEMES):
        page = await console.open("/sign-in", None, language=language, theme=theme)
        number += await _take_sizes(page, folder, f"sign-in-{language}-{theme}")
    return number


def _file_name(route: str) -> str:
    words = "".join(each if each.isalnum() else " " for each in route).split()
    return "-".join(words) or "now"


def main(arguments: Sequence[str]) -> int:
    if not arguments:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    # A picture of the whole page would cut off what a scroll bar takes of the width.
    with started_chromium("--hide-scrollbars") as chromium:
        number = asyncio.run(take(chromium, folder, arguments[1:]))
    sys.stdout.write(f"{number} pictures in {folder}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
