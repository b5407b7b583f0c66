"""Calendar tokens: make (the text is shown once), list and revoke the addresses of the caller's calendar feed."""

from __future__ import annotations

from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ....model.accounts.principal import Principal, Scope
from ....model.refusals import refuse
from ....service.accounts.refusals import refuse as refuse_account
from ....web.idempotency import Ids, idempotent, store_ids
from ....web.parameters import Body, Path
from ....web.request_context import app_context
from ....web.responses import json_response
from ....web.routing import RouteGroup
from ....wire.accounts import calendar_token_json
from ....wire.fields import text_or_none
from ...openapi import CALENDAR_TOKEN, Operation
from ...parameters import DryRun, service_for

routes: Final = RouteGroup("/v1", "tokens")

CalendarTokenId = Annotated[str, Path(max_length=200, description="The id of a calendar token: `cal_…`.")]


@routes.get(
    "/calendar-tokens",
    Operation("list_calendar_tokens", "Your calendar tokens, without their secret text", "CalendarTokenList"),
)
async def list_calendar_tokens(request: Request, principal: Principal) -> Response:
    tokens = await app_context(request).service.calendar_tokens.all(principal)
    return json_response({"items": [calendar_token_json(each) for each in tokens], "next_cursor": None})


async def _replay_token(request: Request, principal: Principal, ids: Ids) -> Response:
    for token in await app_context(request).service.calendar_tokens.all(principal):
        if token.id == ids["id"]:
            return json_response({**calendar_token_json(token), "text": None}, 201)
    raise refuse_account("no_such_calendar_token", id=ids["id"])


@routes.post(
    "/calendar-tokens",
    Operation(
        "make_calendar_token",
        "A token for `/calendar.ics?token=` of the console; it reads your calendar and does nothing else",
        "MadeCalendarToken",
        status=201,
    ),
)
@idempotent(Scope.WRITE, _replay_token)
async def make_calendar_token(
    request: Request,
    principal: Principal,
    body: Annotated[Any, Body("CalendarTokenWish", "calendar token", example=CALENDAR_TOKEN)],
    *,
    dry_run: DryRun = False,
) -> Response:
    name = text_or_none("name", body.get("name"))
    if name is None:
        raise refuse("missing_field", name="name")
    token, text = await service_for(request, dry_run=dry_run).calendar_tokens.make(principal, name)
    if dry_run:
        return json_response({**calendar_token_json(token), "text": None})
    store_ids(request, id=token.id)
    return json_response({**calendar_token_json(token), "text": text}, 201)


@routes.delete(
    "/calendar-tokens/{token_id}",
    Operation(
        "revoke_calendar_token", "Revoke a calendar token; its feed ends at once", "CalendarToken", problems=(404,)
    ),
)
async def revoke_calendar_token(
    request: Request, principal: Principal, token_id: CalendarTokenId, *, dry_run: DryRun = False
) -> Response:
    service = service_for(request, dry_run=dry_run)
    return json_response(calendar_token_json(await service.calendar_tokens.revoke(principal, token_id)))
