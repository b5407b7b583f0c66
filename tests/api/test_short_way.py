"""The short way answers as the long one would: whatever is asked, by whomever."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import pytest
from fastapi import FastAPI
from starlette.middleware import Middleware

from horae.api.app import make_app
from horae.clock import SystemClock
from horae.model.accounts.principal import LOCAL, Role
from horae.runtime.service_factory import make_service
from horae.runtime.stores import make_store
from horae.runtime.target_kinds import TargetKinds
from horae.service.service import Service
from horae.settings import read_settings
from horae.web.fast_routes import FastRouter
from horae.web.request_context import WebSettings
from horae.web.routers import AuthenticatedRoute

_PATHS: Final = (
    "/v1/tasks",
    "/v1/tasks?limit=1",
    "/v1/tasks?limit=1&state=active&state=paused",
    "/v1/tasks?limit=0",
    "/v1/tasks?limit=many",
    "/v1/tasks?limit=1&limit=2",
    "/v1/tasks?name=",
    "/v1/tasks?unknown=1",
    "/v1/tasks?label=a%3Db&label=c%3Dd",
    f"/v1/tasks?name={'x' * 201}",
    "/v1/tasks?name=%ff",
    "/v1/tasks/",
    "/v1/tasks/tsk_absent",
    "/v1/tasks/bulk",
    f"/v1/tasks/{'x' * 201}",
    "/v1/tasks/{task}",
    "/v1/tasks/{task}?include=last,agenda",
    "/v1/tasks/{task}?include=more",
    "/v1/tasks/{task}?",
    "/v1/tasks/{task}/",
    "/v1/tasks/{task}/why",
    "/v1/tasks/by-key/nothing",
    "/v1/runs?limit=3",
    "/v1/runs/run_absent",
    "/v1/nodes",
    "/v1/lanes",
    "/v1/owners/bob",
    "/scheduled-tasks",
    "/scheduled-tasks/tsk_absent",
    "/schedules/upcoming?days=x",
)
_VARIES: Final = {"x-request-id", "date", "ratelimit"}


async def _asked(
    app: FastAPI, method: str, path: str, token: str | None, body: bytes = b"", accept: bytes = b"*/*"
) -> tuple[int, Mapping[str, str], Any]:
    plain, _, query = path.partition("?")
    head = [
        (b"host", b"horae"),
        (b"content-type", b"application/json"),
        (b"x-request-id", b"same"),
        (b"accept", accept),
    ]
    told: list[dict[str, Any]] = []
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": plain,
        "raw_path": plain.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "headers": head if token is None else [*head, (b"authorization", f"Bearer {token}".encode())],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
        "state": {},
    }

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        told.append(message)

    await app(scope, receive, send)
    headers = {name.decode(): value.decode() for name, value in told[0]["headers"] if name.decode() not in _VARIES}
    return told[0]["status"], headers, b"".join(each.get("body", b"") for each in told[1:])


async def _made() -> tuple[Service, str]:
    store, clock = make_store("memory://"), SystemClock()
    await store.open()
    service = make_service("memory://", store, clock, "UTC", TargetKinds(read_settings({})))
    await service.accounts.put(LOCAL, "ada", role=Role.MEMBER)
    return service, (await service.tokens.make(LOCAL, owner="ada", name="test"))[1]


def _apps(service: Service) -> tuple[FastAPI, FastAPI]:
    short, long = (make_app(service, SystemClock(), WebSettings(secret="s" * 64)) for _ in range(2))
    long.user_middleware = _without_short_way(long)
    assert len(long.user_middleware) == len(short.user_middleware) - 1
    return short, long


def _without_short_way(app: FastAPI) -> list[Middleware]:
    return [each for each in app.user_middleware if getattr(each.cls, "__name__", "") != FastRouter.__name__]


@pytest.mark.parametrize("method", ["GET", "HEAD", "DELETE", "POST", "OPTIONS"])
async def test_what_is_asked_is_answered_alike_on_both_ways(method: str) -> None:
    service, token = await _made()
    short, long = _apps(service)
    new = json.dumps({"name": "report", "when": "0 9 * * *", "say": "hello"}).encode()
    _, _, made = await _asked(long, "POST", "/v1/tasks", token, new)
    task = json.loads(made)["id"]
    for path in _PATHS:
        # What is removed on one way would be absent on the other.
        asked = path.format(task="tsk_absent" if method == "DELETE" else task)
        for who in (token, "htk_wrong", None):
            body = b'{"unknown": 1}' if method == "POST" else b""
            answers = [await _asked(app, method, asked, who, body) for app in (short, long)]
            assert answers[0] == answers[1], (method, asked, who)
    await service.store.close()


async def test_a_stream_that_is_refused_when_it_begins_is_refused_alike() -> None:
    service, _ = await _made()
    agent = (await service.tokens.make(LOCAL, owner="ada", name="robot", agent="robot"))[1]
    for accept in (b"text/event-stream", b"application/x-ndjson"):
        answers = [await _asked(app, "GET", "/v1/events", agent, accept=accept) for app in _apps(service)]
        assert answers[0] == answers[1]
        assert answers[0][0] == 403
    await service.store.close()


async def test_what_is_asked_most_goes_the_short_way() -> None:
    service, token = await _made()
    app, _ = _apps(service)
    gone: list[str] = []

    async def long_way(scope: Any, _receive: Any, send: Any) -> None:
        gone.append(scope["path"])
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    routes = [route for route in app.router.routes if isinstance(route, AuthenticatedRoute)]
    app.user_middleware = _without_short_way(app)
    way = FastRouter(long_way, routes)
    app.add_middleware(lambda _app: way)
    app.user_middleware.append(app.user_middleware.pop(0))
    for path in ("/v1/tasks", "/v1/tasks?limit=50&state=active", "/v1/tasks/tsk_absent", "/v1/runs?limit=1"):
        await _asked(app, "GET", path, token)
    assert gone == []
    await _asked(app, "GET", "/v1/tasks?limit=0", token)
    assert gone == ["/v1/tasks"]
    await service.store.close()
