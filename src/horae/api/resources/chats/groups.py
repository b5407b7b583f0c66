"""Chat groups: register, list, get with what happens in it, change, remove; for admins, and to read for the group itself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ....errors import Refusal
from ....model.accounts.principal import Principal, Scope
from ....model.agents.group import Group
from ....model.refusals import refuse
from ....service.groups.groups import Groups
from ....web.etags import entity_response, expected_version
from ....web.idempotency import Ids, idempotent, store_ids
from ....web.language import request_language
from ....web.pagination import decode_cursor, page_response
from ....web.parameters import Body, Path
from ....web.request_context import app_context
from ....web.responses import json_response, no_content
from ....web.routing import RouteGroup
from ....wire.groups import group_json, group_status_json, read_group_fields, unregistered_json
from ...openapi import IF_MATCH, IF_NONE_MATCH, Operation
from ...parameters import Cursor, DryRun, Limit, service_for

routes: Final = RouteGroup("/v1/groups", "groups")
unregistered_routes: Final = RouteGroup("/v1/unregistered-chats", "groups")

Folder = Annotated[str, Path(max_length=200, description="The folder of a group.")]
_NEW_GROUP: Final = {"folder": "family", "chat": "telegram:-100123", "trigger": "@Andy", "zone": "Asia/Shanghai"}
_CHANGE: Final = {"stopped": True}


@routes.get("", Operation("list_groups", "Groups by folder: all of them for admins, itself for a group", "GroupPage"))
async def list_groups(request: Request, principal: Principal, *, limit: Limit = 50, cursor: Cursor = None) -> Response:
    after = decode_cursor(request, principal, cursor)
    page = await app_context(request).service.groups.page(principal, after, limit)
    return page_response(request, principal, page, group_json)


@unregistered_routes.get(
    "",
    Operation(
        "list_unregistered_chats",
        "Chats that have written and have no group, newest activity first (admins)",
        "UnregisteredChatList",
    ),
)
async def list_unregistered_chats(request: Request, principal: Principal) -> Response:
    found = await app_context(request).service.groups.unregistered(principal)
    return json_response({"items": [unregistered_json(each) for each in found], "next_cursor": None})


async def _replay_group(request: Request, principal: Principal, ids: Ids) -> Response:
    groups = app_context(request).service.groups
    return await _respond(request, principal, groups, await groups.get(principal, ids["folder"]), 201)


@routes.post(
    "",
    Operation(
        "add_group",
        "Register a chat as a group; it becomes the owner `group:FOLDER` (admins)",
        "GroupStatus",
        status=201,
        problems=(409,),
    ),
)
@idempotent(Scope.ADMIN, _replay_group)
async def add_group(
    request: Request,
    principal: Principal,
    body: Annotated[Any, Body("NewGroup", "group", example=_NEW_GROUP)],
    *,
    dry_run: DryRun = False,
) -> Response:
    for name in ("folder", "chat"):
        if name not in body:
            raise refuse("missing_field", name=name)
    groups = service_for(request, dry_run=dry_run).groups
    with _refusals_of_groups():
        fields = read_group_fields({name: value for name, value in body.items() if name != "folder"})
        group = await groups.add(principal, body["folder"], fields.pop("chat"), **fields)
    if dry_run:
        return await _respond(request, principal, groups, group)
    store_ids(request, folder=group.folder)
    return await _respond(request, principal, groups, group, 201)


@routes.get(
    "/{folder}",
    Operation(
        "get_group",
        "One group with its live agent, its waiting messages and its last turn",
        "GroupStatus",
        problems=(404,),
        headers=(IF_NONE_MATCH,),
    ),
)
async def get_group(request: Request, principal: Principal, folder: Folder) -> Response:
    groups = app_context(request).service.groups
    return await _respond(request, principal, groups, await groups.get(principal, folder))


@routes.patch(
    "/{folder}",
    Operation(
        "change_group",
        "Change the given fields of a group; stop it, or start it again (admins)",
        "GroupStatus",
        problems=(404, 409, 412),
        headers=(IF_MATCH,),
    ),
)
async def change_group(
    request: Request,
    principal: Principal,
    folder: Folder,
    body: Annotated[Any, Body("GroupFields", "group", example=_CHANGE)],
    *,
    dry_run: DryRun = False,
) -> Response:
    principal.require_scope(Scope.ADMIN)
    groups = service_for(request, dry_run=dry_run).groups
    expected = expected_version(request, (await groups.get(principal, folder)).version)
    with _refusals_of_groups():
        group = await groups.change(principal, folder, expected, **read_group_fields(body))
    return await _respond(request, principal, groups, group)


@routes.delete(
    "/{folder}",
    Operation(
        "remove_group",
        "Remove a group and block its owner; its files, messages and tasks stay (admins)",
        None,
        status=204,
        problems=(404, 409),
    ),
)
async def remove_group(request: Request, principal: Principal, folder: Folder, *, dry_run: DryRun = False) -> Response:
    await service_for(request, dry_run=dry_run).groups.remove(principal, folder)
    return no_content()


@contextmanager
def _refusals_of_groups() -> Iterator[None]:
    """Mark refusals as those of a group: a field such as `timeout` is then not taken for a policy of a task."""
    try:
        yield
    except Refusal as refusal:
        refusal.facts["resource"] = "group"
        raise


async def _respond(request: Request, principal: Principal, groups: Groups, group: Group, status: int = 200) -> Response:
    value = group_status_json(await groups.describe(principal, group), request_language(request))
    headers = {"Location": f"/v1/groups/{group.folder}"} if status == 201 else None
    return entity_response(request, value, group.version, status, headers)
