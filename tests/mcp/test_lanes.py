"""Lanes through the MCP tools: named when a task is made, changed, and removed."""

from __future__ import annotations

from typing import Any

from tests.mcp.tool_client import ADMIN, AGENT, tools_for


def lanes_of(task: dict[str, Any]) -> list[str]:
    return [*([] if task["lane"] is None else [task["lane"]]), *task["policies"]["lanes"]]


async def test_lanes_of_a_task_are_named_changed_and_removed() -> None:
    async with tools_for(ADMIN) as (_, tools):
        made = await tools("schedule_task", when="every 1h", do="a", name="a", lane="api:{owner}", lanes=["press"])
        assert lanes_of(made["task"]) == [f"api:{ADMIN.owner}", "press"]
        moved = await tools("update_task", id="a", lane="mail")
        assert lanes_of(moved["task"]) == ["mail", "press"]
        assert moved["changed"] == ["lane"]
        bare = await tools("update_task", id="a", lane="", lanes=[])
        assert lanes_of(bare["task"]) == []
        assert await tools.refused("update_task", id="a", lane="api:{user}") == "bad_lane_placeholder"


async def test_an_agent_keeps_its_own_lane_beside_those_that_it_names() -> None:
    async with tools_for(AGENT) as (_, tools):
        made = await tools("schedule_task", when="every 1h", do="a", name="a", lane="mail")
        owner = f"{AGENT.owner}/"
        assert lanes_of(made["task"]) == [f"{owner}agent:{AGENT.agent}", f"{owner}mail"]
        bare = await tools("update_task", id="a", lane="", lanes=[])
        assert lanes_of(bare["task"]) == [f"{owner}agent:{AGENT.agent}"]
