"""Now page: seen in both languages and themes, without accessibility violations, with scripts and without."""

from __future__ import annotations

from itertools import product

from tests.console.accessibility import violations_of
from tests.console.console_server import Console


async def test_empty_now_page_is_accessible_in_both_languages_and_themes(console: Console) -> None:
    for language, theme in product(("en", "zh"), ("light", "dark")):
        page = await console.open(language=language, theme=theme)
        assert await violations_of(page) == []
        assert await page.locator("html").get_attribute("lang") == ("zh-CN" if language == "zh" else "en")


async def test_now_page_names_the_next_task_without_scripts(console: Console) -> None:
    await console.api.create_task(name="morning report", when="every day at 09:00", zone="UTC")
    page = await console.open(scripts=False)
    assert await page.get_by_role("link", name="morning report").count() == 1
