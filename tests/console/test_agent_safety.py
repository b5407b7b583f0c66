"""Budgets of groups with bars, the switch for all agents, and the usage of a run in the console."""

from __future__ import annotations

from playwright.async_api import expect

from horae.model.accounts.principal import LOCAL
from horae.model.agents.budget import BUDGET_KIND, Amounts, Reservation, budget_from, budget_record
from horae.model.agents.usage import RunUsage, usage_write
from horae.ports.journal import Line
from horae.testing.factories import NOON
from tests.api.api_server import start_run
from tests.console.accessibility import violations_of
from tests.console.admin_steps import take_refusals
from tests.console.console_server import Console


async def spend(console: Console) -> None:
    """Let the group have used half of its tokens, and reserved a quarter."""
    record = await console.service.store.get_record(BUDGET_KIND, "family")
    assert record is not None
    state = await console.service.budgets.get(LOCAL, "family")
    held = Reservation("run_1", Amounts(50_000, 0, 1))
    spent = budget_from(record)._replace(day=state.day, used=Amounts(100_000, 1_250_000, 3), reservations=(held,))
    assert await console.service.store.put_record(budget_record(spent), replacing=record.version)


async def test_budget_is_set_and_shown_with_bars(console: Console) -> None:
    await console.service.groups.add(LOCAL, "family", "web:1", name="Family", zone="UTC")
    page = await console.open("/approvals", "admin")
    await page.get_by_role("link", name="Budgets").click()
    card = page.locator("#budget-family")
    await expect(card).to_contain_text("no limit")
    await card.get_by_text("Limits").click()
    await card.get_by_label("Tokens a day").fill("200000")
    await card.get_by_label("US dollars a day").fill("2.5")
    await card.get_by_role("button", name="Save").click()
    await expect(page.locator("#notice")).to_contain_text("The budget of family is saved.")
    await spend(console)
    await page.reload()
    await expect(card).to_contain_text("100,000 used, 50,000 reserved, 50,000 left of 200,000")
    await expect(card).to_contain_text("$1.25 used, $0.00 reserved, $1.25 left of $2.50")
    used = card.locator("rect.used").first
    assert await used.get_attribute("width") == "50.00"
    assert await violations_of(page) == []
    await card.get_by_text("Limits").click()
    await card.get_by_label("Runs a day").fill("many")
    await card.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_contain_text("is not a budget")
    take_refusals(console, 1)
    page = await console.open("/budgets", "ada")
    await expect(page.locator("main")).to_contain_text("There are no groups.")


async def test_all_agents_are_stopped_with_one_button(console: Console) -> None:
    page = await console.open("/approvals", "ada")
    assert await page.get_by_text("Stop all agents").count() == 0, "for admins"
    page = await console.open("/approvals", "admin")
    await page.locator("summary").get_by_text("Stop all agents").click()
    await page.get_by_role("button", name="Stop all agents").click()
    await expect(page.locator("main .banner.bad")).to_contain_text("All agents are stopped since")
    assert await console.service.agent_stop.get(LOCAL) is not None
    assert await violations_of(page) == []
    await page.get_by_role("button", name="Let all agents go on").click()
    await expect(page.locator("#notice")).to_contain_text("All agents go on")
    assert await console.service.agent_stop.get(LOCAL) is None


async def test_page_of_a_run_shows_tokens_cost_and_model(console: Console) -> None:
    run_id = await start_run(console.api)
    usage = RunUsage(1_200, 80, 12_500, "small-model", 2)
    await console.service.store.write_records([usage_write(run_id, "ada", usage, NOON)])
    page = await console.open(f"/runs/{run_id}", "ada")
    main = page.locator("main")
    for text in ("1,200 in, 80 out", "$0.0125", "small-model"):
        await expect(main).to_contain_text(text)


async def test_unknown_price_of_a_model_is_said(console: Console) -> None:
    run_id = await start_run(console.api)
    usage = RunUsage(1_200, 80, None, "small-model", 2, unpriced="small-model")
    await console.service.store.write_records([usage_write(run_id, "ada", usage, NOON)])
    for path, language, text in (
        ("", "en", "unknown no price for small-model"),
        ("/transcript", "en", "Cost: unknown (no price for small-model) · Model: small-model"),
        ("/transcript", "zh", "费用：未知 (small-model 没有价格)"),
    ):
        page = await console.open(f"/runs/{run_id}{path}", "ada", language=language)
        await expect(page.locator("main")).to_contain_text(text)


async def test_transcript_has_results_and_tool_calls_of_the_log(console: Console) -> None:
    run_id = await start_run(console.api)
    said = [("info", "begins"), ("tool", 'schedule_task {"prompt": "<b>"}'), ("result", "Done: 9:00 每天")]
    await console.service.store.write_lines([Line(run_id, NOON, level, text) for level, text in said])
    page = await console.open(f"/runs/{run_id}/transcript", "ada")
    entries = page.locator("ol.transcript li")
    await expect(entries).to_have_count(2)
    await expect(entries.nth(0)).to_contain_text('schedule_task {"prompt": "<b>"}')
    await expect(entries.nth(1)).to_contain_text("Done: 9:00 每天")
