"""`/api/health/scheduler`, as the document shows it: whether it runs, and what it has ahead."""

from __future__ import annotations

from typing import Any, Final

from .stage import Stage, played
from .test_schedules import made

PATH: Final = "/api/health/scheduler"


def test_without_a_token_it_says_only_whether_it_runs() -> None:
    async def scene(here: Stage) -> None:
        await made(here)
        nothing: dict[str, Any] = {"queueSize": None, "nextExecution": None, "tasksInQueue": []}
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

    played(scene)


def test_with_a_token_it_tells_of_ones_own_queue() -> None:
    async def scene(here: Stage) -> None:
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
            },
        }
        assert (await here.bob.get(PATH)).body["scheduler"] == {
            "isRunning": True,
            "queueSize": 0,
            "nextExecution": None,
            "tasksInQueue": [],
        }
        # The operator sees the whole of it.
        assert (await here.root.get(PATH)).body["scheduler"]["queueSize"] == 2

    played(scene)


def test_the_list_is_cut_and_the_number_is_not() -> None:
    async def scene(here: Stage) -> None:
        for number in range(103):
            answer = await here.root.post(
                "/schedules", {"title": f"n {number}", "scheduledTime": "2026-03-02T01:00:00Z"}
            )
            assert answer.status == 201
        told = (await here.root.get(PATH)).body["scheduler"]
        assert told["queueSize"] == 103
        assert len(told["tasksInQueue"]) == 100

    played(scene)


def test_a_wrong_token_is_not_taken_for_none() -> None:
    async def scene(here: Stage) -> None:
        answer = await here.nobody.get(PATH, Authorization="Bearer horae_wrong")
        assert answer.status == 401

    played(scene)


def test_to_an_agent_it_says_only_whether_it_runs() -> None:
    async def scene(here: Stage) -> None:
        await here.node()
        await made(here)
        answer = await (await here.agent_of("ada")).get(PATH)
        assert (answer.status, answer.body["healthy"]) == (200, True)
        assert answer.body["scheduler"]["tasksInQueue"] == []

    played(scene)
