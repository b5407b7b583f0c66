"""Nodes: list with their state, and drain."""

from __future__ import annotations

from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal, Scope
from ...model.refusals import refuse
from ...web.idempotency import Ids, idempotent, store_ids
from ...web.parameters import Body, Path, Query
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routing import RouteGroup
from ...wire.overview import node_json, node_seen_json
from ..openapi import DRAIN, Operation
from ..parameters import DryRun, service_for

routes: Final = RouteGroup("/v1", "nodes")

Node = Annotated[str, Path(max_length=200, description="The id of a node, or its beginning.")]


@routes.get("/nodes", Operation("list_nodes", "The nodes and their state (admins)", "NodeList"))
async def list_nodes(request: Request, principal: Principal) -> Response:
    seen = await app_context(request).service.nodes.all(principal)
    return json_response({"items": [node_seen_json(each) for each in seen], "next_cursor": None})


async def _replay_nodes(request: Request, principal: Principal, ids: Ids) -> Response:
    seen = await app_context(request).service.nodes.all(principal)
    return json_response({"items": [node_json(each.node) for each in seen if each.node.id in ids["nodes"]]})


@routes.post(
    "/nodes/{node}/drain",
    Operation(
        "drain_node",
        "Drain a node, so that it claims nothing more, or undo it (admins); with `host=true` all nodes of that machine",
        "DrainedNodes",
        problems=(404, 409),
    ),
)
@idempotent(Scope.ADMIN, _replay_nodes)
async def drain_node(
    request: Request,
    principal: Principal,
    node: Node,
    body: Annotated[Any, Body("Drain", "body", example=DRAIN, optional=True)],
    *,
    host: Annotated[bool, Query(description="`node` is the name of a machine.")] = False,
    dry_run: DryRun = False,
) -> Response:
    draining = body.get("draining", True)
    if not isinstance(draining, bool):
        raise refuse("bad_policy", name="draining", value=draining, wanted="true or false")
    nodes = service_for(request, dry_run=dry_run).nodes
    drained = (
        await nodes.drain_host(principal, node, draining=draining)
        if host
        else (await nodes.drain(principal, node, draining=draining),)
    )
    store_ids(request, nodes=[each.id for each in drained])
    return json_response({"items": [node_json(each) for each in drained]})
