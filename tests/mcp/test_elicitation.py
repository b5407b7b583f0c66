"""What can be meant in several ways: the person is asked where the client can ask, else the refusal lists the choices."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.client.session import ClientRequestContext
from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult, ErrorData

from horae.mcp_server.server import PROBLEM
from tests.mcp.tool_client import ERAS, PERSON, desk_of
from tests.unit.service.service_harness import ServiceHarness


class Answering:
    """A person who takes the choice with this in it, or says nothing."""

    def __init__(self, *wanted: str, action: Any = "accept") -> None:
        self._wanted = list(wanted)
        self._action = action
        self.asked: list[tuple[str, list[str]]] = []

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        del context
        assert isinstance(params, ElicitRequestFormParams)
        choices = params.requested_schema["properties"]["choice"]["enum"]
        self.asked.append((params.message, choices))
        if self._action != "accept":
            return ElicitResult(action=self._action)
        wanted = self._wanted.pop(0)
        return ElicitResult(action="accept", content={"choice": next(each for each in choices if wanted in each)})


@pytest.mark.parametrize("mode", ERAS)
async def test_the_person_says_which_hour_was_meant(mode: str) -> None:
    person = Answering("21:00")
    async with desk_of(ServiceHarness(), PERSON, mode=mode, answering=person) as desk:
        made = await desk("schedule_task", when="every day at 9", do="x")
        assert made["next_runs"][0]["at_local"][11:16] == "21:00"
        assert person.asked == [('"9" could be morning or evening.', ["every day at 09:00", "every day at 21:00"])]


@pytest.mark.parametrize("mode", ERAS)
async def test_two_things_that_are_unclear_are_asked_one_after_the_other(mode: str) -> None:
    person = Answering("09:00", "Asia/Shanghai")
    async with desk_of(ServiceHarness(), PERSON, mode=mode, answering=person) as desk:
        made = await desk("schedule_task", when="every day at 9 CST", do="x")
        assert (made["zone"], made["next_runs"][0]["at_local"][11:16]) == ("Asia/Shanghai", "09:00")
        assert len(person.asked) == 2


@pytest.mark.parametrize("mode", ERAS)
async def test_the_person_says_which_task_was_meant(mode: str) -> None:
    house = ServiceHarness()
    async with desk_of(house, PERSON, mode=mode, answering=Answering("0002")) as desk:
        one = await house.add("every 1h", PERSON, name="report")
        other = await house.add("every 1h", PERSON, name="report")
        assert one.id != other.id
        done = await desk("cancel_task", id="report")
        assert done["task"]["id"] == other.id
        assert (await house.tasks.get(PERSON, one.id)).status.state == "active"


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_who_does_not_answer_gets_the_choices(action: str, mode: str) -> None:
    house, person = ServiceHarness(), Answering(action=action)
    async with desk_of(house, PERSON, mode=mode, answering=person) as desk:
        result = await desk.raw("schedule_task", when="every day at 9", do="x")
        assert result.is_error
        assert (result.meta or {})[PROBLEM]["choices"] == {
            "argument": "when",
            "values": ["every day at 09:00", "every day at 21:00"],
        }
        assert person.asked
        assert not (await house.tasks.page(PERSON)).items


@pytest.mark.parametrize("mode", ERAS)
async def test_a_client_that_cannot_ask_reads_the_choices(mode: str) -> None:
    async with desk_of(ServiceHarness(), PERSON, mode=mode) as desk:
        line = await desk.line("schedule_task", when="every day at 9", do="x")
        assert line.startswith("ambiguous_hour")
        assert '"every day at 09:00", "every day at 21:00"' in line


async def test_a_person_who_keeps_being_unclear_is_not_asked_for_ever() -> None:
    class Stubborn(Answering):
        async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
            del context, params
            self.asked.append(("", []))
            return ElicitResult(action="accept", content={"choice": "every day at 9"})

    person = Stubborn()
    async with desk_of(ServiceHarness(), PERSON, mode="legacy", answering=person) as desk:
        assert await desk.refused("schedule_task", when="every day at 9", do="x") == "ambiguous_hour"
    assert len(person.asked) == 2


@pytest.mark.parametrize("mode", ERAS)
@pytest.mark.parametrize(
    ("when", "chosen", "local"),
    [("周五下午5点", "下", "17:00"), ("friday at 5pm", "next", "17:00"), ("明天半夜12点", "00:00", "00:00")],
)
async def test_person_says_which_day_was_meant(mode: str, when: str, chosen: str, local: str) -> None:
    person = Answering(chosen)
    async with desk_of(ServiceHarness(), PERSON, mode=mode, answering=person) as desk:
        made = await desk("schedule_task", when=when, do="x")
        assert made["next_runs"][0]["at_local"][11:16] == local
        assert len(person.asked) == 1


@pytest.mark.parametrize(
    "when", ["周五下午5点", "friday at 5pm", "tomorrow at midnight", "每隔两天 9点", "明天早上", "5 minutes"]
)
async def test_preview_lists_choices_that_have_a_meaning(when: str) -> None:
    async with desk_of(ServiceHarness(), PERSON) as desk:
        shown = await desk("preview_schedule", when=when)
        assert len(shown["choices"]) > 1
        assert all(each["means"] for each in shown["choices"])
        refused = await desk.raw("schedule_task", when=when, do="x")
        problem = (refused.meta or {})[PROBLEM]
        assert problem["choices"] == {"argument": "when", "values": [each["when"] for each in shown["choices"]]}
