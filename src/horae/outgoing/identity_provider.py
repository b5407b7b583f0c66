"""OpenID Connect relying party: authorization code flow with PKCE, state and nonce; verifies ID tokens with Authlib.

Every request goes through the guarded HTTP client, so that neither the issuer nor its documents can name private addresses that
the operator has not allowed.
"""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from secrets import token_hex, token_urlsafe
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote, urlencode, urlsplit

from ..clock import Clock
from ..errors import Refusal
from ..version import __version__
from .addresses import Networks
from .client import Client
from .exchange import Request, Response
from .guard import check_url
from .refusals import refuse

if TYPE_CHECKING:
    from joserfc.jwk import KeySet

ALGORITHMS: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures with a public key. Neither `none` nor HMAC, which a holder of the client secret could forge."""
_WELL_KNOWN: Final = "/.well-known/openid-configuration"
_ENDPOINTS: Final = ("authorization_endpoint", "token_endpoint", "jwks_uri")
_TIMEOUT: Final = 10.0
_MAX_BYTES: Final = 256 * 1024
_CACHED_SECONDS: Final = 600.0
_KEYS_RETRY_SECONDS: Final = 10.0
"""A token with an unknown key makes the keys be read again, at most this often."""
_FAILURE_SECONDS: Final = 3.0
"""A failure to read the documents is repeated to other requests for so long."""
_LEEWAY: Final = 60
"""Seconds by which the clocks of the provider and of this machine may differ."""
_BASIC: Final = "client_secret_basic"
_DEFECTS: Final = {
    "bad_signature": "signature",
    "expired_token": "expired",
    "unsupported_algorithm": "algorithm",
    "missing_key": "unknown key",
    "invalid_key_id": "unknown key",
}


class ProviderSettings(NamedTuple):
    """`read_secret` returns the client secret; None: a public client, which has none. `name` is shown to users."""

    issuer: str
    client_id: str
    name: str
    read_secret: Callable[[], Awaitable[str | None]]
    scopes: str = "openid email profile"


class SignInAttempt(NamedTuple):
    """Random values that bind the answer of the provider to the browser that began to sign in."""

    state: str
    nonce: str
    verifier: str


def new_attempt() -> SignInAttempt:
    return SignInAttempt(token_hex(16), token_urlsafe(32), token_urlsafe(48))


class _Documents(NamedTuple):
    """What the provider says of itself, and its keys."""

    metadata: Mapping[str, Any]
    keys: KeySet
    read_at: float


class _Failure(NamedTuple):
    error: Refusal
    until: float


class IdentityProvider:
    """One provider. Its documents are cached; the cache belongs to this process."""

    def __init__(self, settings: ProviderSettings, clock: Clock, networks: Networks = ()) -> None:
        self.settings = settings
        self._clock = clock
        self._networks = networks
        self._client = Client(networks)
        self._documents: _Documents | None = None
        self._failure: _Failure | None = None
        self._lock = asyncio.Lock()

    @property
    def name(self) -> str:
        return self.settings.name

    async def close(self) -> None:
        await self._client.close()

    async def authorization_url(self, attempt: SignInAttempt, redirect_uri: str) -> str:
        """Return the address at the provider where the browser goes to sign in."""
        from authlib.oauth2.rfc7636 import create_s256_code_challenge  # noqa: PLC0415 - an extra

        documents = await self._load()
        query = {
            "response_type": "code",
            "client_id": self.settings.client_id,
            "redirect_uri": redirect_uri,
            "scope": self.settings.scopes,
            "state": attempt.state,
            "nonce": attempt.nonce,
            "code_challenge": create_s256_code_challenge(attempt.verifier),
            "code_challenge_method": "S256",
        }
        endpoint = str(documents.metadata["authorization_endpoint"])
        return f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}"

    async def fetch_claims(self, attempt: SignInAttempt, code: str, redirect_uri: str) -> dict[str, Any]:
        """Exchange the code for an ID token, and return its verified claims. Raises a refusal for every defect."""
        documents = await self._load()
        tokens = await self._exchange(documents.metadata, attempt, code, redirect_uri)
        id_token, access_token = tokens.get("id_token"), tokens.get("access_token")
        if not isinstance(id_token, str):
            raise self._refuse_token("no ID token")
        return await self._verify(id_token, attempt, access_token if isinstance(access_token, str) else None)

    # --- documents of the provider -------------------------------------------------------------------------------------

    async def _load(self, *, keys_before: float | None = None) -> _Documents:
        """Return the cached documents; read again when they are old, or not newer than `keys_before`."""
        async with self._lock:
            known, now = self._documents, self._clock.steady()
            if known is not None:
                is_fresh = now - known.read_at < _CACHED_SECONDS
                if is_fresh and (keys_before is None or known.read_at > keys_before):
                    return known
            if self._failure is not None and now < self._failure.until:
                raise self._failure.error
            try:
                self._documents = await self._read_documents(now)
            except Refusal as error:
                # Requests of browsers that are not signed in must not become a stream of requests to the provider.
                self._failure = _Failure(error, self._clock.steady() + _FAILURE_SECONDS)
                raise
            return self._documents

    async def _read_documents(self, now: float) -> _Documents:
        from joserfc.errors import JoseError  # noqa: PLC0415 - an extra
        from joserfc.jwk import KeySet  # noqa: PLC0415

        metadata = await self._get_json(self.settings.issuer.rstrip("/") + _WELL_KNOWN)
        if metadata.get("issuer") != self.settings.issuer:
            raise refuse("provider_answer", provider=self.name, problem="it names another issuer")
        if not all(isinstance(metadata.get(name), str) for name in _ENDPOINTS):
            raise refuse("provider_answer", provider=self.name, problem="its configuration is not complete")
        keys: Any = await self._get_json(metadata["jwks_uri"])
        try:
            return _Documents(metadata, KeySet.import_key_set(keys), now)
        except (JoseError, ValueError, LookupError, TypeError, AttributeError):
            raise refuse("provider_answer", provider=self.name, problem="its keys cannot be read") from None

    async def _get_json(self, url: str) -> dict[str, Any]:
        return await self._send_json("GET", url, (), None)

    async def _send_json(
        self, method: str, url: str, headers: tuple[tuple[str, str], ...], body: bytes | None
    ) -> dict[str, Any]:
        own = (("Accept", "application/json"), ("User-Agent", f"horae/{__version__}"), *headers)
        try:
            checked = check_url(url, self._networks)
        except Refusal as refusal:
            raise refuse("provider_unreachable", provider=self.name, problem=refusal.message) from None
        reply = await self._client.send(Request(method, checked, own, body, _TIMEOUT, max_body_bytes=_MAX_BYTES))
        if not isinstance(reply, Response):
            raise refuse("provider_unreachable", provider=self.name, problem=reply.message)
        return self._read_json(reply)

    def _read_json(self, reply: Response) -> dict[str, Any]:
        try:
            data = json.loads(reply.body)
        except ValueError:
            data = None
        if reply.status != 200 and isinstance(data, dict) and data.get("error") == "invalid_grant":
            raise self._refuse_token("code not valid, or used already")
        if reply.status != 200 or not isinstance(data, dict) or reply.truncated:
            raise refuse("provider_answer", provider=self.name, problem=f"status {reply.status}")
        return data

    # --- tokens --------------------------------------------------------------------------------------------------------

    async def _exchange(
        self, metadata: Mapping[str, Any], attempt: SignInAttempt, code: str, redirect_uri: str
    ) -> dict[str, Any]:
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "client_id": self.settings.client_id,
            "code_verifier": attempt.verifier,
        }
        headers: tuple[tuple[str, str], ...] = (("Content-Type", "application/x-www-form-urlencoded"),)
        secret = await self.settings.read_secret()
        methods = metadata.get("token_endpoint_auth_methods_supported") or [_BASIC]
        if secret is not None and _BASIC in methods:
            headers = (*headers, ("Authorization", _basic(self.settings.client_id, secret)))
        elif secret is not None:
            fields["client_secret"] = secret
        return await self._send_json("POST", metadata["token_endpoint"], headers, urlencode(fields).encode())

    async def _verify(self, id_token: str, attempt: SignInAttempt, access_token: str | None) -> dict[str, Any]:
        from authlib.oidc.core import CodeIDToken  # noqa: PLC0415 - an extra
        from joserfc.errors import JoseError  # noqa: PLC0415

        decoded = await self._decode(id_token)
        options = {
            "iss": {"essential": True, "value": self.settings.issuer},
            "aud": {"essential": True, "value": self.settings.client_id},
            "sub": {"essential": True},
        }
        params = {"nonce": attempt.nonce, "client_id": self.settings.client_id, "access_token": access_token}
        claims = CodeIDToken(decoded.claims, decoded.header, options, params)
        try:
            claims.validate(now=int(self._clock.now().timestamp()), leeway=_LEEWAY)
        except JoseError as error:
            raise self._refuse_token(_describe(error)) from None
        except (TypeError, ValueError):
            raise self._refuse_token("malformed claim") from None
        return dict(claims)

    async def _decode(self, id_token: str) -> Any:
        """Check the signature; after an unknown key, once more with the keys read again."""
        documents = await self._load()
        try:
            return self._decode_with(documents.keys, id_token)
        except Refusal:
            if self._clock.steady() - documents.read_at < _KEYS_RETRY_SECONDS:
                raise
        return self._decode_with((await self._load(keys_before=documents.read_at)).keys, id_token)

    def _decode_with(self, keys: KeySet, id_token: str) -> Any:
        from joserfc import jwt  # noqa: PLC0415 - an extra
        from joserfc.errors import JoseError  # noqa: PLC0415

        try:
            return jwt.decode(id_token, keys, algorithms=ALGORITHMS)
        except (JoseError, ValueError, TypeError) as error:
            raise self._refuse_token(_describe(error)) from None

    def _refuse_token(self, problem: str) -> Refusal:
        return refuse("provider_token", provider=self.name, problem=problem)


def host_of(issuer: str) -> str:
    return urlsplit(issuer).hostname or issuer


def _basic(client_id: str, secret: str) -> str:
    """Return the value of `Authorization`; both parts are form-encoded first (RFC 6749, 2.3.1)."""
    return "Basic " + b64encode(f"{quote(client_id, safe='')}:{quote(secret, safe='')}".encode()).decode()


def _describe(error: Exception) -> str:
    """Name the defect in a few words; messages of the library may quote the token."""
    known = _DEFECTS.get(str(getattr(error, "error", "")))
    claim = getattr(error, "claim", None)
    if known is None and isinstance(claim, str) and claim.isidentifier():
        return f"claim {claim}"
    return known or "malformed"
