"""Tokens: create (the text is shown once), list, get and revoke."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ....model.accounts.principal import Principal, Scope
from ....model.refusals import refuse
from ....web.idempotency import Ids, idempotent, store_ids
from ....web.pagination import decode_cursor, page_response
from ....web.parameters import Body, Path
from ....web.request_context import app_context
from ....web.responses import json_response
from ....web.routing import RouteGroup
from ....wire.accounts import token_json
from ....wire.fields import text_or_none
from ...openapi import TOKEN, Operation
from ...parameters import Cursor, DryRun, Limit, service_for
from ...parameters import Owner as OwnerQuery

routes: Final = RouteGroup("/v1", "tokens")

TokenId = Annotated[str, Path(max_length=200, description="The id of a token: `tok_…`.")]


@routes.get("/tokens", Operation("list_tokens", "Tokens, without their secret text", "TokenPage", problems=(404,)))
async def list_tokens(
    request: Request, principal: Principal, *, owner: OwnerQuery = None, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    after = decode_cursor(request, principal, cursor)
    page = await app_context(request).service.tokens.page(principal, owner, after, limit)
    return page_response(request, principal, page, token_json)


async def _replay_token(request: Request, principal: Principal, ids: Ids) -> Response:
    token = await app_context(request).service.tokens.get(principal, ids["id"])
    return json_response({**token_json(token), "text": None}, 201, {"Location": f"/v1/tokens/{token.id}"})


@routes.post(
    "/tokens",
    Operation(
        "make_token",
        "A new token; its text is shown this once (a repeated request shows null)",
        "MadeToken",
        status=201,
        problems=(404,),
    ),
)
@idempotent(Scope.WRITE, _replay_token)
async def make_token(
    request: Request,
    principal: Principal,
    body: Annotated[Any, Body("TokenWish", "token", example=TOKEN)],
    *,
    dry_run: DryRun = False,
) -> Response:
    name = text_or_none("name", body.get("name"))
    if name is None:
        raise refuse("missing_field", name="name")
    token, text = await service_for(request, dry_run=dry_run).tokens.make(
        principal,
        owner=text_or_none("owner", body.get("owner")),
        name=name,
        scopes=_parse_scopes(body.get("scopes")),
        expires=_parse_instant("expires", body.get("expires")),
        agent=text_or_none("agent", body.get("agent")),
    )
    if dry_run:
        return json_response({**token_json(token), "text": None})
    store_ids(request, id=token.id)
    return json_response({**token_json(token), "text": text}, 201, {"Location": f"/v1/tokens/{token.id}"})


@routes.get("/tokens/{token_id}", Operation("get_token", "One token", "Token", problems=(404,)))
async def get_token(request: Request, principal: Principal, token_id: TokenId) -> Response:
    return json_response(token_json(await app_context(request).service.tokens.get(principal, token_id)))


@routes.delete(
    "/tokens/{token_id}",
    Operation("revoke_token", "Revoke a token; it stops working within a second", "Token", problems=(404,)),
)
async def revoke_token(
    request: Request, principal: Principal, token_id: TokenId, *, dry_run: DryRun = False
) -> Response:
    return json_response(token_json(await service_for(request, dry_run=dry_run).tokens.revoke(principal, token_id)))


def _parse_scopes(value: object) -> list[Scope] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not value:
        raise refuse("bad_policy", name="scopes", value=value, wanted="list of texts")
    for each in value:
        if each not in tuple(Scope):
            raise refuse("bad_choice", name="scopes", value=each, allowed=", ".join(Scope))
    return [Scope(each) for each in value]


def _parse_instant(name: str, value: object) -> datetime | None:
    text = text_or_none(name, value)
    if text is None:
        return None
    try:
        at = datetime.fromisoformat(text)
        return at.astimezone(UTC) if at.tzinfo is not None else _refuse_naive(text)
    except (ValueError, OverflowError):
        raise refuse("bad_policy", name=name, value=text, wanted="2026-03-01T15:00:00Z") from None


def _refuse_naive(text: str) -> datetime:
    raise refuse("naive_instant", value=text)
