"""The console over a store, asked without a network: an ASGI request with the cookie of a session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from horae.api.app import make_app
from horae.clock import SystemClock
from horae.console.app import _PAGES
from horae.console.request import SESSION_COOKIE
from horae.model.accounts.principal import LOCAL, Role
from horae.ports.store import RunFilter, TaskFilter
from horae.runtime.api_service import CONSOLE_PATH, mount_console
from horae.runtime.service_factory import make_service
from horae.runtime.stores import make_store
from horae.runtime.target_kinds import TargetKinds
from horae.service.service import Service
from horae.settings import read_settings
from horae.web.application import Application
from horae.web.request_context import WebSettings

_STREAM: Final = "/events"
_QUERIES: Final = {"/palette": "q=quarterly", "/tasks/bulk": "action=pause&all=1&q=quarterly"}
"""Queries without which a route does nothing."""


class Answer(NamedTuple):
    status: int
    type: str
    body: bytes


class LocalConsole(NamedTuple):
    app: Application
    service: Service

    async def sign_in(self, owner: str | None = None) -> str:
        """Return the cookie of a session of this owner; None: of the admin."""
        if owner is not None:
            quotas = {"active_tasks": None, "runs_per_day": None}
            await self.service.accounts.put(LOCAL, owner, role=Role.MEMBER, quotas=quotas)
        _, token = await self.service.tokens.make(LOCAL, owner=owner or LOCAL.owner, name="bench")
        return (await self.service.sessions.open_with_token(token, client="bench")).cookie

    async def ask(self, path: str, cookie: str) -> Answer:
        """Send one GET request to the application."""
        route, _, query = path.partition("?")
        scope: dict[str, Any] = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
            "path": CONSOLE_PATH + route, "raw_path": (CONSOLE_PATH + route).encode(), "query_string": query.encode(),
            "root_path": "", "headers": [(b"host", b"bench"), (b"cookie", f"{SESSION_COOKIE}={cookie}".encode())],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        }  # fmt: skip
        head: MutableMapping[str, Any] = {}
        body = bytearray()

        messages = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive() -> dict[str, Any]:
            # A response that streams waits here for the end of the connection, which does not come.
            return messages.pop() if messages else await asyncio.get_running_loop().create_future()

        async def send(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                head.update(message)
            body.extend(message.get("body", b""))

        await self.app(scope, receive, send)
        types = [value.decode() for name, value in head["headers"] if name == b"content-type"]
        return Answer(head["status"], types[0] if types else "", bytes(body))


@asynccontextmanager
async def local_console(url: str) -> AsyncIterator[LocalConsole]:
    store, clock, folder = make_store(url), SystemClock(), TemporaryDirectory()
    await store.open()
    try:
        settings = read_settings({"HORAE_KEY_FILE": f"{folder.name}/key"})
        service = make_service(url, store, clock, "UTC", TargetKinds(settings))
        app = make_app(service, clock, WebSettings(expects_engine=False))
        mount_console(app)
        yield LocalConsole(app, service)
    finally:
        await store.close()
        folder.cleanup()


async def find_paths(service: Service, owner: str | None = None) -> tuple[dict[str, str], list[str]]:
    """Return the address of every GET route with ids of this store, and the routes for which the store has none."""
    ids = await _find_ids(service, owner)
    paths, missing = {}, []
    for route in (each.path for each in _PAGES if each.method == "GET" and each.path != _STREAM):
        path = _fill(route, ids)
        if path is None:
            missing.append(route)
        else:
            paths[route] = f"{path}?{_QUERIES[route]}" if route in _QUERIES else path
    return paths, missing


async def _find_ids(service: Service, owner: str | None) -> dict[str, str]:
    """Return ids by the segment of the path before the parameter."""
    (task, *_), _ = await service.store.tasks(TaskFilter(owner), limit=1)
    runs, _ = await service.store.runs(RunFilter(owner, task_id=task.task.id), limit=1)
    webhook, _ = await service.webhooks.create(LOCAL, "https://example.org/hook", owner=owner)
    nodes = await service.store.nodes()
    await service.lanes.limit(LOCAL, "press", 3)
    found = {
        "tasks": task.task.id,
        "approvals": task.task.id,
        "simple": task.task.id,
        "webhooks": webhook.id,
        "lanes": "press",
        "owners": task.task.owner,
    }
    if runs:
        found["runs"] = runs[0].id
    if nodes:
        found["nodes"] = nodes[0].id
    return found


def _fill(route: str, ids: dict[str, str]) -> str | None:
    if "{" not in route:
        return route
    head, _, rest = route.partition("{")
    segment = head.rstrip("/").rpartition("/")[2]
    return _fill(f"{head}{ids[segment]}{rest.partition('}')[2]}", ids) if segment in ids else None
