"""`schedule_task` with a function: the task starts from its declaration, and names are checked against it."""

from __future__ import annotations

from tests.app.declared_functions import register_in
from tests.mcp.tool_client import PERSON, connect_in_memory
from tests.unit.service.service_harness import ServiceHarness


async def test_task_starts_from_the_declaration_of_its_function() -> None:
    await _check_scheduled()


async def _check_scheduled() -> None:
    harness = ServiceHarness()
    await register_in(harness.service)
    async with connect_in_memory(harness, PERSON) as tools:
        do = {"function": "mail", "payload": {"user": 7}}
        made = await tools("schedule_task", when="every day at 09:00", do=do)
        assert (made["zone"], made["task"]["lane"]) == ("Asia/Tokyo", "mailer")
        assert made["task"]["policies"]["guarantee"] == "at_most_once"
        assert {"zone", "lane", "policies.guarantee"} <= set(made["declared"])
        berlin = await tools("schedule_task", when="every day at 09:00", do=do, zone="Europe/Berlin", if_late="all")
        assert (berlin["zone"], berlin["task"]["policies"]["missed"]["mode"]) == ("Europe/Berlin", "all")
        assert not {"zone", "policies.missed"} & set(berlin["declared"])


async def test_unknown_function_is_warned_about_and_wrong_arguments_are_refused() -> None:
    await _check_misspelled()


async def _check_misspelled() -> None:
    harness = ServiceHarness()
    await register_in(harness.service)
    async with connect_in_memory(harness, PERSON) as tools:
        made = await tools("schedule_task", when="every day at 09:00", do={"function": "mial"})
        assert made["warnings"][0]["code"] == "function_unknown"
        assert "'mail'" in await tools.line("schedule_task", when="every day at 09:00", do={"function": "mial"})
        wrong = {"function": "mail", "payload": {"user": 7, "body": "x"}}
        assert await tools.refused("schedule_task", when="every day at 09:00", do=wrong) == "unknown_argument"
        changed = await tools("update_task", id=made["task"]["id"], do={"function": "reports"})
        assert "'report'" in changed["warnings"][0]["message"]
