"""A run of an agent's task gets only the secrets that are granted to the agent when the run starts."""

from __future__ import annotations

import asyncio

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from horae import Horae
from horae.mcp_server.local import local_agent
from horae.model.accounts.principal import LOCAL
from horae.model.run import Run, RunState
from horae.service.accounts.approval_policy import digest_of
from horae.service.tasks.task_request import TaskRequest
from horae.wire.tasks.targets import target_from_shorthand


@pytest.mark.parametrize("place", ["headers", "body", "payload"])
async def test_grant_revoked_after_the_approval_fails_the_run(place: str) -> None:
    await asyncio.wait_for(check_revoked_after_approval(place), 60)


async def check_revoked_after_approval(place: str) -> None:
    received: list[str] = []

    async def accept(request: web.Request) -> web.Response:
        received.append(f"{dict(request.headers)} {await request.text()}")
        return web.Response()

    site = web.Application()
    site.router.add_post("/", accept)
    app = Horae("memory://", zone="UTC", targets={"http": {"allow_networks": ["127.0.0.0/8"]}})
    async with TestServer(site) as server, app:
        service = app.service
        await service.secrets.set(LOCAL, "tok", "hush-hush")
        await service.secrets.grant(LOCAL, "tok", "helper")
        reference = {"secret": "tok"}
        spec = {"url": str(server.make_url("/")), **({} if place == "payload" else {place: {"X-Token": reference}})}
        payload = '{"key": {"secret": "tok"}}' if place == "payload" else "{}"
        task_request = TaskRequest(
            "hook", "every 1h, 3 times", target_from_shorthand("http", spec), payload, zone="UTC"
        )
        task = await service.tasks.create(local_agent("helper", "UTC"), task_request)
        await service.approvals.approve(LOCAL, task.id, digest_of(task))
        first = await run_once(app, task.id)
        assert first.state is RunState.SUCCEEDED
        assert "hush-hush" in received[0]
        await service.secrets.revoke_grant(LOCAL, "tok", "helper")
        second = await run_once(app, task.id)
        assert second.state is RunState.FAILED
        assert "horae secret grant tok --agent helper" in (second.error or "")
        assert len(received) == 1, "nothing left Horae"


async def run_once(app: Horae, task_id: str) -> Run:
    return await (await (await app.get(task_id)).run_now()).wait("20s")
