"""Calendar: months, weeks and days with outcomes and planned runs, in both languages and themes, with and without scripts."""

from __future__ import annotations

from itertools import product

from tests.console.accessibility import violations_of
from tests.console.console_server import Console


async def test_views_are_accessible_in_both_languages_and_themes(console: Console) -> None:
    for view, (language, theme) in product(("month", "week", "day"), (("en", "light"), ("zh", "dark"))):
        page = await console.open(f"/calendar?view={view}", language=language, theme=theme)
        assert await violations_of(page) == []
    await console.api.create_task(name="morning report", when="every day at 09:00", zone="UTC")
    for view, (language, theme) in product(("month", "week", "day"), (("en", "dark"), ("zh", "light"))):
        page = await console.open(f"/calendar?view={view}&date=2099-01-05", language=language, theme=theme)
        assert await violations_of(page) == []
