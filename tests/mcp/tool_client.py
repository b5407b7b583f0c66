"""The MCP tools on a service in memory, called through the real server and the protocol's own client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from jsonschema import Draft202012Validator
from mcp import Client
from mcp.client.session import ElicitationFnT
from mcp_types import CallToolResult, TextContent

from horae.choices import Language
from horae.mcp_server.call import ToolContext
from horae.mcp_server.catalogue import TOOLS
from horae.mcp_server.lines import MAX_LINE_BYTES
from horae.mcp_server.local import local_agent, local_owner
from horae.mcp_server.server import PROBLEM, Caller, make_server
from horae.model.accounts.principal import MEMBER_QUOTAS, Principal
from tests.unit.service.service_harness import ServiceHarness

ZONE = "Europe/Berlin"
AGENT = local_agent("assistant", ZONE)
PERSON = Principal("ada", actor="tok_ada", via="mcp", zone=ZONE, quotas=MEMBER_QUOTAS)
ADMIN = local_owner(ZONE)
PROTOCOL_MODES = ("auto", "legacy")


class ToolClient:
    """`await tools("list_tasks", q="report")`: calls a tool, checks the result against its output schema, returns its values."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.raw(tool, **arguments)
        assert not result.is_error, text_of(result)
        data: dict[str, Any] = result.structured_content or {}
        Draft202012Validator(dict(TOOLS[tool].output_schema)).validate(data)
        return data

    async def line(self, tool: str, **arguments: Any) -> str:
        return text_of(await self.raw(tool, **arguments))

    async def refused(self, tool: str, **arguments: Any) -> str:
        """Call a tool that must be refused, check that the line begins with the code, and return the code."""
        result = await self.raw(tool, **arguments)
        assert result.is_error, text_of(result)
        problem: dict[str, Any] = (result.meta or {})[PROBLEM]
        assert text_of(result).startswith(problem["code"])
        return str(problem["code"])

    async def raw(self, tool: str, **arguments: Any) -> CallToolResult:
        result = await self.client.call_tool(tool, arguments)
        text_of(result)
        return result


def text_of(result: CallToolResult) -> str:
    """Return the one text line of a result and check its size."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert len(content.text.encode()) <= MAX_LINE_BYTES < 1024
    assert len(content.text.splitlines()) == 1
    return content.text


@asynccontextmanager
async def connect_in_memory(
    harness: ServiceHarness,
    who: Principal,
    language: Language = "en",
    *,
    mode: str = "auto",
    answering: ElicitationFnT | None = None,
) -> AsyncIterator[ToolClient]:
    server = make_server(ToolContext(harness.service, harness.clock), lambda _context: Caller(who, language))
    async with Client(server, mode=mode, elicitation_callback=answering) as client:
        yield ToolClient(client)


@asynccontextmanager
async def tools_for(
    who: Principal = PERSON, language: Language = "en"
) -> AsyncIterator[tuple[ServiceHarness, ToolClient]]:
    harness = ServiceHarness()
    async with connect_in_memory(harness, who, language) as tools:
        yield harness, tools
