"""Approvals: an agent's task as a whole, approved by its digest, voided by an edit; limits, rejection, stop and restart."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Page, expect

from horae.model.accounts.principal import LOCAL
from horae.model.change import Facts
from horae.model.task import PauseCause, TaskState
from tests.console.accessibility import violations_of
from tests.console.admin_steps import post, take_refusals
from tests.console.console_server import Console

HOSTILE = "<img src=x onerror=alert(1)> 每天早上九点给我发一份非常非常长的报告" + "长" * 100


async def propose(console: Console, **changed: Any) -> str:
    """Let the agent of ada propose a task; return its id."""
    target = {"kind": "http", "url": "https://example.com/report", "headers": {"X-Tool": "<b>"}}
    body = {"name": "morning report", "when": "every day at 09:00", "zone": "Asia/Shanghai", "target": target}
    reply = await console.api.post("/v1/tasks", {**body, "payload": {"city": "上海"}, **changed}, who="robot")
    assert reply.status == 201, reply.text
    return str(reply.json["id"])


async def facts_of(console: Console, task_id: str) -> Facts:
    return await console.service.tasks.get(LOCAL, task_id)


def proposal(page: Page, task_id: str) -> Any:
    return page.locator(f"#proposal-{task_id}")


async def test_approval_holds_for_the_shown_task_and_an_edit_voids_it(console: Console) -> None:
    task_id = await propose(console)
    page = await console.open("/approvals", "ada")
    card = proposal(page, task_id)
    for text in ("morning report", "agent robot", "every day at 09:00", "https://example.com/report", '"上海"', "<b>"):
        await expect(card).to_contain_text(text)
    await expect(card.locator("ol li")).to_have_count(5)
    await expect(card.locator("ol li").first).to_contain_text("Asia/Shanghai")

    edited = await console.api.patch(f"/v1/tasks/{task_id}", {"payload": {"city": "北京"}}, who="robot")
    assert edited.status == 200, edited.text
    await card.get_by_role("button", name="Approve").click()
    await expect(page.get_by_role("alert")).to_contain_text("has changed since you looked at it")
    facts = await facts_of(console, task_id)
    assert facts.status.pause is not None
    assert facts.status.pause.cause is PauseCause.AWAITING_APPROVAL

    await expect(card).to_contain_text('"北京"')
    await card.get_by_role("button", name="Approve").click()
    await expect(page.locator("#notice")).to_contain_text("may run as it was shown")
    await expect(card).to_have_count(0)
    assert (await facts_of(console, task_id)).status.state is TaskState.ACTIVE
    edited = await console.api.patch(f"/v1/tasks/{task_id}", {"payload": {"city": "广州"}}, who="robot")
    assert edited.status == 200
    await page.goto(console.url + "/approvals")
    await expect(card).to_contain_text('"广州"')
    take_refusals(console, 1)


async def test_rejection_limits_stop_and_restart_without_scripts(console: Console) -> None:
    first, second = await propose(console, name=HOSTILE), await propose(console, name="second")
    page = await console.open("/approvals", "admin", scripts=False)
    card = proposal(page, first)
    await expect(card).to_contain_text(HOSTILE)
    await card.get_by_text("Reject…").click()
    await card.get_by_label("Reason").fill("too <b>often</b>")
    await card.get_by_role("button", name="Reject").click()
    await expect(page.locator("#notice")).to_contain_text("was cancelled")
    rejected = await facts_of(console, first)
    assert rejected.status.state is TaskState.CANCELLED
    assert dict(rejected.task.labels)["horae/rejected"] == "too <b>often</b>"
    await page.goto(f"{console.url}/tasks/{first}")
    await expect(page.locator("#rejection")).to_have_text("It was rejected: too <b>often</b>")
    await page.goto(f"{console.url}/approvals")

    agents = page.locator("#agents")
    await agents.get_by_text("Limits").click()
    await agents.get_by_label("Shortest interval").fill("soon")
    await agents.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_contain_text("soon")
    await agents.get_by_text("Limits").click()
    await expect(agents.get_by_label("Shortest interval")).to_have_value("soon")
    await agents.get_by_label("Shortest interval").fill("30m")
    await agents.get_by_label("Active tasks").fill("3")
    await agents.get_by_role("button", name="Save").click()
    agent = await console.service.agents.get(LOCAL, "robot", "ada")
    assert (agent.quotas.active_tasks, agent.quotas.shortest_interval.total_seconds()) == (3, 1800.0)  # type: ignore[union-attr]
    await page.get_by_role("button", name="Undo").click()
    assert (await console.service.agents.get(LOCAL, "robot", "ada")).quota_overrides == ()

    facts = await facts_of(console, second)
    await console.service.approvals.approve(LOCAL, second, await digest_on(page, second))
    await page.goto(console.url + "/approvals")
    await agents.get_by_role("button", name="Stop all").click()
    await expect(page.locator("#notice")).to_contain_text("1 task is paused")
    assert (await console.service.agents.get(LOCAL, "robot", "ada")).stopped
    facts = await facts_of(console, second)
    assert facts.status.pause is not None
    assert facts.status.pause.cause is PauseCause.AGENT_STOPPED
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator("#notice")).to_contain_text("1 task is resumed")
    assert (await facts_of(console, second)).status.state is TaskState.ACTIVE
    take_refusals(console, 1)


async def digest_on(page: Page, task_id: str) -> str:
    return str(await proposal(page, task_id).locator("code.digest").text_content())


async def test_approvals_belong_to_their_owner_and_an_empty_page_is_accessible(console: Console) -> None:
    page = await console.open("/approvals", "bob")
    await expect(page.get_by_text("No task waits for approval.")).to_be_visible()
    assert await violations_of(page) == []
    task_id = await propose(console, name=HOSTILE)
    page = await console.open("/approvals", "ada")
    digest = await digest_on(page, task_id)
    assert await page.get_by_role("button", name="Save").count() == 0, "limits are set by admins"
    status, _ = await post(
        console, page, "/approvals/limit", {"owner": "ada", "agent": "robot", "quota_active_tasks": "9"}
    )
    assert status == 403
    page = await console.open("/approvals", "bob")
    assert await page.locator(".proposal").count() == 0
    for path, fields in (
        ("/approvals/approve", {"task": task_id, "digest": digest}),
        ("/approvals/reject", {"task": task_id}),
        ("/approvals/stop", {"owner": "ada", "agent": "robot"}),
    ):
        assert (await post(console, page, path, fields))[0] == 404
    page = await console.open("/approvals", "vic")
    assert await page.locator("main form[method=post] button:visible").count() == 0
    assert (await post(console, page, "/approvals/approve", {"task": task_id, "digest": digest}))[0] == 403
    assert (await facts_of(console, task_id)).status.state is TaskState.PAUSED
