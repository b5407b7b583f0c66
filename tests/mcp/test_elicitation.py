"""Elicitation: an ambiguous argument is elicited where the client supports it, else the refusal lists the choices."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.client.session import ClientRequestContext
from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult, ErrorData

from horae.mcp_server.server import PROBLEM
from tests.mcp.tool_client import PERSON, PROTOCOL_MODES, connect_in_memory
from tests.unit.service.service_harness import ServiceHarness


class ElicitationStub:
    """Elicitation callback that accepts the choice containing a given text, or declines."""

    def __init__(self, *expected: str, action: Any = "accept") -> None:
        self._expected = list(expected)
        self._action = action
        self.questions: list[tuple[str, list[str]]] = []

    async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        del context
        assert isinstance(params, ElicitRequestFormParams)
        choices = params.requested_schema["properties"]["choice"]["enum"]
        self.questions.append((params.message, choices))
        if self._action != "accept":
            return ElicitResult(action=self._action)
        expected = self._expected.pop(0)
        return ElicitResult(action="accept", content={"choice": next(each for each in choices if expected in each)})


@pytest.mark.parametrize("mode", PROTOCOL_MODES)
async def test_ambiguous_hour_is_elicited(mode: str) -> None:
    callback = ElicitationStub("21:00")
    async with connect_in_memory(ServiceHarness(), PERSON, mode=mode, answering=callback) as tools:
        made = await tools("schedule_task", when="every day at 9", do="x")
        assert made["next_runs"][0]["at_local"][11:16] == "21:00"
        assert callback.questions == [
            ('"9" could be morning or evening.', ["every day at 09:00", "every day at 21:00"])
        ]


@pytest.mark.parametrize("mode", PROTOCOL_MODES)
async def test_two_ambiguities_are_elicited_one_after_the_other(mode: str) -> None:
    callback = ElicitationStub("09:00", "Asia/Shanghai")
    async with connect_in_memory(ServiceHarness(), PERSON, mode=mode, answering=callback) as tools:
        made = await tools("schedule_task", when="every day at 9 CST", do="x")
        assert (made["zone"], made["next_runs"][0]["at_local"][11:16]) == ("Asia/Shanghai", "09:00")
        assert len(callback.questions) == 2


@pytest.mark.parametrize("mode", PROTOCOL_MODES)
async def test_ambiguous_task_name_is_elicited(mode: str) -> None:
    harness = ServiceHarness()
    async with connect_in_memory(harness, PERSON, mode=mode, answering=ElicitationStub("0002")) as tools:
        one = await harness.add("every 1h", PERSON, name="report")
        other = await harness.add("every 1h", PERSON, name="report")
        assert one.id != other.id
        done = await tools("cancel_task", id="report")
        assert done["task"]["id"] == other.id
        assert (await harness.tasks.get(PERSON, one.id)).status.state == "active"


@pytest.mark.parametrize("mode", PROTOCOL_MODES)
@pytest.mark.parametrize("action", ["decline", "cancel"])
async def test_declined_elicitation_is_refused_with_the_choices(action: str, mode: str) -> None:
    harness, callback = ServiceHarness(), ElicitationStub(action=action)
    async with connect_in_memory(harness, PERSON, mode=mode, answering=callback) as tools:
        result = await tools.raw("schedule_task", when="every day at 9", do="x")
        assert result.is_error
        assert (result.meta or {})[PROBLEM]["choices"] == {
            "argument": "when",
            "values": ["every day at 09:00", "every day at 21:00"],
        }
        assert callback.questions
        assert not (await harness.tasks.page(PERSON)).items


@pytest.mark.parametrize("mode", PROTOCOL_MODES)
async def test_client_without_elicitation_gets_the_choices(mode: str) -> None:
    async with connect_in_memory(ServiceHarness(), PERSON, mode=mode) as tools:
        line = await tools.line("schedule_task", when="every day at 9", do="x")
        assert line.startswith("ambiguous_hour")
        assert '"every day at 09:00", "every day at 21:00"' in line


async def test_number_of_elicitations_is_limited() -> None:
    class AmbiguousStub(ElicitationStub):
        async def __call__(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
            del context, params
            self.questions.append(("", []))
            return ElicitResult(action="accept", content={"choice": "every day at 9"})

    callback = AmbiguousStub()
    async with connect_in_memory(ServiceHarness(), PERSON, mode="legacy", answering=callback) as tools:
        assert await tools.refused("schedule_task", when="every day at 9", do="x") == "ambiguous_hour"
    assert len(callback.questions) == 2


@pytest.mark.parametrize("mode", PROTOCOL_MODES)
@pytest.mark.parametrize(
    ("when", "chosen", "local"),
    [("周五下午5点", "下", "17:00"), ("friday at 5pm", "next", "17:00"), ("明天半夜12点", "00:00", "00:00")],
)
async def test_ambiguous_day_is_elicited(mode: str, when: str, chosen: str, local: str) -> None:
    callback = ElicitationStub(chosen)
    async with connect_in_memory(ServiceHarness(), PERSON, mode=mode, answering=callback) as tools:
        made = await tools("schedule_task", when=when, do="x")
        assert made["next_runs"][0]["at_local"][11:16] == local
        assert len(callback.questions) == 1


@pytest.mark.parametrize(
    "when", ["周五下午5点", "friday at 5pm", "tomorrow at midnight", "每隔两天 9点", "明天早上", "5 minutes"]
)
async def test_preview_lists_the_choices_of_an_ambiguous_schedule(when: str) -> None:
    async with connect_in_memory(ServiceHarness(), PERSON) as tools:
        shown = await tools("preview_schedule", when=when)
        assert len(shown["choices"]) > 1
        assert all(each["means"] for each in shown["choices"])
        refused = await tools.raw("schedule_task", when=when, do="x")
        problem = (refused.meta or {})[PROBLEM]
        assert problem["choices"] == {"argument": "when", "values": [each["when"] for each in shown["choices"]]}
