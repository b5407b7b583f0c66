"""Approvals where an agent is seen at work: the pages of its group, its chat and its runs, with the buttons."""

from __future__ import annotations

import json

import pytest
from playwright.async_api import expect

from horae.model.accounts.principal import LOCAL, Principal, Role
from horae.model.task import Target, Task, TaskState
from horae.service.tasks.task_request import TaskRequest
from horae.testing.factories import a_task
from tests.console.accessibility import violations_of
from tests.console.console_server import Console
from tests.console.run_records import add_runs, make_failed_run


async def propose(console: Console, folder: str, name: str) -> Task:
    """Let the agent of a group propose a command."""
    agent = Principal(f"group:{folder}", agent=folder)
    target = Target("http", json.dumps({"url": f"https://example.com/{name}"}))
    return await console.service.tasks.create(agent, TaskRequest(name, "every day at 09:00", target, zone="UTC"))


async def state_of(console: Console, task: Task) -> TaskState:
    return (await console.service.tasks.get(LOCAL, task.id)).status.state


async def path_of(console: Console, place: str) -> str:
    """Make the groups, and return the path of a page of the first."""
    for folder in ("family", "work"):
        await console.service.groups.add(LOCAL, folder, f"web:{folder}")
    await console.service.accounts.put(LOCAL, "group:family", role=Role.MEMBER)
    _, console.api.tokens["family"] = await console.service.tokens.make(LOCAL, owner="group:family", name="x")
    if place != "run":
        return {"chat": "/chat?chat=web:family", "group": "/group?folder=family"}[place]
    task = a_task(owner="group:family")
    run = make_failed_run(task, 5)
    await add_runs(console, task, run)
    return f"/runs/{run.id}"


@pytest.mark.parametrize("place", ["chat", "group", "run"])
async def test_pending_task_is_approved_and_rejected_where_the_agent_is_seen(console: Console, place: str) -> None:
    path = await path_of(console, place)
    good, bad = await propose(console, "family", "good"), await propose(console, "family", "bad")
    await propose(console, "work", "foreign")
    page = await console.open(path, "family")
    await expect(page.locator(f"#pending-{good.id}")).to_contain_text("https://example.com/good")
    await expect(page.get_by_text("foreign")).to_have_count(0)
    assert await violations_of(page) == []

    await page.locator(f"#pending-{good.id}").get_by_role("button", name="Approve").click()
    await expect(page.locator("#notice")).to_contain_text("may run as it was shown")
    assert page.url.endswith(path) or page.url.endswith(path.replace(":", "%3A"))
    assert await state_of(console, good) is TaskState.ACTIVE
    row = page.locator(f"#pending-{bad.id}")
    await row.get_by_text("Reject…").click()
    await row.get_by_role("button", name="Reject").click()
    await expect(page.locator("#notice")).to_contain_text("was cancelled")
    await expect(page.get_by_text("Waiting for you")).to_have_count(0)
    assert await state_of(console, bad) is TaskState.CANCELLED
