"""`horae mcp` as a process of its own, and the protocol's client at the other end of its pipes."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.cli.command_line import Cli
from tests.mcp.stage import ZONE, Desk


def started(cli: Cli, *options: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "horae", "mcp", *options],
        env=cli.environment(HORAE_ZONE=ZONE),
        cwd=cli.directory,
    )


@asynccontextmanager
async def desk_of(
    cli: Cli, *options: str, mode: str = "auto", server: StdioServerParameters | None = None
) -> AsyncIterator[Desk]:
    with (cli.directory / "stderr").open("w") as errors:
        async with Client(stdio_client(server or started(cli, *options), errlog=errors), mode=mode) as client:
            yield Desk(client)
