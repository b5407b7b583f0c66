"""`/api/health/scheduler` as its document shows it: whether a node is live, and the caller's queue."""

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
from tests.compat.compat_server import CompatServer, serve_compat
from tests.compat.example_requests import create_schedule

PATH: Final = "/api/health/scheduler"
HIDDEN_COUNTS: Final = {"activeTasks": None, "waitingForNode": None, "waitingForLane": None}


async def test_without_a_token_only_liveness_is_shown() -> None:
    async with serve_compat() as server:
        await create_schedule(server)
        nothing: dict[str, Any] = {"queueSize": None, "nextExecution": None, "tasksInQueue": [], **HIDDEN_COUNTS}
        answer = await server.anonymous.get(PATH)
        assert answer.status == 200
        assert answer.body == {"healthy": False, "scheduler": {"isRunning": False, **nothing}}
        await server.join_node()
        assert (await server.anonymous.get(PATH)).body == {
            "healthy": True,
            "scheduler": {"isRunning": True, **nothing},
        }
        server.advance(seconds=16)
        assert (await server.anonymous.get(PATH)).body["healthy"] is False


async def test_with_a_token_the_queue_of_the_caller_is_shown() -> None:
    async with serve_compat() as server:
        await server.join_node()
        late = await create_schedule(server, scheduledTime="2026-03-01T13:00:00Z")
        soon = await create_schedule(server)
        await create_schedule(server, enabled=False)
        assert (await server.ada.get(PATH)).body == {
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
        assert (await server.bob.get(PATH)).body["scheduler"] == {
            "isRunning": True,
            "queueSize": 0,
            "nextExecution": None,
            "tasksInQueue": [],
            "activeTasks": 0,
            "waitingForNode": 0,
            "waitingForLane": 0,
        }
        # An admin sees the queues of all owners.
        assert (await server.root.get(PATH)).body["scheduler"]["queueSize"] == 2


async def test_task_list_is_limited_and_the_queue_size_is_not() -> None:
    async with serve_compat() as server:
        for number in range(103):
            answer = await server.root.post(
                "/schedules", {"title": f"n {number}", "scheduledTime": "2026-03-02T01:00:00Z"}
            )
            assert answer.status == 201
        scheduler = (await server.root.get(PATH)).body["scheduler"]
        assert scheduler["queueSize"] == 103
        assert len(scheduler["tasksInQueue"]) == 100


async def test_wrong_token_is_refused() -> None:
    async with serve_compat() as server:
        answer = await server.anonymous.get(PATH, Authorization="Bearer horae_wrong")
        assert answer.status == 401


async def test_agent_sees_only_liveness() -> None:
    async with serve_compat() as server:
        await server.join_node()
        await create_schedule(server)
        answer = await (await server.create_agent_client("ada")).get(PATH)
        assert (answer.status, answer.body["healthy"]) == (200, True)
        assert answer.body["scheduler"]["tasksInQueue"] == []


async def _check_entries_without_a_node(server: CompatServer) -> None:
    await server.join_node()
    for number in range(2):
        task_request = TaskRequest(f"report {number}", "now", Target("function", '{"name": "jobs.report"}'))
        await server.service.tasks.create(Principal("ada"), task_request)
    listed = await create_schedule(server, scheduledTime="2026-03-01T13:00:00Z")
    claimant = ClaimContext(NODE, server.clock.now(), DEFAULT_TERMS.poll_ceiling, frozenset())

    def decide(facts: Facts, entry: Entry, token: int) -> Change:
        return fire(facts, entry, token, claimant)

    await server.service.store.claim_due(claimant.now, NODE, 10, decide)
    scheduler = (await server.ada.get(PATH)).body["scheduler"]
    assert (scheduler["queueSize"], scheduler["tasksInQueue"]) == (1, [listed["uuid"]])
    assert (scheduler["activeTasks"], scheduler["waitingForNode"], scheduler["waitingForLane"]) == (3, 2, 0)


async def test_entries_without_a_matching_node_are_counted_separately() -> None:
    async with serve_compat() as server:
        await _check_entries_without_a_node(server)


async def _check_entries_waiting_for_a_lane(server: CompatServer) -> None:
    await server.service.lanes.limit(Principal("ada"), "printer", 1)
    for number in range(3):
        task_request = TaskRequest(f"print {number}", "now", Target("event", "{}"), lane="printer")
        await server.service.tasks.create(Principal("ada"), task_request)
    await server.claim()
    scheduler = (await server.ada.get(PATH)).body["scheduler"]
    assert scheduler["queueSize"] == len(scheduler["tasksInQueue"]) == 0
    assert (scheduler["activeTasks"], scheduler["waitingForLane"]) == (3, 2)


async def test_entries_waiting_for_a_lane_are_counted_separately() -> None:
    async with serve_compat() as server:
        await _check_entries_waiting_for_a_lane(server)
