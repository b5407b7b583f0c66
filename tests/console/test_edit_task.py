"""New and Edit task: previews, choices, saving with undo, conflicts, refusals at their field, with scripts and without."""

from __future__ import annotations

from playwright.async_api import Page, Route, expect

from horae.model.accounts.principal import LOCAL
from horae.model.change import Facts
from horae.ports.store import TaskFilter
from horae.schedule import After
from horae.service.tasks.functions.records import NO_DEFAULTS, Argument, Registration, Signature
from horae.testing.factories import NOON
from horae.wire.tasks.task import definition_json
from tests.console.console_server import Console


async def stored_tasks(console: Console) -> list[Facts]:
    return list((await console.service.tasks.page(LOCAL, TaskFilter())).items)


async def only_task(console: Console) -> Facts:
    (facts,) = await stored_tasks(console)
    return facts


def allow_refusals(console: Console) -> None:
    """Forget that the browser reported answers above 399: the test expected them."""
    console.problems[:] = [each for each in console.problems if "responded with a status of 4" not in each]


async def land_on_edit(page: Page) -> None:
    """Lead on from a saved form to the Edit page instead of the Task page: both show the notice."""

    async def redirect(route: Route) -> None:
        if route.request.method == "POST":
            response = await route.fetch(max_redirects=0)
            headers = dict(response.headers)
            if response.status == 303:
                headers["location"] += "/edit"
            await route.fulfill(response=response, headers=headers)
        else:
            await route.continue_()

    await page.route("**/tasks/new", redirect)
    await page.route("**/edit", redirect)


async def test_text_is_previewed_while_it_is_typed_and_created_with_undo(console: Console) -> None:
    page = await console.open("/tasks/new")
    await page.get_by_label("Name", exact=False).first.fill("morning weather")
    await page.get_by_label("When", exact=False).fill("every day at 9")
    await page.get_by_role("button", name="every day at 21:00").click()
    await expect(page.locator("#preview .sentence")).to_contain_text("at 21:00")
    await expect(page.locator("#preview tbody tr")).to_have_count(5)
    await page.get_by_label("When", exact=False).fill("每天早上9点")
    await page.get_by_label("Time zone").last.fill("上海")
    await expect(page.locator("#preview .sentence")).to_contain_text("Asia/Shanghai")
    await page.get_by_label("Text", exact=True).fill("weather?")
    await land_on_edit(page)
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.locator("#notice")).to_contain_text("morning weather")
    facts = await only_task(console)
    assert definition_json(facts.task) | {"policies": None} == {
        "name": "morning weather",
        "when": {"kind": "calendar", "unit": "day", "every": 1, "at": ["09:00"], "zone": "Asia/Shanghai"},
        "zone": "Asia/Shanghai",
        "target": {"kind": "event", "topic": "task.triggered", "say": "weather?"},
        "payload": {},
        "key": None,
        "lane": None,
        "labels": {},
        "policies": None,
        "owner": "ada",
    }
    await page.locator("#notice").get_by_role("button", name="Undo").click()
    await page.wait_for_url("**/tasks")
    assert await stored_tasks(console) == []
    allow_refusals(console)


async def test_edit_shows_changed_fire_times_before_saving_and_undo_restores(console: Console) -> None:
    made = await console.api.create_task(
        name="report", when="every weekday at 9am", zone="Asia/Shanghai", policies={"timeout": "90s"}, labels={"a": "b"}
    )
    before = (await only_task(console)).task
    page = await console.open(f"/tasks/{made['id']}/edit")
    await expect(page.get_by_label("Timeout")).to_have_value("1m30s")
    await page.get_by_label("When", exact=False).fill("every weekday at 8:30")
    await expect(page.locator("#preview .removed li").first).to_be_visible()
    await expect(page.locator("#preview .added li").first).to_be_visible()
    await expect(page.locator("#preview")).to_contain_text("Nothing runs for past times.")
    await page.get_by_label("Name", exact=False).first.fill("early report")
    await page.get_by_role("button", name="Check").click()
    await expect(page.locator("#check").get_by_role("row", name="name")).to_contain_text('"early report"')
    assert (await only_task(console)).task == before
    await land_on_edit(page)
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.locator("#notice")).to_contain_text("early report")
    after = (await only_task(console)).task
    assert (after.name, after.version, after.policies) == ("early report", 2, before.policies)
    assert definition_json(after)["when"]["at"] == ["08:30"]
    await page.locator("#notice").get_by_role("button", name="Undo").click()
    await expect(page.locator("#notice")).to_contain_text("as it was before")
    assert (await only_task(console)).task == before._replace(version=3)


async def test_task_that_runs_after_others_is_edited_and_keeps_its_links(console: Console) -> None:
    first = await console.api.create_task(name="first")
    body = {"name": "second", "say": "x", "after": [{"task": first["id"], "on": "ended"}]}
    second = (await console.api.post("/v1/tasks", body)).json
    page = await console.open(f"/tasks/{second['id']}/edit", scripts=False)
    await expect(page.locator("#preview")).to_contain_text("after other tasks")
    await page.get_by_label("Name", exact=False).first.fill("renamed")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.locator("#notice")).to_contain_text("renamed")
    stored = (await console.service.tasks.get(LOCAL, second["id"])).task
    assert stored.name == "renamed"
    assert definition_json(stored)["when"]["links"] == [{"task": first["id"], "on": "ended"}]


async def test_predecessors_and_mode_are_fields_of_the_form(console: Console) -> None:
    service = console.service
    await console.api.create_task(name="backup")
    await console.api.post("/v1/tasks", {"name": "report: weekly", "say": "x", "after": ["backup"]})
    page = await console.open("/tasks/new")
    await page.locator("#field-name").fill("digest")
    await page.locator("#after-fields summary").click()
    await page.get_by_label("Runs after").fill("backup\nnothing like it")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.locator(".banner.bad, [role=alert]").first).to_contain_text("nothing like it")
    allow_refusals(console)
    await page.get_by_label("Runs after").fill("backup:failed\nreport: weekly")
    await page.get_by_label("Of several tasks").select_option("all")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("digest")
    digest = await service.tasks.find_by_name(LOCAL, "digest")
    schedule = digest.task.schedule
    assert isinstance(schedule, After)
    assert (schedule.mode, [link.on for link in schedule.links]) == ("all", ["failed", "succeeded"])
    page = await console.open(f"/tasks/{digest.task.id}/edit")
    await expect(page.get_by_label("Runs after")).to_have_value("backup:failed\nreport: weekly")
    await expect(page.locator("#preview")).to_contain_text("backup")
    await page.get_by_label("Runs after").fill("report: weekly:ended")
    await page.get_by_label("Of several tasks").select_option("")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text("digest")
    edited = (await service.tasks.get(LOCAL, digest.task.id)).task.schedule
    assert isinstance(edited, After)
    assert (edited.mode, [link.on for link in edited.links]) == ("any", ["ended"])


async def test_change_of_another_is_merged_into_the_form(console: Console) -> None:
    made = await console.api.create_task(name="report", when="every 10m", zone="UTC")
    page = await console.open(f"/tasks/{made['id']}/edit", scripts=False)
    await console.api.patch(
        f"/v1/tasks/{made['id']}", {"name": "theirs", "labels": {"team": "ops"}, "policies": {"priority": 7}}
    )
    await page.get_by_label("Name", exact=False).first.fill("mine")
    await page.get_by_role("button", name="Save", exact=True).click()
    conflict = page.locator("#conflict")
    await expect(conflict.get_by_role("row", name="Name")).to_contain_text("theirs")
    await expect(conflict.get_by_role("row", name="Name")).to_contain_text("both changed")
    await expect(conflict.get_by_role("row", name="Labels")).to_contain_text("team: ops")
    assert (await only_task(console)).task.name == "theirs"
    await page.get_by_role("button", name="Save", exact=True).click()
    await page.wait_for_url("**/tasks/tsk_*")
    task = (await only_task(console)).task
    assert (task.name, task.labels, task.policies.priority, task.version) == ("mine", (("team", "ops"),), 7, 3)
    allow_refusals(console)


async def test_refusal_is_shown_at_its_field_and_keeps_the_input(console: Console) -> None:
    page = await console.open("/tasks/new", scripts=False)
    await page.get_by_label("Name", exact=False).first.fill("call")
    await page.get_by_label("When", exact=False).fill("every day at 09:00")
    await page.get_by_label("HTTP call").check()
    await page.get_by_label("URL", exact=False).fill("https://example.com/hook")
    await page.locator("details:has(#field-target-http-headers) > summary").click()
    await page.get_by_label("Headers").fill("Authorization: Bearer @secret:token\nX-Team: ops")
    await page.get_by_label("Redirects").fill("99")
    await page.locator("#policies > summary").click()
    await page.get_by_label("First wait").fill("10 parsecs")
    await page.get_by_role("button", name="Save", exact=True).click()
    problem = page.locator("#field-policies-retry-backoff-problem")
    await expect(problem).to_contain_text("10 parsecs")
    await expect(page.get_by_label("First wait")).to_have_attribute("aria-invalid", "true")
    await expect(page.get_by_label("Headers")).to_have_value("Authorization: Bearer @secret:token\nX-Team: ops")
    await page.get_by_label("First wait").fill("10s")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.locator("#field-target-http-redirects-problem")).to_contain_text("99")
    await page.get_by_label("Redirects").fill("2")
    await page.get_by_label("Payload", exact=True).fill("{broken")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.locator("#field-payload-problem")).to_contain_text("JSON")
    assert await stored_tasks(console) == []
    await page.get_by_label("Payload", exact=True).fill('{"a": [1, null]}')
    await page.get_by_role("button", name="Check").click()
    await expect(page.locator("#check pre")).to_contain_text("•••")
    await expect(page.locator("#check")).to_contain_text("token")
    assert await stored_tasks(console) == []
    await page.get_by_role("button", name="Save", exact=True).click()
    await page.wait_for_url("**/tasks/tsk_*")
    definition = definition_json((await only_task(console)).task)
    assert definition["target"]["headers"] == {"Authorization": ["Bearer ", {"secret": "token"}], "X-Team": "ops"}
    assert (definition["target"]["redirects"], definition["payload"]) == (2, {"a": [1, None]})
    assert definition["policies"]["retry"]["backoff"] == "PT10S"
    allow_refusals(console)


async def test_structured_fields_write_the_text_and_are_filled_from_it(console: Console) -> None:
    page = await console.open("/tasks/new")
    when, kind = page.locator("#field-when"), page.locator("#schedule-kind")
    await page.locator("#schedule-fields > summary").click()
    await kind.select_option("weekly")
    await expect(page.locator("#schedule-cron")).to_be_hidden()
    await page.get_by_label("Times of day").fill("07:30")
    await expect(page.locator("#preview .bad")).to_contain_text("Days of the week")
    await page.get_by_label("Mon", exact=True).check()
    await page.get_by_label("Wed", exact=True).check()
    await expect(when).to_have_value("every Monday and Wednesday at 07:30")
    await expect(page.locator("#preview .sentence")).to_have_text("every Monday and Wednesday at 07:30, UTC")
    await when.fill("0 9 * * 1-5")
    await expect(kind).to_have_value("cron")
    await expect(page.locator("#schedule-cron")).to_have_value("0 9 * * 1-5")
    await when.fill("every wekday at 9am")
    await expect(page.locator("#preview mark")).to_have_text("wekday")
    await page.get_by_role("button", name="every weekday at 9am").click()
    await expect(page.get_by_label("Fri", exact=True)).to_be_checked()
    await when.fill("every weekday at 9am and Sat at 11am")
    await expect(kind).to_have_value("")
    await expect(page.locator("#preview .sentence")).to_have_text(
        "Monday to Friday at 09:00 and every Saturday at 11:00, UTC"
    )


async def test_preview_choice_and_fields_work_without_scripts(console: Console) -> None:
    page = await console.open("/tasks/new?name=tea", language="zh", scripts=False)
    await page.locator("#field-when").fill("每天9点到")
    await page.get_by_role("button", name="预览").click()
    await expect(page.locator("#preview .sentence.bad")).to_be_visible()
    await page.locator("#field-when").fill("every day at 9")
    await page.get_by_role("button", name="预览").click()
    await page.get_by_role("button", name="every day at 21:00").click()
    await expect(page.locator("#field-when")).to_have_value("every day at 21:00")
    await expect(page.locator("#preview .sentence")).to_have_text("每天 21:00，UTC")
    await page.locator("#schedule-fields > summary").click()
    await page.locator("#schedule-kind").select_option("monthly")
    await page.locator("#schedule-day").fill("-1")
    await page.get_by_role("button", name="写成文字").click()
    await expect(page.locator("#preview .sentence")).to_contain_text("每月最后一天 21:00")
    await page.get_by_role("button", name="保存并运行一次").click()
    await page.wait_for_url("**/tasks/tsk_*")
    facts = await only_task(console)
    assert definition_json(facts.task)["when"]["on"] == [-1]
    assert sorted(entry.origin.value for entry in facts.entries) == ["manual", "scheduled"]
    await page.goto(f"{console.url}/schedule-preview?when=5m")
    await page.get_by_role("button", name="every 5m").click()
    await expect(page.locator("#preview .sentence")).to_contain_text("每 5 分钟")
    allow_refusals(console)


async def test_code_secrets_functions_and_load_are_shown(console: Console) -> None:
    ada = await console.service.tokens.authenticate(console.api.tokens["ada"], via="test")
    await console.service.secrets.set(ada, "signing", "whsec_x")
    arguments = (
        Argument("city", required=True, wanted="text"),
        Argument("days", required=False, wanted="whole number"),
    )
    registration = Registration("shop.report", "shop.py", Signature(arguments), NO_DEFAULTS, NOON)
    await console.service.functions.register(LOCAL, [registration])
    for number in range(12):
        await console.api.create_task(name=f"{number}", when="every day at 09:00", zone="UTC")
    page = await console.open("/tasks/new?name=call&when=every+day+at+09:00&zone=UTC&target.kind=http")
    await expect(page.locator("#preview")).to_contain_text("12 tasks are due already")
    await page.get_by_label("URL", exact=False).fill("https://example.com/hook")
    await page.locator("details:has(#field-target-http-sign) > summary").click()
    await page.get_by_label("Sign with").select_option("signing")
    await page.locator("#code summary").click()
    await page.get_by_role("button", name="Show as code").click()
    await expect(page.locator("#code pre").first).to_contain_text("""{"secret": "signing"}""")
    await expect(page.locator("#code pre").nth(1)).to_contain_text(f"{console.api.base}/v1/tasks")
    await expect(page.locator("#code pre")).to_have_count(4)
    await page.get_by_label("Python function").check()
    await page.get_by_label("Function", exact=False).last.fill("shop.report")
    await page.get_by_role("button", name="Check").click()
    await expect(page.locator("#field-payload-problem")).to_contain_text("city")
    await expect(page.locator("#arguments")).to_have_text(
        "Arguments of shop.report: city (text), [days] (whole number)"
    )
    allow_refusals(console)


async def test_roles_and_owners_are_respected(console: Console) -> None:
    made = await console.api.create_task(name="ada's")
    await console.api.create_task(who="bob", name="bob's", key="shared")
    edit = f"/tasks/{made['id']}/edit"
    for who, paths, status in (
        ("vic", ("/tasks/new", edit), 403),
        ("bob", (edit, f"/schedule-preview?when=every+5m&task={made['id']}"), 404),
    ):
        tab = await console.open_tab(who)
        for path in paths:
            answer = await tab.request.get(console.url + path)
            assert answer.status == status, (who, path)
            assert "ada&#39;s" not in await answer.text()
    page = await console.open("/tasks/new?when=every+5m", who="bob")
    token = await page.locator("#task-form [name=csrf]").input_value()
    fields: dict[str, str | float | bool] = {
        "csrf": token,
        "do": "save",
        "name": "stolen",
        "when": "every 5m",
        "target.kind": "event",
    }
    for path in (f"/tasks/{made['id']}/edit", f"/tasks/{made['id']}/undo-new", f"/tasks/{made['id']}/undo-edit"):
        answer = await page.request.post(
            console.url + path, form=fields | {"version": "1", "fields": "{}"}, headers={"Origin": console.api.base}
        )
        assert answer.status == 404, path
    taken = await page.request.post(
        f"{console.url}/tasks/new", form=fields | {"key": "shared"}, headers={"Origin": console.api.base}
    )
    assert taken.status == 409
    assert "field-key-problem" in await taken.text()
    assert sorted(facts.task.name for facts in await stored_tasks(console)) == ["ada's", "bob's"]
    allow_refusals(console)
