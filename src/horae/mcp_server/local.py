"""An assistant on this machine, over standard input and output: who it is, and what it may do."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from mcp.server.context import ServerRequestContext
from mcp.server.stdio import stdio_server

from ..choices import Language
from ..model.accounts.account import AGENT_CHARACTERS, is_agent_name
from ..model.accounts.principal import AGENT_QUOTAS, LOCAL, LOCAL_OWNER, SCOPES_OF, Principal, Role
from ..model.lane import agent_lane
from ..service.accounts.refusals import refuse
from ..service.runs.lanes import MOST_IN_LANE
from .call import House
from .server import Caller, make_server

VIA: Final = "mcp"


def local_agent(name: str, zone: str) -> Principal:
    """A guest of whoever started it: its own tasks, within the limits of an agent."""
    if not is_agent_name(name):
        raise refuse("bad_agent_name", name=name, most=AGENT_CHARACTERS)
    scopes = SCOPES_OF[Role.MEMBER]
    return Principal(LOCAL_OWNER, scopes=scopes, actor=LOCAL_OWNER, via=VIA, agent=name, zone=zone, quotas=AGENT_QUOTAS)


def trusted(zone: str) -> Principal:
    """As good as the person at the keyboard."""
    return LOCAL._replace(actor=LOCAL_OWNER, via=VIA, zone=zone)


async def serve(house: House, who: Principal, language: Language, *, states_language: bool = False) -> None:
    """Until the client closes our input. `states_language`: the command line names the language."""
    await _give_room(house, who)
    server = make_server(house, partial(_caller, house, Caller(who, language, None, states_language)))
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


async def _give_room(house: House, who: Principal) -> None:
    """All runs of an agent share one lane; where a token makes that lane elsewhere, here nobody else would."""
    if who.agent is None:
        return
    most = (await house.service.agents.quotas(who.owner, who.agent)).concurrent_runs
    lane = agent_lane(who.owner, who.agent)
    known = {each.name: each.limit for each in await house.service.lanes.all(LOCAL)}
    if known.get(lane) is None:
        await house.service.lanes.limit(LOCAL, lane, MOST_IN_LANE if most is None else most)


async def _caller(house: House, caller: Caller, _context: ServerRequestContext[Any, Any]) -> Caller:
    """With the limits that the agent has at this call: a changed quota counts at once."""
    who = caller.who
    if who.agent is None:
        return caller
    return caller._replace(who=who._replace(quotas=await house.service.agents.quotas(who.owner, who.agent)))
