"""MCP over standard input and output for an assistant on this machine: its principal, lane and quotas."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server

from ..choices import Language
from ..model.accounts.account import AGENT_CHARACTERS, is_agent_name
from ..model.accounts.principal import AGENT_QUOTAS, LOCAL, LOCAL_OWNER, SCOPES_OF, Principal, Role
from ..model.lanes.lane import agent_lane
from ..service.accounts.refusals import refuse
from ..service.runs.lanes import MAX_LANE_LIMIT
from .call import ToolContext
from .server import Caller, make_server

VIA: Final = "mcp"


def local_agent(name: str, zone: str) -> Principal:
    """Return the principal of an agent of the local owner: its own tasks only, within the quotas of an agent."""
    if not is_agent_name(name):
        raise refuse("bad_agent_name", name=name, most=AGENT_CHARACTERS)
    scopes = SCOPES_OF[Role.MEMBER]
    return Principal(LOCAL_OWNER, scopes=scopes, actor=LOCAL_OWNER, via=VIA, agent=name, zone=zone, quotas=AGENT_QUOTAS)


def local_owner(zone: str) -> Principal:
    """Return the principal of the local owner, with all rights."""
    return LOCAL._replace(actor=LOCAL_OWNER, via=VIA, zone=zone)


async def serve(
    context: ToolContext, principal: Principal, language: Language, *, states_language: bool = False
) -> None:
    """Serve until the client closes standard input. `states_language`: the command line names the language."""
    await _ensure_lane(context, principal)
    server = make_server(
        context, partial(_with_current_quotas, context, Caller(principal, language, None, states_language))
    )
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _ensure_lane(context: ToolContext, principal: Principal) -> None:
    """Create the lane that all runs of an agent share; over HTTP, creating the agent's token does that."""
    if principal.agent is None:
        return
    limit = (await context.service.agents.quotas(principal.owner, principal.agent)).concurrent_runs
    lane = agent_lane(principal.owner, principal.agent)
    limits = {each.name: each.limit for each in await context.service.lanes.all(LOCAL)}
    if limits.get(lane) is None:
        await context.service.lanes.limit(LOCAL, lane, MAX_LANE_LIMIT if limit is None else limit)


async def _with_current_quotas(
    tool_context: ToolContext, caller: Caller, _context: ServerRequestContext[Any, Any]
) -> Caller:
    """Return the caller with the agent's current quotas, so that a changed quota applies at once."""
    principal = caller.principal
    if principal.agent is None:
        return caller
    return caller._replace(
        principal=principal._replace(quotas=await tool_context.service.agents.quotas(principal.owner, principal.agent))
    )
