"""Activity: rows with differences and links, filters, pages, verification of the chain, and downloads without formulas."""

from __future__ import annotations

import csv
import json
from io import StringIO

from playwright.async_api import expect

from horae.model.accounts.principal import LOCAL, Role
from horae.model.record import Record
from horae.service.accounts.audit import SEALED_KIND
from tests.console.accessibility import violations_of
from tests.console.console_server import Console

OPERATOR = LOCAL._replace(actor="local", via="cli", request="req_1")
HOSTILE = "=HYPERLINK(<script>alert(1)</script>) " + "通道" * 80


async def make_rows(console: Console) -> str:
    """Make rows of every kind; return the id of a task of ada."""
    task = await console.api.create_task(name="report", when="every 10m")
    for when in ("every 20m", "every 30m"):
        assert (await console.api.patch(f"/v1/tasks/{task['id']}", {"when": when, "zone": "UTC"})).status == 200
    await console.service.lanes.limit(OPERATOR, HOSTILE, 2)
    await console.service.lanes.limit(OPERATOR, HOSTILE, 7)
    await console.service.accounts.put(OPERATOR, "bob", role=Role.VIEWER, quotas={"active_tasks": 3})
    await console.api.create_task("robot", name="wish")
    return str(task["id"])


async def test_rows_show_differences_links_and_filters(console: Console) -> None:
    task_id = await make_rows(console)
    page = await console.open("/activity", "admin")
    table = page.locator("table.activity")
    edited = table.get_by_role("row").filter(has_text="task.edit").first
    await expect(edited.locator("del")).to_contain_text("PT20M")
    await expect(edited.locator("ins")).to_contain_text("PT30M")
    await expect(edited.get_by_role("link", name=task_id)).to_have_attribute("href", f"/console/tasks/{task_id}")
    limited = table.get_by_role("row").filter(has_text="lane.limit").first
    await expect(limited).to_contain_text(HOSTILE)
    await expect(limited.locator("del")).to_have_text("2")
    await expect(limited.locator("ins")).to_have_text("7")
    await expect(limited).to_contain_text("this machine")
    await expect(table.get_by_role("row").filter(has_text="agent robot")).to_contain_text("task.create")
    put = table.get_by_role("row").filter(has_text="owner.put").first
    await expect(put).to_contain_text("viewer")
    assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    await page.locator("[name=action]").fill("task")
    await page.locator("[name=actor]").fill("robot")
    await page.get_by_role("button", name="Filter").click()
    await expect(page.locator("table.activity > tbody > tr")).to_have_count(1)
    assert "action=task" in page.url
    await page.goto(console.url + "/activity?actor=nobody")
    await expect(page.get_by_text("Nothing matches the filter.")).to_be_visible()
    await page.goto(console.url + f"/activity?subject={task_id}")
    await expect(page.locator("table.activity > tbody > tr")).to_have_count(3)


async def test_pages_follow_each_other_without_scripts(console: Console) -> None:
    for number in range(60):
        await console.service.lanes.limit(OPERATOR, "press", number)
    page = await console.open("/activity", "admin", scripts=False)
    await expect(page.locator("table.activity > tbody > tr")).to_have_count(50)
    await page.get_by_role("link", name="Next page").click()
    await expect(page.locator("table.activity > tbody > tr").last).to_contain_text("lane.limit")
    await expect(page.get_by_role("link", name="First page")).to_be_visible()
    await expect(page.locator("#row-1")).to_be_visible()


async def test_chain_is_verified_on_request_and_an_altered_row_is_found(console: Console) -> None:
    await make_rows(console)
    page = await console.open("/activity", "admin")
    assert await page.get_by_text("Verified").count() == 0
    await page.get_by_role("link", name="Verify the chain").click()
    await expect(page.get_by_role("status").filter(has_text="Verified: all")).to_be_visible()
    store = console.service.store
    record = (await store.records(SEALED_KIND, limit=3)).items[2]
    body = {**json.loads(record.body), "by": "somebody"}
    await store.put_record(Record(SEALED_KIND, record.key, record.owner, json.dumps(body)), replacing=record.version)
    await page.reload()
    await expect(page.get_by_role("status").filter(has_text="broken at row 3")).to_be_visible()
    page = await console.open("/activity?verify=1", "ada")
    assert await page.get_by_role("link", name="Verify the chain").count() == 0
    assert await page.get_by_text("Verified").count() == 0


async def test_downloads_have_all_rows_and_no_formulas(console: Console) -> None:
    await make_rows(console)
    page = await console.open("/activity", "admin")
    async with page.expect_download() as started:
        await page.get_by_role("link", name="CSV").click()
    content = (await (await started.value).path()).read_text()
    rows = list(csv.DictReader(StringIO(content)))
    assert {row["subject"] for row in rows if row["action"] == "lane.limit"} == {f"'{HOSTILE}"}
    reply = await page.request.get(console.url + "/activity.ndjson?action=lane")
    shapes = [json.loads(line) for line in (await reply.text()).splitlines()]
    assert [shape["detail"]["limit"] for shape in shapes] == [7, 2]
    assert "attachment" in reply.headers["content-disposition"]
    page = await console.open("/activity", "bob")
    reply = await page.request.get(console.url + "/activity.ndjson")
    assert {json.loads(line)["owner"] for line in (await reply.text()).splitlines()} == {"bob"}


async def test_activity_without_rows_is_accessible(console: Console) -> None:
    page = await console.open("/activity?actor=nobody", "vic")
    assert await violations_of(page) == []
