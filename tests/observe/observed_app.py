"""An app with engine, observer and HTTP API in one process, and a parser of its metrics."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

import aiohttp
from prometheus_client.parser import text_string_to_metric_families

from horae import Context, Horae
from horae.model.accounts.principal import LOCAL
from horae.observe.metrics_server import Observability
from horae.observe.observer import Observer
from horae.observe.scrape_access import Policy
from horae.observe.traces import Tracing
from horae.runtime.api_service import open_api
from horae.runtime.http_server import open_listener, serve_app
from horae.runtime.observability import register_engine_gauges, run_observer
from horae.settings import Settings
from tests.api.api_server import Api, Reply, create_tokens

T = TypeVar("T")
TEST_SECONDS: Final = 60
"""Timeout of a hanging test; not a measurement."""
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def parse_samples(text: str) -> Samples:
    """Parse the metrics text; a repeated series fails."""
    found: Samples = {}
    names: set[str] = set()
    for family in text_string_to_metric_families(text):
        assert family.name not in names, f"{family.name} is listed twice"
        names.add(family.name)
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in found, key
            assert not math.isnan(sample.value)
            found[key] = sample.value
    return found


def total(samples: Samples, name: str, **labels: str) -> float:
    """Return the sum of the series with this name and these labels."""
    required = set(labels.items())
    return sum(value for (each, pairs), value in samples.items() if each == name and required <= pairs)


@dataclass
class ObservedApp:
    app: Horae
    api: Api
    observer: Observer
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def samples(self) -> Samples:
        reply = await self.api.get("/metrics", who=None)
        assert reply.status == 200, reply.text
        return parse_samples(reply.text)

    async def run_once(self, name: str, **more: Any) -> tuple[Reply, dict[str, Any]]:
        """Run a task of this function once over HTTP as an admin; return the response and the ended run."""
        task = await self.app.schedule(name, "2099-01-01 00:00", key=name, zone="UTC", retries=0)
        reply = await self.api.post(f"/v1/tasks/{task.id}/run", who="admin", **more)
        assert reply.status == 202, reply.text
        await task.wait()
        run = await self.api.get(f"/v1/runs/{reply.json['run_id']}", who="admin")
        return reply, run.json


@asynccontextmanager
async def run_observed_app(
    url: str = "memory://", *, tracing: Tracing | None = None, policy: Policy = "local", rate: int | None = None
) -> AsyncIterator[ObservedApp]:
    app = Horae(url, zone="UTC")
    seen: list[str] = []

    @app.task(name="fine")
    async def fine(ctx: Context) -> str:
        seen.append(ctx.trace)
        return ctx.trace

    @app.task(name="broken")
    async def broken() -> None:
        raise ValueError("password=hunter2-in-a-traceback")

    observer = Observer("both", app.clock, tracing)
    app.observe(observer)
    settings = Settings({})
    async with asyncio.timeout(TEST_SECONDS), app:
        assert app.engine is not None
        register_engine_gauges(observer, app.engine, app.settings.capacity)
        with open_listener("127.0.0.1", 0) as listener:
            async with (
                run_observer(observer, app.clock),
                open_api(
                    app.service, app.clock, settings, engine=True, observability=Observability(observer, policy)
                ) as api,
                serve_app(api, listener) as base,
                aiohttp.ClientSession() as session,
            ):
                client = Api(base, api, app.service, session)
                client.tokens = await create_tokens(app.service)
                if rate is not None:
                    await app.service.accounts.put(LOCAL, "ada", quotas={"requests_per_minute": rate})
                yield ObservedApp(app, client, observer)
