"""Mind `claude`: the Claude Agent SDK with the group's directory, its session, and the tools of MCP servers."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ClaudeSDKError,
    HookMatcher,
    ResultMessage,
    SystemMessage,
    ToolUseBlock,
    query,
)
from claude_agent_sdk.types import HookContext, HookInput, McpServerConfig, SyncHookJSONOutput

from ...protocol import Usage
from .key_proxy import running_key_proxy
from .mcp_tools import McpServer, report_tool_call
from .mind import STALE_SESSION, Answer, MindFailed, limit_answer
from .transcript_archive import archive_transcript

DEFAULT_BASE_URL: Final = "https://api.anthropic.com"
TOOLS: Final = (
    *("Bash", "Read", "Write", "Edit", "Glob", "Grep", "NotebookEdit"),
    *("WebSearch", "Task", "TodoWrite", "Skill"),
)
"""Built-in tools. Those for schedules are left out: they would not outlive the sandbox."""
MAX_ROUNDS: Final = 100
_PLACEHOLDER: Final = "added-by-the-proxy"
_STDERR_LINES: Final = 20
_MAX_ERROR: Final = 600


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaudeOptions:
    """`home` keeps the sessions between runs; `headers` have the key, and go to the endpoint only."""

    group: Path
    home: Path
    assistant: str
    base_url: str
    headers: Mapping[str, str]
    model: str | None = None
    max_rounds: int = MAX_ROUNDS


class ClaudeMind:
    """Starts the program of the SDK for each turn. It may use its tools without asking: the sandbox is the limit."""

    def __init__(
        self,
        options: ClaudeOptions,
        servers: Sequence[McpServer],
        write_prompt: Callable[[datetime], str],
        now: Callable[[], datetime],
    ) -> None:
        self._options = options
        self._servers = servers
        self._write_prompt = write_prompt
        self._now = now

    async def answer(self, prompt: str, session_id: str | None) -> Answer:
        if session_id is not None and not _is_session(session_id):
            raise MindFailed(f"{STALE_SESSION}: {session_id[:100]}")
        async with AsyncExitStack() as stack:
            base_url = self._options.base_url
            if self._options.headers:
                base_url = await stack.enter_async_context(running_key_proxy(base_url, self._options.headers))
            return _read_result(await self._query(prompt, session_id, base_url))

    async def _query(self, prompt: str, session_id: str | None, base_url: str) -> ResultMessage:
        """Return the last result; a program that ended without one fails with the end of its stderr."""
        stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        options = self._sdk_options(session_id, base_url, stderr.append)
        result: ResultMessage | None = None
        try:
            async with aclosing(query(prompt=prompt, options=options)) as messages:  # type: ignore[type-var]
                async for message in messages:
                    if isinstance(message, SystemMessage) and message.subtype == "init":
                        _check_servers(message.data)
                    elif isinstance(message, ResultMessage):
                        result = message
                    elif isinstance(message, AssistantMessage):
                        _report_tool_calls(message)
        except ClaudeSDKError as error:
            if result is None:
                raise MindFailed(_shorten(f"{error} {' '.join(stderr)}")) from None
        if result is None:
            raise MindFailed(_shorten(f"the program of the mind claude ended without a result. {' '.join(stderr)}"))
        return result

    def _sdk_options(
        self, session_id: str | None, base_url: str, on_stderr: Callable[[str], None]
    ) -> ClaudeAgentOptions:
        options = self._options
        return ClaudeAgentOptions(
            tools=list(TOOLS),
            system_prompt={"type": "preset", "preset": "claude_code", "append": self._write_prompt(self._now())},
            mcp_servers={server.name: _server_config(server) for server in self._servers},
            strict_mcp_config=True,
            permission_mode="bypassPermissions",
            resume=session_id,
            max_turns=options.max_rounds,
            model=options.model,
            cwd=options.group,
            env={
                "ANTHROPIC_BASE_URL": base_url,
                "ANTHROPIC_API_KEY": _PLACEHOLDER,
                "HOME": str(options.home),
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "ENABLE_TOOL_SEARCH": "false",
            },
            stderr=on_stderr,
            hooks={"PreCompact": [HookMatcher(hooks=[self._archive])]},
            setting_sources=["user", "project"],
        )

    async def _archive(self, given: HookInput, _: str | None, __: HookContext) -> SyncHookJSONOutput:
        """Keep the conversation before it is compacted; an archive that fails does not fail the turn."""
        try:
            archive_transcript(
                Path(given["transcript_path"]), self._options.group, self._options.assistant, self._now()
            )
        except OSError as error:
            return {"systemMessage": f"the conversation was not archived: {error.strerror}"}
        return {}


def _check_servers(data: Mapping[str, Any]) -> None:
    """Fail the turn if a server of tools does not work: the model would answer without them, unnoticed."""
    servers = data.get("mcp_servers")
    for each in servers if isinstance(servers, list) else ():
        if isinstance(each, dict) and each.get("status") == "failed":
            raise MindFailed(f"the MCP server {each.get('name')} does not work")


def _report_tool_calls(message: AssistantMessage) -> None:
    for block in message.content:
        if isinstance(block, ToolUseBlock):
            report_tool_call(block.name, block.input)


def _is_session(text: str) -> bool:
    try:
        return str(uuid.UUID(text)) == text.lower()
    except ValueError:
        return False


def _server_config(server: McpServer) -> McpServerConfig:
    program, *arguments = server.argv
    return {"type": "stdio", "command": program, "args": arguments, "env": dict(server.environment)}


def _read_result(result: ResultMessage) -> Answer:
    usage = _read_usage(result)
    if result.is_error or result.subtype != "success":
        parts = [*(result.errors or ()), result.result or ""]
        text = " ".join(part for part in parts if part) or f"the mind claude ended with {result.subtype}"
        if result.subtype == "error_max_turns":
            text = "the model still calls tools after the last permitted round"
        raise MindFailed(_shorten(text), usage)
    return Answer(limit_answer((result.result or "").strip()) or None, result.session_id, usage)


def _read_usage(result: ResultMessage) -> Usage:
    counts: Mapping[str, Any] = result.usage or {}
    names = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    models: Mapping[str, Any] = result.model_usage or {}
    return Usage(
        input_tokens=sum(_count(counts.get(name)) for name in names),
        output_tokens=_count(counts.get("output_tokens")),
        cost=result.total_cost_usd,
        model=max(models, key=lambda name: _count(models[name].get("outputTokens")), default=None),
    )


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _shorten(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_ERROR else text[:_MAX_ERROR] + "…"
