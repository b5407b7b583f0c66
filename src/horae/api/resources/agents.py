"""Agents: get, set limits, stop with all their tasks, restart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from fastapi import Path
from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal, Scope
from ...model.refusals import refuse
from ...web.authentication import Caller
from ...web.body import read_json_body
from ...web.idempotency import Ids, repeatable, store_ids
from ...web.request_context import app_context
from ...web.responses import json_response
from ...web.routers import resource_router
from ...wire.accounts import agent_json
from ...wire.fields import check_fields
from ..examples import AGENT
from ..openapi import describe_operation
from ..parameters import DryRun, service_for
from ..parameters import Owner as OwnerQuery

router: Final = resource_router("/v1", "agents")

Agent = Annotated[str, Path(max_length=200, description="The name of an agent.")]


@router.get("/agents/{agent}", **describe_operation("get_agent", "One agent and its limits", "Agent", problems=(404,)))
async def get_agent(request: Request, principal: Caller, agent: Agent, *, owner: OwnerQuery = None) -> Response:
    return json_response(agent_json(await app_context(request).service.agents.get(principal, agent, owner)))


@router.put(
    "/agents/{agent}",
    **describe_operation(
        "put_agent",
        "Set limits of an agent, or with the name * of all agents of an owner (admins)",
        "Agent",
        request_body="AgentWish",
        example=AGENT,
        problems=(404, 409),
    ),
)
async def put_agent(
    request: Request, principal: Caller, agent: Agent, *, owner: OwnerQuery = None, dry_run: DryRun = False
) -> Response:
    quotas = check_fields("agent", await read_json_body(request), ("quotas",)).get("quotas")
    if not isinstance(quotas, Mapping):
        raise refuse("bad_policy", name="quotas", value=quotas, wanted="JSON object")
    return json_response(
        agent_json(await service_for(request, dry_run=dry_run).agents.put(principal, agent, quotas, owner))
    )


async def _replay_agent(request: Request, _who: Principal, ids: Ids) -> Response:
    return json_response({"agent": request.path_params["agent"], "tasks": ids["tasks"], "dry_run": False})


@router.post(
    "/agents/{agent}/stop",
    **describe_operation(
        "stop_agent",
        "Stop an agent: its tasks are paused, and it can create or resume none",
        "Stopped",
        problems=(404,),
        idempotent=True,
    ),
)
@repeatable(Scope.WRITE, _replay_agent)
async def stop_agent(
    request: Request, principal: Caller, agent: Agent, *, owner: OwnerQuery = None, dry_run: DryRun = False
) -> Response:
    number = await service_for(request, dry_run=dry_run).approvals.stop_agent(principal, agent, owner)
    store_ids(request, tasks=number)
    return json_response({"agent": agent, "tasks": number, "dry_run": dry_run})


@router.post(
    "/agents/{agent}/restart",
    **describe_operation(
        "restart_agent",
        "Restart a stopped agent, and resume the tasks that were paused with it",
        "Stopped",
        problems=(404,),
        idempotent=True,
    ),
)
@repeatable(Scope.WRITE, _replay_agent)
async def restart_agent(
    request: Request, principal: Caller, agent: Agent, *, owner: OwnerQuery = None, dry_run: DryRun = False
) -> Response:
    number = await service_for(request, dry_run=dry_run).approvals.restart_agent(principal, agent, owner)
    store_ids(request, tasks=number)
    return json_response({"agent": agent, "tasks": number, "dry_run": dry_run})
