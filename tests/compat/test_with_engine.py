"""Both surfaces with a real engine behind them: the orchestrator is really called, and those who listen really hear."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import aiohttp
from aiohttp import web

from horae import Horae
from horae.api.app import make_app
from horae.model.accounts.principal import Role
from horae.web.request_context import WebSettings

from .compat_server import Client, served, users
from .test_scheduled_tasks import ONCE

LONGEST_WAIT: Final = 30
"""Only a test that fails ever waits so long."""


class Orchestrator:
    """What it is asked, and what it is told to answer."""

    def __init__(self) -> None:
        self.asked: asyncio.Queue[tuple[dict[str, str], Any]] = asyncio.Queue()
        self.answers: asyncio.Queue[tuple[int, str]] = asyncio.Queue()

    async def dispatch(self, request: web.Request) -> web.Response:
        self.asked.put_nowait((dict(request.headers), await request.json()))
        status, text = await self.answers.get()
        return web.Response(status=status, text=text, content_type="application/json")

    @asynccontextmanager
    async def standing(self) -> AsyncIterator[str]:
        app = web.Application()
        app.router.add_post("/dispatch/execute", self.dispatch)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        host, port = runner.addresses[0][:2]
        yield f"http://{host}:{port}/"
        await runner.cleanup()


class Scene(NamedTuple):
    horae: Horae
    ada: Client
    orchestrator: Orchestrator
    failed: asyncio.Queue[Any]

    async def ended(self, task_id: str) -> None:
        await self.horae.wait_for(task_id, LONGEST_WAIT)


@asynccontextmanager
async def orchestrated(tmp_path: Path) -> AsyncIterator[Scene]:
    orchestrator = Orchestrator()
    failed: asyncio.Queue[Any] = asyncio.Queue()
    horae = Horae(f"sqlite:///{tmp_path / 'horae.db'}", targets={"http": {"allow_networks": ["127.0.0.0/8"]}})
    horae.on("run.failed")(failed.put_nowait)
    async with asyncio.timeout(LONGEST_WAIT), orchestrator.standing() as url, horae:
        tokens = await users(horae.service, ada=Role.MEMBER)
        app = make_app(horae.service, horae.clock, WebSettings(orchestrator=url))
        async with served(app) as base, aiohttp.ClientSession() as session:
            yield Scene(horae, Client(session, base, tokens["ada"]), orchestrator, failed)


async def test_the_orchestrator_is_called_as_the_document_says(tmp_path: Path) -> None:
    async with orchestrated(tmp_path) as here:
        task = (await here.ada.post("/scheduled-tasks", ONCE)).body
        headers, body = await here.orchestrator.asked.get()
        assert body == {
            "text": "hello",
            "context": {"user_id": "ada", "scheduled_task_id": task["id"]},
            "default_agent": "attendance",
            "mode": "hybrid",
        }
        path = f"/scheduled-tasks/{task['id']}"
        going = (await here.ada.get(path)).body
        assert going["locked_by"]
        assert going["locked_until"] > going["last_run_at"]
        here.orchestrator.answers.put_nowait((200, '{"reply": "hi"}'))
        await here.ended(task["id"])
        done = (await here.ada.get(path)).body
        assert (done["enabled"], done["next_run_at"], done["locked_by"]) == (False, None, None)
        (run,) = (await here.ada.get(f"{path}/runs")).body
        assert (run["status"], run["error"]) == ("success", None)
        assert run["result"] == {"reply": "hi"}
        assert headers["x-trace-id"] == run["trace_id"]


async def test_an_answer_of_nothing_is_a_failure_and_is_tried_again(tmp_path: Path) -> None:
    async with orchestrated(tmp_path) as here:
        task = (await here.ada.post("/scheduled-tasks", ONCE)).body
        here.orchestrator.answers.put_nowait((200, "{}"))
        path = f"/scheduled-tasks/{task['id']}"
        assert (await here.failed.get()).task_id == task["id"]
        shown = (await here.ada.get(path)).body
        assert (shown["enabled"], shown["next_run_at"] is None) == (True, False)
        (run,) = (await here.ada.get(f"{path}/runs")).body
        assert "nothing that can be used" in run["error"]


async def test_those_who_listen_hear_of_a_schedule_with_the_fields_of_the_document(tmp_path: Path) -> None:
    async with orchestrated(tmp_path) as here:
        heard: asyncio.Queue[Any] = asyncio.Queue()
        here.horae.on("task.triggered")(lambda told: heard.put_nowait(told.data))
        body = {
            "title": "stand up",
            "scheduledTime": "2026-03-01T12:00:00Z",
            "payload": {"text": "now"},
            "sourceModule": "reminder",
            "sourceEntityId": "tpl-1",
            "alertConfig": {"methods": ["POPUP"]},
        }
        answer = await here.ada.post("/schedules", body)
        task = answer.task
        told = await heard.get()
        assert told["taskUuid"] == task["uuid"]
        assert (told["sourceType"], told["sourceId"], told["accountUuid"]) == ("reminder", "tpl-1", "ada")
        assert told["payload"]["text"] == "now"
        assert told["eventId"]
        assert told["occurredOn"]
        await here.ended(task["uuid"])
        again = (await here.ada.get(f"/schedules/{task['uuid']}")).task
        assert (again["status"], again["executionCount"], again["failureCount"]) == ("COMPLETED", 1, 0)
        health = (await here.ada.get("/api/health/scheduler")).body
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
