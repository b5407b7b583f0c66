"""ASGI application of the router: chooses the deployment of each request and forwards it; it keeps no secret and no data."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from ..clock import Clock
from ..errors import HoraeError, NotAuthenticated, Refusal
from ..service.accounts.credential_lookup import Credential, read_credential
from ..version import __version__
from ..web.authentication import bearer_token
from ..web.middleware import RequestMiddleware
from ..web.problems import problem_response
from ..web.rate_limit import RateLimits
from ..web.refusals import refuse as refuse_request
from ..web.request_context import request_id
from ..web.responses import json_response
from ..web.trusted_proxies import NO_PROXIES, TrustedProxies, TrustedProxyMiddleware
from ..web.websocket import ServerWebSocket
from . import switcher, websockets
from .deployment_map import DeploymentMap
from .forwarding import RequestBody, return_response
from .heads import (
    chosen_deployments,
    deployment_cookie,
    deployment_header,
    read_target,
    request_headers,
    response_headers,
)
from .refusals import refuse
from .routes import Routes
from .upstream import Upstream

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientWebSocketResponse

_CONSOLES: Final = ("/console", "/scheduled-tasks/console")
_SIGN_IN_PATHS: Final = frozenset(f"{console}/sign-in" for console in _CONSOLES)
_CALENDAR_PATHS: Final = frozenset(f"{console}/calendar.ics" for console in _CONSOLES)
_CONFLICT: Final = 409
_UNAUTHENTICATED: Final = 401
_MAX_PROBLEM_BYTES: Final = 65_536
_MOVED: Final = b'"owner_moved"'


class _Choice(NamedTuple):
    """Where a request goes. `credential`: by what it was found; None: by the browser's choice, or the default.

    `shows_console`: the browser shows the console of this deployment from now on.
    """

    upstream: Upstream
    credential: Credential | None = None
    shows_console: bool = False


class RouterApplication:
    """Router of one map. `trusted` are proxies in front of the router, which say the addresses of their clients."""

    def __init__(self, deployment_map: DeploymentMap, clock: Clock, trusted: TrustedProxies = NO_PROXIES) -> None:
        self.map = deployment_map
        self.upstreams = {each.name: Upstream(each) for each in deployment_map.deployments.values()}
        self.routes = Routes(deployment_map, self.upstreams)
        self._failures = RateLimits(clock).failures
        self._closing = asyncio.Event()
        self._app: ASGIApp = _WebSocketsApart(self._serve_websocket, RequestMiddleware(self._serve_http))
        if trusted:
            self._app = TrustedProxyMiddleware(self._app, trusted)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _serve_lifespan(receive, send)
        else:
            await self._app(scope, receive, send)

    async def close_streams(self) -> None:
        """End the event streams and WebSockets, which would never end by themselves."""
        self._closing.set()

    async def close(self) -> None:
        for each in self.upstreams.values():
            await each.close()

    # --- requests ----------------------------------------------------------------------------------------------------

    async def _serve_http(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            own = await self._answer_itself(request)
            if own is None:
                await self._forward(request, receive, send)
            else:
                await own(scope, receive, send)
        except HoraeError as error:
            await problem_response(request, error)(scope, receive, send)

    async def _answer_itself(self, request: Request) -> Response | None:
        """Return the answer to a request that is for the router; None for one that is forwarded."""
        match request.scope["path"]:
            case "/healthz":
                return json_response({"status": "ok", "version": __version__})
            case "/readyz":
                return await self._report_readiness()
            case switcher.PATH:
                _, named = chosen_deployments(request.scope["headers"])
                return await switcher.respond(request, [each for each in self.upstreams if each in named])
        return None

    async def _report_readiness(self) -> Response:
        """The router is ready as long as one deployment answers: the owners of the others get 503 by themselves."""
        upstreams = self.upstreams.values()
        reachable = await asyncio.gather(*(each.is_reachable() for each in upstreams))
        trusting = await asyncio.gather(*(each.trusts_router() for each in upstreams))
        states = [
            {"name": name, "reachable": is_reachable, "trusts_router": is_trusting}
            for name, is_reachable, is_trusting in zip(self.upstreams, reachable, trusting, strict=True)
        ]
        ready = any(trusting)
        data = {
            "status": "ready" if ready else "not ready",
            "version": __version__,
            "deployments": states,
            "misplaced_owners": len(self.routes.misplaced),
        }
        return json_response(data, 200 if ready else 503, None if ready else {"Retry-After": "2"})

    async def _forward(self, request: Request, receive: Receive, send: Send) -> None:
        scope = request.scope
        target = read_target(scope)
        body = RequestBody(scope, receive)
        choice = await self._choose(request, body)
        response = await self._send(request, target, choice.upstream, body)
        try:
            refusal = await _read_refusal(response)
            # In both cases the deployment has done nothing.
            if choice.credential is not None and (response.status == _UNAUTHENTICATED or _MOVED in refusal):
                self.routes.forget(choice.credential)
                moved = await self._find(choice.credential, request)
                if moved is not choice.upstream and body.is_repeatable:
                    response.close()
                    choice = choice._replace(upstream=moved)
                    response = await self._send(request, target, moved, body)
                    refusal = b""
            headers = response_headers(response.raw_headers, choice.upstream.deployment.name)
            if choice.credential is not None:
                headers.append(deployment_header(choice.upstream.deployment.name))
            if choice.shows_console:
                is_secure = request.url.scheme == "https"
                headers.append(deployment_cookie(choice.upstream.deployment.name, is_secure=is_secure))
            await return_response(response, headers, refusal, body, (receive, send), self._closing)
        finally:
            response.close()

    async def _send(self, request: Request, target: str, upstream: Upstream, body: RequestBody) -> ClientResponse:
        headers = request_headers(request.scope, request_id(request), upstream.deployment.name)
        content: AsyncIterable[bytes] | None = None if body.is_empty else body.stream()
        try:
            return await upstream.send(request.method, target, headers, content)
        except Refusal:
            if body.refusal is not None:
                raise body.refusal from None
            raise

    # --- the deployment of a request -----------------------------------------------------------------------------------

    async def _choose(self, request: Request, body: RequestBody) -> _Choice:
        """Return the deployment of the request's credential; without one, that of the browser's choice or the default."""
        path = request.scope["path"]
        if "authorization" in request.headers:
            credential = read_credential(bearer_token(request))
        elif path in _CALENDAR_PATHS:
            credential = read_credential(request.query_params.get("token", ""))
        elif path in _SIGN_IN_PATHS and request.method == "POST":
            return await self._choose_for_sign_in(request, body)
        else:
            credential = None
        if credential is None:
            return _Choice(self._default_for(request))
        return _Choice(await self._find(credential, request), credential)

    async def _choose_for_sign_in(self, request: Request, body: RequestBody) -> _Choice:
        """Return the deployment of the token or code in the form; a wrong one is refused by the page of the default."""
        fields = parse_qs((await body.read()).decode("latin-1"))
        texts = [text.strip() for name in ("code", "token") for text in fields.get(name, ())]
        credential = next((found for found in map(read_credential, texts) if found is not None), None)
        if credential is None:
            return _Choice(self._default_for(request))
        try:
            return _Choice(await self._find(credential, request), shows_console=True)
        except NotAuthenticated:
            return _Choice(self._default_for(request))

    def _default_for(self, request: Request) -> Upstream:
        chosen, named = chosen_deployments(request.scope["headers"])
        candidates = [chosen, *named] if len(named) == 1 else [chosen]
        name = next((each for each in candidates if each in self.upstreams), self.map.default)
        return self.upstreams[name]

    async def _find(self, credential: Credential, request: Request) -> Upstream:
        """Return the deployment of a credential. Wrong ones are counted against the address that sends them."""
        try:
            return await self.routes.find(credential)
        except NotAuthenticated:
            bucket = self._failures.take(request.client.host if request.client is not None else "")
            if bucket.retry_after:
                raise refuse_request("too_many_failures", retry_after=bucket.retry_after) from None
            raise

    # --- WebSockets ----------------------------------------------------------------------------------------------------

    async def _serve_websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a handshake: through the middleware, which refuses and denies it like a request."""
        socket = ServerWebSocket(scope, receive, send)
        await socket.receive_request()
        handshake = {**scope, "type": "http", "method": "GET", "extensions": {}}
        await RequestMiddleware(_Handshake(self, scope, (receive, send)))(handshake, receive, socket.send_response)

    async def relay_websocket(self, request: Request, scope: Scope, channel: tuple[Receive, Send]) -> None:
        target = read_target(scope)
        text = bearer_token(request) if "authorization" in request.headers else websockets.websocket_token(scope)
        credential = None if text is None else read_credential(text)
        if credential is None:
            raise refuse_request("no_token")
        upstream = await self._find(credential, request)
        try:
            connection = await websockets.connect(upstream, scope, target, request_id(request))
        except websockets.DeniedWebSocket as denied:
            if not denied.may_have_moved:
                raise refuse("websocket_denied", status=denied.status) from None
            self.routes.forget(credential)
            moved = await self._find(credential, request)
            connection = await self._connect_again(moved, scope, target, request)
        await websockets.relay(connection, *channel, self._closing)

    @staticmethod
    async def _connect_again(
        upstream: Upstream, scope: Scope, target: str, request: Request
    ) -> ClientWebSocketResponse:
        try:
            return await websockets.connect(upstream, scope, target, request_id(request))
        except websockets.DeniedWebSocket as denied:
            raise refuse("websocket_denied", status=denied.status) from None


class _Handshake:
    """ASGI application of one handshake: it becomes a WebSocket, or the problem document of its refusal."""

    def __init__(self, router: RouterApplication, scope: Scope, channel: tuple[Receive, Send]) -> None:
        self._router = router
        self._scope = scope
        self._channel = channel

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope)
        try:
            await self._router.relay_websocket(request, self._scope, self._channel)
        except HoraeError as error:
            await problem_response(request, error)(scope, receive, send)


class _WebSocketsApart:
    """ASGI application that gives WebSockets to one application and requests to another."""

    def __init__(self, websocket: ASGIApp, http: ASGIApp) -> None:
        self._websocket = websocket
        self._http = http

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._websocket if scope["type"] == "websocket" else self._http
        await app(scope, receive, send)


async def _read_refusal(response: ClientResponse) -> bytes:
    """Return the body of a conflict, which may be the refusal of an owner that has moved; empty for other responses."""
    is_short = response.content_length is not None and response.content_length <= _MAX_PROBLEM_BYTES
    return await response.read() if response.status == _CONFLICT and is_short else b""


async def _serve_lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
