"""The server: lists the tools and calls them, whatever carries the messages; every refusal is an answer."""

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
from .arguments import checked
from .call import Call, House, LanguageMemory, Said, Told
from .catalogue import TOOLS, Entry, arguments_of, listed
from .elicitation import MOST_QUESTIONS, Choices, answered, argument_with, asked, choices_of, whole_texts
from .hints import RefusedCall, followable, in_tool_words
from .lines import whole
from .messages import CHOOSE
from .refusals import refuse

LOG: Final = logging.getLogger("horae.mcp")
PROBLEM: Final = "horae/problem"
"""Where in an answer programs find what was refused: code, sentence, hint."""
INSTRUCTIONS: Final = (
    "Horae runs tasks on time, durably. Schedule with schedule_task: pass the zone of the person you work for, or leave it "
    "out to use the owner's; then read back what it means and when it runs next. Give a key so that repeating a call makes "
    "nothing twice. When somebody asks why something did or did not happen, call explain_task."
)

Context: TypeAlias = ServerRequestContext[Any, Any]


class Caller(NamedTuple):
    """Who sent a request, and in which language they like to be answered. `assumed` is where their zone comes from, if their
    owner has none. `states_language`: the client named the language, so that the last one in use does not count."""

    who: Principal
    language: Language
    assumed: AssumedZone | None = None
    states_language: bool = False


WhoAsks: TypeAlias = Callable[[Context], "Caller | Awaitable[Caller]"]


def make_server(house: House, who_asks: WhoAsks) -> Server[Any]:
    """`who_asks` looks at what carried a request: never at what is in it."""
    return Server(
        "horae",
        version=__version__,
        title="Horae",
        instructions=INSTRUCTIONS,
        get_tool_input_schema=arguments_of,
        on_list_tools=_list_tools,
        on_call_tool=partial(_call_tool, house, who_asks, LanguageMemory()),
    )


async def _list_tools(_context: Context, _params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
    return types.ListToolsResult(tools=listed())


async def _call_tool(
    house: House,
    who_asks: WhoAsks,
    languages: LanguageMemory,
    context: Context,
    params: types.CallToolRequestParams,
) -> types.CallToolResult | types.InputRequiredResult:
    found = who_asks(context)
    caller = found if isinstance(found, Caller) else await found
    given = answered(params, dict(params.arguments or {}))
    language = languages.choose(caller.who, given, caller.language, is_stated=caller.states_language)
    if params.name not in TOOLS:
        # An error of the protocol, and not of a tool: a client that calls what was never listed has a fault of its own.
        raise _unknown_tool(params.name, language)
    known = house if caller.assumed is None else house._replace(assumed=caller.assumed)
    call = Call(known, caller.who, language)
    refused = partial(_refused, call, RefusedCall(params.name, given, call.clock.now()))
    for left in reversed(range(MOST_QUESTIONS)):
        try:
            return _answer(call, await _done(call, params.name, given))
        except Refusal as found_refusal:
            refusal = in_tool_words(found_refusal)
            choices = choices_of(refusal, given)
            if choices is None or not left:
                return refused(refusal, choices)
            answer = await asked(context, params, refusal, choices, call.language)
            if not isinstance(answer, str):
                return refused(refusal, choices) if answer is None else answer
            given[choices.argument] = answer
        except HoraeError as error:
            return refused(error)
        except Exception:
            LOG.exception("the tool %s broke", params.name[:50])
            break
    return refused(refuse("tool_broke"))


def _unknown_tool(name: str, language: Language) -> MCPError:
    near = get_close_matches(name, TOOLS, 1, 0)[0]
    problem = problem_json(refuse("unknown_tool", name=name, near=near), language)
    return MCPError(types.INVALID_PARAMS, f"{problem['detail']} {problem['hint']}", {PROBLEM: problem})


async def _done(call: Call, name: str, given: dict[str, Any]) -> Told:
    entry: Entry = TOOLS[name]
    said: Said = checked(entry.takes, entry.also, given)
    return await entry.tool(call, said)


def _answer(call: Call, told: Told) -> types.CallToolResult:
    line = whole(told.line, call.language)
    return types.CallToolResult(content=[types.TextContent(text=line)], structured_content=told.data)


def _refused(
    call: Call, refused: RefusedCall, error: HoraeError, choices: Choices | None = None
) -> types.CallToolResult:
    problem = problem_json(error, call.language)
    if isinstance(error, StoreError) and not isinstance(error, Refusal):
        # What a driver says may name hosts, files and tables.
        LOG.warning("%s: %s", type(error).__name__, error)
        problem["detail"] = problem["title"]
    problem["suggested_calls"] = []
    if isinstance(error, Refusal):
        _make_followable(call, refused, error, problem)
    problem["hint"] = call.complete(problem["hint"])
    space = " " if call.language == "en" else ""
    line = f"{problem['code']}: {problem['detail']}{space}{problem['hint']}"
    if choices is not None and not all(each in problem["hint"] for each in choices.values):
        shown = (", " if call.language == "en" else "、").join(f'"{each}"' for each in choices.values)
        line += space + CHOOSE.told(call.language, choices=shown)
    if choices is not None:
        problem["choices"] = {"argument": choices.argument, "values": list(choices.values)}
    text = types.TextContent(text=whole(line, call.language))
    return types.CallToolResult(content=[text], is_error=True, _meta={PROBLEM: problem})


def _make_followable(call: Call, refused: RefusedCall, refusal: Refusal, problem: dict[str, Any]) -> None:
    """Replaces a hint that names commands or HTTP requests by one that names tools; keys of an agent are shown as it
    passed them."""
    own = "" if call.who.agent is None else f"agent:{call.who.agent}/"
    facts = {"owner": call.who.owner, **refusal.facts}
    if own:
        facts = {name: fact.removeprefix(own) if isinstance(fact, str) else fact for name, fact in facts.items()}
        problem["detail"] = problem["detail"].replace(own, "")
    found = followable(refusal, facts, call.language, refused)
    if found is not None:
        problem["hint"], problem["suggested_calls"] = found
    texts = whole_texts(refusal)
    if len(texts) == 1:
        argument = argument_with(refusal.source, refused.arguments)
        problem["suggested_calls"] = [refused.changed({argument: texts[0]})]
