"""The HTTP API with loopback webhooks allowed, a webhook receiver, a reader of event streams, and a manual clock."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, Final, NamedTuple

import aiohttp
from aiohttp import web

from horae.api.app import make_app
from horae.clock import Clock, SystemClock
from horae.model.change import Change
from horae.model.events.event import EventKind
from horae.model.task import Task
from horae.ports.full_store import FullStore
from horae.runtime.http_server import open_listener, serve_app
from horae.runtime.service_factory import make_service
from horae.runtime.stores import make_store
from horae.runtime.target_kinds import TargetKinds
from horae.service.service import Service
from horae.settings import read_settings
from horae.testing.factories import a_new_task, a_task, an_event
from horae.web.request_context import WebSettings
from tests.api.api_server import Api, create_tokens

LOOPBACK: Final = {"HORAE_OUTGOING_NETWORKS": "127.0.0.0/8,::1/128"}
SECONDS: Final = 20
"""Longest wait of a test for an event."""


@asynccontextmanager
async def open_service(url: str = "memory://", clock: Clock | None = None) -> AsyncIterator[Service]:
    store = make_store(url)
    await store.open()
    service = make_service(url, store, clock or SystemClock(), "UTC", TargetKinds(read_settings(LOOPBACK)))
    try:
        yield service
    finally:
        await service.webhooks.close()
        await store.close()


@asynccontextmanager
async def serve_api(url: str = "memory://") -> AsyncIterator[Api]:
    async with open_service(url) as service:
        app = make_app(service, SystemClock(), WebSettings(expects_engine=False))
        with open_listener("127.0.0.1", 0) as listener:
            async with serve_app(app, listener) as base, _session() as session:
                api = Api(base, app, service, session)
                api.tokens = await create_tokens(service)
                yield api


def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), read_bufsize=4 * 1024 * 1024)


def slow_session() -> aiohttp.ClientSession:
    """Session with a small read buffer, so that a slow reader blocks the server soon."""
    return aiohttp.ClientSession(read_bufsize=4 * 1024)


async def add_task(store: FullStore, owner: str = "ada", **fields: Any) -> Task:
    """Add a task of this owner; its first event is `task.created`."""
    task = a_task(owner=owner, **fields)
    await store.add([a_new_task(task)])
    return task


async def record_event(
    store: FullStore, task: Task, kind: EventKind = EventKind.TASK_EDITED, detail: str | None = None
) -> None:
    event = an_event(task, kind=kind, detail=detail)
    await store.change(task.id, None, lambda _: Change(events=(event,)))


async def record_events(store: FullStore, task: Task, details: list[str]) -> None:
    events = tuple(an_event(task, detail=each) for each in details)
    await store.change(task.id, None, lambda _: Change(events=events))


# --- streams ---------------------------------------------------------------------------------------------------------


class Frame(NamedTuple):
    """One server-sent event as received."""

    id: str
    event: str
    data: Any


class Reader:
    """Reads a stream of server-sent events frame by frame."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self.answer = answer
        self.last = ""
        """The id that a browser would send when it connects again."""

    async def frame(self) -> Frame | None:
        """The next event; None when the stream has ended."""
        event, data = "message", ""
        while True:
            async with asyncio.timeout(SECONDS):
                line = (await self.answer.content.readline()).decode()
            if not line:
                return None
            name, _, value = line.rstrip("\n").partition(": ")
            if name == "id":
                self.last = value
            elif name == "event":
                event = value
            elif name == "data":
                data = value
            elif not line.strip() and data:
                return Frame(self.last, event, json.loads(data))

    async def read_details(self, number: int) -> list[str]:
        """Read this many events and return their details."""
        receiver = []
        for _ in range(number):
            frame = await self.frame()
            assert frame is not None
            receiver.append(frame.data["data"]["detail"])
        return receiver


@asynccontextmanager
async def read_stream(
    api: Api, query: str = "", *, who: str = "ada", headers: dict[str, str] | None = None
) -> AsyncIterator[Reader]:
    sent = {"Authorization": f"Bearer {api.tokens[who]}", "Accept": "text/event-stream", **(headers or {})}
    async with api.session.get(f"{api.base}/v1/events{query}", headers=sent, timeout=_NO_TIMEOUT) as answer:
        assert answer.status == 200, await answer.text()
        reader = Reader(answer)
        # The stream is subscribed once its first four lines have arrived.
        for _ in range(4):
            line = (await answer.content.readline()).decode()
            if line.startswith("id: "):
                reader.last = line.strip().removeprefix("id: ")
        yield reader


_NO_TIMEOUT: Final = aiohttp.ClientTimeout(total=None)


# --- webhooks --------------------------------------------------------------------------------------------------------


class ReceivedRequest(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class WebhookReceiver:
    """HTTP endpoint for webhooks: `answers` chooses the status, `blocked` delays the response of a path."""

    def __init__(self) -> None:
        self.base = ""
        self.requests: list[ReceivedRequest] = []
        self.answers: Callable[[ReceivedRequest], int] = lambda _request: 200
        self.blocked: dict[str, asyncio.Event] = {}
        self._arrived = asyncio.Condition()

    async def receive(self, request: web.Request) -> web.Response:
        headers = {name.lower(): value for name, value in request.headers.items()}
        received = ReceivedRequest(request.path, headers, await request.read())
        async with self._arrived:
            self.requests.append(received)
            self._arrived.notify_all()
        if request.path in self.blocked:
            await self.blocked[request.path].wait()
        return web.Response(status=self.answers(received), text="received")

    def at_path(self, path: str) -> list[ReceivedRequest]:
        return [request for request in self.requests if request.path == path]

    async def wait_for(self, number: int, path: str | None = None) -> list[ReceivedRequest]:
        """Wait until this many requests have arrived and return them."""
        async with asyncio.timeout(SECONDS), self._arrived:
            await self._arrived.wait_for(lambda: len(self._seen(path)) >= number)
        return self._seen(path)

    def _seen(self, path: str | None) -> list[ReceivedRequest]:
        return self.requests if path is None else self.at_path(path)


@asynccontextmanager
async def webhook_receiver() -> AsyncIterator[WebhookReceiver]:
    receiver = WebhookReceiver()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", receiver.receive)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    receiver.base = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield receiver
    finally:
        for each in receiver.blocked.values():
            each.set()
        await runner.cleanup()


class ManualClock(SystemClock):
    """A clock whose wall time changes only by `move`."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def move(self, by: Any) -> None:
        self._now += by
