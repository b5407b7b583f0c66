"""Assistants elsewhere, over HTTP at `/mcp`: each request brings its token, is answered, and leaves nothing behind."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser, BearerAuthBackend, RequireAuthMiddleware
from mcp.server.auth.provider import AccessToken
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from ..clock import Clock
from ..errors import HoraeError, NotAuthenticated
from ..model.accounts.principal import LOCAL, LOCAL_OWNER, Principal
from ..service.runs.nodes import NodeState
from ..service.service import Service
from ..service.tasks.default_zone import zone_of_deployment
from ..web.authentication import authenticated
from ..web.body import LARGEST, json_body, raw_body
from ..web.language import language, states_language
from ..web.problems import problem
from ..web.request_context import house_of
from .call import House
from .local import VIA
from .refusals import refuse
from .server import Caller, make_server

PATH: Final = "/mcp"
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_WHO: Final = "who"


@asynccontextmanager
async def mount(app: Starlette, service: Service, clock: Clock) -> AsyncIterator[None]:
    """`POST /mcp`, for as long as this is open."""
    door = Door(make_server(House(service, clock, partial(_has_node, service)), partial(_who_asks, service)))
    app.router.routes.append(Route(PATH, door, methods=["POST"]))
    # What the application says of methods that a path has not, it says from this table.
    app.state.paths.append((re.compile(re.escape(PATH)), {"POST"}))
    async with door.open():
        yield


class Door:
    """No session outlives its request, so that any process of many can answer, and nobody can fill our memory."""

    def __init__(self, server: Server[Any]) -> None:
        self._server = server
        self._guarded: RequireAuthMiddleware | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        sessions = StreamableHTTPSessionManager(
            self._server,
            json_response=True,
            stateless=True,
            # Where a request may come from is looked at here, before any token is.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=LARGEST,
        )
        async with sessions.run():
            self._guarded = RequireAuthMiddleware(sessions.handle_request, [])
            try:
                yield
            finally:
                self._guarded = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            _check_origin(request)
            found = await BearerAuthBackend(Bearers(request)).authenticate(request)
            if found is not None:
                scope["auth"], scope["user"] = found
                await json_body(request)
        except HoraeError as error:
            await problem(request, error)(scope, receive, send)
            return
        if self._guarded is None:
            raise RuntimeError("the application was not started")
        if found is None:
            await self._guarded(scope, receive, send)
            return
        async with anyio.create_task_group() as together:
            together.start_soon(_until_gone, receive, together.cancel_scope)
            await self._guarded(scope, _again(request, receive), send)
            together.cancel_scope.cancel()


class Bearers:
    """Our tokens as the protocol's library asks for them: one for each request, so that who asks too often is held back."""

    def __init__(self, request: Request) -> None:
        self._request = request

    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            who = await authenticated(self._request, VIA)
        except NotAuthenticated:
            return None
        scopes = [scope.value for scope in who.scopes]
        # What the token was is nobody's business from here on.
        del token
        return AccessToken(token="", client_id=who.actor, subject=who.owner, scopes=scopes, claims={_WHO: who})


async def _has_node(service: Service) -> bool:
    """Whether a node that renews its lease is there to run what is due."""
    return any(seen.state is not NodeState.SILENT for seen in await service.nodes.all(LOCAL))


def _who_asks(service: Service, context: ServerRequestContext[Any, Any]) -> Caller:
    """The zone is the owner's. The owner of this machine without one has the machine's, as over standard input and output;
    other owners are asked for theirs."""
    request: Request | None = context.request
    user = None if request is None else request.scope.get("user")
    if request is None or not isinstance(user, AuthenticatedUser) or user.access_token.claims is None:
        raise RuntimeError("a request came past the door")
    who: Principal = user.access_token.claims[_WHO]
    if who.zone is not None or who.owner != LOCAL_OWNER or service.zone is None:
        return Caller(who, language(request), states_language=states_language(request))
    assumed = zone_of_deployment(who.owner, service.zone)
    return Caller(who._replace(zone=assumed.name), language(request), assumed, states_language(request))


def _check_origin(request: Request) -> None:
    """Only a browser says where its page is from, and only a browser can be led here by a name that was rebound. Pages of
    this machine, and of origins that the operator named, may ask; programs say nothing and need only their token."""
    origin = request.headers.get("origin")
    if origin is None or origin in house_of(request).settings.origins:
        return
    if not (_is_here(origin) and _is_here(f"//{request.headers.get('host', '')}")):
        raise refuse("foreign_origin", origin=origin)


def _is_here(address: str) -> bool:
    try:
        return urlsplit(address).hostname in _LOOPBACK
    except ValueError:
        return False


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    """For whoever has left, nothing is waited for any more."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _again(request: Request, receive: Receive) -> Receive:
    """The body was read to look at it; whoever is next reads it as if it came just now."""
    sent = False

    async def receive_again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": await raw_body(request), "more_body": False}

    return receive_again
