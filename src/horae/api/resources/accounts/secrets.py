"""Secrets: set, list names, remove, grant to agents; values are never returned."""

from __future__ import annotations

from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ....model.accounts.principal import Principal
from ....service.accounts.secrets import SecretName
from ....web.pagination import decode_cursor, page_response
from ....web.parameters import Body, Path
from ....web.request_context import app_context
from ....web.responses import json_response, no_content
from ....web.routing import RouteGroup
from ....wire.instants import utc
from ...openapi import SECRET, Operation
from ...parameters import Cursor, DryRun, Limit, service_for
from ...parameters import Owner as OwnerQuery
from .agents import Agent

routes: Final = RouteGroup("/v1", "secrets")

SecretKey = Annotated[str, Path(max_length=200, description="The name of a secret.")]


@routes.get(
    "/secrets",
    Operation("list_secrets", "The names of secrets; no value is ever shown", "SecretPage", problems=(404,)),
)
async def list_secrets(
    request: Request, principal: Principal, *, owner: OwnerQuery = None, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    after = decode_cursor(request, principal, cursor)
    page = await app_context(request).service.secrets.names(principal, owner, after, limit)
    return page_response(request, principal, page, _secret_json)


@routes.put(
    "/secrets/{name}",
    Operation(
        "put_secret",
        "A secret, or a new value for one",
        "Secret",
        problems=(404, 409),
    ),
)
async def put_secret(
    request: Request,
    principal: Principal,
    name: SecretKey,
    body: Annotated[Any, Body("SecretValue", "secret", example=SECRET)],
    *,
    owner: OwnerQuery = None,
    dry_run: DryRun = False,
) -> Response:
    value: Any = body.get("value")
    return json_response(
        _secret_json(await service_for(request, dry_run=dry_run).secrets.set(principal, name, value, owner))
    )


@routes.delete("/secrets/{name}", Operation("delete_secret", "Remove a secret", None, status=204, problems=(404, 409)))
async def delete_secret(
    request: Request, principal: Principal, name: SecretKey, *, owner: OwnerQuery = None, dry_run: DryRun = False
) -> Response:
    await service_for(request, dry_run=dry_run).secrets.remove(principal, name, owner)
    return no_content()


@routes.put(
    "/secrets/{name}/agents/{agent}",
    Operation("grant_secret", "Let the tasks of an agent reference a secret", "Secret", problems=(404, 409)),
)
async def grant_secret(
    request: Request,
    principal: Principal,
    name: SecretKey,
    agent: Agent,
    *,
    owner: OwnerQuery = None,
    dry_run: DryRun = False,
) -> Response:
    return json_response(
        _secret_json(await service_for(request, dry_run=dry_run).secrets.grant(principal, name, agent, owner))
    )


@routes.delete(
    "/secrets/{name}/agents/{agent}",
    Operation("revoke_secret_grant", "The tasks of an agent may no longer reference it", "Secret", problems=(404, 409)),
)
async def revoke_secret_grant(
    request: Request,
    principal: Principal,
    name: SecretKey,
    agent: Agent,
    *,
    owner: OwnerQuery = None,
    dry_run: DryRun = False,
) -> Response:
    return json_response(
        _secret_json(await service_for(request, dry_run=dry_run).secrets.revoke_grant(principal, name, agent, owner))
    )


def _secret_json(secret: SecretName) -> dict[str, Any]:
    return {"name": secret.name, "owner": secret.owner, "updated": utc(secret.updated), "agents": list(secret.agents)}
