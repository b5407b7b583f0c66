"""Simple view of members: a story in Chinese with a real engine and orchestrator, the same without scripts, and its edges."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import product
from pathlib import Path
from typing import Any, Final

import aiohttp
from playwright.async_api import Page, async_playwright, expect

from horae import Horae
from horae.api.app import make_app
from horae.model.accounts.principal import LOCAL
from horae.model.change import Facts
from horae.model.events.trace_context import trace_id
from horae.model.run import RunState
from horae.model.task import TaskState
from horae.ports.store import TaskFilter
from horae.runtime.api_service import SIMPLE_CONSOLE_PATH, mount_console
from horae.service.service import Service
from horae.web.request_context import WebSettings
from horae.wire.text_tasks import text_of
from tests.api.api_server import Api, create_tokens
from tests.compat.compat_server import serve
from tests.compat.orchestrator import Orchestrator
from tests.console.accessibility import violations_of
from tests.console.console_server import Console

TIMEOUT_SECONDS: Final = 60
"""Upper bound for a failing test; a passing one never waits this long."""
HOSTILE: Final = "<script>alert(1)</script>" + '"很长的名称' + "长" * 60 + " long" * 12
HOSTILE_TEXT: Final = f"\u202e{HOSTILE}\u2066 {'W' * 300}"


async def tasks_of(service: Service, owner: str = "ada") -> list[Facts]:
    return list((await service.tasks.page(LOCAL, TaskFilter(owner))).items)


class SimpleConsole(Console):
    """The console at `/scheduled-tasks/console`, with a running engine and an orchestrator."""

    orchestrator: Orchestrator
    ended: asyncio.Queue[Any]
    """Events of runs that have succeeded."""

    @property
    def url(self) -> str:
        return self.api.base + SIMPLE_CONSOLE_PATH


@asynccontextmanager
async def serve_with_engine(chromium: str, tmp_path: Path) -> AsyncIterator[SimpleConsole]:
    orchestrator = Orchestrator()
    ended: asyncio.Queue[Any] = asyncio.Queue()
    horae = Horae(f"sqlite:///{tmp_path / 'horae.db'}", targets={"http": {"allow_networks": ["127.0.0.0/8"]}})
    horae.on("run.succeeded")(ended.put_nowait)
    async with (
        asyncio.timeout(TIMEOUT_SECONDS),
        orchestrator.serve() as url,
        horae,
        async_playwright() as playwright,
        AsyncExitStack() as stack,
    ):
        app = make_app(horae.service, horae.clock, WebSettings(orchestrator=url))
        mount_console(app)
        async with serve(app) as base, aiohttp.ClientSession() as session:
            api = Api(base, app, horae.service, session)
            api.tokens = await create_tokens(horae.service)
            browser = await playwright.chromium.connect_over_cdp(chromium)
            console = SimpleConsole(api, browser, stack)
            console.orchestrator, console.ended = orchestrator, ended
            yield console
            await stack.aclose()
            assert not console.problems, console.problems


async def _sign_in(console: SimpleConsole, who: str, **options: Any) -> Page:
    """Open the address that users of the other system know, and sign in with a token."""
    context = await console.open_context(None, language="zh", **options)
    page = await context.new_page()
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
    await form.get_by_label("时区").fill("Asia/Shanghai")
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


async def _run_now(console: SimpleConsole, page: Page, task_id: str) -> None:
    answer = {"reply": "已打卡", "items": list(range(40))}
    console.orchestrator.answers.put_nowait((200, json.dumps(answer)))
    await page.get_by_role("button", name="立即运行").click()
    await expect(page).to_have_url(f"{console.url}/simple/{task_id}")
    headers, body = await console.orchestrator.requests.get()
    assert body["text"] == "下班打卡"
    run = await console.service.runs.get(LOCAL, (await console.ended.get()).run_id)
    assert (run.state, headers["x-trace-id"]) == (RunState.SUCCEEDED, trace_id(run))
    await page.reload()
    row = page.locator(f"#run-{run.id}")
    await expect(row.get_by_text("成功")).to_be_visible()
    await expect(row.get_by_text(trace_id(run))).to_be_visible()
    await row.get_by_text("展开全部").click()
    assert json.loads(await row.locator("details > pre").inner_text()) == answer


async def _delete(page: Page) -> None:
    await page.get_by_role("link", name="返回我的任务").click()
    await page.get_by_role("link", name="删除").click()
    form = page.locator("#simple-form")
    await expect(form.get_by_role("heading", name="确定删除“打卡提醒”吗")).to_be_visible()
    await form.get_by_role("button", name="删除").click()
    await expect(page.get_by_role("status").filter(has_text="已删除“打卡提醒”")).to_be_visible()


async def _follow_story(console: SimpleConsole, page: Page) -> None:
    service = console.service
    await _create(page)
    (facts,) = await tasks_of(service)
    task_id = facts.task.id
    assert (facts.task.owner, facts.task.name, facts.task.schedule.zone) == ("ada", "打卡提醒", "Asia/Shanghai")
    assert (text_of(facts.task), facts.task.target.kind) == ("每天 9 点提醒我打卡", "http")
    assert facts.task.policies.retry.attempts is None
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
    await _run_now(console, page, task_id)
    other = await _sign_in(console, "bob")
    await expect(other.get_by_text("您还没有任务")).to_be_visible()
    for path in (f"/simple/{task_id}", f"/simple/{task_id}/edit", f"/simple/{task_id}/delete"):
        assert (await other.context.request.get(console.url + path)).status == 404
    await _delete(page)
    assert await tasks_of(service) == []
    await expect(page.get_by_text("您还没有任务")).to_be_visible()


async def test_member_manages_a_daily_task_in_chinese(chromium: str, tmp_path: Path) -> None:
    async with serve_with_engine(chromium, tmp_path) as console:
        page = await _sign_in(console, "ada")
        await page.get_by_role("link", name="新建任务").first.click()
        await expect(page.get_by_role("dialog", name="新建任务")).to_be_visible()
        await page.get_by_role("link", name="取消").click()
        await expect(page.get_by_role("dialog")).to_have_count(0)
        await _follow_story(console, page)


async def test_member_manages_a_daily_task_without_scripts(chromium: str, tmp_path: Path) -> None:
    async with serve_with_engine(chromium, tmp_path) as console:
        await _follow_story(console, await _sign_in(console, "ada", scripts=False))


async def test_empty_and_filled_pages_are_accessible(console: Console) -> None:
    for language, theme in product(("en", "zh"), ("light", "dark")):
        page = await console.open("/simple", language=language, theme=theme)
        assert await violations_of(page) == []
        await page.goto(f"{console.url}/simple/new")
        assert await violations_of(page) == []
    for number in range(3):
        await console.api.create_task(name=f"{HOSTILE} {number}", say=HOSTILE_TEXT, when="every day at 09:00")
    (facts, *_) = await tasks_of(console.service)
    for language, theme in product(("en", "zh"), ("light", "dark")):
        page = await console.open("/simple", language=language, theme=theme)
        assert await violations_of(page) == []
        await page.goto(f"{console.url}/simple/{facts.task.id}")
        assert await violations_of(page) == []
