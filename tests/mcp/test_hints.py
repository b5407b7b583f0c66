"""Hints over MCP: suggested calls name existing tools and arguments and are accepted; commands are for the person only."""

from __future__ import annotations

import importlib
import pkgutil
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

import horae
from horae.choices import Language
from horae.errors import Refusal
from horae.mcp_server import messages
from horae.mcp_server.catalogue import TOOLS
from horae.mcp_server.hints import HINTS
from horae.mcp_server.server import PROBLEM
from horae.message import Message
from horae.refusal_catalogue import RefusalEntry
from horae.service.tasks.drafts import suggest_key
from tests.cli.command_line import Cli
from tests.docs.hint_commands import commands_in, mistake_in
from tests.mcp.stdio_server import connect_stdio
from tests.mcp.tool_client import AGENT, ToolClient, text_of, tools_for

TEN_MINUTES = timedelta(minutes=10)
LANGUAGES: tuple[Language, ...] = ("en", "zh")
PACKAGES = ("model", "schedule", "lifecycle", "service", "encryption", "targets", "outgoing", "wire", "mcp_server")
"""Packages whose refusals a tool call can raise."""
NO_TOOL = {
    **dict.fromkeys(
        (
            "bad_station_key",
            "no_such_station",
            "no_such_station_key",
            "station_key_taken",
            "station_kind_differs",
            "too_many_station_keys",
            "too_many_stations",
            "voter_has_key",
            "voter_without_name",
        ),
        "stations",
    ),
    "no_such_node": "nodes",
    "several_nodes": "nodes",
    "bad_settings": "the start of a process",
    "socket_unusable": "the start of a process",
    "bad_node_label": "the start of a process",
    "bad_node_name": "the start of a process",
    "reserved_node_label": "the start of a process",
    "unknown_zone_setting": "the settings of a process",
    "too_many_secrets": "secrets",
    "no_such_webhook": "webhooks",
    "no_such_chat": "chats",
    "no_such_chat_delivery": "deliveries",
    "delivery_not_failed": "deliveries",
    "delivery_not_open": "deliveries",
    "too_many_deliveries": "deliveries",
    "no_such_destination": "destinations",
    "too_many_destinations": "destinations",
    "no_such_reader": "readers of streams",
    "too_many_readers": "readers of streams",
    "no_such_function": "the list of functions",
    "no_such_plan": "plans",
    "plan_exists": "plans",
    "plan_incomplete": "plans",
    "plan_no_station": "plans",
    "plan_no_command": "plans",
    "plan_closed": "plans",
    "plan_not_closed": "plans",
    "plan_not_stopped": "plans",
    "no_such_operation": "operations",
    "operation_going": "operations",
    "operation_over": "operations",
    "already_undone": "operations",
    "undo_expired": "operations",
    "changed_since": "operations",
    "restarted_since": "operations",
    "bad_token": "tokens",
    "session_ended": "sessions of the console",
    "bad_sign_in_link": "sessions of the console",
    "identity_without_owner": "sessions of the console",
    "no_such_token": "tokens",
    "too_many_valid_tokens": "tokens",
    "too_many_lanes": "lanes",
    "no_such_owner": "owners",
    "too_many_grants": "grants",
    "too_many_keys": "the header Idempotency-Key",
    "no_such_view": "saved views",
    "no_such_group": "groups",
    "group_exists": "groups",
    "group_agent_stopped": "groups",
    "nothing_to_restore": "commands of chats",
    "chat_taken": "groups",
    "too_many_views": "saved views",
    "unknown_function": "the Python library",
}
"""Refusals that no tool call can raise, with their subject."""
# A command, an HTTP request, or an option of a command.
NOT_FOR_TOOLS = re.compile(
    r"\bhorae [a-z]|/v1/|\b(?:GET|POST|PUT|DELETE) /|\{command\}|Idempotency-Key|@app\.|(?<!\S)--[a-z]"
)
TOOL_LIKE = re.compile(r"\b(?:schedule|list|get|explain|update|pause|resume|cancel|run|preview|delete)_[a-z_]+\b")


def entries() -> dict[str, RefusalEntry[Refusal]]:
    found: dict[str, RefusalEntry[Refusal]] = {}
    for module in pkgutil.walk_packages(horae.__path__, "horae."):
        if module.name.split(".")[1] not in PACKAGES:
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if isinstance(value, dict):
                found |= {code: entry for code, entry in value.items() if isinstance(entry, RefusalEntry)}
    return found


def sentences() -> list[tuple[str, str]]:
    """Return every message of the tools and every hint of a refusal, in both languages."""
    answers = [(name, value) for name, value in vars(messages).items() if isinstance(value, Message)]
    hints = [(code, hint.words) for code, hint in HINTS.items()]
    return [(name, text) for name, pair in (*answers, *hints) for text in pair]


def test_refusals_of_tools_have_hints_without_commands_and_requests() -> None:
    found = entries()
    assert len(found) > 100
    unfit = {
        code for code, each in found.items() if NOT_FOR_TOOLS.search(each.hint) or NOT_FOR_TOOLS.search(each.hint_zh)
    }
    assert unfit - HINTS.keys() - NO_TOOL.keys() == set()
    assert NO_TOOL.keys() <= unfit


def test_hints_belong_to_refusals_that_exist_and_use_their_facts() -> None:
    found = entries()
    for code, hint in HINTS.items():
        known = set(re.findall(r"\{(\w+)\}", " ".join(found[code][1:]))) | {"owner", "version"}
        for text in hint.words:
            assert set(re.findall(r"\{(\w+)\}", text)) <= known | {f"{name}_zh" for name in known}, code


def test_every_tool_that_an_answer_or_a_hint_names_exists() -> None:
    named = {(place, tool) for place, text in sentences() for tool in TOOL_LIKE.findall(text)}
    assert len(named) > 10
    assert {each for each in named if each[1] not in TOOLS} == set()


@pytest.mark.parametrize("code", HINTS)
def test_calls_of_a_hint_fit_the_schemas_and_are_named_in_its_sentence(code: str) -> None:
    hint = HINTS[code]
    for tool, arguments in hint.calls:
        properties = TOOLS[tool].input_schema["properties"]
        for name, value in arguments.items():
            for each in value if isinstance(value, Message) else (value,):
                if each is not None and name in properties:
                    Draft202012Validator(properties[name]).validate(each)
        for text in hint.words:
            assert tool in text or tool == "schedule_task", (code, text)
            assert all(name in text for name in arguments if name in ("key", "when", "version")), (code, text)


def test_commands_in_hints_are_understood_and_meant_for_the_owner() -> None:
    for place, text in sentences():
        commands = list(commands_in(text))
        if commands and place in HINTS:
            assert re.search("owner|所有者", text), text
        assert [mistake_in(each) for each in commands] == [None] * len(commands), text


async def call_refused(tools: ToolClient, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await tools.raw(tool, **arguments)
    assert result.is_error, text_of(result)
    problem: dict[str, Any] = (result.meta or {})[PROBLEM]
    assert not [each for each in TOOL_LIKE.findall(problem["hint"]) if each not in TOOLS]
    for each in problem["suggested_calls"]:
        assert each["arguments"].keys() <= TOOLS[each["tool"]].input_schema["properties"].keys()
    return problem


async def test_suggested_calls_of_refusals_work_as_written() -> None:
    async with tools_for(AGENT) as (_harness, tools):
        arguments = {"when": "every 1h, 3 times", "do": "look"}
        short = await call_refused(tools, "schedule_task", when="every 1s, 3 times", do="look")
        (call,) = short["suggested_calls"]
        assert call["arguments"]["do"] == "look"
        await tools(call["tool"], **call["arguments"])
        made = await tools("schedule_task", **arguments, key="k")
        await tools("cancel_task", id=made["task"]["id"])
        refused = await call_refused(tools, "schedule_task", **arguments, key="k")
        assert refused["code"] == "key_of_cancelled"
        (call,) = refused["suggested_calls"]
        assert call == {
            "tool": "schedule_task",
            "arguments": {**arguments, "key": suggest_key("k", made["task"]["id"])},
        }
        assert (await tools(call["tool"], **call["arguments"]))["change"] == "new"
        for tool in ("pause_task", "resume_task", "run_task_now", "update_task"):
            more = {"name": "other"} if tool == "update_task" else {}
            assert (await call_refused(tools, tool, id=made["task"]["id"], **more))["code"] == "task_cancelled"
        assert (await call_refused(tools, "get_task", id="nothing"))["suggested_calls"] == [
            {"tool": "list_tasks", "arguments": {}}
        ]
        assert (await call_refused(tools, "get_run", id="run_nothing"))["suggested_calls"] == [
            {"tool": "list_runs", "arguments": {}}
        ]


@pytest.mark.parametrize("language", LANGUAGES)
async def test_refusal_of_a_finished_task_suggests_tools(language: Language) -> None:
    async with tools_for(language=language) as (harness, tools):
        made = await tools("schedule_task", when="in 10m", do="look", name="once")
        await harness.run_due(TEN_MINUTES)
        refused = await call_refused(tools, "pause_task", id="once")
        assert refused["code"] == "task_over"
        again, edited = refused["suggested_calls"]
        assert again == {"tool": "run_task_now", "arguments": {"id": made["task"]["id"]}}
        await tools(again["tool"], **again["arguments"])
        await tools(edited["tool"], **edited["arguments"])


REFUSED_CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("schedule_task", {"when": "每分钟, 共3次", "do": "喝水", "name": "水"}, "interval_too_short"),
    ("schedule_task", {"when": "every 1s, 3 times", "do": "look"}, "interval_too_short"),
    ("schedule_task", {"schedule_type": "interval", "schedule_value": "1000", "prompt": "look"}, "interval_too_short"),
    ("schedule_task", {"when": "every 1h, 3 times", "do": "look", "key": "gone"}, "key_of_cancelled"),
    ("update_task", {"id": "remaining", "when": "every 1s, 3 times"}, "interval_too_short"),
    ("schedule_task", {"when": "每天晚上12点, 共3次", "do": "喝水"}, "midnight_twice"),
    ("schedule_task", {"when": "every 1h", "do": "look", "name": "endless"}, "life_too_long"),
    ("schedule_task", {"when": "每小时", "do": "喝水", "name": "水"}, "life_too_long"),
    ("pause_task", {"id": "over"}, "task_over"),
    ("run_task_now", {"id": "busy"}, "already_running"),
    ("restore_task", {"id": "remaining"}, "not_cancelled"),
    ("run_task_now", {"id": "remaining", "gate_only": True}, "no_gate"),
    ("list_tasks", {"cursor": "zzz"}, "bad_page"),
    ("list_runs", {"cursor": "zzz", "limit": 5}, "bad_page"),
    ("get_task", {"id": "nothing"}, "no_such_task"),
    ("get_run", {"id": "run_nothing"}, "no_such_run"),
    ("schedule_task", {"when": "every day at 9am, from 2020-01-01 until 2020-01-02", "do": "look"}, "never_fires"),
]


@pytest.mark.parametrize(("tool", "arguments", "code"), REFUSED_CALLS)
async def test_each_suggested_call_is_accepted_as_written(tool: str, arguments: dict[str, Any], code: str) -> None:
    life = timedelta(days=30) if code == "life_too_long" else None
    async with tools_for(AGENT._replace(quotas=AGENT.quotas._replace(longest_life=life))) as (harness, tools):
        await tools("schedule_task", when="every 1h, 3 times", do="look", name="remaining")
        gone = await tools("schedule_task", when="every 1h, 3 times", do="look", key="gone")
        await tools("cancel_task", id=gone["task"]["id"])
        await tools("schedule_task", when="in 10m", do="look", name="over")
        await harness.run_due(TEN_MINUTES)
        await tools("schedule_task", when="every 6h, 3 times", do="look", name="busy")
        await tools("run_task_now", id="busy")
        assert await harness.claim()
        refused = await call_refused(tools, tool, **arguments)
        assert refused["code"] == code
        assert refused["suggested_calls"]
        if code == "life_too_long":
            assert refused["suggested_calls"][0]["arguments"]["when"].startswith(arguments["when"])
        for each in refused["suggested_calls"]:
            result = await tools.raw(each["tool"], **each["arguments"])
            assert not result.is_error, text_of(result)


NOT_A_TOOL = {
    "cancel_is_final": "its only suggestion is to look at the task",
    "run_over": "no tool cancels a run",
    "task_paused": "no tool retries a run",
    "nothing_to_retry": "no tool retries a run",
}


async def test_refusal_at_the_task_quota_suggests_the_task_list() -> None:
    async with tools_for(AGENT._replace(quotas=AGENT.quotas._replace(active_tasks=1))) as (_harness, tools):
        await tools("schedule_task", when="every 1h, 3 times", do="look")
        refused = await call_refused(tools, "schedule_task", when="every 1h, 3 times", do="look")
        assert refused["code"] == "too_many_tasks"
        (call,) = refused["suggested_calls"]
        assert len((await tools(call["tool"], **call["arguments"]))["tasks"]) == 1


def test_every_hint_with_calls_is_tried() -> None:
    tried = {code for _, _, code in REFUSED_CALLS} | {"too_many_tasks"} | NOT_A_TOOL.keys()
    assert {code for code, hint in HINTS.items() if hint.calls} <= tried


async def test_calls_that_an_explanation_suggests_are_accepted() -> None:
    async with tools_for(AGENT) as (harness, tools):
        await tools("schedule_task", when="every 1h, 3 times", do="look", name="remaining")
        await tools("pause_task", id="remaining")
        paused = await tools("explain_task", id="remaining", at="in 1h")
        harness.advance(timedelta(hours=2))
        overdue = await tools("explain_task", id="remaining")
        calls = [*paused["suggested_calls"], *overdue["suggested_calls"]]
        assert calls
        for each in calls:
            await tools(each["tool"], **each["arguments"])


async def test_refusals_name_arguments_that_the_tool_has() -> None:
    async with tools_for(AGENT) as (_harness, tools):
        refused = await call_refused(tools, "schedule_task", when="每天9点", do="喝水", if_late="跳过")
        assert "if_late" in refused["detail"]
        assert "missed" not in refused["detail"]
        listed = await call_refused(tools, "list_tasks", cursor="zzz")
        text = listed["detail"] + listed["hint"]
        assert "cursor" in text
        assert "after'" not in text
        assert "1000" not in text


async def cancel_and_schedule_again(cli: Cli, language: Language) -> tuple[str, str]:
    arguments = {"when": "every day at 9am, 10 times", "do": "look"}
    async with connect_stdio(cli, "--lang", language) as tools:
        made = await tools("schedule_task", **arguments, key="clock")
        cancelled = await tools.line("cancel_task", id=made["task"]["id"])
        refused = await tools.line("schedule_task", **arguments, key="clock")
        (named,) = re.findall(r'key "([^"]+)"', refused)
        again = await tools("schedule_task", **arguments, key=named)
        assert suggest_key("clock", made["task"]["id"]) in cancelled
        return refused, str(again["change"])


@pytest.mark.parametrize("language", LANGUAGES)
async def test_cancelled_task_is_scheduled_again_by_following_the_hint(tmp_path: Path, language: Language) -> None:
    refused, change = await cancel_and_schedule_again(Cli(tmp_path), language)
    assert refused.startswith("key_of_cancelled")
    assert "horae" not in refused
    assert "/v1/" not in refused
    assert "agent:assistant" not in refused
    assert change == "new"
