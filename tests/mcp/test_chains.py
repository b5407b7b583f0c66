"""Chains through the MCP tools: made, edited and described."""

from __future__ import annotations

from datetime import timedelta

from tests.handled_messages import handle_messages
from tests.mcp.tool_client import PERSON, ZONE, tools_for


async def test_edit_changes_predecessors_and_mode() -> None:
    async with tools_for() as (_, tools):
        first = (await tools("schedule_task", when="every 1h", do="a", name="a"))["task"]["id"]
        second = (await tools("schedule_task", after=["a"], do="b", name="b"))["task"]["id"]
        await tools("schedule_task", after=["a"], do="c", name="c")
        edited = await tools("update_task", id="c", after=["a:ended", "b"])
        assert edited["changed"] == ["when"]
        links = [{"task": first, "on": "ended"}, {"task": second, "on": "succeeded"}]
        when = edited["task"]["when"]
        assert (when["links"], when["mode"]) == (links, "any")
        joined = await tools("update_task", id="c", mode="all")
        assert (joined["task"]["when"]["links"], joined["task"]["when"]["mode"]) == (links, "all")


async def test_links_and_a_schedule_exclude_each_other_in_an_edit() -> None:
    async with tools_for() as (_, tools):
        await tools("schedule_task", when="every 1h", do="a", name="a")
        await tools("schedule_task", after=["a"], do="b", name="b")
        for arguments in ({"after": ["a"]}, {"mode": "all"}):
            assert await tools.refused("update_task", id="b", when="every 2h", **arguments) == "after_and_schedule"
        assert await tools.refused("update_task", id="a", mode="all") == "missing_field"


async def test_meaning_names_the_predecessors_and_no_zone() -> None:
    async with tools_for() as (_, tools):
        await tools("schedule_task", when="every 1h", do="a", name="one")
        await tools("schedule_task", when="every 1h", do="a", name="two")
        made = await tools("schedule_task", after=["one", "two"], do="b", name="b")
        assert made["means"] == made["task"]["means"] == "after one or two"
        line = await tools.line("get_task", id="b")
        assert "after one or two" in line
        assert ZONE not in line
        listed = await tools("list_tasks")
        assert [each["means"] for each in listed["tasks"]][-1] == "after one or two"
        edited = await tools("update_task", id="b", after=["two:failed"])
        assert edited["means"] == edited["task"]["means"] == "after two (failed)"


async def test_chain_of_a_task_and_of_a_run_come_with_them_when_asked_for() -> None:
    async with tools_for() as (harness, tools):
        first = (await tools("schedule_task", when="every 1h", do="a", name="a"))["task"]["id"]
        await tools("schedule_task", after=["a:failed"], do="b", name="b")
        assert "chain" not in await tools("get_task", id="a")
        chain = (await tools("get_task", id="b", chain=True))["chain"]
        assert [(each["name"], each["means"]) for each in chain["tasks"]] == [
            ("a", "every hour, Europe/Berlin"),
            ("b", "after a (failed)"),
        ]
        assert chain["tasks"][1]["after"]["links"] == [{"task": first, "on": "failed"}]
        assert chain["tasks"][0]["after"] is None
        run = await harness.run_due(timedelta(hours=1))
        found = (await tools("get_run", id=run.id, chain=True))["chain"]
        assert [(each["task"], each["state"]) for each in found["links"]] == [("a", "succeeded"), ("b", "skipped")]


async def test_run_names_the_messages_that_it_handled() -> None:
    async with tools_for() as (harness, tools):
        run = await handle_messages(harness.store, PERSON.owner)
        handled = (await tools("get_run", id=run.id))["run"]["handled"]
        assert handled == [{"stream": "chat:1", "reader": "handled", "first": 1, "last": 3}]
