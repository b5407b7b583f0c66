"""Signing in with a browser: links that work once and leave no trace, tokens, and forms that survive the end of a session."""

from __future__ import annotations

import logging

import pytest
from playwright.async_api import Page, Request, expect

from horae.console.request import SESSION_COOKIE
from horae.console.viewer import ZONE_COOKIE
from horae.model.accounts.principal import LOCAL
from horae.ports.store import TaskFilter
from horae.wire.tasks.task import definition_json
from tests.console.accessibility import violations_of
from tests.console.console_server import Console
from tests.console.sign_in_requests import ROOT, get, make_link, sessions_of


def accept_refusals(console: Console) -> None:
    """Forget the refusals of this test: pages with status 401, which a browser reports as failed requests."""
    assert [text for text in console.problems if "status of 401" not in text] == []
    console.problems.clear()


async def fill_preferences(page: Page, zone: str) -> None:
    await page.locator("details.menu > summary").click()
    await page.get_by_label("Time zone").fill(zone)
    await page.get_by_label("Theme").select_option("dark")


async def test_link_signs_in_at_once_and_leaves_no_code_behind(
    console: Console, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    link, code = await make_link(console.api)
    context = await console.open_context(None)
    page = await context.new_page()
    requests: list[Request] = []

    def note(request: Request) -> None:
        requests.append(request)

    page.on("request", note)
    await page.goto(link)
    await page.wait_for_url(f"{console.url}/")
    await expect(page.get_by_role("navigation").first).to_be_visible()
    assert [each.owner for each in await sessions_of(console.api, "local")] == ["local"]
    later = [each for each in requests if each.url != link]
    assert later
    for each in later:
        assert code not in each.url
        assert code not in (await each.all_headers()).get("referer", "")
    await page.go_back()
    assert code not in page.url
    assert not [record for record in caplog.records if code in record.getMessage()]
    stored = [
        record.body
        for kind in ("session", "audit.open")
        for record in (await console.service.store.records(kind)).items
    ]
    assert stored
    assert not [body for body in stored if code in body]


async def test_link_needs_no_script_and_a_used_one_explains_itself(console: Console) -> None:
    link, _ = await make_link(console.api)
    first, second = [await console.open_tab(None, scripts=False) for _ in range(2)]
    for page in (first, second):
        await page.goto(link)
        await page.get_by_role("button", name="Sign in").click()
    await expect(first).to_have_url(f"{console.url}/")
    await expect(second.get_by_role("alert")).to_contain_text("used already, or has expired")
    await expect(second).to_have_url(f"{console.url}/sign-in")
    assert len(await sessions_of(console.api, "local")) == 1
    accept_refusals(console)


async def test_token_form_in_both_languages_is_accessible_and_refuses_wrong_tokens(console: Console) -> None:
    for language, theme, button in (("en", "light", "Sign in"), ("zh", "dark", "登录")):
        page = await console.open("/sign-in", None, language=language, theme=theme)
        await page.get_by_label("Token" if language == "en" else "令牌").fill("horae_nonsense")
        await page.get_by_role("button", name=button).click()
        await expect(page.get_by_role("alert")).to_be_visible()
        assert await violations_of(page) == []
        await page.get_by_label("Token" if language == "en" else "令牌").fill(console.api.tokens["ada"])
        await page.get_by_role("button", name=button).click()
        await expect(page).to_have_url(f"{console.url}/")
    assert len(await sessions_of(console.api, "ada")) == 2
    accept_refusals(console)


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
async def test_form_sent_after_the_session_ended_keeps_its_input_until_the_next_sign_in(
    console: Console,
    scripts: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    page = await console.open(scripts=scripts)
    await fill_preferences(page, "Asia/Tokyo")
    (session,) = await sessions_of(console.api, "ada")
    await console.service.sessions.revoke(ROOT, session.id)
    if scripts:
        # The page has noticed it, and did not reload: that would lose the input.
        await expect(page.locator("#live")).to_have_attribute("data-state", "ended", timeout=20_000)
    await page.get_by_role("button", name="Apply").click()
    await expect(page.get_by_text("what you entered is kept")).to_be_visible()
    for button in ("Sign in", "Continue where you were"):
        await page.get_by_label("Token").fill("wrong")
        await page.get_by_role("button", name=button).click()
        await expect(page.get_by_role("alert")).to_be_visible()
    await page.get_by_label("Token").fill(console.api.tokens["ada"])
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_text("Asia/Tokyo")).to_be_visible()
    cookies = {each["name"] for each in await page.context.cookies()}
    assert ZONE_COOKIE not in cookies, "nothing was sent yet"
    assert await violations_of(page) == [] if scripts else True
    await page.get_by_role("button", name="Send the form").click()
    await expect(page.locator("footer")).to_contain_text("Asia/Tokyo")
    await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert [each.owner for each in await sessions_of(console.api, "ada")] == ["ada"]
    accept_refusals(console)


async def test_task_typed_while_the_session_ended_is_created_after_the_next_sign_in(console: Console) -> None:
    page = await console.open("/tasks/new")
    name = '晨报 <b>&</b> "quoted"'
    await page.get_by_label("Name", exact=False).first.fill(name)
    await page.get_by_label("When", exact=False).fill("every day at 9:00")
    await expect(page.locator("#preview .sentence")).to_contain_text("09:00")
    (session,) = await sessions_of(console.api, "ada")
    await console.service.sessions.revoke(ROOT, session.id)
    # Previews find the session ended, and the page keeps what is typed.
    async with page.expect_response(lambda response: "/sign-in" in response.url):
        await page.get_by_label("When", exact=False).fill("every day at 10:30")
    text = "first line\n  second = line\n"
    await page.get_by_label("Text", exact=True).fill(text)
    await expect(page.get_by_label("Name", exact=False).first).to_have_value(name)
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_text("what you entered is kept")).to_be_visible()
    assert (await console.service.tasks.page(LOCAL, TaskFilter())).items == ()
    await page.get_by_label("Token").fill(console.api.tokens["ada"])
    await page.get_by_role("button", name="Sign in").click()
    for typed in (name, "every day at 10:30", "second = line"):
        await expect(page.locator("dl.fields")).to_contain_text(typed)
    await page.get_by_role("button", name="Send the form").click()
    await expect(page.locator("#notice")).to_contain_text(name)
    (facts,) = (await console.service.tasks.page(LOCAL, TaskFilter())).items
    definition = definition_json(facts.task)
    assert (definition["name"], definition["when"]["at"], facts.task.owner) == (name, ["10:30"], "ada")
    assert definition["target"]["say"].split("\n")[1] == "  second = line"
    accept_refusals(console)


async def test_sign_out_ends_the_session_and_drops_the_cookie(console: Console) -> None:
    page = await console.open("/sign-in", None)
    await page.get_by_label("Token").fill(console.api.tokens["ada"])
    await page.get_by_role("button", name="Sign in").click()
    (session,) = await sessions_of(console.api, "ada")
    cookie = next(each["value"] for each in await page.context.cookies() if each["name"] == SESSION_COOKIE)
    await page.locator("details.menu > summary").click()
    await page.get_by_role("button", name="Sign out").click()
    await expect(page).to_have_url(f"{console.url}/sign-in")
    assert SESSION_COOKIE not in {each["name"] for each in await page.context.cookies()}
    assert await sessions_of(console.api, "ada") == []
    assert (await get(console.api, "/", cookie)).status == 303
    actions = [row.action for row in (await console.service.audit.page(ROOT)).items if row.subject == session.id]
    assert "session.revoke" in actions


async def test_two_owners_in_two_browsers_see_only_themselves(console: Console) -> None:
    await console.api.create_task(who="ada", name="secret of ada")
    await console.api.create_task(who="bob", name="secret of bob")
    pages = {name: await console.open(who=name) for name in ("ada", "bob")}
    for name, other in (("ada", "bob"), ("bob", "ada")):
        await expect(pages[name].locator("details.menu > summary")).to_have_text(name)
        await expect(pages[name].get_by_text(f"secret of {name}").first).to_be_visible()
        assert f"secret of {other}" not in await pages[name].content()
        listed = await console.service.sessions.authenticate(
            next(each["value"] for each in await pages[name].context.cookies() if each["name"] == SESSION_COOKIE)
        )
        assert [each.owner for each in (await console.service.sessions.page(listed)).items] == [name]
    (of_bob,) = await sessions_of(console.api, "bob")
    assert (await console.api.delete(f"/v1/sessions/{of_bob.id}", who="ada")).status == 404
    await console.service.sessions.revoke(ROOT, of_bob.id)
    await pages["bob"].reload()
    await expect(pages["bob"]).to_have_url(f"{console.url}/sign-in")
    await pages["ada"].reload()
    await expect(pages["ada"].locator("details.menu > summary")).to_have_text("ada")
