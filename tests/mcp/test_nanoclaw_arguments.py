"""Arguments in NanoClaw's spelling (`prompt`, `schedule_type`, `schedule_value`, `task_id`) are accepted by the tools."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from horae.model.accounts.principal import Principal
from tests.mcp.tool_client import ADMIN, AGENT, PERSON, ZONE, tools_for


@pytest.mark.parametrize(
    ("kind", "value", "schedule"),
    [
        ("cron", "0 9 * * 1-5", {"kind": "cron", "expression": "0 9 * * 1-5", "zone": ZONE}),
        ("interval", "3600000", {"kind": "every", "interval": "PT1H", "from": "end"}),
        ("interval", 3600000, {"kind": "every", "interval": "PT1H", "from": "end"}),
        ("once", "2026-03-02T15:30:00", {"kind": "once", "at": "2026-03-02T15:30:00", "zone": ZONE}),
    ],
)
async def test_schedule_types_are_converted(kind: str, value: Any, schedule: dict[str, Any]) -> None:
    async with tools_for() as (_harness, tools):
        made = await tools("schedule_task", prompt="look", schedule_type=kind, schedule_value=value)
        assert schedule.items() <= made["task"]["when"].items()
        assert made["task"]["target"] == {"kind": "event", "say": "look"}


async def test_context_mode_is_stored_in_the_payload() -> None:
    async with tools_for() as (_harness, tools):
        arguments = {"prompt": "look", "schedule_type": "cron", "schedule_value": "0 9 * * *"}
        made = await tools("schedule_task", **arguments, context_mode="group")
        assert made["task"]["payload"] == {"context_mode": "group"}
        assert await tools.refused("schedule_task", **arguments, context_mode="all") == "bad_do"


async def test_script_is_the_gate_of_the_task() -> None:
    async with tools_for(ADMIN) as (harness, tools):
        arguments = {"prompt": "look", "schedule_type": "cron", "schedule_value": "0 9 * * *", "zone": ZONE}
        made = await tools("schedule_task", **arguments, script="check-mail | tail -1")
        (facts,) = (await harness.tasks.page(ADMIN)).items
        gate = facts.task.policies.gate
        assert gate is not None
        assert (gate.kind, gate.timeout, gate.state) == ("command", timedelta(seconds=30), False)
        assert json.loads(gate.spec)["argv"] == ["bash", "-c", "check-mail | tail -1"]
        changed = await tools("update_task", task_id=made["task"]["id"], script="")
        assert changed["task"]["policies"].get("gate") is None


async def test_script_of_an_agent_waits_for_approval() -> None:
    async with tools_for(AGENT) as (_harness, tools):
        arguments = {"prompt": "look", "schedule_type": "cron", "schedule_value": "0 9 * * *"}
        assert (await tools("schedule_task", **arguments))["task"]["state"] == "active"
        assert (await tools("schedule_task", **arguments, script="ls"))["task"]["state"] == "paused"


async def test_task_id_is_accepted_in_place_of_id() -> None:
    async with tools_for() as (_harness, tools):
        arguments = {"prompt": "look", "schedule_type": "cron", "schedule_value": "0 9 * * *"}
        task_id = (await tools("schedule_task", **arguments))["task"]["id"]
        assert (await tools("pause_task", task_id=task_id))["task"]["state"] == "paused"
        assert (await tools("resume_task", task_id=task_id))["task"]["state"] == "active"
        changed = await tools("update_task", task_id=task_id, schedule_type="interval", schedule_value="7200000")
        assert changed["task"]["when"]["interval"] == "PT2H"
        other = await tools("update_task", task_id=task_id, prompt="listen")
        assert other["task"]["target"]["say"] == "listen"
        assert (await tools("cancel_task", task_id=task_id))["task"]["state"] == "cancelled"
        assert await tools.refused("get_task", id=task_id, task_id=task_id) == "two_spellings"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"schedule_type": "cron", "schedule_value": "61 * * * *"}, "out_of_range"),
        ({"schedule_type": "interval", "schedule_value": "0"}, "compat_bad_milliseconds"),
        ({"schedule_type": "weekly", "schedule_value": "1"}, "compat_unknown_choice"),
        ({"schedule_type": "cron"}, "compat_missing"),
        ({"schedule_type": "cron", "schedule_value": "0 9 * * *", "when": "every 1h"}, "two_spellings"),
        ({"schedule_type": "cron", "schedule_value": "0 9 * * *", "script": ["ls"]}, "bad_do"),
        ({"schedule_type": "cron", "schedule_value": "0 9 * * *", "script": "ls", "gate": {}}, "two_spellings"),
        ({"schedule_type": "cron", "schedule_value": "0 9 * * *", "target_group_jid": "x"}, "unknown_field"),
    ],
)
async def test_invalid_and_unsupported_arguments_are_refused(arguments: dict[str, Any], code: str) -> None:
    async with tools_for() as (harness, tools):
        assert await tools.refused("schedule_task", prompt="look", **arguments) == code
        assert not (await harness.tasks.page(PERSON)).items


async def test_quotas_apply_to_this_spelling() -> None:
    async with tools_for() as (_harness, tools):
        arguments = {"prompt": "look", "schedule_type": "interval", "schedule_value": "1000"}
        assert await tools.refused("schedule_task", **arguments) == "interval_too_short"


@pytest.mark.parametrize("who", [PERSON._replace(zone=None), ADMIN._replace(zone=None)])
async def test_local_time_without_a_zone_is_refused(who: Principal) -> None:
    async with tools_for(who) as (_harness, tools):
        arguments = {"prompt": "look", "schedule_type": "once", "schedule_value": "2026-03-02T15:30:00"}
        assert await tools.refused("schedule_task", **arguments) == "zone_needed"
        assert (await tools("schedule_task", **arguments, zone=ZONE))["zone"] == ZONE
