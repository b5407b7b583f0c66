"""Every tool as an assistant uses it: what it answers fits its schema, and what it says fits on one line."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from horae.mcp_server.call import ToolContext as Room
from horae.mcp_server.catalogue import TOOLS
from horae.mcp_server.server import PROBLEM, Caller, make_server
from horae.model.accounts.principal import Principal
from horae.model.outcome import Failed, Succeeded
from tests.mcp.tool_client import AGENT, BOSS, PERSON, ZONE, Desk, tools_for
from tests.unit.service.service_harness import ServiceHarness

MINUTE = timedelta(minutes=1)


async def test_what_was_understood_is_said_back_with_the_next_three_times() -> None:
    async with tools_for() as (house, desk):
        made = await desk("schedule_task", when="every weekday at 9am", do="look at the mail", name="mail")
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
        facts = await house.tasks.get(PERSON, made["task"]["id"])
        assert facts.task.name == "mail"
        assert made["task"]["target"] == {"kind": "event", "say": "look at the mail"}
        line = await desk.line("get_task", id="mail")
        assert "2026-03-02 09:00 Europe/Berlin" in line
        assert "2026-03-02T08:00Z" in line


async def test_a_key_makes_a_call_safe_to_repeat() -> None:
    async with tools_for() as (house, desk):
        said = {"when": "every 2h", "do": "breathe", "key": "calm"}
        first = await desk("schedule_task", **said)
        again = await desk("schedule_task", **said)
        other = await desk("schedule_task", **(said | {"when": "every 3h"}))
        assert [each["change"] for each in (first, again, other)] == ["new", "same", "changed"]
        assert {each["task"]["id"] for each in (first, again, other)} == {first["task"]["id"]}
        assert len((await house.tasks.page(PERSON)).items) == 1


async def test_a_rehearsal_writes_nothing_and_refuses_what_would_be_refused() -> None:
    async with tools_for() as (house, desk):
        tried = await desk("schedule_task", when="every 2h", do="breathe", dry_run=True)
        assert tried["dry_run"]
        assert tried["task"]["id"] is None
        assert tried["task"]["key"] is None
        assert len(tried["next_runs"]) == 3
        assert await desk.refused("schedule_task", when="every 1s", do="breathe", dry_run=True) == "interval_too_short"
        assert not (await house.tasks.page(PERSON)).items


async def test_without_any_zone_nothing_is_guessed() -> None:
    async with tools_for(PERSON._replace(zone=None)) as (house, desk):
        said = {"when": "every day at 09:00", "do": "wake up"}
        assert await desk.refused("schedule_task", **said) == "zone_needed"
        assert await desk.refused("preview_schedule", when=said["when"]) == "zone_needed"
        assert not (await house.tasks.page(PERSON)).items
        made = await desk("schedule_task", **said, zone="Tokyo")
        assert made["zone"] == "Asia/Tokyo"
        named = await desk("schedule_task", do="wake up", when="every day at 09:00 in London")
        assert named["zone"] == "Europe/London"
        assert await desk.refused("schedule_task", **said, zone="../../etc/passwd") == "unknown_zone"


async def test_tasks_are_listed_one_row_each_in_pages() -> None:
    async with tools_for() as (house, desk):
        assert (await desk("list_tasks")) == {"tasks": [], "next_cursor": None}
        for number in range(5):
            await desk("schedule_task", when="every 2h", do="x", name=f"report {number}")
        await desk("pause_task", id="report 3", reason="rain")
        first = await desk("list_tasks", limit=3)
        rest = await desk("list_tasks", limit=3, cursor=first["next_cursor"])
        assert [each["name"] for each in first["tasks"] + rest["tasks"]] == [f"report {n}" for n in range(5)]
        assert rest["next_cursor"] is None
        found = await desk("list_tasks", q="state:paused report")
        assert [each["name"] for each in found["tasks"]] == ["report 3"]
        assert len((await desk("list_tasks", q="-state:paused report"))["tasks"]) == 4
        assert (await desk("list_tasks", q="kind:http"))["tasks"] == []
        assert await desk.refused("list_tasks", q="colour:red") == "unknown_query_key"
        assert await desk.refused("list_tasks", q="state:happy") == "bad_query"
        assert await desk.refused("list_tasks", limit=10**9) == "bad_number"
        assert await desk.refused("list_tasks", cursor="nonsense\n") == "bad_page"
        assert len((await house.tasks.page(PERSON)).items) == 5


async def test_a_change_tells_what_it_does_to_the_times_ahead() -> None:
    async with tools_for() as (_house, desk):
        made = await desk("schedule_task", when="every day at 09:00", do="x", name="walk")
        tried = await desk("update_task", id="walk", when="every day at 10:00", dry_run=True)
        assert (tried["dry_run"], tried["changed"]) == (True, ["when"])
        done = await desk("update_task", id="walk", when="every day at 10:00", version=made["task"]["version"])
        assert done["changed"] == ["when"]
        assert done["removed"][0]["at_local"].startswith("2026-03-02T09:00")
        assert done["added"][0]["at_local"].startswith("2026-03-02T10:00")
        assert done["before"]["when"] != done["task"]["when"]
        assert (await desk("update_task", id="walk", name="stroll"))["changed"] == ["name"]
        assert (await desk("update_task", id="stroll", name="stroll"))["changed"] == []
        assert await desk.refused("update_task", id="stroll", when="every day at 11:00", version=1) == "stale_version"
        assert await desk.refused("update_task", id="stroll") == "missing_field"
        moved = await desk("update_task", id="stroll", zone="Asia/Shanghai")
        assert (moved["zone"], moved["next_runs"][0]["at_local"][11:16]) == ("Asia/Shanghai", "10:00")


async def test_a_task_is_paused_resumed_and_ended() -> None:
    async with tools_for() as (_house, desk):
        await desk("schedule_task", when="every day at 09:00", do="x", name="walk")
        assert (await desk("pause_task", id="walk"))["task"]["pause"]["note"] == ""
        await desk("resume_task", id="walk")
        paused = await desk("pause_task", id="walk", reason="rain", until="tomorrow at 8am")
        assert paused["task"]["pause"]["note"] == "rain"
        assert paused["task"]["pause"]["until"] == "2026-03-02T07:00:00.000Z"
        again = await desk("resume_task", id="walk", missed="latest")
        assert again["task"]["state"] == "active"
        assert len(again["next_runs"]) == 3
        assert await desk.refused("resume_task", id="walk", missed="maybe") == "bad_choice"
        ended = await desk("cancel_task", id="walk")
        assert ended["task"]["state"] == "cancelled"
        assert await desk.refused("resume_task", id="walk") == "task_cancelled"
        seen = await desk("get_task", id="walk")
        assert seen["next_runs"] == []
        assert [each["code"] for each in seen["warnings"]] == ["not_active"]


async def test_runs_are_listed_explained_and_read_with_their_last_lines() -> None:
    async with tools_for() as (house, desk):
        made = await desk("schedule_task", when="every 10m", do="x", name="tick")
        good = await house.run_due(10 * MINUTE, Succeeded('{"birds": 3}'))
        bad = await house.run_due(10 * MINUTE, Failed("the wind\nwas wrong " * 100, permanent=True))
        task_id = made["task"]["id"]
        (row,) = (await desk("list_runs", state="failed"))["runs"]
        assert (row["task"], row["task_id"]) == ("tick", task_id)
        assert f"{bad.id} of 'tick' ({task_id}) failed, planned " in await desk.line("list_runs", state="failed")
        runs = await desk("list_runs", task="tick")
        assert [each["id"] for each in runs["runs"]] == [bad.id, good.id]
        assert len(runs["runs"][0]["error"]) <= 200
        assert [each["id"] for each in (await desk("list_runs", state="failed,lost"))["runs"]] == [bad.id]
        assert await desk.refused("list_runs", state="odd") == "bad_query"
        seen = await desk("get_run", id=good.id, log_tail=5)
        assert seen["run"]["result"] == {"birds": 3}
        assert (seen["run"]["task"], seen["lines"]) == ("tick", [])
        assert "birds" in await desk.line("get_run", id=good.id)
        why = await desk("explain_task", id=made["task"]["id"], at="13:10")
        assert (why["verdict"], why["runs"][0]["id"]) == ("ran", good.id)
        assert why["suggested_calls"] == [{"tool": "list_runs", "arguments": {"task": made["task"]["id"]}}]
        coming = await desk("explain_task", id="tick", at="tomorrow")
        assert coming["verdict"] == "pending"
        assert await desk.refused("get_run", id="run_nobody") == "no_such_run"
        assert await desk.refused("explain_task", id="tick", at="whenever") == "unclear_moment"


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
    async with tools_for() as (_house, desk):
        await desk("schedule_task", when="every day at 08:00", do="x", name="tick", zone="UTC")
        why = await desk("explain_task", id="tick", at=at)
        assert why["at_local"] == f"{local}:00.000+00:00"
        elsewhere = await desk("explain_task", id="tick", at=at, zone="Europe/Berlin")
        assert elsewhere["at_local"] == f"{local}:00.000+01:00"


async def test_pause_and_question_about_a_task_read_the_same_moment() -> None:
    async with tools_for() as (_house, desk):
        await desk("schedule_task", when="每天早上9点", do="x", name="tick", zone="Asia/Shanghai")
        paused = await desk("pause_task", id="tick", until="后天早上8点半")
        assert paused["task"]["pause"]["until"] == "2026-03-03T00:30:00.000Z"
        why = await desk("explain_task", id="tick", at="明天早上8点半")
        assert why["at"] == "2026-03-02T00:30:00.000Z"
        assert "2026-03-03 08:30 +08:00" in why["sentence"]
        assert (await desk("explain_task", id="tick", at="明天早上9点"))["verdict"] == "paused"
        assert await desk.refused("explain_task", id="tick", at="明天早上9点", zone="Nowhere") == "unknown_zone"


async def test_explain_task_offers_both_hours_as_its_own_argument() -> None:
    async with tools_for() as (_house, desk):
        await desk("schedule_task", when="every day at 08:00", do="x", name="tick")
        for at in ("yesterday at 9", "yesterday at nine"):
            refused = await desk.raw("explain_task", id="tick", at=at)
            choices = (refused.meta or {})[PROBLEM]["choices"]
            assert choices == {"argument": "at", "values": ["yesterday at 09:00", "yesterday at 21:00"]}
            for value in choices["values"]:
                await desk("explain_task", id="tick", at=value)


async def test_a_run_is_asked_for_and_waited_for() -> None:
    async with tools_for() as (house, desk):
        await desk("schedule_task", when="every 10h", do="x", name="tick")
        asked = await desk("run_task_now", id="tick")
        assert (asked["ended"], asked["run"]) == (False, None)
        (run,) = await house.claim()
        assert run.id == asked["run_id"]
        await house.settle(run, Succeeded('"done"'))
        seen = await desk("get_run", id=asked["run_id"])
        assert (seen["run"]["state"], seen["run"]["result"]) == ("succeeded", "done")
        assert await desk.refused("run_task_now", id="tick", wait_seconds=61) == "bad_number"


async def test_a_preview_lists_what_could_be_meant() -> None:
    async with tools_for() as (_house, desk):
        clear = await desk("preview_schedule", when="every day at 09:00")
        assert (len(clear["next_runs"]), clear["choices"]) == (5, [])
        assert clear["schedule"]["kind"] == "calendar"
        unclear = await desk("preview_schedule", when="every day at 9")
        assert [each["when"] for each in unclear["choices"]] == ["every day at 09:00", "every day at 21:00"]
        assert all(each["means"] for each in unclear["choices"])
        assert unclear["means"] is None
        assert await desk.refused("preview_schedule", when="every blue moon") != "tool_broke"
        assert await desk.refused("preview_schedule", when="0 0 30 2 *") != "tool_broke"


@pytest.mark.parametrize(("who", "left"), [(PERSON, 19), (BOSS, None), (AGENT, 9)])
async def test_who_is_asking_is_told_what_is_left(who: Principal, left: int | None) -> None:
    async with tools_for(who) as (_house, desk):
        await desk("schedule_task", when="every 1h, 10 times", do="x")
        told = await desk("whoami")
        assert (told["owner"], told["agent"], told["zone"]) == (who.owner, who.agent, ZONE)
        assert told["active_tasks"] == 1
        assert told["active_tasks_left"] == left
        assert told["now_local"].startswith("2026-03-01T13:00")


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
async def test_what_is_to_be_done_is_a_prompt_or_one_of_the_targets(do: Any, target: dict[str, Any]) -> None:
    async with tools_for(BOSS) as (_house, desk):
        made = await desk("schedule_task", when="every 1h", do=do)
        assert made["task"]["target"] == target
        if isinstance(do, dict) and "payload" in do:
            assert made["task"]["payload"] == do["payload"]


@pytest.mark.parametrize(
    ("said", "code"),
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
async def test_what_does_not_fit_is_refused_and_nothing_is_made(said: dict[str, Any], code: str) -> None:
    async with tools_for() as (house, desk):
        assert await desk.refused("schedule_task", **said) == code
        assert not (await house.tasks.page(PERSON)).items


async def test_what_is_null_is_not_said() -> None:
    async with tools_for() as (_house, desk):
        made = await desk("schedule_task", when="every 1h", do="x", name=None, key=None, zone=None, dry_run=None)
        assert made["task"]["key"] is None


async def test_a_refusal_names_the_limit_and_the_nearest_that_is_allowed() -> None:
    async with tools_for() as (_house, desk):
        line = await desk.line("schedule_task", when="every 1s", do="x")
        assert "10s" in line
        assert "every 10s" in line


async def test_an_unknown_tool_is_refused_by_name() -> None:
    async with tools_for() as (_house, desk):
        for name in ("drop_database", "list_task", "", "x" * 10_000):
            with pytest.raises(MCPError) as refused:
                await desk.raw(name)
            assert refused.value.code == -32602
            assert refused.value.data[PROBLEM]["code"] == "unknown_tool"
        with pytest.raises(MCPError, match="the nearest name is 'list_tasks'"):
            await desk.raw("list_task")


async def test_who_writes_chinese_is_answered_in_chinese() -> None:
    async with tools_for() as (_house, desk):
        made = await desk("schedule_task", when="每天早上9点", do="看邮件", name="邮件")
        assert made["means"].startswith("每天")
        assert "已安排" in await desk.line("schedule_task", when="每天早上9点", do="看邮件", name="邮件")
        assert "没有" in await desk.line("get_task", id="不存在")


async def test_language_of_the_session_counts_for_calls_without_text() -> None:
    async with tools_for() as (_house, desk):
        assert "times in" in await desk.line("list_tasks") or "No task" in await desk.line("list_tasks")
        await desk("schedule_task", when="every 5m", do="看邮件", name="mail")
        assert "时区" in await desk.line("list_tasks")
        assert "时区" in await desk.line("whoami")
        assert "没有符合条件的运行" in await desk.line("list_runs", state="failed")
        assert "没有任务“nothing”" in await desk.line("get_task", id="nothing")
        await desk("schedule_task", when="every 5m", do="look at the mail", name="post")
        assert "You act for" in await desk.line("whoami")


async def test_stated_language_is_not_replaced_by_the_last_one() -> None:
    house = ServiceHarness()
    server = make_server(Room(house.service, house.clock), lambda _context: Caller(PERSON, "en", states_language=True))
    async with Client(server) as client:
        desk = Desk(client)
        assert "已安排" in await desk.line("schedule_task", when="每天早上9点", do="看邮件")
        assert "You act for" in await desk.line("whoami")


async def test_language_of_one_caller_does_not_reach_another() -> None:
    house, callers = ServiceHarness(), [PERSON, AGENT]
    server = make_server(Room(house.service, house.clock), lambda _context: Caller(callers.pop(0), "en"))
    async with Client(server) as client:
        desk = Desk(client)
        assert "已安排" in await desk.line("schedule_task", when="每天早上9点", do="看邮件")
        assert "You act for" in await desk.line("whoami")


async def test_a_language_that_was_chosen_counts_for_every_tool() -> None:
    async with tools_for(language="zh") as (_house, desk):
        assert "时区" in await desk.line("whoami")
        assert "没有符合条件" in await desk.line("list_tasks")
        assert "至少需要 10秒" in await desk.line("schedule_task", when="every 1s", do="x")


def test_every_tool_was_called_here() -> None:
    """A new tool needs a test in this file."""
    with open(__file__, encoding="utf-8") as file:  # noqa: PTH123 - this very file
        here = file.read()
    assert [name for name in TOOLS if f'"{name}"' not in here] == []
