"""Minds without a model: `echo` repeats the prompt or makes the tool call in it (tests, demos), `command` calls a program."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from typing import Any, Final

from ...protocol import Usage
from ..child import ChildFailed, run_child
from .mcp_tools import McpServer, open_mcp_tools, report_tool_call
from .mind import MAX_ANSWER_CHARACTERS, Answer, MindFailed, limit_answer

_CALL: Final = re.compile(r"(?<!\S)!([a-z_]{1,40}) (?=\{)")
_MAX_CALLS: Final = 8
MAX_ANSWER_BYTES: Final = 512 * 1024
_TAIL_CHARACTERS: Final = 200


class EchoMind:
    """Answers with the prompt. Its session counts the turns.

    `!schedule_task {"prompt": …}` in the prompt is a call of that tool of the server: then it answers with what the tool says.
    """

    def __init__(self, server: McpServer | None = None) -> None:
        self._server = server

    async def answer(self, prompt: str, session_id: str | None) -> Answer:
        turns = int(session_id.removeprefix("echo-")) if session_id and session_id[5:].isdecimal() else 0
        calls = list(_tool_calls(prompt)) if self._server is not None else []
        text = limit_answer(await self._call(self._server, calls)) if self._server and calls else prompt
        return Answer(text, f"echo-{turns + 1}", Usage(input_tokens=0, output_tokens=0, cost=0.0, model="echo"))

    async def _call(self, server: McpServer, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
        async with open_mcp_tools(server) as tools:
            texts = []
            for name, arguments in calls:
                report_tool_call(name, arguments)
                texts.append((await tools.call(name, arguments)).text)
        return "\n".join(texts)


def _tool_calls(prompt: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the first calls of the prompt; messages in it are escaped. What is not JSON is no call."""
    text = unescape(prompt)
    for match, _ in zip(_CALL.finditer(text), range(_MAX_CALLS), strict=False):
        try:
            arguments, _ = json.JSONDecoder().raw_decode(text, match.end())
        except (ValueError, RecursionError):
            continue
        yield match[1], arguments


class CommandMind:
    """Calls a program for each turn: the prompt on stdin, the answer on stdout. It has no sessions."""

    def __init__(self, argv: Sequence[str]) -> None:
        self._argv = argv

    async def answer(self, prompt: str, session_id: str | None) -> Answer:
        try:
            ended = await run_child(self._argv, prompt.encode(errors="replace"), MAX_ANSWER_BYTES)
        except ChildFailed as error:
            raise MindFailed(f"{self._argv[0]}: {error}") from None
        if ended.code != 0:
            tail = ended.stderr.decode(errors="replace").strip()[-_TAIL_CHARACTERS:]
            raise MindFailed(f"{self._argv[0]} ended with the code {ended.code}: {tail}")
        text = ended.stdout.decode(errors="replace").strip()
        if len(text) > MAX_ANSWER_CHARACTERS:
            raise MindFailed(f"{self._argv[0]} answered with more than {MAX_ANSWER_CHARACTERS} characters")
        return Answer(text or None, session_id)
