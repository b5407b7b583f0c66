"""NanoClaw's own words for the same tools: understood as they were meant there."""

from __future__ import annotations

from typing import Any

import pytest

from horae.model.accounts.principal import Principal
from tests.mcp.tool_client import BOSS, PERSON, ZONE, tools_for


@pytest.mark.parametrize(
    ("kind", "value", "schedule"),
    [
        ("cron", "0 9 * * 1-5", {"kind": "cron", "expression": "0 9 * * 1-5", "zone": ZONE}),
        ("interval", "3600000", {"kind": "every", "interval": "PT1H", "from": "end"}),
        ("interval", 3600000, {"kind": "every", "interval": "PT1H", "from": "end"}),
        ("once", "2026-03-02T15:30:00", {"kind": "once", "at": "2026-03-02T15:30:00", "zone": ZONE}),
    ],
)
async def test_its_schedules_mean_what_they_meant(kind: str, value: Any, schedule: dict[str, Any]) -> None:
    async with tools_for() as (_house, desk):
        made = await desk("schedule_task", prompt="look", schedule_type=kind, schedule_value=value)
        assert schedule.items() <= made["task"]["when"].items()
        assert made["task"]["target"] == {"kind": "event", "say": "look"}


async def test_how_much_of_a_conversation_it_wants_goes_with_the_prompt() -> None:
    async with tools_for() as (_house, desk):
        said = {"prompt": "look", "schedule_type": "cron", "schedule_value": "0 9 * * *"}
        made = await desk("schedule_task", **said, context_mode="group")
        assert made["task"]["payload"] == {"context_mode": "group"}
        assert await desk.refused("schedule_task", **said, context_mode="all") == "bad_do"


async def test_tasks_are_named_by_their_id_as_there() -> None:
    async with tools_for() as (_house, desk):
        said = {"prompt": "look", "schedule_type": "cron", "schedule_value": "0 9 * * *"}
        task_id = (await desk("schedule_task", **said))["task"]["id"]
        assert (await desk("pause_task", task_id=task_id))["task"]["state"] == "paused"
        assert (await desk("resume_task", task_id=task_id))["task"]["state"] == "active"
        changed = await desk("update_task", task_id=task_id, schedule_type="interval", schedule_value="7200000")
        assert changed["task"]["when"]["interval"] == "PT2H"
        other = await desk("update_task", task_id=task_id, prompt="listen")
        assert other["task"]["target"]["say"] == "listen"
        assert (await desk("cancel_task", task_id=task_id))["task"]["state"] == "cancelled"
        assert await desk.refused("get_task", id=task_id, task_id=task_id) == "two_spellings"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        ({"schedule_type": "cron", "schedule_value": "61 * * * *"}, "out_of_range"),
        ({"schedule_type": "interval", "schedule_value": "0"}, "compat_bad_milliseconds"),
        ({"schedule_type": "weekly", "schedule_value": "1"}, "compat_unknown_choice"),
        ({"schedule_type": "cron"}, "compat_missing"),
        ({"schedule_type": "cron", "schedule_value": "0 9 * * *", "when": "every 1h"}, "two_spellings"),
        ({"schedule_type": "cron", "schedule_value": "0 9 * * *", "script": "rm -rf /"}, "unknown_field"),
        ({"schedule_type": "cron", "schedule_value": "0 9 * * *", "target_group_jid": "x"}, "unknown_field"),
    ],
)
async def test_what_it_dropped_silently_is_refused_here(said: dict[str, Any], code: str) -> None:
    async with tools_for() as (house, desk):
        assert await desk.refused("schedule_task", prompt="look", **said) == code
        assert not (await house.tasks.page(PERSON)).items


async def test_the_limits_of_whoever_asks_hold_in_every_spelling() -> None:
    async with tools_for() as (_house, desk):
        said = {"prompt": "look", "schedule_type": "interval", "schedule_value": "1000"}
        assert await desk.refused("schedule_task", **said) == "interval_too_short"


@pytest.mark.parametrize("who", [PERSON._replace(zone=None), BOSS._replace(zone=None)])
async def test_its_times_are_nobodys_without_a_zone(who: Principal) -> None:
    async with tools_for(who) as (_house, desk):
        said = {"prompt": "look", "schedule_type": "once", "schedule_value": "2026-03-02T15:30:00"}
        assert await desk.refused("schedule_task", **said) == "zone_needed"
        assert (await desk("schedule_task", **said, zone=ZONE))["zone"] == ZONE
