"""Harness of request tests: the service on SQLite, two groups and a main one, and requests by file."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

from horae.agents.requests.inbox import Request, RequestBox
from horae.agents.requests.request_host import RequestHost
from horae.agents.workspace import Workspace
from horae.encryption import Key
from horae.model.accounts.principal import LOCAL, Principal
from horae.model.agents.delivery import PENDING_KIND, Delivery, delivery_from
from horae.model.change import Facts
from horae.model.task import Target
from horae.ports.full_store import FullStore
from horae.runtime.stores import make_store
from horae.service.accounts.secrets import SecretVault
from horae.service.service import Service
from horae.service.tasks.task_request import TaskRequest
from horae.testing.factories import NOON
from horae.virtual_time import VirtualClock

ZONE = "Asia/Shanghai"
FAMILY, WORK, MAIN = "family", "work", "control"
CHATS = {FAMILY: "telegram:-100", WORK: "telegram:-200", MAIN: "telegram:1"}


async def mask(folder: str, text: str) -> str:
    """Mask the secret of an agent."""
    return text.replace(f"secret of {folder}", "•••")


class RequestHarness:
    def __init__(self, store: FullStore, root: Path) -> None:
        self.store = store
        self.clock = VirtualClock(NOON)
        self.service = Service(
            store,
            self.clock,
            "Europe/Berlin",
            SecretVault(store, Key.random(), self.clock),
        )
        self.workspace = Workspace(root)
        self.host = RequestHost(self.service, self.clock, self.workspace, mask=mask)
        self.executor = self.host.executor
        self._numbers = count(1)

    async def add_groups(self) -> None:
        await self.service.groups.add(LOCAL, FAMILY, CHATS[FAMILY], zone=ZONE)
        await self.service.groups.add(LOCAL, WORK, CHATS[WORK], zone="America/New_York")
        await self.service.groups.add(LOCAL, MAIN, CHATS[MAIN], is_main=True, zone="UTC")

    def request(self, folder: str, name: str | None = None, /, **document: Any) -> Request:
        return Request(folder, RequestBox.TASKS, name or f"{next(self._numbers):05d}-a.json", document)

    async def ask(self, folder: str, name: str | None = None, /, **document: Any) -> dict[str, Any]:
        """Carry out a request and return its answer, as JSON."""
        answer = await self.executor.execute(self.request(folder, name, **document))
        return dict(json.loads(json.dumps(answer)))

    async def accepted(self, folder: str, /, **document: Any) -> dict[str, Any]:
        answer = await self.ask(folder, **document)
        assert answer["status"] == "accepted", answer
        return answer

    async def code(self, folder: str, /, **document: Any) -> str:
        answer = await self.ask(folder, **document)
        assert answer["status"] == "refused", answer
        assert answer["message"]
        assert answer["hint"]
        return str(answer["code"])

    async def schedule(self, folder: str = FAMILY, /, **document: Any) -> dict[str, Any]:
        fields = {"prompt": "weather", "schedule_type": "cron", "schedule_value": "0 9 * * *", **document}
        answer = await self.accepted(folder, type="schedule_task", **fields)
        return dict(answer["task"])

    async def facts(self, task_id: str) -> Facts:
        return await self.service.tasks.get(LOCAL, task_id)

    async def add_persons_task(self, folder: str = FAMILY, *, prompts: bool = True, **fields: Any) -> str:
        """Add a task that a person made for a group."""
        target = (
            Target("agent", json.dumps({"group": folder, "context_mode": "group"}))
            if prompts
            else Target("function", '{"name":"report"}')
        )
        request = TaskRequest("made by a person", "every 1h", target, '{"prompt":"hello"}', zone="UTC")
        task = await self.service.tasks.create(Principal(f"group:{folder}"), request._replace(**fields))
        return task.id

    # --- files -------------------------------------------------------------------------------------------------------

    def box(self, folder: str, box: str = "tasks") -> Path:
        path = self.workspace.group_ipc(folder) / box
        path.mkdir(parents=True, exist_ok=True)
        return path

    def put(self, folder: str, name: str, /, **document: Any) -> Path:
        """Write a request file as a container does."""
        path = self.box(folder, "messages" if document.get("type") == "message" else "tasks") / name
        path.write_text(json.dumps(document), encoding="utf-8")
        return path

    async def look(self) -> None:
        """Serve the files until none is left."""
        while await self.host.watcher.look():
            pass

    def answer(self, folder: str, name: str) -> dict[str, Any]:
        return dict(json.loads((self.box(folder, "answers") / name).read_text(encoding="utf-8")))

    def snapshot(self, folder: str, name: str = "current_tasks.json") -> Any:
        return json.loads((self.workspace.group_ipc(folder) / name).read_text(encoding="utf-8"))

    # --- what is stored ----------------------------------------------------------------------------------------------

    async def deliveries(self) -> list[Delivery]:
        return [delivery_from(each) for each in (await self.store.records(PENDING_KIND)).items]

    async def texts(self, folder: str) -> list[str]:
        page = await self.store.read_messages(f"group:{folder}", f"chat:{CHATS[folder]}")
        return [] if page is None else [each.message.text for each in page.messages]


@asynccontextmanager
async def open_store(directory: Path) -> AsyncIterator[FullStore]:
    store = make_store(f"sqlite:///{directory}/horae.db")
    await store.open()
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def open_requests(directory: Path) -> AsyncIterator[RequestHarness]:
    async with open_store(directory) as store:
        harness = RequestHarness(store, directory / "agents")
        await harness.add_groups()
        yield harness
