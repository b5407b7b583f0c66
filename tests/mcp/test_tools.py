"""Every MCP tool: results match the output schema, and each answer is one line."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from horae.mcp_server.call import ToolContext
from horae.mcp_server.catalogue import TOOLS
from horae.mcp_server.server import PROBLEM, Caller, make_server
from horae.model.accounts.principal import Principal
from horae.model.agents.delivery import PENDING_KIND, delivery_from
from horae.model.outcome import Failed, Succeeded
from horae.service.messages.streams import MessageDraft
from tests.mcp.tool_client import ADMIN, AGENT, PERSON, ZONE, ToolClient, text_of, tools_for
from tests.unit.service.service_harness import ServiceHarness

MINUTE = timedelta(minutes=1)


async def test_scheduled_task_is_returned_with_its_meaning_and_next_runs() -> None:
    async with tools_for() as (harness, tools):
        made = await tools("schedule_task", when="every weekday at 9am", do="look at the mail", name="mail")
        assert made["change"] == "new"
        assert made["zone"] == ZONE
        assert made["means"].startswith("Monday to Friday at 09:00")
        assert [each["at_local"][:16] for each in made["next_runs"]] == [
            "2026-03-02T09:00",
            "2026-03-03T09:00",
            "2026-03-04T09:00",
        ]
        assert made["next_runs"][0] == {
            "at": "2026-03-02T08:00:00.000Z",
            "at_local": "2026-03-02T09:00:00.000+01:00",
            "relative": "in 20 h",
        }
        facts = await harness.tasks.get(PERSON, made["task"]["id"])
        assert facts.task.name == "mail"
        assert made["task"]["target"] == {"kind": "event", "say": "look at the mail"}
        line = await tools.line("get_task", id="mail")
        assert "2026-03-02 09:00 Europe/Berlin" in line
        assert "2026-03-02T08:00Z" in line


async def test_repeated_call_with_a_key_makes_one_task() -> None:
    async with tools_for() as (harness, tools):
        arguments = {"when": "every 2h", "do": "breathe", "key": "calm"}
        first = await tools("schedule_task", **arguments)
        again = await tools("schedule_task", **arguments)
        other = await tools("schedule_task", **(arguments | {"when": "every 3h"}))
        assert [each["change"] for each in (first, again, other)] == ["new", "same", "changed"]
        assert {each["task"]["id"] for each in (first, again, other)} == {first["task"]["id"]}
        assert len((await harness.tasks.page(PERSON)).items) == 1


async def test_messages_are_sent_once_and_read() -> None:
    async with tools_for() as (_harness, tools):
        for _ in range(2):
            assert (await tools("send_message", stream="chat:1", text="hello", id="m-1"))["number"] == 1
        page = await tools("read_messages", stream="chat:1")
        assert [each["text"] for each in page["messages"]] == ["hello"]
        assert "hello" in await tools.line("read_messages", stream="chat:1")
        assert (await tools("read_messages", stream="chat:1", after=1))["messages"] == []
        assert await tools.refused("read_messages", stream="chat:2") == "no_such_stream"


async def test_groups_are_listed_and_their_chats_read() -> None:
    async with tools_for(ADMIN) as (harness, tools):
        assert (await tools("list_groups"))["groups"] == []
        group = await harness.service.groups.add(ADMIN, "family", "telegram:12", name="Our family")
        (listed,) = (await tools("list_groups"))["groups"]
        assert (listed["folder"], listed["stream"]) == ("family", "chat:telegram:12")
        assert "family 'Our family'" in await tools.line("list_groups")
        await harness.service.streams.send(ADMIN, group.stream, [MessageDraft("hello")], owner=group.owner)
        page = await tools("read_messages", group="family")
        assert [each["text"] for each in page["messages"]] == ["hello"]
        assert await tools.refused("read_messages", group="other") == "no_such_group"
        assert await tools.refused("read_messages") == "missing_field"
    async with tools_for(AGENT) as (_harness, tools):
        assert await tools.refused("list_groups") == "not_for_agents"


async def test_text_for_a_group_is_delivered_to_its_chat_once() -> None:
    async with tools_for(ADMIN) as (harness, tools):
        group = await harness.service.groups.add(ADMIN, "family", "telegram:12", trigger="@Nova")
        sent = [await tools("send_message", group="family", text="Good morning.", id="m-1") for _ in range(2)]
        assert sent[0] == sent[1]
        assert (sent[0]["stream"], sent[0]["number"]) == ("chat:telegram:12", 1)
        other = await tools("send_message", group="family", text="Good morning.")
        waiting = [delivery_from(each) for each in (await harness.store.records(PENDING_KIND, group.owner)).items]
        assert [(each.id, each.chat, each.text) for each in waiting] == [
            (sent[0]["delivery"], "telegram:12", "Good morning."),
            (other["delivery"], "telegram:12", "Good morning."),
        ]
        transcript = await harness.service.chats.transcript(ADMIN, "telegram:12")
        assert [(each.message.sender, each.message.is_own) for each in transcript.messages] == [("Nova", True)] * 2
        assert [each.delivery and each.delivery.id for each in transcript.messages] == [each.id for each in waiting]
        assert "On its way to telegram:12" in await tools.line("send_message", group="family", text="x")
        assert await tools.refused("send_message", group="family", text=" ") == "empty_chat_message"
        assert await tools.refused("send_message", group="other", text="x") == "no_such_group"
        assert await tools.refused("send_message", text="x") == "missing_field"
    async with tools_for(PERSON) as (_harness, tools):
        assert await tools.refused("send_message", group="family", text="x") == "no_such_group"
    async with tools_for(AGENT) as (_harness, tools):
        assert await tools.refused("send_message", group="family", text="x") == "not_for_agents"


async def test_dry_run_validates_and_writes_nothing() -> None:
    async with tools_for() as (harness, tools):
        tried = await tools("schedule_task", when="every 2h", do="breathe", dry_run=True)
        assert tried["dry_run"]
        assert tried["task"]["id"] is None
        assert tried["task"]["key"] is None
        assert len(tried["next_runs"]) == 3
        assert await tools.refused("schedule_task", when="every 1s", do="breathe", dry_run=True) == "interval_too_short"
        assert not (await harness.tasks.page(PERSON)).items


async def test_missing_zone_is_refused() -> None:
    async with tools_for(PERSON._replace(zone=None)) as (harness, tools):
        arguments = {"when": "every day at 09:00", "do": "wake up"}
        assert await tools.refused("schedule_task", **arguments) == "zone_needed"
        assert await tools.refused("preview_schedule", when=arguments["when"]) == "zone_needed"
        assert not (await harness.tasks.page(PERSON)).items
        made = await tools("schedule_task", **arguments, zone="Tokyo")
        assert made["zone"] == "Asia/Tokyo"
        named = await tools("schedule_task", do="wake up", when="every day at 09:00 in London")
        assert named["zone"] == "Europe/London"
        assert await tools.refused("schedule_task", **arguments, zone="../../etc/passwd") == "unknown_zone"


async def test_tasks_are_listed_one_row_each_in_pages() -> None:
    async with tools_for() as (harness, tools):
        assert (await tools("list_tasks")) == {"tasks": [], "next_cursor": None}
        for number in range(5):
            await tools("schedule_task", when="every 2h", do="x", name=f"report {number}")
        await tools("pause_task", id="report 3", reason="rain")
        first = await tools("list_tasks", limit=3)
        rest = await tools("list_tasks", limit=3, cursor=first["next_cursor"])
        assert [each["name"] for each in first["tasks"] + rest["tasks"]] == [f"report {n}" for n in range(5)]
        assert rest["next_cursor"] is None
        found = await tools("list_tasks", q="state:paused report")
        assert [each["name"] for each in found["tasks"]] == ["report 3"]
        assert len((await tools("list_tasks", q="-state:paused report"))["tasks"]) == 4
        assert (await tools("list_tasks", q="kind:http"))["tasks"] == []
        assert await tools.refused("list_tasks", q="colour:red") == "unknown_query_key"
        assert await tools.refused("list_tasks", q="state:happy") == "bad_query"
        assert await tools.refused("list_tasks", limit=10**9) == "bad_number"
        assert await tools.refused("list_tasks", cursor="nonsense\n") == "bad_page"
        assert len((await harness.tasks.page(PERSON)).items) == 5


async def test_update_returns_removed_and_added_fires() -> None:
    async with tools_for() as (_harness, tools):
        made = await tools("schedule_task", when="every day at 09:00", do="x", name="walk")
        tried = await tools("update_task", id="walk", when="every day at 10:00", dry_run=True)
        assert (tried["dry_run"], tried["changed"]) == (True, ["when"])
        done = await tools("update_task", id="walk", when="every day at 10:00", version=made["task"]["version"])
        assert done["changed"] == ["when"]
        assert done["removed"][0]["at_local"].startswith("2026-03-02T09:00")
        assert done["added"][0]["at_local"].startswith("2026-03-02T10:00")
        assert done["before"]["when"] != done["task"]["when"]
        assert (await tools("update_task", id="walk", name="stroll"))["changed"] == ["name"]
        assert (await tools("update_task", id="stroll", name="stroll"))["changed"] == []
        assert await tools.refused("update_task", id="stroll", when="every day at 11:00", version=1) == "stale_version"
        assert await tools.refused("update_task", id="stroll") == "missing_field"
        moved = await tools("update_task", id="stroll", zone="Asia/Shanghai")
        assert (moved["zone"], moved["next_runs"][0]["at_local"][11:16]) == ("Asia/Shanghai", "10:00")


async def test_task_is_paused_resumed_and_cancelled() -> None:
    async with tools_for() as (_harness, tools):
        await tools("schedule_task", when="every day at 09:00", do="x", name="walk")
        assert (await tools("pause_task", id="walk"))["task"]["pause"]["note"] == ""
        await tools("resume_task", id="walk")
        paused = await tools("pause_task", id="walk", reason="rain", until="tomorrow at 8am")
        assert paused["task"]["pause"]["note"] == "rain"
        assert paused["task"]["pause"]["until"] == "2026-03-02T07:00:00.000Z"
        again = await tools("resume_task", id="walk", missed="latest")
        assert again["task"]["state"] == "active"
        assert len(again["next_runs"]) == 3
        assert await tools.refused("resume_task", id="walk", missed="maybe") == "bad_choice"
        ended = await tools("cancel_task", id="walk")
        assert ended["task"]["state"] == "cancelled"
        assert await tools.refused("resume_task", id="walk") == "task_cancelled"
        restored = await tools("restore_task", id="walk")
        assert restored["task"]["state"] == "active"
        assert await tools.refused("restore_task", id="walk") == "not_cancelled"
        await tools("cancel_task", id="walk")
        seen = await tools("get_task", id="walk")
        assert seen["next_runs"] == []
        assert [each["code"] for each in seen["warnings"]] == ["not_active"]


async def test_runs_are_listed_explained_and_read_with_their_log() -> None:
    async with tools_for() as (harness, tools):
        made = await tools("schedule_task", when="every 10m", do="x", name="tick")
        good = await harness.run_due(10 * MINUTE, Succeeded('{"birds": 3}'))
        bad = await harness.run_due(10 * MINUTE, Failed("the wind\nwas wrong " * 100, permanent=True))
        task_id = made["task"]["id"]
        (row,) = (await tools("list_runs", state="failed"))["runs"]
        assert (row["task"], row["task_id"]) == ("tick", task_id)
        assert f"{bad.id} of 'tick' ({task_id}) failed, planned " in await tools.line("list_runs", state="failed")
        runs = await tools("list_runs", task="tick")
        assert [each["id"] for each in runs["runs"]] == [bad.id, good.id]
        assert len(runs["runs"][0]["error"]) <= 200
        assert [each["id"] for each in (await tools("list_runs", state="failed,lost"))["runs"]] == [bad.id]
        assert await tools.refused("list_runs", state="odd") == "bad_query"
        seen = await tools("get_run", id=good.id, log_tail=5)
        assert seen["run"]["result"] == {"birds": 3}
        assert (seen["run"]["task"], seen["lines"]) == ("tick", [])
        assert "birds" in await tools.line("get_run", id=good.id)
        why = await tools("explain_task", id=made["task"]["id"], at="13:10")
        assert (why["verdict"], why["runs"][0]["id"]) == ("ran", good.id)
        assert why["suggested_calls"] == [{"tool": "list_runs", "arguments": {"task": made["task"]["id"]}}]
        coming = await tools("explain_task", id="tick", at="tomorrow")
        assert coming["verdict"] == "pending"
        assert await tools.refused("get_run", id="run_absent") == "no_such_run"
        assert await tools.refused("explain_task", id="tick", at="whenever") == "unclear_moment"


@pytest.mark.parametrize(
    ("at", "local"),
    [
        ("today at 9am", "2026-03-01T09:00"),
        ("yesterday at 9am", "2026-02-28T09:00"),
        ("last Friday 18:00", "2026-02-27T18:00"),
        ("今天早上9点", "2026-03-01T09:00"),
        ("昨天9点", "2026-02-28T09:00"),
    ],
)
async def test_explain_task_reads_moment_in_words_in_the_zone_of_the_task(at: str, local: str) -> None:
    async with tools_for() as (_harness, tools):
        await tools("schedule_task", when="every day at 08:00", do="x", name="tick", zone="UTC")
        why = await tools("explain_task", id="tick", at=at)
        assert why["at_local"] == f"{local}:00.000+00:00"
        elsewhere = await tools("explain_task", id="tick", at=at, zone="Europe/Berlin")
        assert elsewhere["at_local"] == f"{local}:00.000+01:00"


async def test_pause_until_and_explain_at_parse_a_moment_alike() -> None:
    async with tools_for() as (_harness, tools):
        await tools("schedule_task", when="每天早上9点", do="x", name="tick", zone="Asia/Shanghai")
        paused = await tools("pause_task", id="tick", until="后天早上8点半")
        assert paused["task"]["pause"]["until"] == "2026-03-03T00:30:00.000Z"
        why = await tools("explain_task", id="tick", at="明天早上8点半")
        assert why["at"] == "2026-03-02T00:30:00.000Z"
        assert "2026-03-03 08:30 +08:00" in why["sentence"]
        assert (await tools("explain_task", id="tick", at="明天早上9点"))["verdict"] == "paused"
        assert await tools.refused("explain_task", id="tick", at="明天早上9点", zone="Nowhere") == "unknown_zone"


async def test_explain_task_offers_both_hours_as_its_own_argument() -> None:
    async with tools_for() as (_harness, tools):
        await tools("schedule_task", when="every day at 08:00", do="x", name="tick")
        for at in ("yesterday at 9", "yesterday at nine"):
            refused = await tools.raw("explain_task", id="tick", at=at)
            choices = (refused.meta or {})[PROBLEM]["choices"]
            assert choices == {"argument": "at", "values": ["yesterday at 09:00", "yesterday at 21:00"]}
            for value in choices["values"]:
                await tools("explain_task", id="tick", at=value)


async def test_run_now_queues_a_run_that_can_be_read() -> None:
    async with tools_for() as (harness, tools):
        await tools("schedule_task", when="every 10h", do="x", name="tick")
        queued = await tools("run_task_now", id="tick")
        assert (queued["ended"], queued["run"]) == (False, None)
        (run,) = await harness.claim()
        assert run.id == queued["run_id"]
        await harness.settle(run, Succeeded('"done"'))
        seen = await tools("get_run", id=queued["run_id"])
        assert (seen["run"]["state"], seen["run"]["result"]) == ("succeeded", "done")
        assert await tools.refused("run_task_now", id="tick", wait_seconds=61) == "bad_number"


async def test_run_now_takes_an_input() -> None:
    async with tools_for() as (harness, tools):
        await tools("schedule_task", when="every 10h", do="x", name="tick")
        assert await tools.refused("run_task_now", id="tick", input={}, merge={}) == "one_input"
        queued = await tools("run_task_now", id="tick", merge={"a": "x" * 300})
        (run,) = await harness.claim()
        assert run.input is not None
        assert json.loads(run.input.value) == {"a": "x" * 300}
        seen = await tools("get_run", id=queued["run_id"])
        assert seen["run"]["input"] == {"merge": {"a": "x" * 300}}
        (listed,) = (await tools("list_runs"))["runs"]
        assert len(listed["input"]["merge"]) <= 200


async def test_preview_lists_the_choices_of_an_ambiguous_text() -> None:
    async with tools_for() as (_harness, tools):
        clear = await tools("preview_schedule", when="every day at 09:00")
        assert (len(clear["next_runs"]), clear["choices"]) == (5, [])
        assert clear["schedule"]["kind"] == "calendar"
        unclear = await tools("preview_schedule", when="every day at 9")
        assert [each["when"] for each in unclear["choices"]] == ["every day at 09:00", "every day at 21:00"]
        assert all(each["means"] for each in unclear["choices"])
        assert unclear["means"] is None
        assert await tools.refused("preview_schedule", when="every blue moon") != "tool_broke"
        assert await tools.refused("preview_schedule", when="0 0 30 2 *") != "tool_broke"


@pytest.mark.parametrize(("who", "left"), [(PERSON, 19), (ADMIN, None), (AGENT, 9)])
async def test_whoami_shows_the_remaining_quota(who: Principal, left: int | None) -> None:
    async with tools_for(who) as (_harness, tools):
        await tools("schedule_task", when="every 1h, 10 times", do="x")
        identity = await tools("whoami")
        assert (identity["owner"], identity["agent"], identity["zone"]) == (who.owner, who.agent, ZONE)
        assert identity["active_tasks"] == 1
        assert identity["active_tasks_left"] == left
        assert identity["now_local"].startswith("2026-03-01T13:00")


@pytest.mark.parametrize(
    ("do", "target"),
    [
        ("water the plants", {"kind": "event", "say": "water the plants"}),
        ({"prompt": "water"}, {"kind": "event", "say": "water"}),
        ({"say": "water"}, {"kind": "event", "say": "water"}),
        ({"function": "garden.water", "payload": {"litres": 3}}, {"kind": "function", "name": "garden.water"}),
        ({"http": {"url": "https://example.com/x"}}, {"kind": "http", "url": "https://example.com/x"}),
        ({"command": ["backup", "--all"]}, {"kind": "command", "argv": ["backup", "--all"]}),
        ('{"command": ["backup"]}', {"kind": "command", "argv": ["backup"]}),
        ('{"weather": "fine"}', {"kind": "event", "say": '{"weather": "fine"}'}),
        ("{not json", {"kind": "event", "say": "{not json"}),
    ],
)
async def test_do_is_a_prompt_or_a_target(do: Any, target: dict[str, Any]) -> None:
    async with tools_for(ADMIN) as (_harness, tools):
        made = await tools("schedule_task", when="every 1h", do=do)
        assert made["task"]["target"] == target
        if isinstance(do, dict) and "payload" in do:
            assert made["task"]["payload"] == do["payload"]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"when": "every 1h"}, "missing_field"),
        ({"do": "x"}, "missing_field"),
        ({"when": "every 1h", "do": ""}, "bad_do"),
        ({"when": "every 1h", "do": "  \n"}, "bad_do"),
        ({"when": "every 1h", "do": {}}, "bad_do"),
        ({"when": "every 1h", "do": {"payload": 1}}, "bad_do"),
        ({"when": "every 1h", "do": {"shell": "rm -rf /"}}, "unknown_field"),
        ({"when": "every 1h", "do": {"http": "https://a.example/", "command": ["b"]}}, "two_targets"),
        ({"when": "every 1h", "do": 7}, "bad_policy"),
        ({"when": 7, "do": "x"}, "bad_policy"),
        ({"when": "every 1h", "do": "x", "labels": {"horae/agent": "me"}}, "unknown_field"),
        ({"when": "every 1h", "do": "x", "owner": "bob"}, "unknown_field"),
        ({"when": "every 1h", "do": "x", "dry_run": "yes"}, "bad_policy"),
        ({"when": "every 1h", "do": "x", "if_late": "perhaps"}, "bad_choice"),
        ({"when": "every 1h", "do": "x", "key": "k" * 1000}, "bad_text"),
        ({"when": "x" * 10_000, "do": "x"}, "too_long"),
        ({"when": "every 1s", "do": "x"}, "interval_too_short"),
        ({"when": "every 1h", "do": "x", "prompt": "y"}, "two_spellings"),
    ],
)
async def test_invalid_arguments_are_refused_and_nothing_is_stored(arguments: dict[str, Any], code: str) -> None:
    async with tools_for() as (harness, tools):
        assert await tools.refused("schedule_task", **arguments) == code
        assert not (await harness.tasks.page(PERSON)).items


async def test_null_arguments_are_ignored() -> None:
    async with tools_for() as (_harness, tools):
        made = await tools("schedule_task", when="every 1h", do="x", name=None, key=None, zone=None, dry_run=None)
        assert made["task"]["key"] is None


async def test_refusal_names_the_limit_and_an_allowed_schedule() -> None:
    async with tools_for() as (_harness, tools):
        line = await tools.line("schedule_task", when="every 1s", do="x")
        assert "10s" in line
        assert "every 10s" in line


async def test_unknown_tool_is_refused_with_the_nearest_name() -> None:
    async with tools_for() as (_harness, tools):
        for name in ("drop_database", "list_task", "", "x" * 10_000):
            with pytest.raises(MCPError) as refused:
                await tools.raw(name)
            assert refused.value.code == -32602
            assert refused.value.data[PROBLEM]["code"] == "unknown_tool"
        with pytest.raises(MCPError, match="the nearest name is 'list_tasks'"):
            await tools.raw("list_task")


async def test_chinese_text_is_answered_in_chinese() -> None:
    async with tools_for() as (_harness, tools):
        made = await tools("schedule_task", when="每天早上9点", do="看邮件", name="邮件")
        assert made["means"].startswith("每天")
        assert "已安排" in await tools.line("schedule_task", when="每天早上9点", do="看邮件", name="邮件")
        assert "没有" in await tools.line("get_task", id="不存在")


async def test_calls_without_text_use_the_language_of_the_session() -> None:
    async with tools_for() as (_harness, tools):
        assert "times in" in await tools.line("list_tasks") or "No task" in await tools.line("list_tasks")
        await tools("schedule_task", when="every 5m", do="看邮件", name="mail")
        assert "时区" in await tools.line("list_tasks")
        assert "时区" in await tools.line("whoami")
        assert "没有符合条件的运行" in await tools.line("list_runs", state="failed")
        assert "没有任务“nothing”" in await tools.line("get_task", id="nothing")
        await tools("schedule_task", when="every 5m", do="look at the mail", name="post")
        assert "You act for" in await tools.line("whoami")


async def test_stated_language_is_not_replaced_by_the_last_one() -> None:
    harness = ServiceHarness()
    server = make_server(
        ToolContext(harness.service, harness.clock), lambda _context: Caller(PERSON, "en", states_language=True)
    )
    async with Client(server) as client:
        tools = ToolClient(client)
        assert "已安排" in await tools.line("schedule_task", when="每天早上9点", do="看邮件")
        assert "You act for" in await tools.line("whoami")


async def test_language_of_one_caller_does_not_reach_another() -> None:
    harness, callers = ServiceHarness(), [PERSON, AGENT]
    server = make_server(ToolContext(harness.service, harness.clock), lambda _context: Caller(callers.pop(0), "en"))
    async with Client(server) as client:
        tools = ToolClient(client)
        assert "已安排" in await tools.line("schedule_task", when="每天早上9点", do="看邮件")
        assert "You act for" in await tools.line("whoami")


async def test_configured_language_applies_to_every_tool() -> None:
    async with tools_for(language="zh") as (_harness, tools):
        assert "时区" in await tools.line("whoami")
        assert "没有符合条件" in await tools.line("list_tasks")
        assert "至少需要 10秒" in await tools.line("schedule_task", when="every 1s", do="x")


def test_every_tool_is_called_in_this_file() -> None:
    """A new tool needs a test in this file."""
    with open(__file__, encoding="utf-8") as file:  # noqa: PTH123 - this very file
        source = file.read()
    assert [name for name in TOOLS if f'"{name}"' not in source] == []


async def test_several_schedules_are_given_as_text_or_as_a_list() -> None:
    async with tools_for() as (_, tools):
        text = await tools("schedule_task", when="every weekday at 9am and Sat at 11am", do="look", name="text")
        listed = await tools(
            "schedule_task", when=["every weekday at 9am", "every Sat at 11am"], do="look", name="list"
        )
        assert text["means"] == listed["means"] == f"Monday to Friday at 09:00 and every Saturday at 11:00, {ZONE}"
        assert text["task"]["when"] == listed["task"]["when"]
        seen = await tools("preview_schedule", when=["every weekday at 9am", "every Sat at 11am"])
        assert seen["schedule"] == text["task"]["when"]
        changed = await tools("update_task", id="text", when=["every day at 8am", "every Sat at 11am"])
        assert changed["changed"] == ["when"]


async def test_messages_to_people_are_asked_for_and_given_up() -> None:
    async with tools_for() as (harness, tools):
        notify = {"to": ["ops"], "on": ["failed"]}
        refused = await tools.raw("schedule_task", when="every 1h", do="look", name="look", notify=notify)
        assert refused.is_error
        assert "notify add ops" in text_of(refused)
        await harness.service.destinations.put(PERSON, "ops", url="json://x/")
        made = await tools("schedule_task", when="every 1h", do="look", name="look", notify=notify)
        assert made["task"]["policies"]["notify"] == notify
        edited = await tools("update_task", id="look", notify={})
        assert edited["task"]["policies"]["notify"] is None
