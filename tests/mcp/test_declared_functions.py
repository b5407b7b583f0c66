"""`schedule_task` with a function: the task starts from its declaration, and names are checked against it."""

from __future__ import annotations

from tests.app.declared_functions import register_in
from tests.mcp.tool_client import PERSON, desk_of
from tests.unit.service.service_harness import ServiceHarness


async def test_assistant_gets_the_declaration_of_a_function() -> None:
    await _scheduled()


async def _scheduled() -> None:
    house = ServiceHarness()
    await register_in(house.service)
    async with desk_of(house, PERSON) as desk:
        do = {"function": "mail", "payload": {"user": 7}}
        made = await desk("schedule_task", when="every day at 09:00", do=do)
        assert (made["zone"], made["task"]["lane"]) == ("Asia/Tokyo", "mailer")
        assert made["task"]["policies"]["guarantee"] == "at_most_once"
        assert {"zone", "lane", "policies.guarantee"} <= set(made["declared"])
        berlin = await desk("schedule_task", when="every day at 09:00", do=do, zone="Europe/Berlin", if_late="all")
        assert (berlin["zone"], berlin["task"]["policies"]["missed"]["mode"]) == ("Europe/Berlin", "all")
        assert not {"zone", "policies.missed"} & set(berlin["declared"])


async def test_assistant_hears_of_an_unknown_function_and_of_wrong_arguments() -> None:
    await _misspelled()


async def _misspelled() -> None:
    house = ServiceHarness()
    await register_in(house.service)
    async with desk_of(house, PERSON) as desk:
        made = await desk("schedule_task", when="every day at 09:00", do={"function": "mial"})
        assert made["warnings"][0]["code"] == "function_unknown"
        assert "'mail'" in await desk.line("schedule_task", when="every day at 09:00", do={"function": "mial"})
        wrong = {"function": "mail", "payload": {"user": 7, "body": "x"}}
        assert await desk.refused("schedule_task", when="every day at 09:00", do=wrong) == "unknown_argument"
        changed = await desk("update_task", id=made["task"]["id"], do={"function": "reports"})
        assert "'report'" in changed["warnings"][0]["message"]
