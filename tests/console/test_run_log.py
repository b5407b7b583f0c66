"""Log of a run: pages without scripts, the pane with 100,000 lines, find, levels, wrapping, following and download."""

from __future__ import annotations

from typing import Final

from playwright.async_api import Locator, Page, expect

from horae.model.run import Run
from horae.ports.journal import Line
from horae.testing.factories import a_run, a_task, an_ended_run
from tests.console.accessibility import violations_of
from tests.console.console_server import Console
from tests.console.run_records import HOSTILE_ERROR, add_runs, moment

MANY: Final = 100_000
MAX_NODES: Final = 2_000
"""Elements of the pane, however long the log is."""
_LEVELS: Final = ("info", "debug", "output", "warning", "info")


def a_line(run: Run, number: int, text: str = "") -> Line:
    return Line(run.id, run.planned, _LEVELS[number % len(_LEVELS)], text or f"line {number} of the log")


async def node_count(page: Page) -> int:
    return int(await page.locator("#log").evaluate("pane => pane.querySelectorAll('*').length"))


def line_of(page: Page, number: int) -> Locator:
    return page.locator(f'#log .line[data-number="{number}"]')


async def scroll_to(page: Page, share: float) -> None:
    await page.locator("#log").evaluate("(pane, share) => { pane.scrollTop = share * pane.scrollHeight; }", share)


async def test_pane_shows_any_part_of_a_hundred_thousand_lines(console: Console) -> None:
    task = a_task(name="talkative")
    run = an_ended_run(task, planned=moment(10))
    await add_runs(console, task, run)
    lines = [a_line(run, number) for number in range(1, MANY + 1)]
    for number in range(0, MANY, 7):
        lines[number] = lines[number]._replace(text=f"{lines[number].text} {'and more words ' * 40}")
    lines[77_776] = a_line(run, 77_777, "the <b>needle</b> in the haystack")
    await console.service.store.write_lines(lines)
    page = await console.open(f"/runs/{run.id}/log")
    await expect(line_of(page, 1)).to_be_visible()
    await scroll_to(page, 1)
    await expect(line_of(page, MANY)).to_be_in_viewport()
    await scroll_to(page, 0.5)
    await expect(line_of(page, MANY // 2 + 10)).to_be_in_viewport()
    await expect(line_of(page, MANY)).to_have_count(0)
    assert await node_count(page) < MAX_NODES
    # Find: a match far away, and back from a text with many matches.
    field = page.get_by_role("searchbox")
    await field.fill("needle")
    await field.press("Enter")
    await expect(line_of(page, 77_777)).to_be_in_viewport()
    await expect(line_of(page, 77_777).locator("mark")).to_have_text("needle")
    await expect(page.locator("[data-log=matches]")).to_have_text("1 of 1")
    assert "find=needle" in page.url
    await field.fill("line 9999")
    await field.press("Enter")
    await expect(page.locator("[data-log=matches]")).to_contain_text(" of 11")
    await page.get_by_role("button", name="Next match").click()
    await page.get_by_role("button", name="Next match").click()
    await page.get_by_role("button", name="Previous match").click()
    await expect(page.locator("#log .line.current mark")).to_have_text("line 9999")
    # Only warnings, then wrapped lines: the place in the log stays.
    await page.get_by_label("Level").select_option("warning")
    await expect(page.locator("[data-log=total]")).to_have_text("20000 lines")
    await scroll_to(page, 1)
    await expect(line_of(page, 99_998)).to_be_in_viewport()
    await page.get_by_label("Wrap").check()
    await expect(line_of(page, 99_998)).to_be_visible()
    # Heights of wrapped lines are known only once they are in view.
    await page.get_by_label("Level").select_option("all")
    await field.fill("needle")
    await field.press("Enter")
    await expect(line_of(page, 77_777)).to_be_in_viewport()
    assert await node_count(page) < MAX_NODES
    # By keyboard alone.
    await page.locator("#log").focus()
    await page.keyboard.press("Home")
    await expect(line_of(page, 1)).to_be_in_viewport()
    await page.keyboard.press("End")
    await expect(line_of(page, MANY)).to_be_in_viewport()


async def test_pane_follows_a_run_until_a_person_scrolls_up(console: Console) -> None:
    task = a_task(name="busy")
    run = a_run(task, planned=moment(1))
    await add_runs(console, task, run)
    store = console.service.store
    page = await console.open(f"/runs/{run.id}/log", language="zh", theme="dark")
    await expect(page.get_by_text("还没有日志")).to_be_visible()
    assert await violations_of(page) == []
    await store.write_lines([a_line(run, number) for number in range(1, 200)])
    await expect(line_of(page, 199)).to_be_in_viewport()
    follow = page.get_by_role("checkbox", name="跟随")
    await expect(follow).to_be_checked()
    await page.locator("#log").hover()
    for _ in range(8):
        await page.mouse.wheel(0, -100)
    await expect(follow).not_to_be_checked()
    await store.write_lines([a_line(run, number) for number in range(200, 400)])
    await expect(page.locator("[data-log=total]")).to_have_text("399 行")
    await expect(line_of(page, 399)).to_have_count(0)
    await follow.check()
    await expect(line_of(page, 399)).to_be_in_viewport()
    await store.write_lines([a_line(run, 400)])
    await expect(line_of(page, 400)).to_be_in_viewport()
    # The event stream announces new lines, and only the part of them in view is read.
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    async with page.expect_request(lambda request: "/log.json" in request.url):
        await store.write_lines([a_line(run, number) for number in range(401, 2_001)])
    await expect(line_of(page, 2_000)).to_be_in_viewport()
    reads = [url for url in requests if "/log.json" in url]
    assert len(reads) < 6, "lines that are not in view are not read"


async def test_log_without_scripts_has_pages_and_a_file(console: Console) -> None:
    task = a_task(name="plain")
    run = an_ended_run(task, planned=moment(10))
    await add_runs(console, task, run)
    hostile = ["=1+1", "<img src=x onerror=alert(1)>", HOSTILE_ERROR, "\x1b]0;title\x07bell"]
    texts = [*hostile, *(f"line {number}" for number in range(900))]
    await console.service.store.write_lines([a_line(run, number, text) for number, text in enumerate(texts)])
    page = await console.open(f"/runs/{run.id}/log", scripts=False)
    await expect(page.locator("#log .line")).to_have_count(500)
    await expect(page.locator("#log .line").nth(1)).to_contain_text(hostile[1])
    await page.get_by_role("link", name="Next lines").click()
    await expect(page.locator("#log .line")).to_have_count(404)
    await page.get_by_role("searchbox").fill("line 89")
    await page.get_by_role("button", name="Find").click()
    await expect(page.locator("#log .line")).to_have_count(11)
    answer = await page.context.request.get(f"{console.url}/runs/{run.id}/log.txt")
    assert answer.headers["content-disposition"] == f'attachment; filename="{run.id}.log.txt"'
    assert answer.headers["content-type"].startswith("text/plain")
    content = (await answer.body()).decode()
    assert content.count("\n") == len(texts)
    assert all(line[:2] == "20" for line in content.splitlines())
    assert not {"\x1b", "\x07", "\u202e"} & set(content)
