"""Accessibility check of a page with axe: every violation, with the elements that have it."""

from __future__ import annotations

from typing import Any, Final

from axe_playwright_python.base import AXE_SCRIPT
from playwright.async_api import Page

_LOOK_RULES: Final = (
    "color-contrast",
    "link-in-text-block",
    "target-size",
    "button-name",
    "link-name",
    "scrollable-region-focusable",
)
_CONFIGURE: Final = """axe.configure({ rules: [{ id: "color-contrast", selector: ":not([data-repeated])" }] })"""
# Only the violations leave the browser: everything that passed would be megabytes. Preloading would fetch the style sheets
# again for a rule that is off by default.
_RUN: Final = """async (options) => (await axe.run({ resultTypes: ["violations"], preload: false, ...options })).violations.flatMap(
  (each) => each.nodes.map((node) => `${each.id}: ${each.help}: ${node.html.slice(0, 200)}`))"""
# Elements of one parent with the same tags and classes all the way down have the same colours: the first is checked for all.
# Contrast is most of the time of a check, and most text of a page is in the rows of its lists.
_MARK_REPEATED: Final = """() => {
  const styled = ["class", "type", "dir", "lang", "role", "aria-current", "aria-pressed", "aria-hidden", "data-state"];
  const looks = new Map();
  const look = (element) => {
    const attributes = [...element.attributes].map(({ name, value }) => styled.includes(name) ? `${name}=${value}` : name).sort();
    const hasText = [...element.childNodes].some((each) => each.nodeType === Node.TEXT_NODE && each.data.trim());
    const found = `<${element.nodeName} ${attributes} ${hasText}>${[...element.children].map(look).join("")}</>`;
    looks.set(element, found);
    return found;
  };
  document.querySelectorAll("[data-repeated]").forEach((each) => each.removeAttribute("data-repeated"));
  look(document.body);
  for (const parent of looks.keys()) {
    const seen = new Set();
    for (const child of parent.children) {
      if (seen.has(looks.get(child))) [child, ...child.querySelectorAll("*")].forEach((each) => each.setAttribute("data-repeated", ""));
      seen.add(looks.get(child));
    }
  }
}"""


async def preload_checker(page: Page) -> None:
    """Let the browser keep the checker for every page that this tab will open: sending it takes as long as a check."""
    await page.add_init_script(f"{AXE_SCRIPT};{_CONFIGURE}")


async def violations_of(page: Page) -> list[str]:
    """Check every rule."""
    return await _run(page, {})


async def look_violations_of(page: Page) -> list[str]:
    """Check only what depends on the theme and on the width of the window."""
    return await _run(page, {"runOnly": {"type": "rule", "values": list(_LOOK_RULES)}})


async def violations_in_both_themes(page: Page) -> list[str]:
    """Check the page as it is, then in the other theme, which differs in its colours only."""
    found = await violations_of(page)
    theme = "dark" if await page.locator("html").get_attribute("data-theme") == "light" else "light"
    await page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
    return found + [f"{theme}: {violation}" for violation in await look_violations_of(page)]


async def _run(page: Page, options: dict[str, Any]) -> list[str]:
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE_SCRIPT)
        await page.evaluate(_CONFIGURE)
    await page.evaluate(_MARK_REPEATED)
    found: list[str] = await page.evaluate(_RUN, options)
    return found
