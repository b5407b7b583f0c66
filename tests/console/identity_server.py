"""OpenID Connect provider on a loopback port: discovery, keys, authorization with PKCE, and signed ID tokens.

Tests change what it issues (`claims`, `signing`, `header`) to plant one defect at a time.
"""

from __future__ import annotations

import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final
from urllib.parse import unquote, urlencode

from aiohttp import web
from joserfc import jwt
from joserfc.jwk import RSAKey

from horae.clock import SystemClock
from horae.runtime.http_server import open_listener

CLIENT_ID: Final = "horae"
CLIENT_SECRET: Final = "p@ss: word/with signs"  # noqa: S105 - of this test
_CLOCK: Final = SystemClock()


def make_key(name: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": name, "use": "sig", "alg": "RS256"}, private=True)


def unsigned(claims: dict[str, Any]) -> str:
    """Return a token with the algorithm `none`."""
    parts = [json.dumps(part).encode() for part in ({"alg": "none", "typ": "JWT"}, claims)]
    return ".".join(urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts) + "."


@dataclass
class Grant:
    """One authorization: what the browser asked for, until its code is exchanged."""

    query: dict[str, str]
    is_used: bool = False


@dataclass
class IdentityServer:
    """`claims` are added to the ID token, None removes one; `issue` makes the token of the claims."""

    url: str = ""
    key: RSAKey = field(default_factory=lambda: make_key("first"))
    claims: dict[str, Any] = field(default_factory=dict)
    grants: dict[str, Grant] = field(default_factory=dict)
    issue: Callable[[dict[str, Any]], str] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    denies: str | None = None
    requests: list[str] = field(default_factory=list)

    def app(self) -> web.Application:
        app = web.Application(middlewares=[self._note])
        app.router.add_get("/.well-known/openid-configuration", self._configuration)
        app.router.add_get("/keys", self._keys)
        app.router.add_get("/authorize", self._authorize)
        app.router.add_post("/token", self._token)
        return app

    @web.middleware
    async def _note(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.requests.append(request.path)
        response: web.StreamResponse = await handler(request)
        return response

    async def _configuration(self, _request: web.Request) -> web.Response:
        document = {
            "issuer": self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{self.url}/token",
            "jwks_uri": f"{self.url}/keys",
            "response_types_supported": ["code"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }
        return web.json_response(document | self.metadata)

    async def _keys(self, _request: web.Request) -> web.Response:
        return web.json_response({"keys": [self.key.as_dict(private=False)]})

    async def _authorize(self, request: web.Request) -> web.Response:
        query = dict(request.query)
        assert (query["response_type"], query["client_id"]) == ("code", CLIENT_ID)
        assert query["code_challenge_method"] == "S256"
        if self.denies is not None:
            answer = {"error": self.denies, "state": query["state"]}
        else:
            code = sha256(query["state"].encode()).hexdigest()
            self.grants[code] = Grant(query)
            answer = {"code": code, "state": query["state"]}
        raise web.HTTPFound(f"{query['redirect_uri']}?{urlencode(answer)}")

    async def _token(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        user, _, password = b64decode(request.headers["Authorization"].removeprefix("Basic ")).decode().partition(":")
        if (unquote(user), unquote(password)) != (CLIENT_ID, CLIENT_SECRET):
            return web.json_response({"error": "invalid_client"}, status=401)
        grant = self.grants.get(form["code"])
        if grant is None or grant.is_used or form["redirect_uri"] != grant.query["redirect_uri"]:
            return web.json_response({"error": "invalid_grant"}, status=400)
        challenge = urlsafe_b64encode(sha256(form["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if challenge != grant.query["code_challenge"]:
            return web.json_response({"error": "invalid_grant"}, status=400)
        grant.is_used = True
        token = (self.issue or self.sign)(self._claims_of(grant))
        return web.json_response({"access_token": "opaque", "token_type": "Bearer", "id_token": token})

    def _claims_of(self, grant: Grant) -> dict[str, Any]:
        now = int(_CLOCK.now().timestamp())
        claims = {
            "iss": self.url,
            "sub": "subject-7",
            "aud": CLIENT_ID,
            "iat": now,
            "exp": now + 300,
            "nonce": grant.query["nonce"],
            "email": "ada@example.org",
            "email_verified": True,
            **self.claims,
        }
        return {name: value for name, value in claims.items() if value is not None}

    def sign(self, claims: dict[str, Any], key: RSAKey | None = None) -> str:
        own = key or self.key
        return jwt.encode({"alg": "RS256", "kid": own.kid}, claims, own)


@asynccontextmanager
async def serve_identities() -> AsyncIterator[IdentityServer]:
    server = IdentityServer()
    with open_listener("127.0.0.1", 0) as listener:
        server.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        runner = web.AppRunner(server.app())
        await runner.setup()
        try:
            await web.SockSite(runner, listener).start()
            yield server
        finally:
            await runner.cleanup()
