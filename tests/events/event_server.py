"""A real server with people in it, an address that takes webhooks, and readers of streams."""

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
"""No test waits longer than this for what must happen."""


@asynccontextmanager
async def house(url: str = "memory://", clock: Clock | None = None) -> AsyncIterator[Service]:
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
    async with house(url) as service:
        app = make_app(service, SystemClock(), WebSettings(expects_engine=False))
        with open_listener("127.0.0.1", 0) as line:
            async with serve_app(app, line) as base, _session() as session:
                api = Api(base, app, service, session)
                api.tokens = await create_tokens(service)
                yield api


def _session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), read_bufsize=4 * 1024 * 1024)


def slow_session() -> aiohttp.ClientSession:
    """Takes only a little that nobody has asked for yet."""
    return aiohttp.ClientSession(read_bufsize=4 * 1024)


async def added(store: FullStore, owner: str = "ada", **fields: Any) -> Task:
    """A task of somebody; that it was made is the first event of it."""
    task = a_task(owner=owner, **fields)
    await store.add([a_new_task(task)])
    return task


async def happens(
    store: FullStore, task: Task, kind: EventKind = EventKind.TASK_EDITED, detail: str | None = None
) -> None:
    event = an_event(task, kind=kind, detail=detail)
    await store.change(task.id, None, lambda _: Change(events=(event,)))


async def many_happen(store: FullStore, task: Task, details: list[str]) -> None:
    events = tuple(an_event(task, detail=each) for each in details)
    await store.change(task.id, None, lambda _: Change(events=events))


# --- who listens -----------------------------------------------------------------------------------------------------


class Frame(NamedTuple):
    """One server-sent event, as it came."""

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

    async def details(self, number: int) -> list[str]:
        """What so many events say."""
        found = []
        for _ in range(number):
            frame = await self.frame()
            assert frame is not None
            found.append(frame.data["data"]["detail"])
        return found


@asynccontextmanager
async def reading(
    api: Api, query: str = "", *, who: str = "ada", headers: dict[str, str] | None = None
) -> AsyncIterator[Reader]:
    sent = {"Authorization": f"Bearer {api.tokens[who]}", "Accept": "text/event-stream", **(headers or {})}
    async with api.session.get(f"{api.base}/v1/events{query}", headers=sent, timeout=_PATIENT) as answer:
        assert answer.status == 200, await answer.text()
        reader = Reader(answer)
        # The greeting: from here on nothing is missed.
        for _ in range(4):
            line = (await answer.content.readline()).decode()
            if line.startswith("id: "):
                reader.last = line.strip().removeprefix("id: ")
        yield reader


_PATIENT: Final = aiohttp.ClientTimeout(total=None)


# --- who is told -----------------------------------------------------------------------------------------------------


class Post(NamedTuple):
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Inbox:
    """An address that takes webhooks. `answers` says with which status, by path; `hold` lets one wait."""

    def __init__(self) -> None:
        self.base = ""
        self.posts: list[Post] = []
        self.answers: Callable[[Post], int] = lambda _post: 200
        self.hold: dict[str, asyncio.Event] = {}
        self._came = asyncio.Condition()

    async def take(self, request: web.Request) -> web.Response:
        post = Post(request.path, {k.lower(): v for k, v in request.headers.items()}, await request.read())
        async with self._came:
            self.posts.append(post)
            self._came.notify_all()
        if request.path in self.hold:
            await self.hold[request.path].wait()
        return web.Response(status=self.answers(post), text="heard")

    def at(self, path: str) -> list[Post]:
        return [post for post in self.posts if post.path == path]

    async def until(self, number: int, path: str | None = None) -> list[Post]:
        """So many have come."""
        async with asyncio.timeout(SECONDS), self._came:
            await self._came.wait_for(lambda: len(self._seen(path)) >= number)
        return self._seen(path)

    def _seen(self, path: str | None) -> list[Post]:
        return self.posts if path is None else self.at(path)


@asynccontextmanager
async def inbox() -> AsyncIterator[Inbox]:
    found = Inbox()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", found.take)
    runner = web.AppRunner(application, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    found.base = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield found
    finally:
        for each in found.hold.values():
            each.set()
        await runner.cleanup()


class HandClock(SystemClock):
    """The wall clock goes only when it is moved by hand."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def now(self) -> datetime:
        return self._now

    def move(self, by: Any) -> None:
        self._now += by
