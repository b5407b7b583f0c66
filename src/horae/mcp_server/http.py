"""MCP over HTTP at `/mcp`: stateless requests, each authenticated by its bearer token."""

from __future__ import annotations

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
from starlette.requests import Request
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from ..clock import Clock
from ..errors import HoraeError, NotAuthenticated
from ..model.accounts.principal import LOCAL, LOCAL_OWNER, Principal
from ..service.runs.nodes import NodeState
from ..service.service import Service
from ..service.tasks.default_zone import zone_of_deployment
from ..web.authentication import authenticate
from ..web.body import MAX_BODY_BYTES, read_body, read_json_body
from ..web.language import request_language, states_language
from ..web.middleware import Application
from ..web.problems import problem_response
from ..web.request_context import app_context
from .call import ToolContext
from .local import VIA
from .refusals import refuse
from .server import Caller, make_server

PATH: Final = "/mcp"
_LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_PRINCIPAL_CLAIM: Final = "who"


@asynccontextmanager
async def mount(app: Application, service: Service, clock: Clock) -> AsyncIterator[None]:
    """Serve `POST /mcp` while the context is open."""
    endpoint = McpEndpoint(
        make_server(ToolContext(service, clock, partial(_has_node, service)), partial(_caller_of, service))
    )
    app.router.routes.append(Route(PATH, endpoint, methods=["POST"]))
    async with endpoint.open():
        yield


class McpEndpoint:
    """ASGI endpoint without sessions beyond one request, so that any process can answer and clients cannot fill its
    memory."""

    def __init__(self, server: Server[Any]) -> None:
        self._server = server
        self._authenticated_app: RequireAuthMiddleware | None = None

    @asynccontextmanager
    async def open(self) -> AsyncIterator[None]:
        sessions = StreamableHTTPSessionManager(
            self._server,
            json_response=True,
            stateless=True,
            # The origin is checked here, before any token is.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=MAX_BODY_BYTES,
        )
        async with sessions.run():
            self._authenticated_app = RequireAuthMiddleware(sessions.handle_request, [])
            try:
                yield
            finally:
                self._authenticated_app = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            _check_origin(request)
            credentials = await BearerAuthBackend(RequestTokenVerifier(request)).authenticate(request)
            if credentials is not None:
                scope["auth"], scope["user"] = credentials
                await read_json_body(request)
        except HoraeError as error:
            await problem_response(request, error)(scope, receive, send)
            return
        if self._authenticated_app is None:
            raise RuntimeError("the application was not started")
        if credentials is None:
            await self._authenticated_app(scope, receive, send)
            return
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_on_disconnect, receive, tasks.cancel_scope)
            await self._authenticated_app(scope, _replay_body(request, receive), send)
            tasks.cancel_scope.cancel()


class RequestTokenVerifier:
    """Token verifier for the MCP library. One per request, so that rate limits apply."""

    def __init__(self, request: Request) -> None:
        self._request = request

    async def verify_token(self, token: str) -> AccessToken | None:
        try:
            principal = await authenticate(self._request, VIA)
        except NotAuthenticated:
            return None
        scopes = [scope.value for scope in principal.scopes]
        # The library and the tools must not see the token.
        del token
        return AccessToken(
            token="",
            client_id=principal.actor,
            subject=principal.owner,
            scopes=scopes,
            claims={_PRINCIPAL_CLAIM: principal},
        )


async def _has_node(service: Service) -> bool:
    """Return whether a node that renews its lease can execute due tasks."""
    return any(seen.state is not NodeState.SILENT for seen in await service.nodes.all(LOCAL))


def _caller_of(service: Service, context: ServerRequestContext[Any, Any]) -> Caller:
    """Return the caller of a request, with its owner's zone. The local owner without one gets the zone of this machine,
    as on standard input and output; other owners have to name a zone."""
    request: Request | None = context.request
    user = None if request is None else request.scope.get("user")
    if request is None or not isinstance(user, AuthenticatedUser) or user.access_token.claims is None:
        raise RuntimeError("the request was not authenticated")
    principal: Principal = user.access_token.claims[_PRINCIPAL_CLAIM]
    if principal.zone is not None or principal.owner != LOCAL_OWNER or service.zone is None:
        return Caller(principal, request_language(request), states_language=states_language(request))
    assumed = zone_of_deployment(principal.owner, service.zone)
    return Caller(principal._replace(zone=assumed.name), request_language(request), assumed, states_language(request))


def _check_origin(request: Request) -> None:
    """Refuse a browser page of a foreign origin (DNS rebinding). Pages of this machine and of configured origins may
    call; programs send no Origin and need only their token."""
    origin = request.headers.get("origin")
    if origin is None or origin in app_context(request).settings.origins:
        return
    if not (_is_loopback(origin) and _is_loopback(f"//{request.headers.get('host', '')}")):
        raise refuse("foreign_origin", origin=origin)


def _is_loopback(address: str) -> bool:
    try:
        return urlsplit(address).hostname in _LOOPBACK
    except ValueError:
        return False


async def _cancel_on_disconnect(receive: Receive, scope: anyio.CancelScope) -> None:
    """Cancel the call when the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _replay_body(request: Request, receive: Receive) -> Receive:
    """Return a receive function that yields the body again, which was read for checking."""
    sent = False

    async def receive_again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": await read_body(request), "more_body": False}

    return receive_again
