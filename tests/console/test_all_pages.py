"""Every page of the console on the seeded store: accessible, inside the screen, inert to hostile text, small, and readable
without scripts. Pages are found by their routes; a failure names the page."""

from __future__ import annotations

import gzip
from functools import partial
from typing import Any, Final, NamedTuple

import pytest
from playwright.async_api import BrowserContext, Dialog, Page, ViewportSize

from horae.console.rendering import static_files
from tests.console.accessibility import look_violations_of, violations_of
from tests.console.console_server import SIZES, Console, Language, Theme
from tests.console.pages import html_pages
from tests.console.seeded import Seed, seed_store

HTML_BUDGET: Final = 40_000
SCRIPT_BUDGET: Final = 60_000
STYLE_BUDGET: Final = 20_000
PHONE: Final[ViewportSize] = {"width": 360, "height": 740}
NOT_FOUND: Final = "/no-such-page"
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


class SeededConsole(NamedTuple):
    console: Console
    seed: Seed


@pytest.fixture
async def seeded(console: Console) -> SeededConsole:
    return SeededConsole(console, await seed_store(console.api))


async def visit(context: BrowserContext, console: Console, path: str) -> tuple[Page, list[str]]:
    """Open a page; returns it with what is wrong with its answer."""
    page = context.pages[0] if context.pages else await context.new_page()
    response = await page.goto(console.url + path, wait_until="load")
    assert response is not None
    size = len(gzip.compress(await response.body()))
    problems = [f"{size} bytes of HTML, compressed"] if size > HTML_BUDGET else []
    return page, problems if response.ok else [*problems, f"status {response.status}"]


async def overflow_of(page: Page) -> list[str]:
    found: list[str] = []
    for size in ("phone", "laptop"):
        width, height = SIZES[size]
        await page.set_viewport_size({"width": width, "height": height})
        found += [f"{size}: {each}" for each in await page.evaluate(_OVERFLOW)]
    return found


async def check_pages(
    seeded: SeededConsole, language: Language, theme: Theme, variants: int, *, both_themes: bool
) -> dict[str, list[str]]:
    """Visit every page with so many ids; returns what is wrong by path."""
    console = seeded.console
    contexts = {who: await console.open_context(who, language=language, theme=theme) for who in ("admin", "ada")}
    for context in contexts.values():
        context.on("dialog", partial(_note_dialog, console))
    problems: dict[str, list[str]] = {}
    for each in await html_pages(console, seeded.seed, *contexts):
        for number, path in enumerate(each.paths[:variants]):
            page, found = await visit(contexts[each.who], console, path)
            found += await overflow_of(page)
            found += await page.evaluate(_INJECTED)
            found += await page.evaluate(_INVISIBLE)
            if number == 0:
                found += [f"{theme}: {violation}" for violation in await violations_of(page)]
            if number == 0 and both_themes:
                await page.evaluate("document.documentElement.dataset.theme = 'dark'")
                await page.set_viewport_size(PHONE)
                found += [f"dark, phone: {violation}" for violation in await look_violations_of(page)]
            found += console.problems
            console.problems.clear()
            if found:
                problems[path] = found
    return problems


async def _note_dialog(console: Console, dialog: Dialog) -> None:
    """Only a script of stored text opens a dialog of the browser."""
    console.problems.append(f"dialog: {dialog.message}")
    await dialog.dismiss()


async def test_every_page_is_accessible_and_fits_the_screen_in_english(seeded: SeededConsole) -> None:
    problems = await check_pages(seeded, "en", "light", 3, both_themes=True)
    assert problems == {}, _report(problems)


async def test_every_page_is_accessible_and_fits_the_screen_in_chinese(seeded: SeededConsole) -> None:
    problems = await check_pages(seeded, "zh", "dark", 1, both_themes=False)
    assert problems == {}, _report(problems)


def _report(problems: dict[str, list[str]]) -> str:
    return "\n".join(f"{path}\n" + "\n".join(f"    {each}" for each in found) for path, found in problems.items())


async def test_every_page_can_be_read_without_scripts(seeded: SeededConsole) -> None:
    context = await seeded.console.open_context("ada", scripts=False, size="phone")
    problems: dict[str, list[str]] = {}
    for each in await html_pages(seeded.console, seeded.seed, "ada"):
        page, found = await visit(context, seeded.console, each.paths[0])
        if await page.locator("main h1").count() != 1:
            found.append("not exactly one main heading")
        if not (await page.locator("main").inner_text()).strip():
            found.append("no content")
        if await page.locator("[data-script]:visible, [data-copy]:visible").count():
            found.append("shows a button that works with scripts only")
        if found:
            problems[each.paths[0]] = found
    assert problems == {}, _report(problems)


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_pages_outside_a_session_are_accessible(console: Console, language: Language) -> None:
    for who, path in ((None, "/sign-in"), ("ada", NOT_FOUND)):
        context = await console.open_context(who, language=language)
        page = await context.new_page()
        await page.goto(console.url + path)
        assert await violations_of(page) == [], path
        assert await overflow_of(page) == [], path
        await page.evaluate("document.documentElement.dataset.theme = 'dark'")
        assert await look_violations_of(page) == [], path
    # The browser reports the answer of the page that does not exist.
    console.problems[:] = [each for each in console.problems if _FAILING_RESPONSE not in each]


def test_scripts_and_styles_are_within_their_budgets() -> None:
    def total(suffix: str) -> int:
        return sum(len(gzip.compress(content)) for name, content in static_files().items() if name.endswith(suffix))

    assert total(".js") <= SCRIPT_BUDGET
    assert total(".css") <= STYLE_BUDGET


def test_scripts_make_no_elements_and_no_code_from_text() -> None:
    forbidden = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "srcdoc")
    for name, content in static_files().items():
        if name.endswith(".js"):
            found: Any = [each for each in forbidden if each in content.decode()]
            assert found == [], name
