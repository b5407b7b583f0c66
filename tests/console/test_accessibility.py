"""The accessibility check finds each look of low contrast once, also between repeated rows."""

from __future__ import annotations

from tests.console.accessibility import look_violations_of, violations_of
from tests.console.console_server import Console

PALE = "color: #bbb; background: #fff"
ROWS = "".join(
    f'<tr><td class="{style}">{style} {number}</td></tr>' for number in range(20) for style in ("dark", "light")
)
PAGE = f"""<!doctype html><html lang="en"><head><title>Rows</title><style>.light {{ {PALE} }}</style></head>
<body><main><h1>Rows</h1><table><tbody>{ROWS}<tr><td style="{PALE}">styled itself</td></tr></tbody></table></main></body></html>"""


async def test_contrast_is_checked_for_every_look(console: Console) -> None:
    page = await console.open_tab()
    await page.set_content(PAGE)
    for found in (await violations_of(page), await look_violations_of(page)):
        contrast = [each for each in found if each.startswith("color-contrast")]
        assert len(contrast) == 2
        assert "light 0" in contrast[0]
        assert "styled itself" in contrast[1]


async def test_rules_without_contrast_see_every_element(console: Console) -> None:
    page = await console.open_tab()
    await page.set_content(PAGE.replace("light 19", '<button class="b"></button><button class="b"></button>'))
    assert [each.partition(":")[0] for each in await violations_of(page)].count("button-name") == 2
