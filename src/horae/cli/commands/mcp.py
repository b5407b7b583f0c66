"""`horae mcp`: the tools for an assistant that starts us and talks over our input and output."""

from __future__ import annotations

import signal
import sys
from functools import partial

import typer

from ...model.refusals import refuse
from ..command import command
from ..messages import operating_messages as words
from ..output.command_hints import complete_commands
from ..output.failure import find_option
from ..output.printer import Printer
from ..session.local import LocalSession, run_locally
from ..session.open_store import refuse_memory
from ..session.owner_zone import owner_zone
from ..session.servers import refuse_server_for


def register(app: typer.Typer) -> None:
    command(app, "mcp")(mcp)


def mcp(
    out: Printer,
    *,
    agent: str = typer.Option("assistant", "--agent", metavar="NAME", help="Who the tasks are made by."),
    trusted: bool = typer.Option(False, "--trusted", help="No limits of an agent: it may do all that you may."),
) -> None:
    """Serve an assistant over standard input and output (MCP)."""
    try:
        from ...mcp_server import local  # noqa: PLC0415 - an extra, and slow to load
        from ...mcp_server.call import ToolContext  # noqa: PLC0415
        from ..schedule_question import zone_of_process  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise refuse("missing_part", library=error.name or "mcp", extra="mcp") from None
    # At a server its own door is the right one: what an agent may do there, the server says by its token.
    refuse_server_for(out, "horae mcp")
    refuse_memory(out.store)

    async def work(desk: LocalSession) -> None:
        owned = await owner_zone(desk)
        here = zone_of_process(desk.default_zone)
        zone = (owned or here).name
        who = local.local_owner(zone) if trusted else local.local_agent(agent, zone)
        complete = partial(complete_commands, out)
        house = ToolContext(desk.service, desk.clock, desk.has_live_node, None if owned else here, complete)
        await local.serve(house, who, out.language, states_language=find_option(sys.argv, "--lang") is not None)

    if sys.stdin.isatty():
        out.aside(out.translate(words.WAITS_FOR_ASSISTANT))
        out.aside(out.translate(words.CONFIGURE_ASSISTANT))
    # A read of our input cannot be called off: Ctrl-C ends us at once, and the store minds no ending.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    run_locally(out.store, work, create=True)
