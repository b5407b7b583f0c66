"""The compatible HTTP routes on a free port, with clients of four accounts and an anonymous one, a virtual clock, and runs claimed by hand."""

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
from horae.web.middleware import Application
from horae.web.request_context import WebSettings

ORCHESTRATOR: Final = "http://127.0.0.1:9"
"""No process listens there: most tests settle their runs by hand."""
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
        """Return the data in the envelope of `/schedules`."""
        assert self.body["success"] is True, self.body
        return self.body["data"]

    @property
    def task(self) -> Any:
        return self.data["task"]


@cache
def load_document() -> Document:
    """Build the document once: it is the same for every app, and slow to build."""
    return Document()


class Document:
    """The OpenAPI document; checks that responses match it."""

    def __init__(self) -> None:
        self._whole = json.loads(json.dumps(build_document(ROUTES)))
        # Literal paths come before templates.
        paths = sorted(self._whole["paths"].items(), key=lambda each: each[0].count("{"))
        self._paths = [(re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path))), each) for path, each in paths]

    def check(self, method: str, path: str, answer: Answer) -> None:
        operation = next(each for pattern, each in self._paths if pattern.fullmatch(path.partition("?")[0]))
        response = operation[method.lower()]["responses"][str(answer.status)]
        (schema,) = (each["schema"] for each in response["content"].values())
        jsonschema.validate(answer.body, {**schema, "components": self._whole["components"]})


class Client:
    """HTTP client of one account; checks every response against the OpenAPI document."""

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
        load_document().check(method, path, answer)
        return answer

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.call("GET", path, **headers)

    async def post(self, path: str, body: object = None, **headers: str) -> Answer:
        return await self.call("POST", path, body, **headers)

    async def put(self, path: str, body: object, **headers: str) -> Answer:
        return await self.call("PUT", path, body, **headers)

    async def delete(self, path: str) -> Answer:
        return await self.call("DELETE", path)


class CompatServer(NamedTuple):
    service: Service
    clock: VirtualClock
    ada: Client
    bob: Client
    root: Client
    viewer: Client
    """An account that may only read."""
    anonymous: Client

    async def create_agent_client(self, owner: str) -> Client:
        """Create an agent of this owner and return its client."""
        _, token = await self.service.tokens.make(LOCAL, owner=owner, name="agent", agent="robot")
        return self.anonymous.with_token(token)

    def advance(self, **by: float) -> None:
        self.clock.advance(timedelta(**by).total_seconds())

    async def join_node(self) -> None:
        """Register a node that holds a lease from now on."""
        await self.service.store.join(a_node(renewed=self.clock.now()))

    async def claim(self) -> list[Run]:
        """Claim the runs that are due now, as a node does."""
        await self.join_node()
        claimant = ClaimContext(NODE, self.clock.now(), DEFAULT_TERMS.poll_ceiling)

        def decide(facts: Facts, entry: Entry, token: int) -> Change:
            return fire(facts, entry, token, claimant)

        claimed = await self.service.store.claim_due(claimant.now, NODE, 1_000, decide)
        return [each.run for each in claimed.runs]

    async def settle(self, run: Run, outcome: Outcome = Succeeded()) -> None:  # noqa: B008 - a frozen value
        report = Settlement(run.id, run.token, outcome, run.started, self.clock.now())
        assert not await self.service.store.settle([report], settle)

    async def run_due(self, outcome: Outcome = Succeeded()) -> Run:  # noqa: B008 - a frozen value
        """Claim the one run that is due and settle it with this outcome."""
        (run,) = await self.claim()
        await self.settle(run, outcome)
        return run


class _Server(uvicorn.Server):
    """Uvicorn server with events for its start and its end, so that nothing waits for a tick."""

    def __init__(self, app: Application) -> None:
        super().__init__(uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off"))
        self.is_listening = asyncio.Event()
        self.stop_requested = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_listening.set()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        await self.stop_requested.wait()


@asynccontextmanager
async def serve(app: Application) -> AsyncIterator[str]:
    """Serve the app on a free port and yield its address."""
    # asyncio sets TCP_NODELAY only on sockets with IPPROTO_TCP.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.bind(("127.0.0.1", 0))
        server = _Server(app)
        # `_serve` installs no signal handlers: they belong to the test runner.
        server_task = asyncio.create_task(server._serve([listening]))
        await server.is_listening.wait()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.stop_requested.set()
            await server_task


async def create_accounts(service: Service, **names: Role) -> dict[str, str]:
    """Create the accounts and return a token for each."""
    made = {}
    for name, role in names.items():
        await service.accounts.put(LOCAL, name, role=role, zone="Asia/Shanghai" if name == "ada" else None)
        made[name] = (await service.tokens.make(LOCAL, owner=name, name="test"))[1]
    return made


@asynccontextmanager
async def serve_compat(orchestrator: str | None = ORCHESTRATOR) -> AsyncIterator[CompatServer]:
    store, clock = MemoryStore(), VirtualClock(NOW)
    await store.open()
    service = make_service("memory://", store, clock, "Europe/Berlin", KINDS)
    tokens = await create_accounts(service, ada=Role.MEMBER, bob=Role.MEMBER, root=Role.ADMIN, viewer=Role.VIEWER)
    app = make_app(service, clock, WebSettings(orchestrator=orchestrator))
    async with serve(app) as base, aiohttp.ClientSession() as session:
        clients = {name: Client(session, base, token) for name, token in tokens.items()}
        yield CompatServer(service, clock, **clients, anonymous=Client(session, base, None))
    await store.close()
