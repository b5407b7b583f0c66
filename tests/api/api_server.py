"""The HTTP API on a free loopback port, with tokens of an admin, two members, a viewer, and an agent of the first member."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, NamedTuple

import aiohttp
from jsonschema import Draft202012Validator
from referencing import Registry
from referencing.jsonschema import DRAFT202012
from yarl import URL

from horae.api.app import make_app
from horae.clock import SystemClock
from horae.lifecycle.fire import fire
from horae.lifecycle.start import ClaimContext
from horae.model.accounts.principal import LOCAL, Role
from horae.ports.store import Node
from horae.runtime.http_server import open_listener, serve_app
from horae.runtime.service_factory import make_service
from horae.runtime.stores import make_store
from horae.runtime.target_kinds import TargetKinds
from horae.service.service import Service
from horae.settings import read_settings
from horae.web.middleware import Application
from horae.web.request_context import WebSettings
from tests.unit.notifiers.recording_notifier import RecordingNotifier

TASK: Final[dict[str, Any]] = {"name": "report", "when": "every 10m", "zone": "UTC", "say": "hello"}

QUOTAS: Final = {"active_tasks": 1_000, "concurrent_runs": 1_000, "event_streams": 1_000, "requests_per_minute": None}
"""Quotas of the members: high enough that most tests never reach them."""


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)

    @property
    def code(self) -> str:
        """Return the `code` of a problem response."""
        assert self.headers["content-type"] == "application/problem+json", self.text
        return str(self.json["code"])


@dataclass
class Api:
    """HTTP client that sends each request with the token of one account: `api.get("/v1/tasks", who="ada")`."""

    base: str
    app: Application
    service: Service
    session: aiohttp.ClientSession
    tokens: dict[str, str] = field(default_factory=dict)

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        who: str | None = "ada",
        headers: Mapping[str, str] | None = None,
        raw: bytes | None = None,
    ) -> Reply:
        sent = {} if who is None else {"Authorization": f"Bearer {self.tokens[who]}"}
        data = raw
        if body is not None:
            data, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
        elif raw is not None:
            sent["Content-Type"] = "application/json"
        sent |= dict(headers or {})
        url = URL(self.base + path, encoded=True)
        async with self.session.request(method, url, data=data, headers=sent, allow_redirects=False) as answer:
            return Reply(answer.status, answer.headers, await answer.text())

    async def get(self, path: str, **more: Any) -> Reply:
        return await self.request("GET", path, **more)

    async def post(self, path: str, body: Any = None, **more: Any) -> Reply:
        return await self.request("POST", path, body, **more)

    async def put(self, path: str, body: Any = None, **more: Any) -> Reply:
        return await self.request("PUT", path, body, **more)

    async def patch(self, path: str, body: Any = None, **more: Any) -> Reply:
        return await self.request("PATCH", path, body, **more)

    async def delete(self, path: str, **more: Any) -> Reply:
        return await self.request("DELETE", path, **more)

    async def create_task(self, who: str = "ada", **changed: Any) -> dict[str, Any]:
        """Create a task of this account over HTTP and return the response body."""
        reply = await self.post("/v1/tasks", {**TASK, **changed}, who=who)
        assert reply.status == 201, reply.text
        found: dict[str, Any] = reply.json
        return found


class StoppedClock(SystemClock):
    """For a bucket of requests, which gets another one each second: on a busy machine sixty requests take longer."""

    def steady(self) -> float:
        return 0.0


@asynccontextmanager
async def serve_api(url: str = "memory://", settings: WebSettings | None = None) -> AsyncIterator[Api]:
    clock = SystemClock()
    store = make_store(url)
    await store.open()
    kinds = TargetKinds(read_settings({}))
    service = make_service(url, store, clock, "UTC", kinds, notifier=RecordingNotifier())
    app = make_app(service, clock, settings or WebSettings(expects_engine=False, callbacks=True))
    try:
        with open_listener("127.0.0.1", 0) as listener:
            async with serve_app(app, listener) as base, aiohttp.ClientSession() as session:
                api = Api(base, app, service, session)
                api.tokens = await create_tokens(service)
                yield api
    finally:
        await service.operations.close()
        await service.webhooks.client.close()
        await store.close()


async def create_tokens(service: Service) -> dict[str, str]:
    """Create the accounts; return tokens of `admin`, `ada` and `bob` (members), `vic` (viewer), `robot` (an agent of ada's)."""
    found = {"admin": str(await service.tokens.make_first())}
    for name, role in (("ada", Role.MEMBER), ("bob", Role.MEMBER), ("vic", Role.VIEWER)):
        await service.accounts.put(LOCAL, name, role=role, quotas=QUOTAS)
        found[name] = (await service.tokens.make(LOCAL, owner=name, name="test"))[1]
    found["robot"] = (await service.tokens.make(LOCAL, owner="ada", name="robot", agent="robot"))[1]
    return found


async def start_run(api: Api) -> str:
    """Claim a run of ada and return its id."""
    await api.create_task(when="now", zone="UTC")
    now = api.app.context.clock.now()
    store = api.service.store
    if not await store.nodes():
        await store.join(Node("nod_1", "here/1", "1", now, now))
    claimant = ClaimContext("nod_1", now, timedelta(seconds=10))
    claim = await store.claim_due(now, "nod_1", 100, lambda facts, entry, token: fire(facts, entry, token, claimant))
    return max((each.run for each in claim.runs), key=lambda run: run.planned).id


def schema_validator(document: dict[str, Any], schema: dict[str, Any]) -> Draft202012Validator:
    """Validator of a schema that refers to components of the OpenAPI document."""
    registry: Registry[Any] = Registry().with_resource("urn:document", DRAFT202012.create_resource(document))
    text = json.dumps(schema).replace('"#/components', '"urn:document#/components')
    return Draft202012Validator(json.loads(text), registry=registry)
