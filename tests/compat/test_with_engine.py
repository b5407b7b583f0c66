"""The compatible routes with a real engine: the orchestrator is called, and event handlers get the events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import aiohttp

from horae import Horae
from horae.api.app import make_app
from horae.model.accounts.principal import Role
from horae.web.request_context import WebSettings
from tests.compat.compat_server import Client, create_accounts, serve
from tests.compat.example_requests import ONCE
from tests.compat.orchestrator import Orchestrator

TIMEOUT_SECONDS: Final = 30
"""Upper bound for a failing test; a passing one never waits this long."""


class EngineServer(NamedTuple):
    horae: Horae
    ada: Client
    orchestrator: Orchestrator
    failed: asyncio.Queue[Any]

    async def wait_for_end(self, task_id: str) -> None:
        await self.horae.wait_for(task_id, TIMEOUT_SECONDS)


@asynccontextmanager
async def serve_with_engine(tmp_path: Path) -> AsyncIterator[EngineServer]:
    orchestrator = Orchestrator()
    failed: asyncio.Queue[Any] = asyncio.Queue()
    horae = Horae(f"sqlite:///{tmp_path / 'horae.db'}", targets={"http": {"allow_networks": ["127.0.0.0/8"]}})
    horae.on("run.failed")(failed.put_nowait)
    async with asyncio.timeout(TIMEOUT_SECONDS), orchestrator.serve() as url, horae:
        tokens = await create_accounts(horae.service, ada=Role.MEMBER)
        app = make_app(horae.service, horae.clock, WebSettings(orchestrator=url))
        async with serve(app) as base, aiohttp.ClientSession() as session:
            yield EngineServer(horae, Client(session, base, tokens["ada"]), orchestrator, failed)


async def test_orchestrator_gets_the_documented_request(tmp_path: Path) -> None:
    async with serve_with_engine(tmp_path) as server:
        task = (await server.ada.post("/scheduled-tasks", ONCE)).body
        headers, body = await server.orchestrator.requests.get()
        assert body == {
            "text": "hello",
            "context": {"user_id": "ada", "scheduled_task_id": task["id"]},
            "default_agent": "attendance",
            "mode": "hybrid",
        }
        path = f"/scheduled-tasks/{task['id']}"
        going = (await server.ada.get(path)).body
        assert going["locked_by"]
        assert going["locked_until"] > going["last_run_at"]
        server.orchestrator.answers.put_nowait((200, '{"reply": "hi"}'))
        await server.wait_for_end(task["id"])
        done = (await server.ada.get(path)).body
        assert (done["enabled"], done["next_run_at"], done["locked_by"]) == (False, None, None)
        (run,) = (await server.ada.get(f"{path}/runs")).body
        assert (run["status"], run["error"]) == ("success", None)
        assert run["result"] == {"reply": "hi"}
        assert headers["x-trace-id"] == run["trace_id"]


async def test_empty_orchestrator_response_fails_the_run_and_is_retried(tmp_path: Path) -> None:
    async with serve_with_engine(tmp_path) as server:
        task = (await server.ada.post("/scheduled-tasks", ONCE)).body
        server.orchestrator.answers.put_nowait((200, "{}"))
        path = f"/scheduled-tasks/{task['id']}"
        assert (await server.failed.get()).task_id == task["id"]
        shown = (await server.ada.get(path)).body
        assert (shown["enabled"], shown["next_run_at"] is None) == (True, False)
        (run,) = (await server.ada.get(f"{path}/runs")).body
        assert "nothing that can be used" in run["error"]


async def test_event_of_a_schedule_has_the_documented_fields(tmp_path: Path) -> None:
    async with serve_with_engine(tmp_path) as server:
        received: asyncio.Queue[Any] = asyncio.Queue()
        server.horae.on("task.triggered")(lambda event: received.put_nowait(event.data))
        body = {
            "title": "stand up",
            "scheduledTime": "2026-03-01T12:00:00Z",
            "payload": {"text": "now"},
            "sourceModule": "reminder",
            "sourceEntityId": "tpl-1",
            "alertConfig": {"methods": ["POPUP"]},
        }
        answer = await server.ada.post("/schedules", body)
        task = answer.task
        event = await received.get()
        assert event["taskUuid"] == task["uuid"]
        assert (event["sourceType"], event["sourceId"], event["accountUuid"]) == ("reminder", "tpl-1", "ada")
        assert event["payload"]["text"] == "now"
        assert event["eventId"]
        assert event["occurredOn"]
        await server.wait_for_end(task["uuid"])
        again = (await server.ada.get(f"/schedules/{task['uuid']}")).task
        assert (again["status"], again["executionCount"], again["failureCount"]) == ("COMPLETED", 1, 0)
        health = (await server.ada.get("/api/health/scheduler")).body
        assert health == {
            "healthy": True,
            "scheduler": {
                "isRunning": True,
                "queueSize": 0,
                "nextExecution": None,
                "tasksInQueue": [],
                "activeTasks": 0,
                "waitingForNode": 0,
                "waitingForLane": 0,
            },
        }
