"""What tests of the tools stand on: the whole service in memory, the real server, and the protocol's own client."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from jsonschema import Draft202012Validator
from mcp import Client
from mcp.client.session import ElicitationFnT
from mcp_types import CallToolResult, TextContent

from horae.choices import Language
from horae.mcp_server.call import ToolContext as Room
from horae.mcp_server.catalogue import TOOLS
from horae.mcp_server.lines import MAX_LINE_BYTES
from horae.mcp_server.local import local_agent, local_owner
from horae.mcp_server.server import PROBLEM, Caller, make_server
from horae.model.accounts.principal import MEMBER_QUOTAS, Principal
from tests.unit.service.service_harness import ServiceHarness

ZONE = "Europe/Berlin"
AGENT = local_agent("assistant", ZONE)
PERSON = Principal("ada", actor="tok_ada", via="mcp", zone=ZONE, quotas=MEMBER_QUOTAS)
BOSS = local_owner(ZONE)
ERAS = ("auto", "legacy")


class Desk:
    """`await desk("list_tasks", q="report")`: called, checked against what the tool promises, its values."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool: str, **said: Any) -> dict[str, Any]:
        result = await self.raw(tool, **said)
        assert not result.is_error, text_of(result)
        data: dict[str, Any] = result.structured_content or {}
        Draft202012Validator(dict(TOOLS[tool].output_schema)).validate(data)
        return data

    async def line(self, tool: str, **said: Any) -> str:
        return text_of(await self.raw(tool, **said))

    async def refused(self, tool: str, **said: Any) -> str:
        """The code, after a look at how it is told."""
        result = await self.raw(tool, **said)
        assert result.is_error, text_of(result)
        problem: dict[str, Any] = (result.meta or {})[PROBLEM]
        assert text_of(result).startswith(problem["code"])
        return str(problem["code"])

    async def raw(self, tool: str, **said: Any) -> CallToolResult:
        result = await self.client.call_tool(tool, said)
        text_of(result)
        return result


def text_of(result: CallToolResult) -> str:
    """The one line, which is never too long."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    assert len(content.text.encode()) <= MAX_LINE_BYTES < 1024
    assert len(content.text.splitlines()) == 1
    return content.text


@asynccontextmanager
async def desk_of(
    house: ServiceHarness,
    who: Principal,
    language: Language = "en",
    *,
    mode: str = "auto",
    answering: ElicitationFnT | None = None,
) -> AsyncIterator[Desk]:
    server = make_server(Room(house.service, house.clock), lambda _context: Caller(who, language))
    async with Client(server, mode=mode, elicitation_callback=answering) as client:
        yield Desk(client)


@asynccontextmanager
async def tools_for(who: Principal = PERSON, language: Language = "en") -> AsyncIterator[tuple[ServiceHarness, Desk]]:
    house = ServiceHarness()
    async with desk_of(house, who, language) as desk:
        yield house, desk
