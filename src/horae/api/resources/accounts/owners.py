"""Owners: list, get, create or change, revoke, restore."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ....model.accounts.principal import Principal, Role, Scope
from ....model.refusals import refuse
from ....web.etags import entity_response, expected_version
from ....web.idempotency import Ids, idempotent
from ....web.pagination import decode_cursor, page_response
from ....web.parameters import Body, Path
from ....web.request_context import app_context
from ....web.responses import json_response
from ....web.routing import RouteGroup
from ....wire.accounts import owner_json
from ....wire.fields import text_or_none
from ...openapi import IF_MATCH, IF_NONE_MATCH, OWNER, Operation
from ...parameters import Cursor, DryRun, Limit, service_for

routes: Final = RouteGroup("/v1", "owners")

OwnerName = Annotated[str, Path(max_length=200, description="The name of an owner.")]


@routes.get(
    "/owners",
    Operation("list_owners", "Owners: all of them for admins, the caller's own for others", "OwnerPage"),
)
async def list_owners(request: Request, principal: Principal, *, limit: Limit = 50, cursor: Cursor = None) -> Response:
    after = decode_cursor(request, principal, cursor)
    page = await app_context(request).service.accounts.page(principal, after, limit)
    return page_response(request, principal, page, owner_json)


@routes.get("/owners/{name}", Operation("get_owner", "One owner", "Owner", problems=(404,), headers=(IF_NONE_MATCH,)))
async def get_owner(request: Request, principal: Principal, name: OwnerName) -> Response:
    owner = await app_context(request).service.accounts.get(principal, name)
    return entity_response(request, owner_json(owner), owner.version)


@routes.put(
    "/owners/{name}",
    Operation(
        "put_owner",
        "Create or change an owner (admins; others only their own zone and language)",
        "Owner",
        problems=(404, 409, 412),
        headers=(IF_MATCH,),
    ),
)
async def put_owner(
    request: Request,
    principal: Principal,
    name: OwnerName,
    body: Annotated[Any, Body("OwnerWish", "owner", example=OWNER)],
    *,
    dry_run: DryRun = False,
) -> Response:
    accounts = service_for(request, dry_run=dry_run).accounts
    expected = None
    if "if-match" in request.headers:
        expected = expected_version(request, (await accounts.get(principal, name)).version)
    owner = await accounts.put(
        principal,
        name,
        role=_parse_role(body.get("role")),
        zone=text_or_none("zone", body.get("zone")),
        quotas=_read_quotas(body),
        note=text_or_none("note", body.get("note")),
        expected=expected,
        language=text_or_none("language", body.get("language")),
    )
    return entity_response(request, owner_json(owner), owner.version)


async def _replay_owner(request: Request, principal: Principal, _ids: Ids) -> Response:
    return json_response(
        owner_json(await app_context(request).service.accounts.get(principal, request.path_params["name"]))
    )


@routes.post(
    "/owners/{name}/revoke",
    Operation(
        "revoke_owner",
        "Revoke an owner: its tasks no longer run and its tokens stop working (admins)",
        "Owner",
        problems=(404, 409),
    ),
)
@idempotent(Scope.ADMIN, _replay_owner)
async def revoke_owner(request: Request, principal: Principal, name: OwnerName, *, dry_run: DryRun = False) -> Response:
    return json_response(owner_json(await service_for(request, dry_run=dry_run).accounts.revoke(principal, name)))


@routes.post(
    "/owners/{name}/restore",
    Operation("restore_owner", "Restore a revoked owner (admins)", "Owner", problems=(404, 409)),
)
@idempotent(Scope.ADMIN, _replay_owner)
async def restore_owner(
    request: Request, principal: Principal, name: OwnerName, *, dry_run: DryRun = False
) -> Response:
    return json_response(owner_json(await service_for(request, dry_run=dry_run).accounts.restore(principal, name)))


def _parse_role(value: object) -> Role | None:
    if value is None:
        return None
    if value not in tuple(Role):
        raise refuse("bad_choice", name="role", value=value, allowed=", ".join(Role))
    return Role(str(value))


def _read_quotas(body: Mapping[str, Any]) -> Mapping[str, Any] | None:
    quotas = body.get("quotas")
    if quotas is not None and not isinstance(quotas, Mapping):
        raise refuse("bad_policy", name="quotas", value=quotas, wanted="JSON object")
    return quotas
