"""`/api/health/scheduler`, as the document shows it: whether it runs, and what it has ahead."""

from __future__ import annotations

from typing import Any, Final

from horae.lifecycle.fire import fire
from horae.lifecycle.start import ClaimContext
from horae.model.accounts.principal import Principal
from horae.model.change import Change, Facts
from horae.model.entry import Entry
from horae.model.task import Target
from horae.ports.store import DEFAULT_TERMS
from horae.service.tasks.task_request import TaskRequest
from horae.testing.factories import NODE
from tests.compat.compat_server import stage

from .compat_server import Stage
from .test_schedules import made

PATH: Final = "/api/health/scheduler"
UNTOLD: Final = {"activeTasks": None, "waitingForNode": None, "waitingForLane": None}


async def test_without_a_token_it_says_only_whether_it_runs() -> None:
    async with stage() as here:
        await made(here)
        nothing: dict[str, Any] = {"queueSize": None, "nextExecution": None, "tasksInQueue": [], **UNTOLD}
        answer = await here.nobody.get(PATH)
        assert answer.status == 200
        assert answer.body == {"healthy": False, "scheduler": {"isRunning": False, **nothing}}
        await here.node()
        assert (await here.nobody.get(PATH)).body == {
            "healthy": True,
            "scheduler": {"isRunning": True, **nothing},
        }
        here.later(seconds=16)
        assert (await here.nobody.get(PATH)).body["healthy"] is False


async def test_with_a_token_it_tells_of_ones_own_queue() -> None:
    async with stage() as here:
        await here.node()
        late = await made(here, scheduledTime="2026-03-01T13:00:00Z")
        soon = await made(here)
        await made(here, enabled=False)
        assert (await here.ada.get(PATH)).body == {
            "healthy": True,
            "scheduler": {
                "isRunning": True,
                "queueSize": 2,
                "nextExecution": "2026-03-01T12:05:00.000Z",
                "tasksInQueue": [soon["uuid"], late["uuid"]],
                "activeTasks": 2,
                "waitingForNode": 0,
                "waitingForLane": 0,
            },
        }
        assert (await here.bob.get(PATH)).body["scheduler"] == {
            "isRunning": True,
            "queueSize": 0,
            "nextExecution": None,
            "tasksInQueue": [],
            "activeTasks": 0,
            "waitingForNode": 0,
            "waitingForLane": 0,
        }
        # The operator sees the whole of it.
        assert (await here.root.get(PATH)).body["scheduler"]["queueSize"] == 2


async def test_the_list_is_cut_and_the_number_is_not() -> None:
    async with stage() as here:
        for number in range(103):
            answer = await here.root.post(
                "/schedules", {"title": f"n {number}", "scheduledTime": "2026-03-02T01:00:00Z"}
            )
            assert answer.status == 201
        told = (await here.root.get(PATH)).body["scheduler"]
        assert told["queueSize"] == 103
        assert len(told["tasksInQueue"]) == 100


async def test_a_wrong_token_is_not_taken_for_none() -> None:
    async with stage() as here:
        answer = await here.nobody.get(PATH, Authorization="Bearer horae_wrong")
        assert answer.status == 401


async def test_to_an_agent_it_says_only_whether_it_runs() -> None:
    async with stage() as here:
        await here.node()
        await made(here)
        answer = await (await here.agent_of("ada")).get(PATH)
        assert (answer.status, answer.body["healthy"]) == (200, True)
        assert answer.body["scheduler"]["tasksInQueue"] == []


async def _entries_without_a_node(here: Stage) -> None:
    await here.node()
    for number in range(2):
        wish = TaskRequest(f"report {number}", "now", Target("function", '{"name": "jobs.report"}'))
        await here.service.tasks.create(Principal("ada"), wish)
    listed = await made(here, scheduledTime="2026-03-01T13:00:00Z")
    claimant = ClaimContext(NODE, here.clock.now(), DEFAULT_TERMS.poll_ceiling, frozenset())

    def decide(facts: Facts, entry: Entry, token: int) -> Change:
        return fire(facts, entry, token, claimant)

    await here.service.store.claim_due(claimant.now, NODE, 10, decide)
    told = (await here.ada.get(PATH)).body["scheduler"]
    assert (told["queueSize"], told["tasksInQueue"]) == (1, [listed["uuid"]])
    assert (told["activeTasks"], told["waitingForNode"], told["waitingForLane"]) == (3, 2, 0)


async def test_what_no_node_can_run_is_counted_beside_the_queue() -> None:
    async with stage() as here:
        await _entries_without_a_node(here)


async def _entries_without_a_seat(here: Stage) -> None:
    await here.service.lanes.limit(Principal("ada"), "printer", 1)
    for number in range(3):
        wish = TaskRequest(f"print {number}", "now", Target("event", "{}"), lane="printer")
        await here.service.tasks.create(Principal("ada"), wish)
    await here.claim()
    told = (await here.ada.get(PATH)).body["scheduler"]
    assert told["queueSize"] == len(told["tasksInQueue"]) == 0
    assert (told["activeTasks"], told["waitingForLane"]) == (3, 2)


async def test_what_waits_for_its_lane_is_counted_beside_the_queue() -> None:
    async with stage() as here:
        await _entries_without_a_seat(here)
