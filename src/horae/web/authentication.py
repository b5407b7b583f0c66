"""Who is asking: the bearer token becomes a principal, within what its bearer and their address may ask."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import Depends
from starlette.requests import Request

from ..errors import NotAuthenticated
from ..model.accounts.principal import Principal
from .rate_limit import Allowances
from .refusals import refuse
from .request_context import house_of, request_id

VIA: Final = "http"
_SCHEME: Final = "bearer"
_LONGEST: Final = 300


async def caller(request: Request) -> Principal:
    return await authenticated(request, VIA)


async def authenticated(request: Request, via: str) -> Principal:
    """Once per request, however many ask; a refusal when there is no token, or it is not valid."""
    state = request.scope["state"]
    known: Principal | None = state.get("caller")
    if known is not None:
        return known
    house, text = house_of(request), bearer(request)
    try:
        who = await house.service.tokens.authenticate(text, via=via, request=request_id(request))
    except NotAuthenticated:
        count_failure(request)
        raise
    _take(request, house.allowances, who)
    state["caller"] = who
    return who


def bearer(request: Request) -> str:
    """Only the header counts: what stands in an address is in everybody's logs.

    Two of them are as good as none: whoever stands in front may have looked at the other one.
    """
    said = request.headers.getlist("authorization")
    scheme, _, text = (said[0] if len(said) == 1 else "").partition(" ")
    if scheme.lower() != _SCHEME or not text.strip():
        raise refuse("no_token")
    return text.strip()[:_LONGEST]


def count_failure(request: Request) -> None:
    """Count a wrong token against the address that sent it; refuse with 429 once there were too many. A valid token is
    never refused for the failures of others at its address."""
    left = house_of(request).allowances.strangers.take(request.client.host if request.client is not None else "")
    if left.wait:
        raise refuse("too_many_failures", retry_after=left.wait)


def _take(request: Request, allowances: Allowances, who: Principal) -> None:
    """All tokens of an owner draw from one bucket, those of its agents included."""
    if who.admin or who.quotas.requests_per_minute is None:
        return
    left = allowances.owners.take(who.owner, who.quotas.requests_per_minute)
    request.scope["state"]["allowance"] = left
    if left.wait:
        raise refuse("too_many_requests", most=left.most, retry_after=left.wait)


Who = Annotated[Principal, Depends(caller)]
"""What a route function asks for."""
