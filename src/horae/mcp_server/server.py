"""MCP server: lists and calls the tools over any transport, and returns refusals as tool results."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from difflib import get_close_matches
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

from ..choices import Language
from ..errors import HoraeError, Refusal, StoreError
from ..model.accounts.principal import Principal
from ..service.tasks.default_zone import AssumedZone
from ..version import __version__
from ..wire.problems import problem_json
from .arguments import check_arguments
from .call import Arguments, Call, LanguageMemory, ToolContext, ToolResult
from .catalogue import TOOLS, ToolEntry, input_schema_of, list_tools
from .elicitation import MAX_QUESTIONS, Choices, apply_answers, argument_with, ask_user, choices_of, whole_texts
from .hints import RefusedCall, in_tool_words, tool_hint
from .lines import limit_line
from .messages import CHOOSE
from .refusals import refuse

LOG: Final = logging.getLogger("horae.mcp")
PROBLEM: Final = "horae/problem"
"""Key in a result's metadata under which programs find a refusal: code, sentence, hint."""
INSTRUCTIONS: Final = (
    "Horae runs tasks on time, durably. Schedule with schedule_task: pass the zone of the person you work for, or leave it "
    "out to use the owner's; then read back what it means and when it runs next. Give a key so that repeating a call makes "
    "nothing twice. When asked why something did or did not happen, call explain_task."
)

Context: TypeAlias = ServerRequestContext[Any, Any]


class Caller(NamedTuple):
    """Sender of a request. `assumed` is the source of their zone if their owner has none. `states_language`: the client
    named `language`, so the language used last is ignored."""

    principal: Principal
    language: Language
    assumed: AssumedZone | None = None
    states_language: bool = False


CallerResolver: TypeAlias = Callable[[Context], "Caller | Awaitable[Caller]"]


def make_server(tool_context: ToolContext, resolve_caller: CallerResolver) -> Server[Any]:
    """Build the server. `resolve_caller` derives the caller from the transport of a request, never from its content."""
    return Server(
        "horae",
        version=__version__,
        title="Horae",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=input_schema_of,
        on_list_tools=_list_tools,
        on_call_tool=partial(_call_tool, tool_context, resolve_caller, LanguageMemory()),
    )


async def _list_tools(_context: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=list_tools())


async def _call_tool(
    tool_context: ToolContext,
    who_asks: CallerResolver,
    languages: LanguageMemory,
    context: Context,
    params: types.CallToolRequestParams,
) -> types.CallToolResult | types.InputRequiredResult:
    resolved = who_asks(context)
    caller = resolved if isinstance(resolved, Caller) else await resolved
    arguments = apply_answers(params, dict(params.arguments or {}))
    language = languages.choose(caller.principal, arguments, caller.language, is_stated=caller.states_language)
    if params.name not in TOOLS:
        # A protocol error, not a tool error: the client called a tool that was never listed.
        raise _unknown_tool(params.name, language)
    call_context = tool_context if caller.assumed is None else tool_context._replace(assumed=caller.assumed)
    call = Call(call_context, caller.principal, language)
    failure = partial(_failure, call, RefusedCall(params.name, arguments, call.clock.now()))
    for questions_left in reversed(range(MAX_QUESTIONS)):
        try:
            return _success(call, await _run_tool(call, params.name, arguments))
        except Refusal as raised:
            refusal = in_tool_words(raised)
            choices = choices_of(refusal, arguments)
            if choices is None or not questions_left:
                return failure(refusal, choices)
            answer = await ask_user(context, params, refusal, choices, call.language)
            if not isinstance(answer, str):
                return failure(refusal, choices) if answer is None else answer
            arguments[choices.argument] = answer
        except HoraeError as error:
            return failure(error)
        except Exception:
            LOG.exception("the tool %s broke", params.name[:50])
            break
    return failure(refuse("tool_broke"))


def _unknown_tool(name: str, language: Language) -> MCPError:
    closest = get_close_matches(name, TOOLS, 1, 0)[0]
    problem = problem_json(refuse("unknown_tool", name=name, near=closest), language)
    return MCPError(types.INVALID_PARAMS, f"{problem['detail']} {problem['hint']}", {PROBLEM: problem})


async def _run_tool(call: Call, name: str, raw_arguments: dict[str, Any]) -> ToolResult:
    entry: ToolEntry = TOOLS[name]
    arguments: Arguments = check_arguments(entry.input_schema, entry.other_arguments, raw_arguments)
    return await entry.tool(call, arguments)


def _success(call: Call, result: ToolResult) -> types.CallToolResult:
    line = limit_line(result.line, call.language)
    return types.CallToolResult(content=[types.TextContent(text=line)], structured_content=result.data)


def _failure(
    call: Call, refused: RefusedCall, error: HoraeError, choices: Choices | None = None
) -> types.CallToolResult:
    problem = problem_json(error, call.language)
    if isinstance(error, StoreError) and not isinstance(error, Refusal):
        # A driver's message may name hosts, files and tables.
        LOG.warning("%s: %s", type(error).__name__, error)
        problem["detail"] = problem["title"]
    problem["suggested_calls"] = []
    if isinstance(error, Refusal):
        _use_tool_hint(call, refused, error, problem)
    problem["hint"] = call.complete(problem["hint"])
    space = " " if call.language == "en" else ""
    line = f"{problem['code']}: {problem['detail']}{space}{problem['hint']}"
    if choices is not None and not all(each in problem["hint"] for each in choices.values):
        shown = (", " if call.language == "en" else "、").join(f'"{each}"' for each in choices.values)
        line += space + CHOOSE.in_language(call.language, choices=shown)
    if choices is not None:
        problem["choices"] = {"argument": choices.argument, "values": list(choices.values)}
    text = types.TextContent(text=limit_line(line, call.language))
    return types.CallToolResult(content=[text], is_error=True, _meta={PROBLEM: problem})


def _use_tool_hint(call: Call, refused: RefusedCall, refusal: Refusal, problem: dict[str, Any]) -> None:
    """Replace a hint that names commands or HTTP requests by one that names tools; an agent's keys are shown as it
    passed them."""
    key_prefix = "" if call.principal.agent is None else f"agent:{call.principal.agent}/"
    facts = {"owner": call.principal.owner, **refusal.facts}
    if key_prefix:
        facts = {name: fact.removeprefix(key_prefix) if isinstance(fact, str) else fact for name, fact in facts.items()}
        problem["detail"] = problem["detail"].replace(key_prefix, "")
    hint = tool_hint(refusal, facts, call.language, refused)
    if hint is not None:
        problem["hint"], problem["suggested_calls"] = hint
    texts = whole_texts(refusal)
    if len(texts) == 1:
        argument = argument_with(refusal.source, refused.arguments)
        problem["suggested_calls"] = [refused.changed({argument: texts[0]})]
