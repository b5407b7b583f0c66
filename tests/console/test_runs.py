"""Runs pages: list, groups by error with retry, one run with its waterfall, and what other accounts see of them."""

from __future__ import annotations

import json

from playwright.async_api import Page, expect

from horae.lifecycle.settle import settle
from horae.model.accounts.principal import Principal
from horae.model.entry import EntryKind
from horae.model.ids import run_id
from horae.model.outcome import Settlement, Succeeded
from horae.model.reason import Reason
from horae.model.run import Origin, RunState
from horae.model.task import NEW_TASK_STATUS, Pause, Task, TaskState
from horae.testing.factories import a_new_task, a_task, an_ended_run
from tests.console.accessibility import violations_of
from tests.console.console_server import Console
from tests.console.run_records import HOSTILE_NAME, add_every_state, add_runs, drop_refusals, make_failed_run, moment


async def count_retries(console: Console, task: Task) -> int:
    facts = await console.service.store.facts(task.id, None)
    assert facts is not None
    return sum(entry.kind is EntryKind.RETRY for entry in facts.entries)


async def post_as(console: Console, page: Page, path: str, **fields: str) -> tuple[int, str]:
    """Send a form with the session of this page, and its token; return status and text."""
    token = await page.locator("input[name=csrf]").first.input_value()
    headers = {"Origin": console.api.base}
    answer = await page.context.request.post(console.url + path, form={"csrf": token, **fields}, headers=headers)
    return answer.status, await answer.text()


async def test_page_without_runs_explains_itself_and_is_accessible(console: Console) -> None:
    page = await console.open("/runs")
    await expect(page.get_by_text('horae add "now"')).to_be_visible()
    assert await violations_of(page) == []


async def test_list_filters_pages_and_shows_hostile_text_as_text(console: Console) -> None:
    runs = await add_every_state(console)
    many = a_task(name="many")
    await add_runs(console, many, *(an_ended_run(many, planned=moment(100 + number)) for number in range(60)))
    page = await console.open("/runs?q=state:failed", scripts=False)
    row = page.locator(f"#run-{runs['failed'].id}")
    await expect(page.locator("tbody tr")).to_have_count(1)
    await expect(row.get_by_role("link", name=HOSTILE_NAME[:25])).to_be_visible()
    await expect(row).to_contain_text("disk <b>full</b> =cmd|'/c calc'!A1")
    assert "\x1b" not in await row.inner_text()
    await page.goto(f"{console.url}/runs?task=many")
    await expect(page.locator("tbody tr")).to_have_count(50)
    await page.get_by_role("link", name="Next page").click()
    await expect(page.locator("tbody tr")).to_have_count(10)
    await page.goto(
        f"{console.url}/runs?since={runs['again'].planned.isoformat().replace('+', '%2B')}&q=state:succeeded"
    )
    await expect(page.locator("tbody tr")).to_have_count(1)
    await page.get_by_role("link", name="from ").click()
    await expect(page.locator("tbody tr")).to_have_count(50)
    answer = await page.goto(f"{console.url}/runs?q=stat:failed")
    assert answer is not None
    assert answer.status == 422
    await expect(page.get_by_role("alert")).to_contain_text("There is no query key 'stat'")
    await expect(page.get_by_label("Filter runs")).to_have_value("stat:failed")
    await expect(page.locator("[data-live]")).to_have_count(0)
    drop_refusals(console)
    await page.goto(f"{console.url}/runs?q=state:failed task:many")
    await expect(page.get_by_text("Nothing matches the filter.")).to_be_visible()
    # The query is kept under a name.
    await page.get_by_text("Save or remove views").click()
    await page.get_by_label("Save this filter as").fill("failures of many")
    await page.get_by_role("button", name="Save view").click()
    await page.goto(f"{console.url}/runs")
    await page.get_by_role("link", name="failures of many").click()
    await expect(page.get_by_label("Filter runs")).to_have_value("state:failed task:many")
    views = await console.service.views.all(Principal("ada"), "runs")
    assert [(view.name, view.query) for view in views] == [("failures of many", "state:failed task:many")]
    page = await console.open("/runs", size="phone")
    of_run = [f"/runs/{runs[state].id}{tab}" for state in ("failed", "timed_out") for tab in ("", "/log")]
    for path in ("/runs", "/runs?group=error", *of_run):
        await page.goto(console.url + path)
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


async def test_failures_are_grouped_and_retried_by_group(console: Console) -> None:
    flaky, broken, asleep = (a_task(name=name) for name in ("flaky", "broken", "asleep"))
    errors = [make_failed_run(flaky, 10 + number, f"HTTP 503 after {number} ms in '{number}'") for number in range(22)]
    await add_runs(
        console,
        flaky,
        *errors,
        make_failed_run(flaky, 5, attempt=2),
        make_failed_run(flaky, 4, "key 0xdeadbeef is bad"),
    )
    await add_runs(
        console,
        broken,
        make_failed_run(broken, 7, "key 0xfeed is bad"),
        make_failed_run(broken, 8, None, reason=Reason.DEADLINE),
    )
    paused = NEW_TASK_STATUS._replace(state=TaskState.PAUSED, pause=Pause(moment(1)))
    await console.service.store.add(
        [a_new_task(asleep, runs=[make_failed_run(asleep, 9, "key 0xabc is bad")], status=paused)]
    )
    page = await console.open("/runs?group=error", scripts=False)
    await expect(page.locator("tbody tr")).to_have_count(4)
    await expect(page.locator("tbody tr").first).to_contain_text("22")
    await expect(page.locator("tbody tr").first).to_contain_text("HTTP N after N ms in '…'")
    await page.get_by_role("link", name="key HEX is bad").click()
    await expect(page.locator("tbody tr")).to_have_count(3)
    await page.get_by_role("button", name="Retry group").click()
    await expect(page.get_by_role("heading", name="Retried (2)")).to_be_visible()
    await expect(page.get_by_role("heading", name="Not retried (1)")).to_be_visible()
    await expect(page.locator("tr[id^=refused]")).to_contain_text("asleep")
    assert [await count_retries(console, task) for task in (flaky, broken, asleep)] == [1, 1, 0]
    # Above twenty occurrences the number has to be typed.
    await page.get_by_role("link", name="All groups").click()
    await page.locator("tbody tr").first.get_by_role("button", name="Retry group").click()
    await expect(page.get_by_role("heading", name="Retry 22 occurrences?")).to_be_visible()
    await page.get_by_label("Type 22 to confirm").fill("21")
    await page.get_by_role("button", name="Retry all").click()
    await expect(page.get_by_role("alert")).to_contain_text("nothing was retried")
    assert await count_retries(console, flaky) == 1
    drop_refusals(console)
    await page.get_by_label("Type 22 to confirm").fill("22")
    await page.get_by_role("button", name="Retry all").click()
    await expect(page.get_by_role("heading", name="Retried (22)")).to_be_visible()
    assert await count_retries(console, flaky) == 23


async def test_run_page_shows_its_course_and_retries_and_cancels(console: Console) -> None:
    runs = await add_every_state(console)
    page = await console.open(f"/runs/{runs['timed_out'].id}")
    steps = page.locator(".waterfall tbody tr")
    await expect(steps).to_have_count(6)
    assert [(await step.locator("th").inner_text()).strip() for step in await steps.all()] == [
        "wait", "attempt 1", "takeover", "attempt 2", "pause", "attempt 3",
    ]  # fmt: skip
    await expect(page.locator("pre.error")).to_have_text("no answer in 10 s")
    await page.get_by_role("link", name="attempt 3").click()
    await expect(page.locator("pre")).to_contain_text('"text": "\\u202e完成"')
    await expect(page.get_by_role("button", name="Retry")).to_have_count(0)
    await page.goto(f"{console.url}/runs/{runs['failed'].id}/payload")
    assert len(await page.locator("pre").inner_text()) == 64 * 1024
    await page.get_by_role("link", name="Show all").click()
    assert len(await page.locator("pre").inner_text()) > 70_000
    await page.goto(f"{console.url}/runs/{runs['cancelled'].id}/payload")
    await expect(page.locator(".compared ins")).to_have_text(
        ["from the input:{", 'from the input:  "city": "Oslo"', "from the input:}"]
    )
    await expect(page.locator(".compared del")).to_have_text("not in this run:{}")
    assert await violations_of(page) == []
    await page.goto(f"{console.url}/runs/{runs['failed'].id}")
    await page.get_by_text("Retry with input…").click()
    await page.get_by_label("Input (JSON)").fill("{")
    await page.locator("details[open]").get_by_role("button", name="Retry").click()
    await expect(page.get_by_role("alert")).to_contain_text("not JSON")
    await expect(page).to_have_url(f"{console.url}/runs/{runs['failed'].id}")  # not that of the action
    drop_refusals(console)
    await page.get_by_label("Input (JSON)").fill('{"to": "bob"}')
    await page.get_by_label("The input").select_option("replace")
    await page.locator("details[open]").get_by_role("button", name="Retry").click()
    await expect(page.locator("#notice")).to_contain_text("Another attempt is queued")
    await expect(page.locator(".waterfall tbody tr").last).to_contain_text("next attempt")
    assert await count_retries(console, a_task(id=runs["failed"].task_id)) == 1
    page = await console.open(f"/runs/{runs['running'].id}", scripts=False)
    await page.get_by_role("button", name="Cancel the run").click()
    await expect(page.locator("#notice")).to_contain_text("asked to end")
    stored = await console.service.store.run(runs["running"].id, None)
    assert stored is not None
    assert stored.cancel is Reason.CANCELLED


async def test_list_and_run_page_follow_the_end_of_a_run(console: Console) -> None:
    runs = await add_every_state(console)
    run = runs["running"]
    context = await console.open_context()
    listed, opened = await context.new_page(), await context.new_page()
    await listed.goto(f"{console.url}/runs")
    await opened.goto(f"{console.url}/runs/{run.id}")
    await expect(opened.locator("#head")).to_contain_text("running")
    end = Settlement(run.id, run.token, Succeeded('"watered"'), run.started, moment())
    assert await console.service.store.settle([end], settle) == frozenset()
    await expect(opened.locator("#head")).to_contain_text("succeeded", timeout=20_000)
    await expect(opened.locator("pre")).to_have_text('"watered"')
    await expect(opened.get_by_role("button", name="Cancel the run")).to_have_count(0)
    await listed.bring_to_front()
    await expect(listed.locator(f"#run-{run.id}")).to_contain_text("succeeded", timeout=20_000)


async def test_run_with_a_transcript_has_a_tab_for_it(console: Console) -> None:
    task = a_task(name="assistant")
    entries = [{"role": "user", "text": "water the <i>plants</i>"}, {"role": "tool", "content": {"rain": True}}]
    talked = an_ended_run(task, planned=moment(9), result_json=json.dumps({"transcript": entries}))
    silent = an_ended_run(task, planned=moment(8), result_json='{"transcript": []}')
    await add_runs(console, task, talked, silent)
    page = await console.open(f"/runs/{talked.id}")
    await page.get_by_role("link", name="Transcript").click()
    await expect(page.locator(".transcript li")).to_have_count(2)
    await expect(page.locator(".transcript li").first).to_contain_text("water the <i>plants</i>")
    await expect(page.locator(".transcript li").last).to_contain_text('"rain": true')
    assert await violations_of(page) == []
    await page.goto(f"{console.url}/runs/{silent.id}")
    await expect(page.get_by_role("link", name="Transcript")).to_have_count(0)


async def test_requested_run_waits_and_can_be_taken_back(console: Console) -> None:
    made = await console.api.create_task(name="by hand", when="every day at 09:00", zone="UTC")
    planned = await console.service.tasks.queue_now(Principal("ada"), made["id"])
    asked = run_id(made["id"], Origin.MANUAL, planned, 1)
    page = await console.open(f"/runs/{asked}")
    await expect(page.locator("#overview")).to_contain_text("waits for a node")
    assert await violations_of(page) == []
    await page.get_by_role("button", name="Cancel the run").click()
    await expect(page.locator("#notice")).to_contain_text("The run was cancelled.")
    stored = await console.service.store.run(asked, None)
    assert stored is not None
    assert (stored.state, stored.reason) == (RunState.SKIPPED, Reason.CANCELLED)


async def test_other_owners_and_viewers_can_neither_see_nor_retry(console: Console) -> None:
    ada, vic = await add_every_state(console), await add_every_state(console, "vic")
    page = await console.open("/runs", "bob")
    await expect(page.locator("tbody tr")).to_have_count(0)
    for path in ("", "/log", "/log.json", "/log.txt", "/payload", "/transcript"):
        answer = await page.context.request.get(f"{console.url}/runs/{ada['failed'].id}{path}")
        assert answer.status == 404, path
    for path in ("retry", "cancel"):
        status, text = await post_as(console, page, f"/runs/{ada['running'].id}/{path}")
        assert (status, "no_such_run" in text) == (404, True)
    page = await console.open(f"/runs/{vic['failed'].id}", "vic")
    await expect(page.locator("h1")).to_contain_text("Run of")
    assert await page.locator("main form[method=post]").count() == 0
    for path in (f"/runs/{vic['failed'].id}/retry", f"/runs/{vic['running'].id}/cancel", "/runs/retry-group"):
        status, _ = await post_as(console, page, path, error="x")
        assert status == 403, path
    assert await count_retries(console, a_task(id=vic["failed"].task_id)) == 0
    await page.goto(f"{console.url}/runs?group=error")
    await expect(page.locator("tbody tr")).to_have_count(3)
    assert await page.locator("main form[method=post]").count() == 0
