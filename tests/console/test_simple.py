"""Simple view of members: a story in Chinese with a real engine and orchestrator, the same without scripts, and its edges."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final

import aiohttp
from playwright.async_api import Page, expect

from horae import Horae
from horae.api.app import make_app
from horae.lifecycle.fire import fire
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.accounts.principal import LOCAL, Principal
from horae.model.change import Facts
from horae.model.ids import trace_id
from horae.model.outcome import Failed, Outcome, Settlement, Succeeded
from horae.model.run import RunState
from horae.model.task import Target, TaskState
from horae.ports.store import Node, TaskFilter
from horae.runtime.api_service import SIMPLE_CONSOLE_PATH, mount_console
from horae.schedule import Every, Once
from horae.service.service import Service
from horae.service.tasks.edits import Edits
from horae.service.tasks.task_request import TaskRequest
from horae.web.request_context import WebSettings
from horae.wire.tasks.text_tasks import text_of
from tests.api.api_server import Api, create_tokens
from tests.compat.compat_server import serve
from tests.compat.orchestrator import Orchestrator
from tests.console.accessibility import violations_in_both_themes
from tests.console.console_server import Console, Language
from tests.console.tabs import Tabs

TIMEOUT_SECONDS: Final = 60
"""Upper bound for a failing test; a passing one never waits this long."""
LIVE_MS: Final = 30_000
"""Time for a live part to be fetched again after an event, on a busy machine."""
LANGUAGES: Final[tuple[Language, ...]] = ("en", "zh")
ADA: Final = Principal("ada")
HOSTILE: Final = "<script>alert(1)</script>" + '"很长的名称' + "长" * 60 + " long" * 12
HOSTILE_TEXT: Final = f"\u202e{HOSTILE}\u2066 {'W' * 300}"


async def tasks_of(service: Service, owner: str = "ada") -> list[Facts]:
    return list((await service.tasks.page(LOCAL, TaskFilter(owner))).items)


def drop_expected_status(console: Console, status: int) -> None:
    """Drop what the browser logs about responses with this status; other problems stay."""
    console.problems[:] = [each for each in console.problems if f"status of {status}" not in each]


class SimpleConsole(Console):
    """The console at `/scheduled-tasks/console`, with a running engine and an orchestrator."""

    orchestrator: Orchestrator
    ended: asyncio.Queue[Any]
    """Events of runs that have succeeded."""

    @property
    def url(self) -> str:
        return self.api.base + SIMPLE_CONSOLE_PATH


@asynccontextmanager
async def serve_with_engine(tabs: Tabs, tmp_path: Path) -> AsyncIterator[SimpleConsole]:
    orchestrator = Orchestrator()
    ended: asyncio.Queue[Any] = asyncio.Queue()
    horae = Horae(f"sqlite:///{tmp_path / 'horae.db'}", targets={"http": {"allow_networks": ["127.0.0.0/8"]}})
    horae.on("run.succeeded")(ended.put_nowait)
    async with (
        asyncio.timeout(TIMEOUT_SECONDS),
        orchestrator.serve() as url,
        horae,
        AsyncExitStack() as stack,
    ):
        app = make_app(horae.service, horae.clock, WebSettings(orchestrator=url))
        mount_console(app)
        async with serve(app) as base, aiohttp.ClientSession() as session:
            api = Api(base, app, horae.service, session)
            api.tokens = await create_tokens(horae.service)
            console = SimpleConsole(api, tabs, stack)
            console.orchestrator, console.ended = orchestrator, ended
            yield console
            await stack.aclose()
            assert not console.problems, console.problems


async def _sign_in(console: SimpleConsole, who: str, **options: Any) -> Page:
    """Open the address that users of the other system know, and sign in with a token."""
    page = await console.open_tab(None, language="zh", **options)
    await page.goto(console.url)
    assert page.url == f"{console.url}/sign-in"
    await page.get_by_label("令牌").fill(console.api.tokens[who])
    await page.get_by_role("button", name="登录").click()
    await expect(page.get_by_role("heading", name="我的任务")).to_be_visible()
    return page


async def _create(page: Page) -> None:
    await page.get_by_role("link", name="新建任务").first.click()
    form = page.locator("#simple-form")
    await form.get_by_label("名称").fill("打卡提醒")
    await form.get_by_label("执行时间").fill("每天早上9点")
    await form.get_by_label("时区").fill("北京时间")
    await form.get_by_label("内容").fill("每天 9 点提醒我打卡")
    await form.get_by_role("button", name="创建").click()
    await expect(page.get_by_role("status").filter(has_text="已创建“打卡提醒”")).to_be_visible()


async def _edit(page: Page) -> None:
    await page.get_by_role("link", name="编辑").click()
    form = page.locator("#simple-form")
    await expect(form.get_by_label("执行时间")).to_have_value("每天 09:00")
    await form.get_by_label("执行时间").fill("工作日18:30")
    await form.get_by_label("内容").fill("下班打卡")
    await form.get_by_role("button", name="保存").click()
    await expect(page.get_by_role("status").filter(has_text="已保存“打卡提醒”")).to_be_visible()


async def _run_now(console: SimpleConsole, page: Page, task_id: str, *, has_scripts: bool) -> None:
    answer = {"reply": "已打卡", "items": list(range(40))}
    console.orchestrator.answers.put_nowait((200, json.dumps(answer)))
    await page.get_by_role("button", name="立即运行").click()
    await expect(page).to_have_url(f"{console.url}/simple/{task_id}")
    headers, body = await console.orchestrator.requests.get()
    assert body["text"] == "下班打卡"
    run = await console.service.runs.get(LOCAL, (await console.ended.get()).run_id)
    assert (run.state, headers["x-trace-id"]) == (RunState.SUCCEEDED, trace_id(run))
    if not has_scripts:
        await page.reload()
    row, detail = page.locator(f"#run-{run.id}"), page.locator(f"#detail-{run.id}")
    await expect(row.get_by_text("成功")).to_be_visible(timeout=LIVE_MS)
    await expect(row.get_by_text(trace_id(run))).to_be_visible()
    await detail.get_by_text("展开全部").click()
    assert json.loads(await detail.locator("details > pre").inner_text()) == answer


async def _delete(page: Page) -> None:
    await page.get_by_role("link", name="返回我的任务").click()
    await page.get_by_role("link", name="删除").click()
    form = page.locator("#simple-form")
    await expect(form.get_by_role("heading", name="确定删除“打卡提醒”吗")).to_be_visible()
    await form.get_by_role("button", name="删除").click()
    await expect(page.get_by_role("status").filter(has_text="已删除“打卡提醒”")).to_be_visible()


async def _check_that_another_member_sees_nothing(console: SimpleConsole, task_id: str) -> None:
    page = await console.open("/simple", "bob", language="zh", scripts=False)
    await expect(page.get_by_text("您还没有任务")).to_be_visible()
    csrf = await page.locator("input[name=csrf]").first.get_attribute("value") or ""
    request, origin = page.context.request, {"Origin": console.api.base}
    for action in ("", "/edit", "/delete"):
        assert (await request.get(f"{console.url}/simple/{task_id}{action}")).status == 404
    for action in ("edit", "toggle", "run", "delete"):
        address = f"{console.url}/simple/{task_id}/{action}"
        assert (await request.post(address, form={"csrf": csrf, "enabled": "0"}, headers=origin)).status == 404
    assert len(await tasks_of(console.service)) == 1


async def _follow_story(console: SimpleConsole, page: Page, *, has_scripts: bool = True) -> None:
    service = console.service
    await _create(page)
    (facts,) = await tasks_of(service)
    task_id = facts.task.id
    assert (facts.task.owner, facts.task.name, facts.task.schedule.zone) == ("ada", "打卡提醒", "Asia/Shanghai")
    assert (text_of(facts.task), facts.task.target.kind) == ("每天 9 点提醒我打卡", "http")
    retry = facts.task.policies.retry
    assert (retry.attempts, retry.backoff, retry.factor, retry.jitter) == (None, timedelta(minutes=1), 1, "none")
    (shown,) = (await console.api.get("/scheduled-tasks")).json
    assert (shown["id"], shown["payload"], shown["enabled"]) == (task_id, {"text": "每天 9 点提醒我打卡"}, True)
    await _edit(page)
    (facts,) = await tasks_of(service)
    assert (text_of(facts.task), facts.task.version) == ("下班打卡", 2)
    await page.get_by_role("button", name="停用").click()
    await expect(page.locator(".badge")).to_contain_text("已停用")
    assert (await tasks_of(service))[0].status.state is TaskState.PAUSED
    await page.get_by_role("button", name="撤销").click()
    await expect(page.locator(".badge")).to_contain_text("已启用")
    assert (await tasks_of(service))[0].status.state is TaskState.ACTIVE
    await _run_now(console, page, task_id, has_scripts=has_scripts)
    await _check_that_another_member_sees_nothing(console, task_id)
    await _delete(page)
    assert await tasks_of(service) == []
    await expect(page.get_by_text("您还没有任务")).to_be_visible()


async def test_member_manages_a_daily_task_in_chinese(tabs: Tabs, tmp_path: Path) -> None:
    async with serve_with_engine(tabs, tmp_path) as console:
        page = await _sign_in(console, "ada")
        await page.get_by_role("link", name="新建任务").first.click()
        await expect(page.get_by_role("dialog", name="新建任务")).to_be_visible()
        await page.get_by_role("link", name="取消").click()
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await _follow_story(console, page)


async def test_palette_of_the_simple_view_finds_own_tasks_only(tabs: Tabs, tmp_path: Path) -> None:
    async with serve_with_engine(tabs, tmp_path) as console:
        task = await console.api.create_task(name="打卡提醒")
        await console.api.create_task("bob", name="打卡提醒二")
        page = await console.open("/simple", language="zh")
        await page.keyboard.press("Control+k")
        await page.locator("#palette-input").fill("打卡")
        await page.get_by_role("option", name="打卡提醒").click()
        await expect(page).to_have_url(f"{console.url}/simple/{task['id']}")
        reply = await page.context.request.get(f"{console.url}/palette?q=打卡")
        assert [each["name"] for each in (await reply.json())["tasks"]] == ["打卡提醒"]


async def test_member_manages_a_daily_task_without_scripts(tabs: Tabs, tmp_path: Path) -> None:
    async with serve_with_engine(tabs, tmp_path) as console:
        await _follow_story(console, await _sign_in(console, "ada", scripts=False), has_scripts=False)


USE_CLIENT: Final = """async ([base, token]) => {
  const { ScheduledTasks } = await import(`${base}/client.js`);
  const tasks = new ScheduledTasks(token, { language: "zh" });
  const wish = { name: "demo", schedule_type: "cron", schedule_expr: "0 9 * * *", payload: { text: "你好" } };
  const task = await tasks.create(wish);
  const off = await tasks.update(task.id, { enabled: false });
  const refused = await tasks.create({ ...wish, timezone: "Nowhere/Else" }).catch((error) => [error.status, error.problem.code]);
  return [await tasks.list(), off.enabled, await tasks.runs(task.id), await tasks.get(task.id), refused];
}"""


async def test_browser_client_calls_every_route(tabs: Tabs, tmp_path: Path) -> None:
    async with serve_with_engine(tabs, tmp_path) as console:
        page = await console.open("/sign-in", who=None)
        arguments = [console.url, console.api.tokens["ada"]]
        (listed,), is_enabled, runs, got, refused = await page.evaluate(USE_CLIENT, arguments)
        (facts,) = await tasks_of(console.service)
        assert (listed["id"], got["id"], is_enabled, runs) == (facts.task.id, facts.task.id, False, [])
        assert (text_of(facts.task), facts.status.state) == ("你好", TaskState.PAUSED)
        assert refused == [422, "unknown_zone"]
        remove = "async ([base, token, id]) => new (await import(`${base}/client.js`)).ScheduledTasks(token).remove(id)"
        assert await page.evaluate(remove, [*arguments, facts.task.id]) == {"ok": True}
        assert await tasks_of(console.service) == []
        drop_expected_status(console, 422)


async def test_empty_pages_and_forms_are_accessible_and_explain_themselves(console: Console) -> None:
    for language in LANGUAGES:
        page = await console.open("/simple", language=language)
        await page.locator("#no-orchestrator summary").click()
        await expect(page.get_by_text("ORCHESTRATOR_URL=https://orchestrator.example")).to_be_visible()
        await expect(page.get_by_text('orchestrator_url = "https://orchestrator.example"')).to_be_visible()
        assert await violations_in_both_themes(page) == []
        await page.goto(f"{console.url}/simple/new")
        await page.get_by_role("textbox", name="Rule" if language == "en" else "执行时间").fill("0 9 * * 1-5")
        await expect(page.locator("#simple-preview li")).to_have_count(3)
        assert await violations_in_both_themes(page) == []


async def _seed(console: Console) -> str:
    """Create a task of each kind and in each state, with hostile texts; return the id of one that ran."""
    once = await console.api.create_task(name="done", when="now")
    await settle_run(console, once["id"], Succeeded("null"), is_due=True)
    given_up = await console.api.create_task(name="given up", policies={"give_up_after": 1, "retries": 0}, when="now")
    await settle_run(console, given_up["id"], Failed("no"), is_due=True)
    wish = {"name": "of an agent", "when": "every 1h", "zone": "UTC", "http": "https://example.org/hook"}
    assert (await console.api.post("/v1/tasks", wish, who="robot")).status == 201
    for when in ("every 1h", "2099-01-02 08:30", "0 9 * * 1-5"):
        await console.api.create_task(name=f"{when} {HOSTILE}", say=HOSTILE_TEXT, when=when)
    task = await console.api.create_task(name="日报", say="写日报")
    await settle_run(console, task["id"], Succeeded(json.dumps({"reply": HOSTILE_TEXT, "items": list(range(90))})))
    await settle_run(console, task["id"], Failed(f"\x1b[31m{HOSTILE_TEXT}\x1b[0m"))
    paused = await console.api.create_task(name="paused", say="x")
    await console.api.post(f"/v1/tasks/{paused['id']}/pause")
    return str(task["id"])


async def settle_run(console: Console, task_id: str, outcome: Outcome, *, is_due: bool = False) -> None:
    """Run the task now, unless it is due, and settle the run with this outcome, as a node does."""
    store, clock = console.service.store, console.api.app.context.clock
    if not is_due:
        await console.service.tasks.run_now(LOCAL, task_id)
    if not await store.nodes():
        await store.join(Node("nod_1", "here/1", "1", clock.now(), clock.now()))
    claimant = ClaimContext("nod_1", clock.now(), timedelta(seconds=10))
    claimed = await store.claim_due(
        clock.now(), "nod_1", 100, lambda facts, entry, token: fire(facts, entry, token, claimant)
    )
    (run,) = (each.run for each in claimed.runs)
    await store.settle([Settlement(run.id, run.token, outcome, run.started, clock.now())], settle)


async def _check_buttons_of_states(page: Page, language: Language) -> None:
    """A task that has ended or waits for an approval has no toggle; one that was given up can be enabled."""
    run, enable = ("Run now", "Enable") if language == "en" else ("立即运行", "启用")
    for name, buttons in (("done", []), ("given up", [enable]), ("of an agent", []), ("paused", [run, enable])):
        card = page.locator(".cards > li").filter(has=page.get_by_role("heading", name=name, exact=True))
        assert await card.get_by_role("button").all_inner_texts() == buttons, name
    note = "a person must approve it first" if language == "en" else "须先获批准"
    await expect(page.get_by_text(note)).to_be_visible()


async def test_filled_pages_show_every_state_and_hostile_text_as_text(console: Console) -> None:
    task_id = await _seed(console)
    for language in LANGUAGES:
        page = await console.open("/simple", language=language, size="phone")
        part = await page.context.request.get(f"{console.url}/simple?part=simple_cards")
        assert (await part.text()).strip().startswith('<div id="simple-cards"')
        part = await page.context.request.get(f"{console.url}/simple/{task_id}?part=simple_history")
        assert (await part.text()).strip().startswith('<div id="simple-history"')
        assert await page.locator(".cards > li").count() == 8
        await _check_buttons_of_states(page, language)
        await expect(page.locator(".cards .when code")).to_have_text("0 9 * * 1-5")
        await expect(page.get_by_text("<script>alert(1)</script>").first).to_be_visible()
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await page.goto(f"{console.url}/simple/{task_id}")
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert "\x1b" not in await page.content()
        assert "\u202e" not in await page.content()


async def test_viewer_sees_no_buttons_and_its_posts_are_refused(console: Console) -> None:
    await console.service.tasks.create(
        LOCAL, TaskRequest("watched", "every 1h", Target("event", '{"say": "x"}'), owner="vic", zone="UTC")
    )
    (facts,) = await tasks_of(console.service, "vic")
    page = await console.open("/simple", "vic", scripts=False)
    await expect(page.get_by_role("link", name="watched")).to_be_visible()
    assert await page.get_by_role("main").get_by_role("button").count() == 0
    assert await page.get_by_role("link", name="Edit").count() == 0
    csrf = await page.locator("input[name=csrf]").first.get_attribute("value")
    posts = {
        "/simple/new": {"name": "mine", "rule": "every 1h", "zone": "UTC", "text": "x"},
        f"/simple/{facts.task.id}/edit": {"name": "other", "rule": "every 1h", "zone": "UTC", "text": "x"},
        **{f"/simple/{facts.task.id}/{action}": {"enabled": "0"} for action in ("toggle", "delete", "run")},
    }
    for path, fields in posts.items():
        reply = await page.context.request.post(
            console.url + path, form={**fields, "csrf": csrf or ""}, headers={"Origin": console.api.base}
        )
        assert reply.status == 403, path
    assert await tasks_of(console.service, "vic") == [facts]


async def test_form_creates_and_edits_every_kind_and_keeps_refused_input(console: Console) -> None:
    page = await console.open("/simple/new", language="en", scripts=False)
    await page.get_by_label("Name").fill("weather")
    await page.get_by_label("Rule", exact=True).fill("every flurble")
    await page.get_by_role("textbox", name="Text").fill("tell me the weather")
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("alert")).to_contain_text("flurble")
    await expect(page.get_by_role("textbox", name="Text")).to_have_value("tell me the weather")
    await page.get_by_label("At an interval").check()
    await page.get_by_label("Interval", exact=True).fill("90")
    await page.get_by_role("button", name="Create").click()
    await expect(page.get_by_role("status").filter(has_text="was created: every 1 hour 30 minutes")).to_be_visible()
    (facts,) = await tasks_of(console.service)
    assert (facts.task.schedule, text_of(facts.task)) == (
        Every(timedelta(minutes=90), "end", zone="UTC"),
        "tell me the weather",
    )
    assert facts.task.target.kind == "event"
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_label("Once").check()
    await page.get_by_label("Date and time").fill("2099-01-02T08:30")
    await page.get_by_label("Time zone").last.fill("Asia/Shanghai")
    await page.get_by_role("button", name="Save").click()
    (facts,) = await tasks_of(console.service)
    assert facts.task.schedule == Once(datetime(2099, 1, 2, 8, 30), zone="Asia/Shanghai")
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("status").filter(has_text="was saved")).to_be_visible()
    (facts,) = await tasks_of(console.service)
    assert facts.task.schedule == Every(timedelta(minutes=90), "end", zone="UTC")
    await page.get_by_role("link", name="Edit").click()
    await page.get_by_role("textbox", name="Text").fill("mine")
    await console.service.tasks.edit(ADA, facts.task.id, Edits(name="theirs"))
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("alert")).to_contain_text("stale_version")
    assert text_of((await tasks_of(console.service))[0].task) == "tell me the weather"
    await page.get_by_role("button", name="Save").click()
    await expect(page.get_by_role("status").filter(has_text="was saved")).to_be_visible()
    assert text_of((await tasks_of(console.service))[0].task) == "mine"
    drop_expected_status(console, 422)
    drop_expected_status(console, 412)


async def test_session_that_ends_while_the_dialog_is_open_keeps_the_input(console: Console) -> None:
    page = await console.open("/simple", language="en")
    await page.get_by_role("link", name="New task").first.click()
    form = page.locator("#simple-dialog form")
    await form.get_by_label("Name").fill("kept")
    await form.get_by_label("Rule", exact=True).fill("every day at 9:00")
    await form.get_by_role("textbox", name="Text").fill("hello")
    for session in (await console.service.sessions.page(ADA)).items:
        await console.service.sessions.revoke(ADA, session.id)
    await form.get_by_role("button", name="Create").click()
    await page.get_by_label("Token", exact=True).fill(console.api.tokens["ada"])
    await page.get_by_role("button", name="Sign in").click()
    await page.get_by_role("button", name="Send the form").click()
    await expect(page.get_by_role("status").filter(has_text="“kept” was created")).to_be_visible()
    assert [each.task.name for each in await tasks_of(console.service)] == ["kept"]
    await page.get_by_role("button", name="Undo").click()
    await expect(page.get_by_role("status").filter(has_text="“kept” was deleted")).to_be_visible()
    assert await tasks_of(console.service) == []
    drop_expected_status(console, 401)
