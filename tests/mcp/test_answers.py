"""Answers of the tools: no live node, paused tasks, awaited approval, one zone in lists, one language."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from horae import Horae
from horae.choices import Language
from horae.model.accounts.principal import Principal
from tests.cli.command_line import Cli
from tests.mcp.stdio_server import connect_stdio
from tests.mcp.tool_client import AGENT, tools_for

CALL = {"http": "https://example.com/hook"}
OFFSETS = re.compile(r"\d\d:\d\d(?::\d\d)? ([+-]\d\d:\d\d)")
HALF_WIDTH = re.compile("[\u4e00-\u9fff”）][,;:!?()]|[,;:!?(][\u4e00-\u9fff“（]|。 ")
ENGLISH_STATE = re.compile(r"\b(?:active|paused|cancelled|completed|skipped|succeeded|failed|running)\b")


async def run_now_without_and_with_a_node(cli: Cli) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """Return the answer without a node, the same as a line, and the answer with a node."""
    async with connect_stdio(cli) as tools:
        for name in ("first", "second", "third"):
            await tools("schedule_task", when="every 1h, 3 times", do="look", name=name)
        waiting = await tools("run_task_now", id="first")
        line = await tools.line("run_task_now", id="second", wait_seconds=1)
        async with Horae(cli.url):
            return waiting, line, await tools("run_task_now", id="third", wait_seconds=60)


async def test_run_now_warns_that_no_node_is_alive(tmp_path: Path) -> None:
    waiting, line, ran = await run_now_without_and_with_a_node(Cli(tmp_path))
    assert [each["code"] for each in waiting["warnings"]] == ["no_engine"]
    assert "queued" in line
    assert "no node is alive" in line
    assert "horae up" in line
    assert (ran["ended"], ran["warnings"]) == (True, [])


async def test_run_now_of_a_paused_task_runs_and_keeps_it_paused() -> None:
    async with tools_for() as (harness, tools):
        await tools("schedule_task", when="every 1h", do="look", name="mail")
        await tools("pause_task", id="mail")
        queued = await tools("run_task_now", id="mail")
        assert [each["code"] for each in queued["warnings"]] == ["task_paused"]
        assert "happens all the same" in queued["warnings"][0]["message"]
        (run,) = await harness.claim()
        assert run.id == queued["run_id"]
        assert (await tools("get_task", id="mail"))["task"]["state"] == "paused"


async def test_paused_task_shows_when_it_would_run() -> None:
    async with tools_for() as (_harness, tools):
        await tools("schedule_task", when="every day at 09:00", do="look", name="mail")
        await tools("pause_task", id="mail", reason="rain")
        seen = await tools("get_task", id="mail")
        assert seen["next_runs"] == []
        assert seen["next_if_resumed"][0]["at_local"].startswith("2026-03-02T09:00")
        line = await tools.line("get_task", id="mail")
        assert "Next:" not in line
        assert "paused (rain), so nothing comes; resumed now, it would run next: 2026-03-02 09:00" in line
        await tools("pause_task", id="mail", reason="rain", until="2026-03-04 12:00")
        seen = await tools("get_task", id="mail")
        assert seen["next_runs"][0]["at_local"].startswith("2026-03-05T09:00")
        assert "until 2026-03-04 12:00 +01:00; then next: 2026-03-05 09:00" in await tools.line("get_task", id="mail")
        await tools("resume_task", id="mail")
        seen = await tools("get_task", id="mail")
        assert (len(seen["next_runs"]), seen["next_if_resumed"]) == (3, [])


async def test_task_that_awaits_approval_shows_it_once() -> None:
    async with tools_for(AGENT) as (_harness, tools):
        made = await tools("schedule_task", when="every day at 09:00, 9 times", do=CALL, name="hook")
        task_id = made["task"]["id"]
        edit = {"id": "hook", "when": "every day at 10:00, 9 times"}
        lines = [
            await tools.line("get_task", id="hook"),
            await tools.line("update_task", **edit, dry_run=True),
            await tools.line("update_task", **edit),
            await tools.line("pause_task", id="hook"),
        ]
        for line in lines:
            assert line.count(f"horae approve {task_id}") == 1, line
            assert "Next:" not in line
            assert "times ahead" not in line
        assert "approved now, it would run next: 2026-03-02 10:00" in lines[2]
        assert lines[3].startswith("Nothing to pause")


async def test_lists_show_one_zone_with_its_offset() -> None:
    async with tools_for() as (harness, tools):
        for zone in ("Asia/Shanghai", "America/New_York", "UTC"):
            await tools("schedule_task", when="every day at 09:00", do="look", zone=zone, name=zone)
        await tools("schedule_task", when="every 30m", do="look", name="often")
        listed = await tools("list_tasks")
        assert {each["next_local"][-6:] for each in listed["tasks"]} == {"+01:00"}
        line = await tools.line("list_tasks")
        assert "times in Europe/Berlin" in line
        assert OFFSETS.findall(line) == ["+01:00"] * 4
        for name in ("Asia/Shanghai", "UTC"):
            await tools("run_task_now", id=name)
        for run in await harness.claim():
            await harness.settle(run)
        assert {each["planned_local"][-6:] for each in (await tools("list_runs"))["runs"]} == {"+01:00"}
        of_one = await tools("list_runs", task="Asia/Shanghai")
        assert of_one["runs"][0]["planned_local"].endswith("+01:00")
        assert OFFSETS.findall(await tools.line("list_runs", task="Asia/Shanghai")) == ["+01:00"]


async def run_dialogue(cli: Cli, language: Language) -> list[str]:
    """Return the answer lines of a dialogue with a person who writes Chinese."""
    reminder = {"when": "每天早上9点", "do": "提醒我打卡"}
    async with connect_stdio(cli, "--lang", language) as tools:
        found = [await tools.line("schedule_task", **reminder, key="打卡")]
        for tool, arguments in (
            ("list_tasks", {"q": "打卡"}),
            ("get_task", {"id": "打卡"}),
            ("explain_task", {"id": "打卡"}),
            ("explain_task", {"id": "打卡", "at": "今天早上9点"}),
            ("explain_task", {"id": "打卡", "at": "昨天9点"}),
            ("pause_task", {"id": "打卡"}),
            ("get_task", {"id": "打卡"}),
            ("pause_task", {"id": "打卡", "reason": "出差", "until": "明天早上8点"}),
            ("get_task", {"id": "打卡"}),
            ("explain_task", {"id": "打卡"}),
            ("run_task_now", {"id": "打卡"}),
            ("resume_task", {"id": "打卡"}),
            ("run_task_now", {"id": "打卡"}),
            ("update_task", {"id": "打卡", "when": "每天早上10点"}),
            ("cancel_task", {"id": "打卡"}),
            ("get_task", {"id": "打卡"}),
            ("schedule_task", {**reminder, "key": "打卡"}),
            ("schedule_task", {**reminder, "key": "打卡-2"}),
            ("run_task_now", {"id": "打卡"}),
            ("get_task", {"id": "不存在"}),
            ("preview_schedule", {"when": "每天早上9点"}),
        ):
            found.append(await tools.line(tool, **arguments))
    return found


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_dialogue_in_chinese_is_answered_in_chinese_throughout(tmp_path: Path, language: Language) -> None:
    for line in await run_dialogue(Cli(tmp_path), language):
        assert not ENGLISH_STATE.search(line), line
        assert not HALF_WIDTH.search(re.sub(r"^\w+: ", "", line)), line


async def test_unknown_tool_is_answered_in_the_language_of_the_dialogue() -> None:
    async with tools_for() as (_harness, tools):
        await tools.line("preview_schedule", when="每天早上9点")
        with pytest.raises(MCPError) as caught:
            await tools.client.call_tool("delete_task", {"id": "x"})
        assert "没有名为“delete_task”的工具" in str(caught.value)


async def test_pause_of_a_stopped_agent_is_shown_in_chinese() -> None:
    async with tools_for(AGENT, "zh") as (harness, tools):
        await tools("schedule_task", when="每小时, 共3次", do="喝水", name="水")
        await harness.service.approvals.stop_agent(Principal(AGENT.owner), str(AGENT.agent))
        line = await tools.line("get_task", id="水")
        assert "其智能体已被停止" in line
        assert "agent was stopped" not in line


async def test_early_hour_is_a_warning_of_preview_and_receipt() -> None:
    async with tools_for() as (_harness, tools):
        for tool, arguments in (("preview_schedule", {}), ("schedule_task", {"do": "喝水"})):
            codes = [each["code"] for each in (await tools(tool, when="明天3点", **arguments))["warnings"]]
            assert "early_hour" in codes
            clear = [each["code"] for each in (await tools(tool, when="明天下午3点", **arguments))["warnings"]]
            assert "early_hour" not in clear


async def test_finished_task_has_no_warning_about_a_past_time() -> None:
    async with tools_for() as (harness, tools):
        await tools("schedule_task", when="in 10m", do="look", name="once")
        await harness.run_due(timedelta(minutes=10))
        seen = await tools("get_task", id="once")
        assert seen["task"]["state"] == "completed"
        assert "in_the_past" not in [each["code"] for each in seen["warnings"]]


async def test_whoami_shows_that_the_agent_is_stopped() -> None:
    async with tools_for(AGENT) as (harness, tools):
        await tools("schedule_task", when="every 1h, 3 times", do="look")
        await harness.service.approvals.stop_agent(Principal(AGENT.owner), str(AGENT.agent))
        assert (await tools("whoami"))["active_tasks_left"] == 0
        line = await tools.line("whoami")
        assert "stopped" in line
        assert "are left" not in line


async def test_header_that_spells_a_secret_as_text_is_a_warning() -> None:
    async with tools_for() as (_harness, tools):
        do = {"http": {"url": "https://example.com/x", "headers": {"Authorization": "@secret:tok"}}}
        made = await tools("schedule_task", when="every 1h", do=do, name="call")
        assert "literal_secret" in [each["code"] for each in made["warnings"]]
        meant = {"http": {"url": "https://example.com/x", "headers": {"Authorization": {"secret": "tok"}}}}
        changed = await tools("update_task", id="call", do=meant)
        assert "literal_secret" not in [each["code"] for each in changed["warnings"]]
        again = await tools("update_task", id="call", do=do)
        assert "literal_secret" in [each["code"] for each in again["warnings"]]


async def test_invalid_do_is_refused_in_sentences() -> None:
    async with tools_for() as (_harness, tools):
        line = await tools.line("schedule_task", when="每天9点", do={})
        assert "{}。do 应为" in line
        assert '"http": …' in line
