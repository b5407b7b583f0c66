"""Tools that a model may call: their list, and the call of one. Implemented by the client of an MCP server."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from ...protocol import write_tool_call


class Tool(NamedTuple):
    """`schema` is the JSON Schema of the arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


class ToolAnswer(NamedTuple):
    text: str
    is_error: bool = False


class Tools(Protocol):
    @property
    def tools(self) -> Sequence[Tool]: ...

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Call a tool; a failure is an answer too, so that the model can react to it."""


def report_tool_call(name: str, arguments: Mapping[str, Any]) -> None:
    """Write the call to stderr: the host shows it in the transcript of the run."""
    sys.stderr.write(write_tool_call(name, arguments) + "\n")
    sys.stderr.flush()
