"""Chains in the console: the tree of a task, the state of each link of a root occurrence, and a retry of a failed link."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from playwright.async_api import expect

from horae.choices import Language
from horae.lifecycle.fire import fire
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.accounts.principal import LOCAL, Role
from horae.model.outcome import Failed, Outcome, Settlement, Succeeded
from horae.model.run import Run
from horae.ports.store import Node
from tests.console.accessibility import violations_of
from tests.console.console_server import Console

HOSTILE = "<script>alert(1)</script> 第二步" + "很长" * 40


async def add_chain(console: Console) -> dict[str, str]:
    """Add fetch, a step after it that is tried once, and tasks after its success and after its failure."""
    made: dict[str, str] = {}
    for name, after in (("fetch", None), (HOSTILE, "fetch"), ("publish", HOSTILE), ("alarm", f"{HOSTILE}:failed")):
        link: dict[str, Any] = {} if after is None else {"when": None, "after": made_link(made, after)}
        task = await console.api.create_task(name=name, zone="UTC", policies={"retry": {"attempts": 1}}, **link)
        made[name] = task["id"]
    return made


def made_link(made: dict[str, str], after: str) -> list[dict[str, str]]:
    name, _, on = after.partition(":")
    return [{"task": made[name], "on": on or "succeeded"}]


async def run_due(console: Console, *outcomes: Outcome) -> list[Run]:
    """Claim what is due and settle each run with its outcome, as a node does."""
    store, clock = console.service.store, console.api.app.context.clock
    if not await store.nodes():
        await store.join(Node("nod_1", "here/1", "1", clock.now(), clock.now()))
    ended = []
    for outcome in outcomes:
        now = clock.now()
        claimant = ClaimContext("nod_1", now, timedelta(seconds=10))
        claim = await store.claim_due(now, "nod_1", 1, lambda facts, entry, token: fire(facts, entry, token, claimant))  # noqa: B023
        (run,) = (each.run for each in claim.runs)
        await store.settle([Settlement(run.id, run.token, outcome, run.started, clock.now())], settle)
        ended.append(run)
    return ended


@pytest.mark.parametrize("language", ["en", "zh"])
async def test_task_shows_what_it_runs_after_and_what_runs_after_it(console: Console, language: Language) -> None:
    made = await add_chain(console)
    for size in ("phone", "laptop"):
        page = await console.open(f"/tasks/{made[HOSTILE]}", language=language, size=size)
        chain = page.locator("#chain")
        await expect(chain.get_by_role("link", name="fetch")).to_be_visible()
        await expect(chain.locator("[aria-current]")).to_have_text(HOSTILE)
        texts = ("after success", "after failure") if language == "en" else ("成功后", "失败后")
        await expect(chain.locator("ul ul ul > li").filter(has_text="publish")).to_contain_text(texts[0])
        await expect(chain.locator("ul ul ul > li").filter(has_text="alarm")).to_contain_text(texts[1])
        assert await violations_of(page) == []


async def test_task_without_links_has_no_chain(console: Console) -> None:
    task = await console.api.create_task(name="alone")
    page = await console.open(f"/tasks/{task['id']}")
    await expect(page.locator("#charts")).to_be_visible()
    await expect(page.locator("#chain")).to_be_empty()


async def test_run_shows_the_state_of_each_link_and_a_failed_one_is_retried_from_there(console: Console) -> None:
    made = await add_chain(console)
    await console.service.tasks.run_now(LOCAL, made["fetch"])
    root, failed, _ = await run_due(console, Succeeded(), Failed("no room"), Succeeded())
    page = await console.open(f"/runs/{root.id}")
    links = page.locator("ul.chain li")
    await expect(links.filter(has_text="fetch").first).to_contain_text("succeeded")
    step = page.locator("ul.chain ul > li").filter(has_text=HOSTILE[:30]).first
    await expect(step).to_contain_text("failed")
    await expect(page.locator("ul.chain ul ul > li").filter(has_text="publish")).to_contain_text("skipped")
    await expect(page.locator("ul.chain ul ul > li").filter(has_text="alarm")).to_contain_text("succeeded")
    assert await violations_of(page) == []
    await page.locator("ul.chain").get_by_role("button", name="Retry").click()
    await expect(page.locator("#notice")).to_be_visible()
    assert page.url.split("?")[0].endswith(f"/runs/{root.id}")
    again, published = await run_due(console, Succeeded(), Succeeded())
    assert (again.task_id, again.attempt) == (failed.task_id, 2)
    assert published.task_id == made["publish"]


async def test_viewer_sees_the_chain_without_a_retry(console: Console) -> None:
    made = await add_chain(console)
    await console.service.tasks.run_now(LOCAL, made["fetch"])
    root, _ = await run_due(console, Succeeded(), Failed("no room"))
    page = await console.open(f"/runs/{root.id}", "admin")
    await expect(page.locator("ul.chain").get_by_role("button", name="Retry")).to_have_count(1)
    await console.service.accounts.put(LOCAL, "ada", role=Role.VIEWER)
    page = await console.open(f"/runs/{root.id}", "ada")
    await expect(page.locator("ul.chain")).to_be_visible()
    await expect(page.locator("ul.chain").get_by_role("button", name="Retry")).to_have_count(0)
