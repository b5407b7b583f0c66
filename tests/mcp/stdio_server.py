"""Starts `horae mcp` as a process and connects the protocol's client to its standard input and output."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.cli.command_line import Cli
from tests.mcp.tool_client import ZONE, ToolClient


def stdio_parameters(cli: Cli, *options: str) -> StdioServerParameters:
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "horae", "mcp", *options],
        env=cli.environment(HORAE_ZONE=ZONE),
        cwd=cli.directory,
    )


@asynccontextmanager
async def connect_stdio(
    cli: Cli, *options: str, mode: str = "auto", server: StdioServerParameters | None = None
) -> AsyncIterator[ToolClient]:
    with (cli.directory / "stderr").open("w") as errors:
        async with Client(stdio_client(server or stdio_parameters(cli, *options), errlog=errors), mode=mode) as client:
            yield ToolClient(client)
