"""Mind `openai`: an agent loop over any endpoint of chat completions, with the tools of MCP servers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any, Final

from ...protocol import Usage
from .chat_client import ChatClient, Completion, ToolCall, TooLong
from .chat_sessions import ChatSessions, Message, compact, count_characters, shorten_tool_answers
from .mcp_tools import McpServer, Tool, ToolAnswer, Tools, open_mcp_tools, report_tool_call
from .mind import Answer, MindFailed, limit_answer

MAX_ROUNDS: Final = 30
MAX_CALLS: Final = 16
"""Of one round; more are answered with an error."""
_TOOL_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SHORTENINGS: Final = 3
_LENGTH_NOTE: Final = "\n\n[The answer was cut here: the model has reached its limit of tokens.]"
_LAST_ROUND: Final = "[You have used all tool rounds of this turn. Answer now, without tools.]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Prices are US dollars for a million tokens; without them the cost is what the endpoint reports."""

    model: str
    max_rounds: int = MAX_ROUNDS
    max_tokens: int | None = None
    price_input: float | None = None
    price_output: float | None = None


class OpenAiMind:
    """`write_prompt` returns the system prompt, at the beginning of each turn. The MCP servers run for one turn."""

    def __init__(
        self,
        client: ChatClient,
        options: ModelOptions,
        sessions: ChatSessions,
        servers: Sequence[McpServer],
        write_prompt: Callable[[], str],
        own_tools: Sequence[Tools] = (),
    ) -> None:
        self._client = client
        self._options = options
        self._sessions = sessions
        self._servers = servers
        self._write_prompt = write_prompt
        self._own_tools = own_tools

    async def answer(self, prompt: str, session_id: str | None) -> Answer:
        """Answer one turn. The session is written when the turn has ended, so that a failed one leaves no trace in it."""
        messages = [*self._sessions.load(session_id), {"role": "user", "content": prompt}]
        async with AsyncExitStack() as stack:
            started = [await stack.enter_async_context(open_mcp_tools(server)) for server in self._servers]
            offered = _by_name([*started, *self._own_tools])
            turn = _Turn(self._client, self._options, self._write_prompt(), messages, offered)
            try:
                text = await turn.run()
            except MindFailed as error:
                raise MindFailed(str(error), turn.usage()) from None
        session_id = self._sessions.save(session_id, turn.messages)
        return Answer(limit_answer(text) or None, session_id, turn.usage())


@dataclass(slots=True)
class _Turn:
    """One turn: completions and tool calls until the model answers without a call."""

    client: ChatClient
    options: ModelOptions
    system: str
    messages: list[Message]
    offered: Mapping[str, tuple[Tool, Tools]]
    completions: list[Completion] = field(default_factory=list)

    async def run(self) -> str:
        for number in range(self.options.max_rounds + 1):
            is_last = number == self.options.max_rounds
            completion = await self._complete(is_last=is_last)
            if not completion.calls:
                self.messages.append(completion.message)
                return _final_text(completion)
            if is_last:
                break
            self.messages.append(completion.message)
            for position, call in enumerate(completion.calls):
                answer = await self._call(call) if position < MAX_CALLS else _too_many()
                text = f"Error: {answer.text}" if answer.is_error else answer.text
                self.messages.append({"role": "tool", "tool_call_id": call.id, "content": text})
        raise MindFailed(f"the model still calls tools after {self.options.max_rounds} rounds")

    async def _complete(self, *, is_last: bool) -> Completion:
        """Ask for the next message; a conversation that is too long is shortened."""
        for _ in range(_SHORTENINGS + 1):
            try:
                completion = await self.client.complete(self._body(is_last=is_last))
            except TooLong as error:
                shorter = compact(self.messages, count_characters(self.messages) // 2)
                if len(shorter) == len(self.messages):
                    shorter = shorten_tool_answers(self.messages)
                if shorter == self.messages:
                    raise MindFailed(str(error)) from None
                self.messages = shorter
            else:
                self.completions.append(completion)
                return completion
        raise MindFailed(
            f"the conversation is too long for the model {self.options.model}, also without its older turns"
        )

    def _body(self, *, is_last: bool) -> Mapping[str, Any]:
        messages = [{"role": "system", "content": self.system}, *self.messages]
        if is_last:
            messages.append({"role": "user", "content": _LAST_ROUND})
        body: dict[str, Any] = {"model": self.options.model, "messages": messages}
        if self.options.max_tokens is not None:
            body["max_tokens"] = self.options.max_tokens
        tools = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
            }
            for tool, _ in self.offered.values()
        ]
        if tools:
            body |= {"tools": tools, "tool_choice": "none" if is_last else "auto"}
        return body

    async def _call(self, call: ToolCall) -> ToolAnswer:
        """Call the tool. A wrong call is answered with an error that the model can react to."""
        if call.name not in self.offered:
            known = ", ".join(self.offered)
            return ToolAnswer(f"there is no tool {call.name[:100]!r}; the tools are: {known}", is_error=True)
        try:
            arguments = json.loads(call.arguments or "{}")
        except (ValueError, RecursionError) as error:
            return ToolAnswer(f"the arguments are not JSON: {error}", is_error=True)
        if not isinstance(arguments, dict):
            return ToolAnswer("the arguments are not a JSON object", is_error=True)
        report_tool_call(call.name, arguments)
        return await self.offered[call.name][1].call(call.name, arguments)

    def usage(self) -> Usage | None:
        """Sum up what the completions so far have consumed."""
        if not self.completions:
            return None
        given = sum(each.input_tokens for each in self.completions)
        taken = sum(each.output_tokens for each in self.completions)
        return Usage(
            input_tokens=given,
            output_tokens=taken,
            cost=self._cost(given, taken),
            model=self.completions[-1].model or self.options.model,
        )

    def _cost(self, given: int, taken: int) -> float | None:
        options = self.options
        if options.price_input is not None or options.price_output is not None:
            return ((options.price_input or 0) * given + (options.price_output or 0) * taken) / 1_000_000
        costs = [each.cost for each in self.completions if each.cost is not None]
        return sum(costs) if costs else None


def _by_name(sources: Sequence[Tools]) -> Mapping[str, tuple[Tool, Tools]]:
    """Return the tools by name: an endpoint refuses a name twice, and names of other characters."""
    found: dict[str, tuple[Tool, Tools]] = {}
    for source in sources:
        for tool in source.tools:
            if _TOOL_NAME.fullmatch(tool.name):
                found.setdefault(tool.name, (tool, source))
    return found


def _final_text(completion: Completion) -> str:
    if completion.refusal:
        return completion.refusal
    if completion.finish_reason == "content_filter" and not completion.text:
        raise MindFailed("the content filter of the model endpoint has stopped the answer")
    if completion.finish_reason == "length":
        if not completion.text:
            raise MindFailed("the model has reached its limit of tokens before it wrote an answer")
        return completion.text + _LENGTH_NOTE
    return completion.text


def _too_many() -> ToolAnswer:
    return ToolAnswer(f"not called: at most {MAX_CALLS} calls are made in one round", is_error=True)
