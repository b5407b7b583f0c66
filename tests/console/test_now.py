"""Now page: punctuality, needs, running and next tasks, and the decision after an outage."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from playwright.async_api import expect

from horae.model.accounts.principal import LOCAL
from horae.model.change import Change
from horae.model.reason import Reason
from horae.model.run import Origin, RunState
from horae.ports.store import RunFilter
from horae.testing.factories import a_node, a_run
from tests.console.accessibility import violations_in_both_themes
from tests.console.console_server import Console

HOUR = timedelta(hours=1)
HOSTILE = "<script>window.__xss = 1</script> " + "无" * 60


async def _miss(console: Console) -> str:
    """Create a task of ada that missed three occurrences in an outage that has just ended; returns its id."""
    service, now = console.service, console.api.app.context.clock.now()
    hour = now.replace(minute=0, second=0, microsecond=0)
    body: dict[str, Any] = {"name": "invoices", "when": "0 * * * *", "zone": "UTC", "policies": {"missed": "skip"}}
    task_id = str((await console.api.create_task(**body))["id"])
    task = (await service.tasks.get(LOCAL, task_id)).task
    skipped = [
        a_run(
            task,
            planned=hour - number * HOUR,
            state=RunState.SKIPPED,
            reason=Reason.MISSED_SKIPPED,
            claimed=None,
            started=None,
            node=None,
            ended=now,
        )
        for number in (1, 2, 3)
    ]
    await service.tasks.import_history(LOCAL, task_id, skipped)
    await service.store.join(a_node(renewed=now - 4 * HOUR))
    assert await service.outages.record_start() is not None
    return task_id


async def _add_failing(console: Console, number: int) -> None:
    """Create tasks of ada that failed twice in a row and come due late."""
    for place in range(number):
        made = await console.api.create_task(name=f"broken {place}", when="every 300d")
        await console.service.store.change(
            str(made["id"]), None, lambda facts: Change(status=facts.status._replace(failures=2))
        )


async def test_empty_now_page_explains_itself_in_both_languages_and_themes(console: Console) -> None:
    for language in ("en", "zh"):
        page = await console.open(language=language)
        assert await violations_in_both_themes(page) == []
        assert await page.locator("html").get_attribute("lang") == ("zh-CN" if language == "zh" else "en")
        await expect(page.locator(".empty code")).to_have_text('horae add "every 1m" --say "hello"')


async def test_now_page_shows_next_tasks_and_hostile_names_as_text(console: Console) -> None:
    await console.api.create_task(name="morning report", when="every day at 09:00", zone="Asia/Shanghai")
    await console.api.create_task(name=HOSTILE)
    await _add_failing(console, 21)
    for language, size in (("en", "phone"), ("zh", "wide")):
        page = await console.open(language=language, size=size)
        await expect(page.get_by_role("link", name="morning report")).to_be_visible()
        await expect(page.locator("#body")).to_contain_text("Asia/Shanghai")
        assert await page.evaluate("window.__xss") is None
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await expect(page.locator("#more-needs")).to_contain_text("1")
        await expect(page.locator("li[id^=need-]")).to_have_count(20)
        await page.locator("#more-needs a").click()
        await expect(page.locator("tbody tr")).to_have_count(21)


async def test_outage_is_shown_with_its_counts_and_the_latest_missed_occurrence_runs_on_request(
    console: Console,
) -> None:
    task_id = await _miss(console)
    page = await console.open()
    banner = page.locator("#outage")
    await expect(banner).to_contain_text("3 occurrences were due")
    await expect(banner).to_contain_text("3 skipped by policy")
    # A fragment is rendered for several sessions at once, and has the token of this one.
    token = await page.locator("#outage [name=csrf]").first.input_value()
    fragments = [await page.evaluate("async () => await (await fetch('?part=body')).text()") for _ in range(2)]
    assert all(f'name="csrf" value="{token}"' in fragment and "csrf-" not in fragment for fragment in fragments)
    await banner.get_by_role("button", name="Run the latest").click()
    await expect(page.locator("#notice")).to_contain_text("latest missed occurrence of invoices")
    facts = await console.service.tasks.get(LOCAL, task_id)
    backfilled = [entry for entry in facts.entries if entry.origin is Origin.BACKFILL]
    assert len(backfilled) == 1
    await page.locator("#outage").get_by_role("button", name="Dismiss").click()
    await expect(page.locator("#outage")).to_have_count(0)
    assert await console.service.outage_reviews.latest(console.principal("ada")) is None
    assert await console.service.outage_reviews.latest(console.principal("bob")) is not None


async def test_viewer_sees_the_outage_without_buttons_and_its_form_is_refused(console: Console) -> None:
    await _miss(console)
    page = await console.open(who="vic")
    assert await page.locator("#outage").get_by_role("button").count() == 0
    assert await page.locator("main form").count() == 0


async def test_every_form_of_the_page_works_without_scripts(console: Console) -> None:
    task_id = await _miss(console)
    page = await console.open(scripts=False)
    await page.get_by_role("button", name="Run all 3").click()
    await expect(page.locator("#notice")).to_contain_text("Every missed occurrence")
    runs = await console.service.store.runs(RunFilter("ada", task_id), limit=100)
    assert {(run.state, run.reason) for run in runs.items} == {(RunState.SKIPPED, Reason.MISSED_SKIPPED)}
    facts = await console.service.tasks.get(LOCAL, task_id)
    assert any(entry.origin is Origin.BACKFILL for entry in facts.entries)
