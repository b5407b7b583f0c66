"""Calendar: months, weeks and days with outcomes and planned runs, in both languages and themes, with and without scripts."""

from __future__ import annotations

from datetime import timedelta
from itertools import product
from typing import Final

import pytest
from playwright.async_api import Page, expect

from horae.model.change import Change
from horae.model.reason import Reason
from horae.model.run import RunState
from horae.ports.store import TaskFilter
from horae.service.runs import planned
from horae.testing.decisions import always
from horae.testing.factories import an_ended_run
from tests.console.accessibility import violations_of
from tests.console.console_server import Console

HOSTILE: Final = "<script>alert(1)</script> " + "一个非常非常长的任务名称" * 8
DAY: Final = "2099-03-29"
"""Clocks in Berlin go forward on this day."""


async def seed(console: Console) -> None:
    """Tasks of two owners, and outcomes of every kind three days ago."""
    await console.api.create_task(name="nightly backup", when="every day at 02:30", zone="Europe/Berlin")
    await console.api.create_task(name=HOSTILE, when="*/10 * * * *", zone="UTC")
    await console.api.create_task(who="bob", name="secret of bob", when="every day at 09:00", zone="UTC")
    store, now = console.service.store, console.api.app.context.clock.now()
    task = (await store.tasks(TaskFilter(owner="ada"))).items[0].task
    noon = (now - timedelta(days=3)).replace(hour=12, minute=0, second=0, microsecond=0)
    outcomes = [RunState.SUCCEEDED] * 3 + [RunState.FAILED]
    runs = [
        an_ended_run(task, planned=noon + timedelta(minutes=place), state=state) for place, state in enumerate(outcomes)
    ]
    missed = an_ended_run(task, planned=noon + timedelta(minutes=9), state=RunState.SKIPPED, reason=Reason.STALE)
    rows = (*runs, missed._replace(started=None))
    await store.change(task.id, None, always(Change(new_runs=rows)))


async def has_no_overflow(page: Page) -> bool:
    return bool(await page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


async def test_empty_calendar_is_accessible_and_every_view_fits_a_phone(console: Console) -> None:
    page = await console.open("/calendar?view=month", language="zh", theme="dark", size="phone")
    assert await violations_of(page) == []
    await expect(page.locator(".empty")).to_be_visible()
    await seed(console)
    for view in ("month", "week", "day"):
        await page.goto(f"{console.url}/calendar?view={view}&date={DAY}&tz=Europe/Berlin")
        assert await has_no_overflow(page), f"{view} is wider than a phone"
        await expect(page.locator("#changes li")).to_have_count(2)


async def test_past_outcomes_and_planned_runs_of_a_month(console: Console) -> None:
    await seed(console)
    now = console.api.app.context.clock.now()
    past = (now - timedelta(days=3)).date()
    page = await console.open(f"/calendar?date={past}", scripts=False)
    cell = page.locator(f"#d-{past} a")
    label = await cell.get_attribute("aria-label") or ""
    assert "3 succeeded" in label
    assert "1 failed" in label
    assert "1 missed" in label
    assert "failed" in (await page.locator(f"#d-{past}").get_attribute("class") or "")
    await cell.click()
    row = page.locator("#h1200")
    await expect(row).to_contain_text("3 succeeded")
    href = await row.locator("a").get_attribute("href") or ""
    assert "/runs?since=" in href
    await page.goto(f"{console.url}/calendar?view=month&date={DAY}")
    await page.locator(f"#d-{DAY} a").click()
    await expect(page.locator("#h0000")).to_contain_text("00:00, 00:10, 00:20, 00:30 +2")
    assert "secret of bob" not in await page.content()
    await page.get_by_role("link", name="Next", exact=True).click()
    await expect(page.locator("h1")).to_have_text("Mon 30 Mar 2099")
    await page.get_by_role("link", name="Week", exact=True).click()
    await expect(page.locator("h1")).to_have_text("Mon 30 Mar 2099 – Sun 5 Apr 2099")
    await page.get_by_role("link", name="Previous", exact=True).focus()
    await page.keyboard.press("Enter")
    await expect(page.locator("h1")).to_have_text("Mon 23 Mar 2099 – Sun 29 Mar 2099")


async def test_page_says_that_there_are_more_tasks_than_it_counts_and_goes_to_the_ends_of_the_calendar(
    console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planned, "MAX_TASKS", 1)
    await seed(console)
    page = await console.open(f"/calendar?date={DAY}", scripts=False)
    await expect(page.locator("#partial")).to_contain_text("at least these")
    far = ("1971-01-01", "9000-12-31", "2011-12-30&tz=Pacific/Apia", "2026-10-25&tz=Europe/Berlin", "soon&tz=nowhere")
    for view, asked in product(("month", "week", "day"), far):
        answer = await page.request.get(f"{console.url}/calendar?view={view}&date={asked}")
        assert answer.ok, (view, asked)


async def test_day_of_a_clock_change_has_no_missing_hour_and_says_when_a_task_runs(console: Console) -> None:
    await seed(console)
    page = await console.open(f"/calendar?view=day&date={DAY}&tz=Europe/Berlin")
    await expect(page.locator("#changes")).to_contain_text("02:30 does not exist and runs at 03:00")
    await expect(page.locator("#h0200")).to_have_count(0)
    await expect(page.locator("#h0300 .plan")).to_contain_text("nightly backup")
    link = page.locator("#h0300").get_by_role("link", name="nightly backup")
    assert "/tasks/tsk_" in (await link.get_attribute("href") or "")
    await expect(page.get_by_role("link", name=HOSTILE).first).to_be_visible()
    await page.locator("#tz").fill("Asia/Shanghai")
    await page.get_by_role("button", name="Apply").last.click()
    await expect(page.locator("#h0200")).to_have_count(1)
    assert "tz=Asia%2FShanghai" in page.url
    table = await console.open(f"/calendar?view=week&date={DAY}&tz=Europe/Berlin")
    await expect(table.locator("td.gap")).to_have_count(1)
    await table.get_by_text("Show as table").click()
    await expect(table.locator("#as-table tbody tr")).to_have_count(7)
