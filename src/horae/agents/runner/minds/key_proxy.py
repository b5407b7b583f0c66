"""HTTP proxy on the loopback that adds the model key: the child that talks to it never has the key.

A key in the environment of the child would be readable by every command that the model runs.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Final

import aiohttp
from aiohttp import web

API_KEY: Final = "ANTHROPIC_API_KEY"
OAUTH_TOKEN: Final = "CLAUDE_CODE_OAUTH_TOKEN"  # noqa: S105 - the name of a secret
_MAX_REQUEST_BYTES: Final = 64 * 1024 * 1024
_HOP_HEADERS: Final = frozenset(
    {"host", "connection", "keep-alive", "transfer-encoding", "content-length", "te", "upgrade", "accept-encoding"}
)
_CREDENTIALS: Final = frozenset({"authorization", "x-api-key", "cookie"})
_OAUTH_BETA: Final = "oauth-2025-04-20"
"""The endpoint takes a token of a subscription only with this."""


def key_headers(secrets: Mapping[str, str]) -> Mapping[str, str]:
    """Return the header with the key, or none if the secrets have none."""
    if key := secrets.get(API_KEY):
        return {"x-api-key": key}
    if token := secrets.get(OAUTH_TOKEN):
        return {"Authorization": f"Bearer {token}"}
    return {}


class _KeyProxy:
    def __init__(self, base_url: str, headers: Mapping[str, str], session: aiohttp.ClientSession) -> None:
        self._base_url = base_url.rstrip("/")
        self._headers = headers
        self._session = session

    async def handle(self, request: web.Request) -> web.StreamResponse:
        dropped = _HOP_HEADERS | _CREDENTIALS
        headers = {name.lower(): value for name, value in request.headers.items() if name.lower() not in dropped}
        headers |= self._headers
        if "Authorization" in self._headers:
            betas = request.headers.getall("anthropic-beta", [])
            headers["anthropic-beta"] = ",".join([*betas, _OAUTH_BETA])
        body = await request.read()
        is_started = False
        try:
            async with self._session.request(
                request.method,
                self._base_url + request.path_qs,
                data=body or None,
                headers={**headers, "Accept-Encoding": "identity"},
                allow_redirects=False,
            ) as found:
                response = web.StreamResponse(
                    status=found.status,
                    headers={name: value for name, value in found.headers.items() if name.lower() not in _HOP_HEADERS},
                )
                await response.prepare(request)
                is_started = True
                async for chunk in found.content.iter_any():
                    await response.write(chunk)
                await response.write_eof()
                return response
        except (aiohttp.ClientError, OSError) as error:
            if is_started:
                # The status is sent: only the end of the connection can say that the rest is missing.
                if request.transport is not None:
                    request.transport.abort()
                raise ConnectionResetError("the response was cut off") from None
            problem = f"the model endpoint cannot be reached: {type(error).__name__}"
            return web.json_response({"type": "error", "error": {"type": "api_error", "message": problem}}, status=502)


@asynccontextmanager
async def running_key_proxy(base_url: str, headers: Mapping[str, str]) -> AsyncIterator[str]:
    """Listen on a free port of the loopback; yield the base URL for the child."""
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=10.0)
    async with aiohttp.ClientSession(timeout=timeout, trust_env=False) as session:
        application = web.Application(client_max_size=_MAX_REQUEST_BYTES)
        application.router.add_route("*", "/{path:.*}", _KeyProxy(base_url, headers, session).handle)
        runner = web.AppRunner(application, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        try:
            site = web.TCPSite(runner, "127.0.0.1", 0)
            await site.start()
            host, port = runner.addresses[0][:2]
            yield f"http://{host}:{port}"
        finally:
            await runner.cleanup()
