"""Answers say what happens next as it is: no node alive, paused, awaiting approval, one zone in lists."""

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
from tests.mcp.process import desk_of
from tests.mcp.stage import AGENT, tools_for

CALL = {"http": "https://example.com/hook"}
OFFSETS = re.compile(r"\d\d:\d\d(?::\d\d)? ([+-]\d\d:\d\d)")
HALF_WIDTH = re.compile("[\u4e00-\u9fff”）][,;:!?()]|[,;:!?(][\u4e00-\u9fff“（]|。 ")
ENGLISH_STATE = re.compile(r"\b(?:active|paused|cancelled|completed|skipped|succeeded|failed|running)\b")


async def run_now_without_a_node(cli: Cli) -> tuple[dict[str, Any], str, dict[str, Any]]:
    """The answer without a node, as a line, and then with one."""
    async with desk_of(cli) as desk:
        for name in ("first", "second", "third"):
            await desk("schedule_task", when="every 1h, 3 times", do="look", name=name)
        waiting = await desk("run_task_now", id="first")
        line = await desk.line("run_task_now", id="second", wait_seconds=1)
        async with Horae(cli.url):
            return waiting, line, await desk("run_task_now", id="third", wait_seconds=60)


async def test_run_now_says_that_no_node_is_alive(tmp_path: Path) -> None:
    waiting, line, ran = await run_now_without_a_node(Cli(tmp_path))
    assert [each["code"] for each in waiting["warnings"]] == ["no_engine"]
    assert "queued" in line
    assert "no node is alive" in line
    assert "horae up" in line
    assert (ran["ended"], ran["warnings"]) == (True, [])


async def test_run_now_of_a_paused_task_says_that_this_run_happens() -> None:
    async with tools_for() as (house, desk):
        await desk("schedule_task", when="every 1h", do="look", name="mail")
        await desk("pause_task", id="mail")
        asked = await desk("run_task_now", id="mail")
        assert [each["code"] for each in asked["warnings"]] == ["task_paused"]
        assert "happens all the same" in asked["warnings"][0]["message"]
        (run,) = await house.claim()
        assert run.id == asked["run_id"]
        assert (await desk("get_task", id="mail"))["task"]["state"] == "paused"


async def test_paused_task_says_when_it_would_run() -> None:
    async with tools_for() as (_house, desk):
        await desk("schedule_task", when="every day at 09:00", do="look", name="mail")
        await desk("pause_task", id="mail", reason="rain")
        seen = await desk("get_task", id="mail")
        assert seen["next_runs"] == []
        assert seen["next_if_resumed"][0]["at_local"].startswith("2026-03-02T09:00")
        line = await desk.line("get_task", id="mail")
        assert "Next:" not in line
        assert "paused (rain), so nothing comes; resumed now, it would run next: 2026-03-02 09:00" in line
        await desk("pause_task", id="mail", reason="rain", until="2026-03-04 12:00")
        seen = await desk("get_task", id="mail")
        assert seen["next_runs"][0]["at_local"].startswith("2026-03-05T09:00")
        assert "until 2026-03-04 12:00 +01:00; then next: 2026-03-05 09:00" in await desk.line("get_task", id="mail")
        await desk("resume_task", id="mail")
        seen = await desk("get_task", id="mail")
        assert (len(seen["next_runs"]), seen["next_if_resumed"]) == (3, [])


async def test_task_that_awaits_approval_says_so_once() -> None:
    async with tools_for(AGENT) as (_house, desk):
        made = await desk("schedule_task", when="every day at 09:00, 9 times", do=CALL, name="hook")
        task_id = made["task"]["id"]
        edit = {"id": "hook", "when": "every day at 10:00, 9 times"}
        lines = [
            await desk.line("get_task", id="hook"),
            await desk.line("update_task", **edit, dry_run=True),
            await desk.line("update_task", **edit),
            await desk.line("pause_task", id="hook"),
        ]
        for line in lines:
            assert line.count(f"horae approve {task_id}") == 1, line
            assert "Next:" not in line
            assert "times ahead" not in line
        assert "approved now, it would run next: 2026-03-02 10:00" in lines[2]
        assert lines[3].startswith("Nothing to pause")


async def test_lists_show_one_zone_with_its_offset() -> None:
    async with tools_for() as (house, desk):
        for zone in ("Asia/Shanghai", "America/New_York", "UTC"):
            await desk("schedule_task", when="every day at 09:00", do="look", zone=zone, name=zone)
        await desk("schedule_task", when="every 30m", do="look", name="often")
        listed = await desk("list_tasks")
        assert {each["next_local"][-6:] for each in listed["tasks"]} == {"+01:00"}
        line = await desk.line("list_tasks")
        assert "times in Europe/Berlin" in line
        assert OFFSETS.findall(line) == ["+01:00"] * 4
        for name in ("Asia/Shanghai", "UTC"):
            await desk("run_task_now", id=name)
        for run in await house.claim():
            await house.settle(run)
        assert {each["planned_local"][-6:] for each in (await desk("list_runs"))["runs"]} == {"+01:00"}
        of_one = await desk("list_runs", task="Asia/Shanghai")
        assert of_one["runs"][0]["planned_local"].endswith("+01:00")
        assert OFFSETS.findall(await desk.line("list_runs", task="Asia/Shanghai")) == ["+01:00"]


async def talk(cli: Cli, language: Language) -> list[str]:
    """The lines of a whole dialogue, as an assistant has it with a person who writes Chinese."""
    said = {"when": "每天早上9点", "do": "提醒我打卡"}
    async with desk_of(cli, "--lang", language) as desk:
        found = [await desk.line("schedule_task", **said, key="打卡")]
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
            ("schedule_task", {**said, "key": "打卡"}),
            ("schedule_task", {**said, "key": "打卡-2"}),
            ("run_task_now", {"id": "打卡"}),
            ("get_task", {"id": "不存在"}),
            ("preview_schedule", {"when": "每天早上9点"}),
        ):
            found.append(await desk.line(tool, **arguments))
    return found


@pytest.mark.parametrize("language", ["zh", "en"])
async def test_dialogue_in_chinese_is_answered_in_chinese_throughout(tmp_path: Path, language: Language) -> None:
    for line in await talk(Cli(tmp_path), language):
        assert not ENGLISH_STATE.search(line), line
        assert not HALF_WIDTH.search(re.sub(r"^\w+: ", "", line)), line


async def test_unknown_tool_is_answered_in_the_language_of_the_dialogue() -> None:
    async with tools_for() as (_house, desk):
        await desk.line("preview_schedule", when="每天早上9点")
        with pytest.raises(MCPError) as caught:
            await desk.client.call_tool("delete_task", {"id": "x"})
        assert "没有名为“delete_task”的工具" in str(caught.value)


async def test_pause_of_a_stopped_agent_is_told_in_chinese() -> None:
    async with tools_for(AGENT, "zh") as (house, desk):
        await desk("schedule_task", when="每小时, 共3次", do="喝水", name="水")
        await house.service.approvals.stop_agent(Principal(AGENT.owner), str(AGENT.agent))
        line = await desk.line("get_task", id="水")
        assert "其智能体已被停止" in line
        assert "agent was stopped" not in line


async def test_early_hour_is_a_warning_of_preview_and_receipt() -> None:
    async with tools_for() as (_house, desk):
        for tool, said in (("preview_schedule", {}), ("schedule_task", {"do": "喝水"})):
            codes = [each["code"] for each in (await desk(tool, when="明天3点", **said))["warnings"]]
            assert "early_hour" in codes
            clear = [each["code"] for each in (await desk(tool, when="明天下午3点", **said))["warnings"]]
            assert "early_hour" not in clear


async def test_finished_task_is_not_told_that_it_would_run_at_once() -> None:
    async with tools_for() as (house, desk):
        await desk("schedule_task", when="in 10m", do="look", name="once")
        await house.run_due(timedelta(minutes=10))
        seen = await desk("get_task", id="once")
        assert seen["task"]["state"] == "completed"
        assert "in_the_past" not in [each["code"] for each in seen["warnings"]]


async def test_stopped_agent_learns_that_it_is_stopped() -> None:
    async with tools_for(AGENT) as (house, desk):
        await desk("schedule_task", when="every 1h, 3 times", do="look")
        await house.service.approvals.stop_agent(Principal(AGENT.owner), str(AGENT.agent))
        assert (await desk("whoami"))["active_tasks_left"] == 0
        line = await desk.line("whoami")
        assert "stopped" in line
        assert "are left" not in line


async def test_header_that_spells_a_secret_as_text_is_a_warning() -> None:
    async with tools_for() as (_house, desk):
        do = {"http": {"url": "https://example.com/x", "headers": {"Authorization": "@secret:tok"}}}
        made = await desk("schedule_task", when="every 1h", do=do, name="call")
        assert "literal_secret" in [each["code"] for each in made["warnings"]]
        meant = {"http": {"url": "https://example.com/x", "headers": {"Authorization": {"secret": "tok"}}}}
        changed = await desk("update_task", id="call", do=meant)
        assert "literal_secret" not in [each["code"] for each in changed["warnings"]]
        again = await desk("update_task", id="call", do=do)
        assert "literal_secret" in [each["code"] for each in again["warnings"]]


async def test_unclear_work_is_told_in_sentences() -> None:
    async with tools_for() as (_house, desk):
        line = await desk.line("schedule_task", when="每天9点", do={})
        assert "{}。do 应为" in line
        assert '"http": …' in line
