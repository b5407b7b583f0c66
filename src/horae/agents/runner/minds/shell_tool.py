"""Tool `run_command` of the mind `openai`: a shell command in the directory of the group. The sandbox is the limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from ..child import ChildFailed, run_child
from .mcp_tools import Tool, ToolAnswer

MAX_OUTPUT_BYTES: Final = 40_000
SECONDS: Final = 120.0
_TOOL: Final = Tool(
    "run_command",
    "Run a shell command (bash) in the directory of the group, and return its output. There is no network. "
    "Files there stay: keep notes for later turns in CLAUDE.md, which you are shown at the beginning of each turn.",
    {
        "type": "object",
        "properties": {"command": {"type": "string", "description": "The command, such as: cat CLAUDE.md"}},
        "required": ["command"],
    },
)


class ShellTools:
    def __init__(self, directory: Path, seconds: float = SECONDS) -> None:
        self._directory = directory
        self._seconds = seconds

    @property
    def tools(self) -> Sequence[Tool]:
        return (_TOOL,)

    async def call(self, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        command = arguments.get("command")
        if name != _TOOL.name or not isinstance(command, str) or not command.strip() or "\0" in command:
            return ToolAnswer("command is missing: give a text", is_error=True)
        # The directory goes by an argument, so that no quoting is needed.
        script = 'cd -- "$1" && eval "$2" 2>&1'
        try:
            argv = ["bash", "-c", script, "bash", str(self._directory), command]
            ended = await run_child(argv, b"", MAX_OUTPUT_BYTES, self._seconds)
        except ChildFailed as error:
            return ToolAnswer(f"the command {error}", is_error=True)
        text = ended.stdout.decode(errors="replace").strip()
        if ended.code != 0:
            return ToolAnswer(f"exit code {ended.code}\n{text}".strip(), is_error=True)
        return ToolAnswer(text or "(no output)")
