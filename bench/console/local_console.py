"""The console over a store, asked without a network: an ASGI request with the cookie of a session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from bench.console.history import FILLED_AT, HISTORY_TASK
from horae.api.app import make_app
from horae.clock import SystemClock
from horae.console.request import SESSION_COOKIE
from horae.model.accounts.operation import Operation, OperationState, operation_record
from horae.model.accounts.principal import LOCAL, Role
from horae.model.ids import make_id
from horae.model.run import RunState
from horae.ports.full_store import FullStore
from horae.ports.store import RunFilter, TaskFilter
from horae.runtime.api_service import CONSOLE_PATH, mount_console
from horae.runtime.service_factory import make_service
from horae.runtime.stores import make_store
from horae.runtime.target_kinds import TargetKinds
from horae.service.service import Service
from horae.settings import read_settings
from horae.web.middleware import Application
from horae.web.request_context import WebSettings

_HOUR: Final = timedelta(hours=1)
_DAY: Final = timedelta(days=1)


class ShiftedClock(SystemClock):
    """Clock that begins at the instant at which a store was filled: what is due then is still due when it is measured."""

    def __init__(self, begin: datetime) -> None:
        self._ahead = super().now() - begin

    def now(self) -> datetime:
        return super().now() - self._ahead


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

    async def ask(self, path: str, cookie: str, *, is_cut: bool = False) -> Answer:
        """Send one GET request to the application; `is_cut`: only up to the first bytes of the answer."""
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
            if is_cut and body:
                has_begun.set()

        has_begun = asyncio.Event()
        answering = asyncio.ensure_future(self.app(scope, receive, send))
        if is_cut:
            await has_begun.wait()
            answering.cancel()
        with suppress(asyncio.CancelledError):
            await answering
        types = [value.decode() for name, value in head["headers"] if name == b"content-type"]
        return Answer(head["status"], types[0] if types else "", bytes(body))


@asynccontextmanager
async def local_console(url: str) -> AsyncIterator[LocalConsole]:
    store, folder = make_store(url), TemporaryDirectory()
    await store.open()
    try:
        filled_at = await store.read_metadata(FILLED_AT)
        clock = SystemClock() if filled_at is None else ShiftedClock(datetime.fromisoformat(filled_at))
        settings = read_settings({"HORAE_KEY_FILE": f"{folder.name}/key"})
        service = make_service(url, store, clock, "UTC", TargetKinds(settings))
        app = make_app(service, clock, WebSettings(expects_engine=False))
        mount_console(app)
        yield LocalConsole(app, service)
    finally:
        await store.close()
        folder.cleanup()


async def find_values(console: LocalConsole, owner: str | None) -> dict[str, str]:
    """Return ids of the store and instants by the names that addresses have for them."""
    service = console.service
    principal, store, now = LOCAL, service.store, console.app.context.clock.now()
    history = await _history_task(store)
    runs, _ = await store.runs(RunFilter(task_id=history, states=frozenset({RunState.SUCCEEDED})), limit=1)
    (own, *_), _ = await store.tasks(TaskFilter(owner or LOCAL.owner), limit=1)
    webhooks, _ = await service.webhooks.page(principal, None, 1)
    hour = now.replace(minute=0, second=0) - _HOUR
    return {
        "task": history,
        "own_task": own.task.id,
        "run": runs[0].id,
        "operation": await _make_operation(store, owner or LOCAL.owner, now),
        "webhook": webhooks[0].id,
        "owner": "user:1",
        "at": runs[0].planned.isoformat(),
        "hour": hour.isoformat(),
        "hour_end": (hour + _HOUR).isoformat(),
        "day": f"{now - _DAY:%Y-%m-%d}",
        "yesterday": f"{now - _DAY:%Y-%m-%d}",
        "last_month": f"{now.replace(day=1) - _DAY:%Y-%m-%d}",
    }


async def _history_task(store: FullStore) -> str:
    found, _ = await store.tasks(TaskFilter(text=f" {HISTORY_TASK:06d}"), limit=1)
    return found[0].task.id


async def _make_operation(store: FullStore, owner: str, now: datetime) -> str:
    name = make_id("opn", now, bytes(10))
    done = Operation(name, owner, None, "pause", {}, {}, now, now, OperationState.FINISHED, 2_000, 2_000, ended=now)
    await store.put_record(operation_record(done), replacing=None)
    return name
