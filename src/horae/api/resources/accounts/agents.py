"""Agents: list, get, set limits, stop with all their tasks, restart; and the tasks that wait for approval."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ....model.accounts.principal import Principal, Scope
from ....model.refusals import refuse
from ....web.idempotency import Ids, idempotent, store_ids
from ....web.language import request_language
from ....web.pagination import decode_cursor, page_response
from ....web.parameters import Body, Path
from ....web.request_context import app_context
from ....web.responses import json_response
from ....web.routing import RouteGroup
from ....wire.accounts import agent_json
from ....wire.tasks.review import review_json
from ...openapi import AGENT, Operation
from ...parameters import Cursor, DryRun, Limit, service_for
from ...parameters import Owner as OwnerQuery

routes: Final = RouteGroup("/v1", "agents")

Agent = Annotated[str, Path(max_length=200, description="The name of an agent.")]


@routes.get(
    "/agents",
    Operation(
        "list_agents", "Agents with their limits and state: all for admins, the caller's own for others", "AgentPage"
    ),
)
async def list_agents(request: Request, principal: Principal, *, limit: Limit = 50, cursor: Cursor = None) -> Response:
    after = decode_cursor(request, principal, cursor)
    page = await app_context(request).service.agents.page(principal, after, limit)
    return page_response(request, principal, page, agent_json)


@routes.get(
    "/approvals",
    Operation(
        "list_approvals",
        "Tasks of agents that wait for approval, in the order of creation",
        "ReviewPage",
    ),
)
async def list_approvals(
    request: Request, principal: Principal, *, limit: Limit = 50, cursor: Cursor = None
) -> Response:
    after, language = decode_cursor(request, principal, cursor), request_language(request)
    page = await app_context(request).service.approvals.page(principal, after, limit)
    return page_response(request, principal, page, lambda facts: review_json(facts, language))


@routes.get("/agents/{agent}", Operation("get_agent", "One agent and its limits", "Agent", problems=(404,)))
async def get_agent(request: Request, principal: Principal, agent: Agent, *, owner: OwnerQuery = None) -> Response:
    return json_response(agent_json(await app_context(request).service.agents.get(principal, agent, owner)))


@routes.put(
    "/agents/{agent}",
    Operation(
        "put_agent",
        "Set limits of an agent, or with the name * of all agents of an owner (admins)",
        "Agent",
        problems=(404, 409),
    ),
)
async def put_agent(
    request: Request,
    principal: Principal,
    agent: Agent,
    body: Annotated[Any, Body("AgentWish", "agent", example=AGENT)],
    *,
    owner: OwnerQuery = None,
    dry_run: DryRun = False,
) -> Response:
    quotas = body.get("quotas")
    if not isinstance(quotas, Mapping):
        raise refuse("bad_policy", name="quotas", value=quotas, wanted="JSON object")
    return json_response(
        agent_json(await service_for(request, dry_run=dry_run).agents.put(principal, agent, quotas, owner))
    )


async def _replay_agent(request: Request, _principal: Principal, ids: Ids) -> Response:
    return json_response({"agent": request.path_params["agent"], "tasks": ids["tasks"], "dry_run": False})


@routes.post(
    "/agents/{agent}/stop",
    Operation(
        "stop_agent",
        "Stop an agent: its tasks are paused, and it can create or resume none",
        "Stopped",
        problems=(404,),
    ),
)
@idempotent(Scope.WRITE, _replay_agent)
async def stop_agent(
    request: Request, principal: Principal, agent: Agent, *, owner: OwnerQuery = None, dry_run: DryRun = False
) -> Response:
    number = await service_for(request, dry_run=dry_run).approvals.stop_agent(principal, agent, owner)
    store_ids(request, tasks=number)
    return json_response({"agent": agent, "tasks": number, "dry_run": dry_run})


@routes.post(
    "/agents/{agent}/restart",
    Operation(
        "restart_agent",
        "Restart a stopped agent, and resume the tasks that were paused with it",
        "Stopped",
        problems=(404,),
    ),
)
@idempotent(Scope.WRITE, _replay_agent)
async def restart_agent(
    request: Request, principal: Principal, agent: Agent, *, owner: OwnerQuery = None, dry_run: DryRun = False
) -> Response:
    number = await service_for(request, dry_run=dry_run).approvals.restart_agent(principal, agent, owner)
    store_ids(request, tasks=number)
    return json_response({"agent": agent, "tasks": number, "dry_run": dry_run})
