"""First day with the console, on real processes: sign in by the printed link, demo tasks, a task in Chinese that runs while
one watches, a node that is killed, the outage with its reason, and the missed occurrence that runs after all."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.async_api import Page, expect

from horae.model.run import Origin, RunState
from tests.cli.operating.deployment import Deployment, Up
from tests.console.tabs import Tabs
from tests.servers.ports import ReservedPort

SECONDS: Final = 30_000
"""Longest wait for a page on a busy machine, in milliseconds."""
WITH_API: Final = {"HORAE_API": "on"}


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    found = Deployment(tmp_path)
    yield found
    found.end()


def _start(deployment: Deployment, port: int) -> tuple[Up, dict[str, Any]]:
    up = deployment.up("--port", str(port), "--json", environment=WITH_API)
    ready: dict[str, Any] = json.loads(up.expect('"api.ready"'))
    return up, ready


async def _create_in_chinese(page: Page, console: str) -> str:
    """Create a task that runs every two seconds; returns its id."""
    await page.goto(f"{console}tasks/new?lang=zh")
    await page.locator("#field-name").fill("每两秒问好")
    await page.locator("#field-when").fill("每2秒")
    await page.locator("#kind-event").check()
    await page.locator("[name='target.event.say']").fill("你好")
    await page.get_by_role("button", name="保存", exact=True).click()
    await page.wait_for_url("**/tasks/tsk_*")
    return page.url.rpartition("/")[2].partition("?")[0]


@pytest.fixture
def port() -> Iterator[int]:
    with ReservedPort() as reserved:
        yield reserved.number


async def test_first_day(tabs: Tabs, deployment: Deployment, port: int) -> None:
    up, ready = await asyncio.to_thread(_start, deployment, port)
    console = ready["console"]
    context = await tabs.browser.new_context(locale="en-GB")
    context.set_default_timeout(SECONDS)
    page = await context.new_page()

    await page.goto(ready["sign_in_link"])
    await expect(page.locator(".empty code").first).to_be_visible()
    assert "code=" not in page.url

    await page.goto(f"{console}tasks")
    await page.get_by_role("button", name="demo").first.click()
    await expect(page.locator("#notice")).to_be_visible()
    assert len(await asyncio.to_thread(deployment.answer, "ls")) >= 2

    task_id = await _create_in_chinese(page, console)
    await page.goto(f"{console}tasks/{task_id}?lang=en")
    await expect(page.locator("main")).to_contain_text("succeeded")
    assert any(run.state is RunState.SUCCEEDED for run in await asyncio.to_thread(deployment.runs, task_id))

    missed = await asyncio.to_thread(
        deployment.add, name="invoices", when="every 2s", zone="UTC", say="x", policies={"missed": "skip"}
    )
    os.killpg(up.process.pid, signal.SIGKILL)
    up.process.wait()
    await asyncio.to_thread(_wait_for_misses, deployment)
    up, ready = await asyncio.to_thread(_start, deployment, port)

    await page.goto(f"{console}?lang=en")
    banner = page.locator("#outage")
    await expect(banner).to_contain_text("the last one died")
    await expect(banner.get_by_role("link", name="invoices")).to_be_visible()
    await banner.get_by_role("link", name="Why?").first.click()
    await expect(page.locator("main")).to_contain_text("nothing could run it")
    await page.goto(f"{console}?lang=en")
    await page.locator(f"#missed-{missed}").get_by_role("button", name="Run the latest").click()
    await expect(page.locator("#notice")).to_contain_text("invoices")
    await page.goto(f"{console}tasks/{missed}?lang=en")
    await asyncio.to_thread(_wait_for_backfill, deployment, missed)
    await context.close()


def _wait_for_misses(deployment: Deployment) -> None:
    """Wait until the killed node has missed occurrences: longer than the shortest outage that is recorded."""
    deployment.call_library(lambda app: app.clock.pause(5.0))


def _wait_for_backfill(deployment: Deployment, task_id: str) -> None:
    async def work(app: Any) -> None:
        while not any(
            run.origin is Origin.BACKFILL and run.state is RunState.SUCCEEDED
            for run in (await app.service.runs.page(app.who)).items
            if run.task_id == task_id
        ):
            await app.clock.pause(0.1)

    deployment.call_library(lambda app: asyncio.wait_for(work(app), 60))
