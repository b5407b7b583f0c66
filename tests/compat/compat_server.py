"""What these tests stand on: the real API on a free port, two users with tokens, and a clock that moves when it is told to."""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import cache
from typing import Any, Final, NamedTuple

import aiohttp
import jsonschema
import uvicorn
from starlette.applications import Starlette

from horae.api.app import ROUTES, make_app
from horae.api.openapi import build_document
from horae.lifecycle.fire import fire
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.accounts.principal import LOCAL, Role
from horae.model.change import Change, Facts
from horae.model.entry import Entry
from horae.model.outcome import Outcome, Settlement, Succeeded
from horae.model.run import Run
from horae.ports.store import DEFAULT_TERMS
from horae.runtime.service_factory import make_service
from horae.runtime.target_kinds import TargetKinds
from horae.service.service import Service
from horae.settings import read_settings
from horae.stores.memory import MemoryStore
from horae.testing.factories import NODE, NOON, a_node
from horae.virtual_time import VirtualClock
from horae.web.request_context import WebSettings

ORCHESTRATOR: Final = "http://127.0.0.1:9"
"""Nobody listens there: most tests end their runs by hand."""
LOOPBACK: Final = {"targets.http.allow_networks": ("127.0.0.0/8",)}
KINDS: Final = TargetKinds(read_settings({}, flags=LOOPBACK))
NOW: Final = NOON
"""A Sunday, 2026-03-01 at noon UTC."""


class Answer(NamedTuple):
    status: int
    body: Any
    headers: Mapping[str, str]

    @property
    def data(self) -> Any:
        """What the envelope of `/schedules` holds."""
        assert self.body["success"] is True, self.body
        return self.body["data"]

    @property
    def task(self) -> Any:
        return self.data["task"]


@cache
def said() -> Document:
    """The same for every app, and slow to write down."""
    return Document()


class Document:
    """What the API says of itself. Whatever it answers has to be as it says."""

    def __init__(self) -> None:
        self._whole = json.loads(json.dumps(build_document(ROUTES)))
        # What has a name of its own comes before what is called by an id.
        paths = sorted(self._whole["paths"].items(), key=lambda each: each[0].count("{"))
        self._paths = [(re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))), each) for path, each in paths]

    def check(self, method: str, path: str, answer: Answer) -> None:
        told = next(each for pattern, each in self._paths if pattern.fullmatch(path.partition("?")[0]))
        response = told[method.lower()]["responses"][str(answer.status)]
        (schema,) = (each["schema"] for each in response["content"].values())
        jsonschema.validate(answer.body, {**schema, "components": self._whole["components"]})


class Client:
    """One user's program."""

    def __init__(self, session: aiohttp.ClientSession, base: str, token: str | None) -> None:
        self._session = session
        self._base = base
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}

    def with_token(self, token: str) -> Client:
        return Client(self._session, self._base, token)

    async def call(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        sent = {name.replace("_", "-"): value for name, value in headers.items()} | self._headers
        data = body if isinstance(body, str) or body is None else json.dumps(body)
        if data is not None:
            sent.setdefault("Content-Type", "application/json")
        async with self._session.request(method, self._base + path, data=data, headers=sent) as response:
            text = await response.text()
            answer = Answer(response.status, json.loads(text), response.headers.copy())
        said().check(method, path, answer)
        return answer

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.call("GET", path, **headers)

    async def post(self, path: str, body: object = None, **headers: str) -> Answer:
        return await self.call("POST", path, body, **headers)

    async def put(self, path: str, body: object, **headers: str) -> Answer:
        return await self.call("PUT", path, body, **headers)

    async def delete(self, path: str) -> Answer:
        return await self.call("DELETE", path)


class Stage(NamedTuple):
    service: Service
    clock: VirtualClock
    ada: Client
    bob: Client
    root: Client
    guest: Client
    """May look, and nothing else."""
    nobody: Client

    async def agent_of(self, owner: str) -> Client:
        """A program of its own that this user has let in."""
        _, token = await self.service.tokens.make(LOCAL, owner=owner, name="agent", agent="robot")
        return self.nobody.with_token(token)

    def later(self, **by: float) -> None:
        self.clock.advance(timedelta(**by).total_seconds())

    async def node(self) -> None:
        """A node holds its lease from this moment on."""
        await self.service.store.join(a_node(renewed=self.clock.now()))

    async def claim(self) -> list[Run]:
        """What a node does that sees what is due now."""
        await self.node()
        claimant = ClaimContext(NODE, self.clock.now(), DEFAULT_TERMS.poll_ceiling)

        def decide(facts: Facts, entry: Entry, token: int) -> Change:
            return fire(facts, entry, token, claimant)

        claimed = await self.service.store.claim_due(claimant.now, NODE, 1_000, decide)
        return [each.run for each in claimed.runs]

    async def settle(self, run: Run, outcome: Outcome = Succeeded()) -> None:  # noqa: B008 - a frozen value
        report = Settlement(run.id, run.token, outcome, run.started, self.clock.now())
        assert not await self.service.store.settle([report], settle)

    async def ran(self, outcome: Outcome = Succeeded()) -> Run:  # noqa: B008 - a frozen value
        """The one thing that is due is claimed, and ends like this."""
        (run,) = await self.claim()
        await self.settle(run, outcome)
        return run


class _Server(uvicorn.Server):
    """It says when it listens, and ends when it is told to, not at the next tick."""

    def __init__(self, app: Starlette) -> None:
        super().__init__(uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off"))
        self.listens = asyncio.Event()
        self.ends = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listens.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self.ends.wait()


@asynccontextmanager
async def served(app: Starlette) -> AsyncIterator[str]:
    """Its address, while it is served."""
    # Only of a socket that says that it speaks TCP does asyncio know that what is small is not to wait.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        server = _Server(app)
        # Without the handlers for signals: those are the test runner's.
        serving = asyncio.create_task(server._serve([listening]))
        await server.listens.wait()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.ends.set()
            await serving


async def users(service: Service, **names: Role) -> dict[str, str]:
    """A token for each."""
    made = {}
    for name, role in names.items():
        await service.accounts.put(LOCAL, name, role=role, zone="Asia/Shanghai" if name == "ada" else None)
        made[name] = (await service.tokens.make(LOCAL, owner=name, name="test"))[1]
    return made


@asynccontextmanager
async def stage(orchestrator: str | None = ORCHESTRATOR) -> AsyncIterator[Stage]:
    store, clock = MemoryStore(), VirtualClock(NOW)
    await store.open()
    service = make_service("memory://", store, clock, "Europe/Berlin", KINDS)
    tokens = await users(service, ada=Role.MEMBER, bob=Role.MEMBER, root=Role.ADMIN, guest=Role.VIEWER)
    app = make_app(service, clock, WebSettings(orchestrator=orchestrator))
    async with served(app) as base, aiohttp.ClientSession() as session:
        clients = {name: Client(session, base, token) for name, token in tokens.items()}
        yield Stage(service, clock, **clients, nobody=Client(session, base, None))
    await store.close()
