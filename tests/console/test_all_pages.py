"""Every page of the console on the seeded store: accessible, inside the screen, inert to hostile text, small, and readable
without scripts. Pages are found by their routes; a failure names the page."""

from __future__ import annotations

import gzip
from functools import partial
from typing import Final, NamedTuple

import pytest
import pytest_asyncio
from playwright.async_api import Dialog, Page

from tests.console.accessibility import look_violations_of, preload_checker, violations_of
from tests.console.console_server import SIZES, Console, Language
from tests.console.pages import html_pages
from tests.console.seeded import Seed, seed_store

HTML_BUDGET: Final = 40_000
NOT_FOUND: Final = "/no-such-page"
NO_TASK: Final = "/tasks/tsk_00"
CLOCK_CHANGE: Final = "date=2099-03-29&tz=Europe/Berlin"
VIEWS: Final = {
    "/runs": ["?group=error"],
    "/activity": ["?verify=1"],
    "/lanes": ["?lane=press"],
    "/tasks/new": ["?when=9"],
    "/schedule-preview": ["?when=2+30"],
    "/tasks/{id}": ["?tab=definition", "?tab=activity"],
    "/tasks/{id}/backfill": ["?from=yesterday&to=now"],
    "/calendar": [f"?view=week&{CLOCK_CHANGE}", f"?view=day&{CLOCK_CHANGE}"],
}
"""Queries that make another page of a route."""
_FAILING_RESPONSE: Final = "the server responded with a status of 404"

# Elements that stick out of the window, except inside a box that scrolls by itself.
_OVERFLOW: Final = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  const scrolls = (element) => element && (["auto", "scroll", "hidden"].includes(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
  const wide = [...document.body.querySelectorAll("*")].filter((element) => element.getBoundingClientRect().right > width + 1 && !scrolls(element.parentElement));
  return [`${document.documentElement.scrollWidth} px wide`, ...wide.slice(0, 4).map((element) => element.outerHTML.slice(0, 160))];
}"""
_INJECTED: Final = """() => {
  const found = [...document.querySelectorAll('img[src="x"], [onload], [onerror], [onclick], script:not([src]), iframe, object, embed')]
    .filter((element) => !element.closest("template")).map((element) => element.outerHTML.slice(0, 160));
  return window.__xss === undefined ? found : [`window.__xss is ${window.__xss}`, ...found];
}"""


# Control characters, terminal escapes and direction overrides of stored text, where a person reads; commands to copy
# (left to right) and form fields have the exact text.
_INVISIBLE: Final = """() => {
  const hidden = /[\\u0000-\\u0008\\u000b\\u000e-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]/;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const text = walker.currentNode, parent = text.parentElement;
    if (!hidden.test(text.data) || parent.closest("textarea, script, template, pre[dir=ltr]")) continue;
    found.push(`control characters: ${JSON.stringify(text.data.slice(0, 80))} in ${parent.outerHTML.slice(0, 80)}`);
  }
  return found.slice(0, 3);
}"""


_UNREADABLE: Final = """() => [
  document.querySelectorAll("main h1").length === 1 ? "" : "not exactly one main heading",
  document.querySelector("main").innerText.trim() ? "" : "no content",
  [...document.querySelectorAll("[data-script], [data-copy]")].some((each) => each.checkVisibility({ visibilityProperty: true }) && each.getClientRects().length)
    ? "shows a button that works with scripts only" : "",
].filter((each) => each)"""


class SeededConsole(NamedTuple):
    console: Console
    seed: Seed


@pytest_asyncio.fixture(loop_scope="session")
async def seeded(console: Console) -> SeededConsole:
    return SeededConsole(console, await seed_store(console.api))


async def visit(page: Page, console: Console, path: str) -> list[str]:
    """Open a page; returns what is wrong with its answer."""
    response = await page.goto(console.url + path, wait_until="load")
    assert response is not None
    size = len(gzip.compress(await response.body()))
    problems = [f"{size} bytes of HTML, compressed"] if size > HTML_BUDGET else []
    return problems if response.ok else [*problems, f"status {response.status}"]


async def set_sizes(page: Page, *sizes: str) -> list[str]:
    """Give the window one size after the other; returns what does not fit into it."""
    found = []
    for size in sizes:
        width, height = SIZES[size]
        await page.set_viewport_size({"width": width, "height": height})
        found += [f"{size}: {each}" for each in await page.evaluate(_OVERFLOW)]
    return found


async def check_every_rule(page: Page, language: Language) -> list[str]:
    """Check a page with all its panels open: every rule of axe in each language, and the rules of looks in both themes.

    Colours depend on no language: in Chinese, one check of every rule is in the dark theme on a phone.
    """
    await page.evaluate("document.querySelectorAll('main details').forEach((each) => { each.open = true; })")
    found = await set_sizes(page, "wide", "tablet", "laptop")
    if language == "en":
        found += [f"light: {each}" for each in await violations_of(page)]
    await page.evaluate("document.documentElement.dataset.theme = 'dark'")
    found += await set_sizes(page, "phone")
    in_the_dark = look_violations_of if language == "en" else violations_of
    return [*found, *(f"dark: {each}" for each in await in_the_dark(page))]


async def check_pages(seeded: SeededConsole, language: Language, ids: int) -> dict[str, list[str]]:
    """Visit every page with so many ids, in both themes with the first; returns what is wrong by path."""
    console = seeded.console
    tabs = {who: await console.open_tab(who, language=language) for who in ("admin", "ada")}
    note_dialog = partial(_note_dialog, console)
    for page in tabs.values():
        await preload_checker(page)
        page.on("dialog", note_dialog)
        console.stack.callback(page.remove_listener, "dialog", note_dialog)
    problems: dict[str, list[str]] = {}
    for each in await html_pages(console, seeded.seed, *tabs):
        views = [each.paths[0] + query for query in VIEWS.get(each.route, [])]
        for path in (*each.paths[:ids], *views):
            page = tabs[each.who]
            found = await visit(page, console, path)
            if path in each.paths[1:]:
                found += await set_sizes(page, *SIZES)
            else:
                found += await check_every_rule(page, language)
            found += await page.evaluate(_INJECTED)
            found += await page.evaluate(_INVISIBLE)
            found += console.problems
            console.problems.clear()
            if found:
                problems[path] = found
    return problems


async def _note_dialog(console: Console, dialog: Dialog) -> None:
    """Only a script of stored text opens a dialog of the browser."""
    console.problems.append(f"dialog: {dialog.message}")
    await dialog.dismiss()


@pytest.mark.long
@pytest.mark.parametrize(("language", "ids"), [("en", 3), ("zh", 1)])
async def test_every_page_is_accessible_in_both_themes_and_fits_the_screen(
    seeded: SeededConsole, language: Language, ids: int
) -> None:
    problems = await check_pages(seeded, language, ids)
    assert problems == {}, _report(problems)


def _report(problems: dict[str, list[str]]) -> str:
    return "\n".join(f"{path}\n" + "\n".join(f"    {each}" for each in found) for path, found in problems.items())


async def test_every_page_can_be_read_without_scripts(seeded: SeededConsole) -> None:
    page = await seeded.console.open_tab("ada", scripts=False, size="phone")
    problems: dict[str, list[str]] = {}
    for each in await html_pages(seeded.console, seeded.seed, "ada"):
        found = await visit(page, seeded.console, each.paths[0])
        found += await page.evaluate(_UNREADABLE)
        if found:
            problems[each.paths[0]] = found
    assert problems == {}, _report(problems)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_sign_in_and_error_pages_are_accessible(console: Console, language: Language) -> None:
    for who, path in ((None, "/sign-in"), ("ada", NOT_FOUND), ("ada", NO_TASK)):
        page = await console.open_tab(who, language=language)
        await page.goto(console.url + path)
        assert await page.locator("nav.pages").is_visible() is (who is not None), "an error is no dead end"
        assert await check_every_rule(page, language) == [], path
    # The browser reports the answer of the page that does not exist.
    console.problems[:] = [each for each in console.problems if _FAILING_RESPONSE not in each]
