"""Bearer token authentication: turns the token into a principal, and applies the rate limits of its owner and of
addresses that send wrong tokens."""

from __future__ import annotations

from typing import Final

from starlette.requests import Request

from ..errors import NotAuthenticated
from ..model.accounts.principal import Principal
from .rate_limit import RateLimits
from .refusals import refuse
from .request_context import app_context, request_id

VIA: Final = "http"
_SCHEME: Final = "bearer"
_MAX_TOKEN_LENGTH: Final = 300


async def authenticate_caller(request: Request) -> Principal:
    return await authenticate(request, VIA)


async def authenticate(request: Request, via: str) -> Principal:
    """Return the principal of the request, cached after the first call. Raises NotAuthenticated without a valid token,
    or a rate limit refusal."""
    state = request.scope["state"]
    cached: Principal | None = state.get("caller")
    if cached is not None:
        return cached
    context, text = app_context(request), bearer_token(request)
    try:
        principal = await context.service.tokens.authenticate(text, via=via, request=request_id(request))
    except NotAuthenticated:
        count_failure(request)
        raise
    take_from_quota(request, context.rate_limits, principal)
    state["caller"] = principal
    return principal


def bearer_token(request: Request) -> str:
    """Return the bearer token of the `Authorization` header; tokens in a URL are ignored, since URLs end up in logs.

    Two such headers are refused: a proxy in front may have checked the other one.
    """
    headers = request.headers.getlist("authorization")
    scheme, _, text = (headers[0] if len(headers) == 1 else "").partition(" ")
    if scheme.lower() != _SCHEME or not text.strip():
        raise refuse("no_token")
    return text.strip()[:_MAX_TOKEN_LENGTH]


def count_failure(request: Request) -> None:
    """Count a wrong token against the address that sent it; refuse with 429 once there were too many. A valid token is
    never refused for failures of others at its address."""
    bucket = app_context(request).rate_limits.failures.take(request.client.host if request.client is not None else "")
    if bucket.retry_after:
        raise refuse("too_many_failures", retry_after=bucket.retry_after)


def take_from_quota(request: Request, limits: RateLimits, principal: Principal) -> None:
    """Take one request from the owner's bucket, which all its tokens share, those of its agents included."""
    if principal.admin or principal.quotas.requests_per_minute is None:
        return
    bucket = limits.owners.take(principal.owner, principal.quotas.requests_per_minute)
    request.scope["state"]["bucket"] = bucket
    if bucket.retry_after:
        raise refuse("too_many_requests", most=bucket.limit, retry_after=bucket.retry_after)
