"""`horae mcp`: MCP server over standard input and output, for an assistant that starts this process."""

from __future__ import annotations

import signal
import sys
from functools import partial

import click

from ....model.refusals import refuse
from ...command import Command
from ...messages import operating_messages as words
from ...output.command_hints import complete_commands
from ...output.failure import find_option
from ...output.printer import Printer
from ...schedule_question import owner_zone
from ...session.local import LocalSession, run_locally
from ...session.open_store import refuse_memory
from ...session.servers import refuse_server_for


@click.command("mcp", cls=Command, local_only=True)
@click.option(
    "--agent", default="assistant", show_default=True, metavar="NAME", help="Name of the agent that makes the tasks."
)
@click.option("--trusted", is_flag=True, help="Apply no limits of an agent: it may do all that you may.")
def mcp(out: Printer, *, agent: str, trusted: bool) -> None:
    """Serve an assistant over standard input and output (MCP)."""
    try:
        from ....mcp_server import local  # noqa: PLC0415 - an extra, and slow to load
        from ....mcp_server.call import ToolContext  # noqa: PLC0415
        from ...schedule_question import zone_of_process  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise refuse("missing_part", library=error.name or "mcp", extra="mcp") from None
    # A server has its own MCP endpoint, where the token decides what an agent may do.
    refuse_server_for(out, "horae mcp")
    refuse_memory(out.settings)

    async def work(session: LocalSession) -> None:
        zone_of_owner = await owner_zone(session)
        zone_of_machine = zone_of_process(session.default_zone)
        zone = (zone_of_owner or zone_of_machine).name
        principal = local.local_owner(zone) if trusted else local.local_agent(agent, zone)
        complete = partial(complete_commands, out)
        context = ToolContext(
            session.service, session.clock, session.has_live_node, None if zone_of_owner else zone_of_machine, complete
        )
        await local.serve(context, principal, out.language, states_language=find_option(sys.argv, "--lang") is not None)

    if sys.stdin.isatty():
        out.aside(out.translate(words.WAITS_FOR_ASSISTANT))
        out.aside(out.translate(words.CONFIGURE_ASSISTANT))
    # A blocking read of standard input cannot be cancelled, so Ctrl-C ends the process; the store survives that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    run_locally(out.settings, work, create=True)
