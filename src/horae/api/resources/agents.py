"""Agents: get, set limits, stop with all their tasks, restart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final

from fastapi import Path
from starlette.requests import Request
from starlette.responses import Response

from ...model.accounts.principal import Principal, Scope
from ...model.refusals import refuse
from ...web.authentication import Who
from ...web.body import json_body
from ...web.idempotency import Ids, remember, repeatable
from ...web.request_context import house_of
from ...web.responses import answer
from ...web.routers import resource
from ...wire.accounts import agent_json
from ...wire.fields import check_fields
from ..examples import AGENT
from ..openapi import told
from ..parameters import DryRun, acting
from ..parameters import Owner as OwnerQuery

router: Final = resource("/v1", "agents")

Agent = Annotated[str, Path(max_length=200, description="The name of an agent.")]


@router.get("/agents/{agent}", **told("get_agent", "One agent and its limits", "Agent", problems=(404,)))
async def get_agent(request: Request, principal: Who, agent: Agent, *, owner: OwnerQuery = None) -> Response:
    return answer(agent_json(await house_of(request).service.agents.get(principal, agent, owner)))


@router.put(
    "/agents/{agent}",
    **told(
        "put_agent",
        "Set limits of an agent, or with the name * of all agents of an owner (admins)",
        "Agent",
        request_body="AgentWish",
        example=AGENT,
        problems=(404, 409),
    ),
)
async def put_agent(
    request: Request, principal: Who, agent: Agent, *, owner: OwnerQuery = None, dry_run: DryRun = False
) -> Response:
    quotas = check_fields("agent", await json_body(request), ("quotas",)).get("quotas")
    if not isinstance(quotas, Mapping):
        raise refuse("bad_policy", name="quotas", value=quotas, wanted="JSON object")
    return answer(agent_json(await acting(request, dry_run=dry_run).agents.put(principal, agent, quotas, owner)))


async def _replay_agent(request: Request, _who: Principal, ids: Ids) -> Response:
    return answer({"agent": request.path_params["agent"], "tasks": ids["tasks"], "dry_run": False})


@router.post(
    "/agents/{agent}/stop",
    **told(
        "stop_agent",
        "Stop an agent: its tasks are paused, and it can create or resume none",
        "Stopped",
        problems=(404,),
        idempotent=True,
    ),
)
@repeatable(Scope.WRITE, _replay_agent)
async def stop_agent(
    request: Request, principal: Who, agent: Agent, *, owner: OwnerQuery = None, dry_run: DryRun = False
) -> Response:
    number = await acting(request, dry_run=dry_run).approvals.stop_agent(principal, agent, owner)
    remember(request, tasks=number)
    return answer({"agent": agent, "tasks": number, "dry_run": dry_run})


@router.post(
    "/agents/{agent}/restart",
    **told(
        "restart_agent",
        "Restart a stopped agent, and resume the tasks that were paused with it",
        "Stopped",
        problems=(404,),
        idempotent=True,
    ),
)
@repeatable(Scope.WRITE, _replay_agent)
async def restart_agent(
    request: Request, principal: Who, agent: Agent, *, owner: OwnerQuery = None, dry_run: DryRun = False
) -> Response:
    number = await acting(request, dry_run=dry_run).approvals.restart_agent(principal, agent, owner)
    remember(request, tasks=number)
    return answer({"agent": agent, "tasks": number, "dry_run": dry_run})
