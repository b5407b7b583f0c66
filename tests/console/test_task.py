"""Task page: charts, actions, tabs, backfill and explanations; each story asserts the stored task and its runs."""

from __future__ import annotations

from datetime import timedelta

from playwright.async_api import expect

from horae.model.accounts.principal import Principal
from horae.model.gate import Gate
from horae.model.inputs.run_input import RunInput, is_gate_check
from horae.model.task import TaskState
from horae.ports.store import TaskFilter
from horae.schedule.after import after
from horae.service.tasks.operations.actions import ActionArguments, make_action
from horae.service.tasks.operations.operations import OperationRequest
from horae.service.tasks.task_request import Options, TaskRequest
from horae.testing.factories import DAY
from tests.console.accessibility import violations_of
from tests.console.console_server import Console
from tests.console.test_tasks import ADA, HOSTILE, TARGET, add_history, add_task, fits, state_of


async def test_page_shows_charts_and_runs_and_is_accessible_without_them(console: Console) -> None:
    busy = await add_task(console, HOSTILE, labels={"team": "ops"})
    (late, *_) = await add_history(console, busy)
    late = late._replace(id="", planned=late.planned - 30 * DAY, due=late.due - 30 * DAY)
    await console.service.tasks.import_history(ADA, busy.id, [late])
    for language in ("en", "zh"):
        page = await console.open(f"/tasks/{busy.id}", language=language)
        await expect(page.locator(".heat a")).to_have_count(90)
        await expect(page.locator("#runs tbody tr")).to_have_count(7)
        await expect(page.locator(".plot")).to_have_count(2)
        await expect(page.locator(".heat .late-ring")).to_have_count(1)
        await expect(page.locator(".legend .late-ring")).to_have_count(1)
    page = await console.open(f"/tasks/{busy.id}", size="wide")
    await page.locator(".heat a").last.focus()
    await page.keyboard.press("ArrowLeft")
    await expect(page.locator(".heat a").nth(82)).to_be_focused()
    page = await console.open(f"/tasks/{busy.id}", size="phone")
    assert await fits(page)
    for name in ("head", "charts", "runs"):
        part = await page.request.get(f"{console.url}/tasks/{busy.id}?part={name}")
        assert part.status == 200
        assert f'id="{name}"' in (await part.text())[:200]
    for tab in ("definition", "activity"):
        await page.goto(f"{console.url}/tasks/{busy.id}?tab={tab}")
        assert await fits(page)
    empty = await add_task(console, "empty", "every 5m")
    page = await console.open(f"/tasks/{empty.id}")
    assert await violations_of(page) == []
    await expect(page.locator("ol.fires li")).to_have_count(5)


async def test_task_is_run_paused_resumed_and_skipped_by_clicks(console: Console) -> None:
    task = await add_task(console, "report", "every 1m")
    page = await console.open(f"/tasks/{task.id}")
    await page.get_by_role("button", name="Run now").click()
    await expect(page.locator("#notice")).to_contain_text("runs once more")
    facts = await console.service.tasks.get(ADA, task.id)
    assert [entry.kind for entry in facts.entries if entry.origin == "manual"] == ["manual"]
    await page.get_by_role("button", name="Skip next").click()
    await expect(page.locator("#notice")).to_contain_text("next 1 occurrence of report")
    assert (await console.service.tasks.get(ADA, task.id)).status.skips_left == 1
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator("#notice")).to_contain_text("No occurrence of report is skipped")
    assert (await console.service.tasks.get(ADA, task.id)).status.skips_left == 0
    await page.locator("summary", has_text="Pause").click()
    await page.get_by_label("Reason").fill("stock-taking")
    await page.get_by_label("Until").fill("tomorrow at 9am")
    await page.get_by_role("button", name="Pause", exact=True).click()
    await expect(page.locator("#head")).to_contain_text("stock-taking")
    pause = (await console.service.tasks.get(ADA, task.id)).status.pause
    assert pause is not None
    assert pause.until is not None
    await page.locator("summary", has_text="Resume").click()
    await expect(page.get_by_label("Run all in order")).to_be_visible()
    await page.get_by_role("button", name="Resume", exact=True).click()
    await expect(page.locator("#notice")).to_contain_text("goes on")
    assert await state_of(console, task) == "active"
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator("#head")).to_contain_text("stock-taking")
    assert (await console.service.tasks.get(ADA, task.id)).status.pause == pause._replace(
        since=(await console.service.tasks.get(ADA, task.id)).status.pause.since  # type: ignore[union-attr]
    )


async def test_cancel_is_undone_by_a_click(console: Console) -> None:
    task = await add_task(console, "report")
    await console.service.tasks.cancel(ADA, task.id)
    page = await console.open(f"/tasks/{task.id}", scripts=False)
    await page.get_by_role("button", name="Undo the cancel").click()
    await expect(page.locator("#notice")).to_contain_text("report is there again")
    assert (await console.service.tasks.get(ADA, task.id)).status.state is TaskState.ACTIVE
    await expect(page.get_by_role("button", name="Undo the cancel")).to_have_count(0)


async def test_bulk_cancel_is_undone_on_the_page_of_its_operation(console: Console) -> None:
    tasks = [await add_task(console, f"report {number}") for number in range(3)]
    operations, now = console.service.operations, console.api.app.context.clock.now()
    log = operations.new_log(ADA, "cancel")
    action = make_action(ADA, console.service.tasks, "cancel", ActionArguments("UTC"), now, log)
    report = await operations.act(ADA, OperationRequest("cancel", {}, {}), TaskFilter(), action, log=log)
    page = await console.open(f"/operations/{report.undo}", scripts=False)
    await expect(page.get_by_role("heading", level=1)).to_contain_text("Cancel tasks")
    await page.get_by_role("button", name="Undo").click()
    await expect(page.locator("#notice")).to_contain_text("3 tasks are as before")
    assert [await state_of(console, task) for task in tasks] == [TaskState.ACTIVE] * 3


async def test_deletion_needs_the_typed_name_without_scripts(console: Console) -> None:
    task = await add_task(console, "报告 report")
    page = await console.open(f"/tasks/{task.id}", scripts=False)
    await page.locator("summary", has_text="Delete").click()
    await page.get_by_label("Type its name").fill("report")
    await page.get_by_role("button", name="Delete", exact=True).click()
    await expect(page.get_by_role("alert")).to_contain_text("报告 report")
    await page.get_by_label("Type its name").fill("报告 report")
    await page.get_by_role("button", name="Delete", exact=True).click()
    await expect(page.locator("#notice")).to_contain_text("was deleted")
    assert (await console.service.tasks.page(ADA)).items == ()
    console.problems.clear()


async def test_backfill_is_previewed_and_queued(console: Console) -> None:
    task = await add_task(console, "report", "0 * * * *")
    now = console.api.app.context.clock.now()
    first = (now - timedelta(hours=5)).isoformat()
    page = await console.open(f"/tasks/{task.id}/backfill", scripts=False)
    await page.get_by_label("From").fill("not a time")
    await page.get_by_label("To", exact=True).fill("now")
    await page.get_by_role("button", name="Preview").click()
    await expect(page.get_by_role("alert")).to_be_visible()
    await page.get_by_label("From").fill(first)
    await page.get_by_text("Input", exact=True).click()
    await page.get_by_label("Input (JSON)").fill("{")
    await page.get_by_role("button", name="Preview").click()
    await expect(page.get_by_role("alert")).to_contain_text("not JSON")
    await page.get_by_label("Input (JSON)").fill('{"day": 1}')
    await page.get_by_role("button", name="Preview").click()
    await expect(page.locator("ol.fires li")).to_have_count(5)
    await page.get_by_role("button", name="Run 5 occurrences").click()
    await expect(page.locator("#notice")).to_contain_text("5 occurrences were queued")
    await expect(page.locator("#head")).to_contain_text("Backfill: 5 occurrences left")
    await expect(page.locator("#head progress")).to_have_attribute("max", "5")
    facts = await console.service.tasks.get(ADA, task.id)
    inputs = [entry.input for entry in facts.entries if entry.origin == "backfill"]
    assert inputs == [RunInput("merge", '{"day": 1}')]
    await page.get_by_text("Run with input…").click()
    await page.get_by_label("Input (JSON)").fill("[]")
    await page.get_by_label("The input").select_option("replace")
    await page.locator("details[open]").get_by_role("button", name="Run now").click()
    await expect(page.locator("#notice")).to_be_visible()
    facts = await console.service.tasks.get(ADA, task.id)
    assert [entry.input for entry in facts.entries if entry.origin == "manual"] == [RunInput("replace", "[]")]
    console.problems.clear()


async def test_gate_is_checked_by_a_click(console: Console) -> None:
    plain = await add_task(console, "plain")
    page = await console.open(f"/tasks/{plain.id}")
    await expect(page.get_by_role("button", name="Check the gate")).to_have_count(0)
    options = Options(gate=Gate("http", '{"url":"https://example.com/check"}'))
    gated = await add_task(console, "gated", options=options)
    page = await console.open(f"/tasks/{gated.id}")
    await page.get_by_role("button", name="Check the gate").click()
    await expect(page.locator("#notice")).to_contain_text("The gate of gated is checked")
    facts = await console.service.tasks.get(ADA, gated.id)
    assert [is_gate_check(entry.input) for entry in facts.entries if entry.origin == "manual"] == [True]


async def test_why_explains_an_instant_with_facts_and_fixes(console: Console) -> None:
    task = await add_task(console, "report")
    runs = await add_history(console, task)
    page = await console.open(f"/tasks/{task.id}")
    await page.locator("#runs tbody tr").nth(1).get_by_role("link", name="Why?").click()
    await expect(page.locator(".answer")).to_contain_text("It ran: failed.")
    await expect(page.get_by_text("no route to host")).to_be_visible()
    await expect(page.get_by_text("horae retry")).to_be_visible()
    assert await violations_of(page) == []
    await page.goto(f"{console.url}/tasks/{task.id}/why?at={runs[-1].planned:%Y-%m-%dT%H:%M:%SZ}")
    await expect(page.locator(".answer")).to_contain_text("It was not run.")
    at = runs[-1].planned
    await page.locator("li", has_text="run that occurrence after all").get_by_role("button", name="Do it").click()
    await expect(page.locator("#notice")).to_contain_text("1 occurrence was queued")
    entries = (await console.service.tasks.get(ADA, task.id)).entries
    assert [entry.planned for entry in entries if entry.origin == "backfill"] == [at]
    response = await page.goto(f"{console.url}/tasks/{task.id}/why?at=whenever")
    assert response is not None
    assert response.status == 422
    console.problems.clear()


ACTIONS = ("run", "pause", "resume", "skip", "delete", "backfill")


async def test_other_owners_find_nothing_and_viewers_may_only_read(console: Console) -> None:
    task = await add_task(console, "hers")
    read_only = await console.service.tasks.create(Principal("vic"), TaskRequest("his", "every 1h", TARGET, zone="UTC"))
    for who, found, status in (("bob", task, 404), ("vic", read_only, 403)):
        page = await console.open("/", who)
        token = await page.locator("input[name=csrf]").first.get_attribute("value") or ""
        for action in ACTIONS:
            answer = await page.request.post(
                f"{console.url}/tasks/{found.id}/{action}",
                form={"csrf": token, "confirm": found.name, "from": "yesterday", "to": "now"},
                headers={"Origin": console.api.base},
            )
            assert answer.status == status, (who, action)
        for path in ("", "/why"):
            response = await page.goto(f"{console.url}/tasks/{found.id}{path}")
            assert response is not None
            assert response.status == (404 if who == "bob" else 200)
    page = await console.open(f"/tasks/{read_only.id}", "vic")
    await expect(page.locator("main form[method=post]")).to_have_count(0)
    follower = TaskRequest("follower", after(read_only.id), TARGET, zone="UTC")
    following = await console.service.tasks.create(Principal("vic"), follower)
    await page.reload()
    await expect(page.locator(f"a[href$='/tasks/{following.id}']")).to_have_text("follower")
    await page.goto(f"{console.url}/tasks/{following.id}")
    await expect(page.locator(f"a[href$='/tasks/{read_only.id}']")).to_have_text("his")
    assert await state_of(console, task) == "active"
    assert (await console.service.tasks.get(Principal("vic"), read_only.id)).status.state == "active"
    console.problems.clear()


async def test_activity_shows_what_the_viewer_did(console: Console) -> None:
    task = await add_task(console, "report", "every 1h")
    page = await console.open(f"/tasks/{task.id}", scripts=False)
    await page.get_by_role("button", name="Run now").click()
    await page.get_by_role("link", name="Activity").last.click()
    await expect(page.locator("#tab")).to_contain_text("task.run")
    await page.get_by_role("link", name="Definition").click()
    await expect(page.locator("#tab pre")).to_contain_text('"name": "report"')
