"""Safety of agents: the budget of a group, and the switch that stops all agents."""

from __future__ import annotations

from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response

from ....model.accounts.principal import Principal
from ....model.text.field_checks import check_flag
from ....web.parameters import Body
from ....web.request_context import app_context
from ....web.responses import json_response
from ....web.routing import RouteGroup
from ....wire.agent_safety import budget_json, switch_json
from ...openapi import Operation
from ...parameters import DryRun, service_for
from ..chats.groups import Folder

routes: Final = RouteGroup("/v1", "groups")
_BUDGET: Final = {"tokens": 200_000, "cost": 2.5, "runs": 50}


@routes.get(
    "/groups/{folder}/budget",
    Operation("get_budget", "The budget of a group today: limits, used, reserved, left", "Budget", problems=(404,)),
)
async def get_budget(request: Request, principal: Principal, folder: Folder) -> Response:
    return json_response(budget_json(await app_context(request).service.budgets.get(principal, folder)))


@routes.put(
    "/groups/{folder}/budget",
    Operation(
        "put_budget",
        "Set the given limits of a group for each day; null removes one (admins)",
        "Budget",
        problems=(404,),
    ),
)
async def put_budget(
    request: Request,
    principal: Principal,
    folder: Folder,
    body: Annotated[Any, Body("BudgetLimits", "budget", example=_BUDGET)],
    *,
    dry_run: DryRun = False,
) -> Response:
    state = await service_for(request, dry_run=dry_run).budgets.put(principal, folder, body)
    return json_response(budget_json(state))


@routes.get("/agent-switch", Operation("get_agent_switch", "Whether all agents are stopped", "AgentSwitch"))
async def get_agent_switch(request: Request, principal: Principal) -> Response:
    return json_response(switch_json(await app_context(request).service.agent_stop.get(principal)))


@routes.put(
    "/agent-switch",
    Operation(
        "put_agent_switch",
        "Stop all agents at once: their runs end and their tasks are paused; or let them go on (admins)",
        "AgentSwitch",
    ),
)
async def put_agent_switch(
    request: Request,
    principal: Principal,
    body: Annotated[Any, Body("AgentSwitchChange", "agent switch", example={"stopped": True})],
    *,
    dry_run: DryRun = False,
) -> Response:
    agents = service_for(request, dry_run=dry_run).agent_stop
    check_flag("stopped", body.get("stopped"))
    tasks = await (agents.stop_all(principal) if body["stopped"] else agents.restart_all(principal))
    return json_response(switch_json(await agents.get(principal), tasks))
