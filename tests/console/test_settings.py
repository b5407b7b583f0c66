"""Settings: profile, owners, tokens, webhooks, secrets, sessions, doctor and about; each story asserts what is stored."""

from __future__ import annotations

import asyncio

from playwright.async_api import expect

from horae.clock import SystemClock
from horae.errors import NotFound
from horae.message import Message
from horae.model.accounts.principal import LOCAL, Role, Scope
from horae.outgoing.addresses import read_networks
from horae.ports.doctor import Check, Fix, make_check
from horae.service.doctor import Doctor
from horae.service.events.delivery import WebhookClient
from horae.service.events.message_client import MessageClient
from horae.service.events.webhooks import Webhooks
from tests.console.accessibility import violations_of
from tests.console.admin_steps import post, take_refusals
from tests.console.console_server import Console
from tests.events.event_server import webhook_receiver
from tests.unit.notifiers.recording_notifier import RecordingNotifier

URL = "https://93.184.216.34/hook"


async def test_profile_stores_the_zone_and_language_and_undoes_them(console: Console) -> None:
    page = await console.open("/settings", "ada")
    form = page.locator("main form").first
    await form.get_by_label("Time zone").fill("Nowhere/Land")
    await form.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_contain_text("Nowhere/Land")
    await form.get_by_label("Time zone").fill("Asia/Shanghai")
    await form.get_by_label("Language").select_option("zh")
    await form.get_by_role("button", name="Save").click()
    await expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
    account = await console.service.accounts.get(LOCAL, "ada")
    assert (account.zone, account.language) == ("Asia/Shanghai", "zh")
    assert "horae_lang" not in {cookie.get("name") for cookie in await page.context.cookies()}
    await expect(page.locator("footer")).to_contain_text("Asia/Shanghai")
    await page.get_by_role("button", name="撤销").click()
    await expect(page.locator("html")).to_have_attribute("lang", "en")
    account = await console.service.accounts.get(LOCAL, "ada")
    assert (account.zone, account.language) == (None, None)
    take_refusals(console, 1)


async def test_owner_is_created_edited_revoked_and_restored(console: Console) -> None:
    accounts = console.service.accounts
    page = await console.open("/settings/owners", "admin", scripts=False)
    await page.get_by_role("link", name="New owner").click()
    for name, shown in (("ada", "There is an owner 'ada' already"), ("no slash/", "no slash/")):
        await page.get_by_label("Name").fill(name)
        await page.get_by_role("button", name="Save").click()
        await expect(page.get_by_role("alert")).to_contain_text(shown)
        await expect(page.get_by_label("Name")).to_have_value(name)
    await page.get_by_label("Name").fill("group:home")
    await page.get_by_label("Note").fill("<b>备注</b>")
    await page.get_by_label("Active tasks").fill("7")
    await page.get_by_role("button", name="Save").click()
    owner = await accounts.get(LOCAL, "group:home")
    assert (owner.role, owner.note, owner.quotas.active_tasks) == (Role.MEMBER, "<b>备注</b>", 7)

    await page.get_by_role("link", name="group:home").click()
    await page.get_by_label("Role").select_option("viewer")
    await page.get_by_label("Active tasks").fill("")
    await page.get_by_label("Runs a day").fill("none")
    await page.get_by_role("button", name="Save").click()
    owner = await accounts.get(LOCAL, "group:home")
    assert (owner.role, owner.quota_overrides) == (Role.VIEWER, (("runs_per_day", None),))
    await page.get_by_role("button", name="Undo").click()
    owner = await accounts.get(LOCAL, "group:home")
    assert (owner.role, owner.quota_overrides) == (Role.MEMBER, (("active_tasks", 7),))

    row = page.get_by_role("row").filter(has_text="group:home")
    await row.get_by_role("button", name="Revoke").click()
    assert (await accounts.get(LOCAL, "group:home")).revoked is not None
    await page.get_by_role("button", name="Undo").click()
    assert (await accounts.get(LOCAL, "group:home")).revoked is None
    take_refusals(console, 2)


async def test_token_text_is_shown_once_and_revoking_needs_its_name(console: Console) -> None:
    tokens = console.service.tokens
    page = await console.open("/settings/tokens", "ada")
    await page.get_by_label("Name").fill("deploy <i>")
    await page.get_by_label("Agent").fill("helper")
    await page.get_by_label("Expires").fill("2099-12-31")
    await page.get_by_label("create and change").uncheck()
    await page.get_by_role("button", name="Make a token").click()
    text = str(await page.locator(".once code").text_content())
    principal = await tokens.authenticate(text, via="http")
    assert (principal.owner, principal.agent, principal.scopes) == ("ada", "helper", frozenset({Scope.READ, Scope.RUN}))
    await page.get_by_role("link", name="I have saved it").click()
    assert text not in await page.content()
    (made,) = [each for each in (await tokens.page(LOCAL, "ada")).items if each.name == "deploy <i>"]
    assert made.expires is not None
    assert made.expires.isoformat() == "2100-01-01T00:00:00+00:00"

    row = page.locator(f"#{made.id}")
    await row.get_by_text("Revoke…").click()
    await row.get_by_role("textbox").fill("other")
    await row.get_by_role("button", name="Revoke").click()
    await expect(page.get_by_role("alert")).to_contain_text("not_confirmed")
    assert (await tokens.get(LOCAL, made.id)).revoked is None
    await row.get_by_text("Revoke…").click()
    await row.get_by_role("textbox").fill("deploy <i>")
    await row.get_by_role("button", name="Revoke").click()
    await expect(page.locator("#notice")).to_contain_text("is revoked")
    assert (await tokens.get(LOCAL, made.id)).revoked is not None
    for label in ("read", "create and change", "run now, retry, cancel"):
        await page.get_by_label(label, exact=False).first.uncheck()
    await page.get_by_label("Name").fill("nothing")
    await page.get_by_role("button", name="Make a token").click()
    await expect(page.get_by_role("alert")).to_contain_text("scopes")
    take_refusals(console, 2)


async def test_webhook_is_created_edited_tested_and_removed(console: Console) -> None:
    webhooks = console.service.webhooks
    page = await console.open("/settings/webhooks", "ada")
    await page.get_by_label("URL").fill("https://127.0.0.1/hook")
    await page.get_by_role("button", name="Create a webhook").click()
    await expect(page.get_by_role("alert")).to_contain_text("127.0.0.1")
    await page.get_by_label("URL").fill(URL)
    await page.get_by_label("Events").fill("run.failed, task.*")
    await page.get_by_role("button", name="Create a webhook").click()
    secret = str(await page.locator(".once code").text_content())
    assert secret.startswith("whsec_")
    await page.get_by_role("link", name="I have saved it").click()
    assert secret not in await page.content()
    (webhook,) = (await webhooks.page(LOCAL)).items
    assert (webhook.owner, webhook.types) == ("ada", ("run.failed", "task.*"))

    await page.get_by_label("Note").fill("pager")
    await page.get_by_label("Events").fill("task.*")
    await page.get_by_role("button", name="Save").click()
    await expect(page.locator("#notice")).to_contain_text("is saved")
    webhook = await webhooks.get(LOCAL, webhook.id)
    assert (webhook.note, webhook.types) == ("pager", ("task.*",))
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_label("Note")).to_have_value("")
    assert (await webhooks.get(LOCAL, webhook.id)).types == ("run.failed", "task.*")
    await page.get_by_role("button", name="Disable").click()
    assert not (await webhooks.get(LOCAL, webhook.id)).enabled
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("button", name="Disable")).to_be_visible()
    assert (await webhooks.get(LOCAL, webhook.id)).enabled

    await page.get_by_text("Delete…").click()
    await page.get_by_label("To confirm").fill("93.184.216.34")
    await page.get_by_role("button", name="Delete").click()
    await expect(page.locator("#notice")).to_contain_text("is deleted")
    assert (await webhooks.page(LOCAL)).items == ()
    take_refusals(console, 1)


async def test_webhook_is_tested_and_a_failed_delivery_is_sent_again(console: Console) -> None:
    service = console.service
    client = WebhookClient(service.secrets, console.api.app.context.clock, read_networks(["127.0.0.0/8"]))
    service.webhooks = Webhooks(service.store, client, service.audit, console.api.app.context.clock)
    async with webhook_receiver() as receiver:
        webhook, secret = await service.webhooks.create(LOCAL._replace(owner="ada"), receiver.base + "/hook")
        receiver.answers = lambda _request: 500 if len(receiver.requests) == 1 else 200
        page = await console.open(f"/settings/webhooks/{webhook.id}", "ada", scripts=False)
        await page.get_by_role("button", name="Send a test").click()
        await expect(page.locator("#notice")).to_contain_text("Not delivered: 500")
        row = page.locator("tbody tr")
        await expect(row).to_contain_text("failed")
        await row.get_by_role("button", name="Send again").click()
        await expect(page.locator("#notice")).to_contain_text("Delivered.")
        await expect(row).to_contain_text("delivered")
        (delivery,) = (await service.webhooks.deliveries(LOCAL, webhook.id)).items
        assert [attempt.status for attempt in delivery.attempts] == [500, 200]
        await page.get_by_role("button", name="New secret").click()
        rotated = str(await page.locator(".once code").text_content())
        assert rotated != secret
        assert (await service.webhooks.get(LOCAL, webhook.id)).former is not None


async def test_secret_is_stored_granted_and_deleted_but_never_shown(console: Console) -> None:
    secrets = console.service.secrets
    page = await console.open("/settings/secrets", "ada", scripts=False)
    await page.get_by_label("Name").fill("bad name")
    await page.get_by_label("Value").fill("hush\nhush")
    await page.get_by_role("button", name="Set a secret").click()
    await expect(page.get_by_role("alert")).to_contain_text("bad name")
    assert "hush" not in await page.content()
    await page.get_by_label("Name").fill("api.key")
    await page.get_by_label("Value").fill("hush\nhush")
    await page.get_by_role("button", name="Set a secret").click()
    assert await secrets.reveal("ada", "api.key") == "hush\nhush"
    assert "hush" not in await page.content()
    await page.get_by_label("Agent that may use api.key").fill("robot")
    await page.get_by_role("button", name="Grant").click()
    assert (await secrets.names(LOCAL)).items[0].agents == ("robot",)
    await page.get_by_role("button", name="Undo").click()
    assert (await secrets.names(LOCAL)).items[0].agents == ()
    await page.get_by_text("Delete…").click()
    await page.get_by_label("To confirm").fill("api.key")
    await page.get_by_role("button", name="Delete").click()
    assert (await secrets.names(LOCAL)).items == ()
    take_refusals(console, 1)


async def test_destination_is_stored_tested_and_deleted_but_its_url_never_shown(console: Console) -> None:
    destinations, notifier = console.service.destinations, RecordingNotifier()
    destinations.client = MessageClient(console.service.secrets, notifier, console.api.app.context.clock)
    page = await console.open("/settings/messages", "ada", scripts=False)
    await page.get_by_label("Name").fill("ops")
    await page.get_by_label("Quiet hours").fill("late")
    await page.get_by_label("URL").fill("json://host/hush")
    await page.get_by_role("button", name="Set a destination").click()
    await expect(page.get_by_role("alert")).to_contain_text("22:00-07:00")
    assert "hush" not in await page.content()
    await page.get_by_label("Quiet hours").fill("22:00-07:00")
    await page.get_by_label("URL").fill("json://host/hush")
    await page.get_by_role("button", name="Set a destination").click()
    (saved,) = (await destinations.page(LOCAL)).items
    assert (saved.owner, saved.name, saved.reminders) == ("ada", "ops", True)
    await page.get_by_role("button", name="Send a test message to ops").click()
    await expect(page.locator("tbody")).to_contain_text("json://…")
    assert [url for url, _ in notifier.sent] == ["json://host/hush"]
    assert "hush" not in await page.content()
    await page.get_by_text("Delete…").click()
    await page.get_by_label("To confirm").fill("ops")
    await page.get_by_role("button", name="Delete").click()
    assert (await destinations.page(LOCAL)).items == ()
    take_refusals(console, 1)


async def test_sessions_are_listed_and_revoked(console: Console) -> None:
    sessions = console.service.sessions
    other = await sessions.open_with_token(console.api.tokens["ada"], client="Firefox <b>")
    page = await console.open("/settings/sessions", "ada")
    assert await page.locator("tbody tr").count() == 2
    row = page.locator(f"#{other.session.id}")
    await expect(row).to_contain_text("Firefox <b>")
    await expect(page.locator("tr", has_text="this browser").get_by_role("button")).to_have_text("Sign out")
    await row.get_by_role("button", name="Revoke").click()
    await expect(page.locator("#notice")).to_contain_text("has ended")
    assert len((await sessions.page(LOCAL, "ada")).items) == 1
    await page.get_by_role("button", name="Sign out").last.click()
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert (await sessions.page(LOCAL, "ada")).items == ()


async def test_doctor_shows_the_report_with_fixes_and_checks_again(console: Console) -> None:
    await console.service.lanes.limit(LOCAL, "shut", 0)
    await console.service.doctor.report(LOCAL)
    page = await console.open("/settings/doctor", "admin", scripts=False)
    for text in ("Database intact", "start nothing: shut", "horae lanes", "Zone data", "0 errors, 1 warning."):
        await expect(page.locator("main")).to_contain_text(text)
    await expect(page.locator("#check-lanes-1").get_by_role("link")).to_have_attribute("href", "/console/lanes")
    await console.service.lanes.limit(LOCAL, "shut", 1)
    async with page.expect_navigation():
        await page.get_by_role("button", name="Check again").click()
    await console.service.doctor.report(LOCAL)
    await page.goto(console.url + "/settings/doctor")
    await expect(page.locator("#check-lanes-1")).to_contain_text("none closed")
    await page.goto(console.url + "/settings/about")
    await expect(page.locator("main")).to_contain_text("memory")


async def test_slow_checks_of_the_doctor_appear_when_they_are_ready(console: Console) -> None:
    release = asyncio.Event()

    async def examine() -> tuple[Check, ...]:
        await release.wait()
        hostile = make_check(
            "targets", "error", Message("{names}", "{names}"), Fix(Message("x", "y")), names="<b>a</b>"
        )
        slow = make_check("integrity", "skipped", Message("not made", "未做"))
        return hostile, slow, slow._replace(code="store", grade="ok", checked_at=SystemClock().now())

    console.service.doctor = Doctor(SystemClock(), examine)
    page = await console.open("/settings/doctor", "admin")
    await expect(page.locator("#doctor")).to_contain_text("The checks are being made.")
    assert await violations_of(page) == []
    release.set()
    await expect(page.locator("#check-targets-1")).to_contain_text("<b>a</b>")
    await expect(page.locator("#check-integrity-1 .sign")).to_have_text("– not checked")
    assert await violations_of(page) == []
    page = await console.open("/settings/doctor", "admin", language="zh", theme="dark", size="phone")
    await expect(page.locator("#check-integrity-1 .sign")).to_have_text("– 未检查")
    assert await violations_of(page) == []
    assert not await page.evaluate("document.documentElement.scrollWidth > innerWidth")
    page = await console.open("/settings", "ada")
    assert await page.get_by_role("link", name="Doctor").count() == 0
    assert (await page.request.get(console.url + "/settings/doctor")).status == 403
    assert (await post(console, page, "/settings/doctor/again", {}))[0] == 403


async def test_roles_and_owners_see_and_change_only_their_own(console: Console) -> None:
    webhook, _ = await console.service.webhooks.create(LOCAL._replace(owner="ada"), URL)
    await console.service.secrets.set(LOCAL._replace(owner="ada"), "hers", "value")
    token = next(each for each in (await console.service.tokens.page(LOCAL, "ada")).items if each.agent is None)
    session = (await console.service.sessions.open_with_token(console.api.tokens["ada"])).session
    page = await console.open("/settings/tokens", "bob")
    assert await page.locator("tbody tr").count() == 1
    assert await page.get_by_role("link", name="Owners").count() == 0
    for path, fields, status in (
        ("/settings/tokens/revoke", {"token": token.id, "confirm": token.name}, 404),
        ("/settings/sessions/revoke", {"session": session.id}, 404),
        ("/settings/secrets/remove", {"name": "hers", "confirm": "hers", "owner": "ada"}, 404),
        (f"/settings/webhooks/{webhook.id}/remove", {"confirm": "93.184.216.34"}, 404),
        (f"/settings/webhooks/{webhook.id}/test", {}, 404),
        ("/settings/owners/save", {"name": "eve", "role": "admin"}, 403),
        ("/settings/owners/revoke", {"name": "ada"}, 403),
        ("/settings/tokens/make", {"name": "x", "owner": "ada", "scope": "tasks:read"}, 404),
    ):
        assert (await post(console, page, path, fields))[0] == status, path
    for path in (f"/settings/webhooks/{webhook.id}", "/settings/webhooks/whk_none"):
        assert (await page.request.get(console.url + path)).status == 404
    page = await console.open("/settings/webhooks", "vic")
    for path in ("/settings/webhooks", "/settings/secrets", "/settings/tokens"):
        await page.goto(console.url + path)
        assert await page.locator("main form[method=post] button:visible").count() == 0
    assert (await post(console, page, "/settings/secrets/set", {"name": "x", "value": "y"}))[0] == 403
    assert (await post(console, page, "/settings/tokens/make", {"name": "x", "scope": "tasks:read"}))[0] == 403
    assert (await console.service.webhooks.get(LOCAL, webhook.id)).enabled
    try:
        await console.service.accounts.get(LOCAL, "eve")
    except NotFound:
        return
    raise AssertionError("a member made an owner")


async def test_tab_without_webhooks_is_accessible(console: Console) -> None:
    page = await console.open("/settings/webhooks", "bob")
    assert await violations_of(page) == []
