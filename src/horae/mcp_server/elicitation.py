"""What can be meant in several ways is asked, not guessed: of the person, where the client can ask, else in the refusal."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ..choices import Language
from ..errors import Refusal
from .call import Said
from .lines import plain

MOST_QUESTIONS: Final = 3
_ANSWER: Final = "choice"
_WORD: Final = re.compile("[A-Za-z]+")
_TASK_ID: Final = re.compile(r"\btsk_[0-9a-z]+")


class Choices(NamedTuple):
    """Values for one argument, any of which would be clear."""

    argument: str
    values: tuple[str, ...]


def choices_of(refusal: Refusal, said: Said) -> Choices | None:
    """None when it was refused for something else."""
    facts = refusal.facts
    match refusal.code:
        case "ambiguous_hour":
            return _within(refusal, said, str(facts["hour"]), str(facts["morning"]), str(facts["evening"]))
        case "ambiguous_zone":
            return _within(refusal, said, str(facts["zone"]), str(facts["one"]), str(facts["other"]))
        case "ambiguous_name":
            argument = "task_id" if "task_id" in said else "task" if "task" in said else "id"
            found = str(facts["found"])
            return Choices(argument, tuple(_TASK_ID.findall(found)) or tuple(found.split(", ")))
        case "every_other" | "missing_hour":
            return _instead_of(refusal, said, (str(facts["one"]), str(facts["other"])))
        case "bare_duration":
            return _instead_of(refusal, said, (str(facts["delay"]), str(facts["interval"])))
        case _:
            return _instead_of(refusal, said, whole_texts(refusal))


def whole_texts(refusal: Refusal) -> tuple[str, ...]:
    """What a schedule text may have meant, as the schedule language offers it; empty for anything else."""
    found = refusal.facts.get("choices")
    return tuple(map(str, found)) if isinstance(found, list) else ()


def argument_with(text: str | None, said: Said) -> str:
    """The argument that holds the text: a task is scheduled by its `when`, explained by its `at`, paused by its `until`."""
    return next((name for name in ("at", "until") if said.get(name) == text), "when")


def _instead_of(refusal: Refusal, said: Said, values: tuple[str, ...]) -> Choices | None:
    """A single text is no question: the hint says it."""
    return Choices(argument_with(refusal.source, said), values) if len(values) > 1 else None


def _within(refusal: Refusal, said: Said, unclear: str, *instead: str) -> Choices | None:
    """The whole text that was said, with each of these in the place of what was unclear in it."""
    source, place = refusal.source, refusal.position
    if source is None or place is None:
        return None
    spelled = _WORD.match(source, place)
    # The hour may be spelled out: `nine` for 9.
    is_word = spelled is not None and not source.startswith(unclear, place)
    end = spelled.end() if spelled is not None and is_word else place + len(unclear)
    return Choices(argument_with(source, said), tuple(f"{source[:place]}{each}{source[end:]}" for each in instead))


async def asked(
    context: ServerRequestContext[Any, Any],
    params: types.CallToolRequestParams,
    refusal: Refusal,
    choices: Choices,
    language: Language,
) -> types.InputRequiredResult | str | None:
    """What the person chose, or the question for a client that asks by itself and comes again; None: nobody answers."""
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        return None
    message = plain(refusal.in_language(language).message)
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        if said_no(params):
            return None
        form = types.ElicitRequestFormParams(message=message, requested_schema=_form(choices))
        return types.InputRequiredResult(input_requests={choices.argument: types.ElicitRequest(params=form)})
    try:
        answer = await context.session.elicit_form(message, _form(choices), context.request_id)
    except MCPError:
        # It said that it can ask, and cannot: then whoever called reads the choices.
        return None
    return _chosen(answer)


def answered(params: types.CallToolRequestParams, said: dict[str, Any]) -> dict[str, Any]:
    """The arguments, with what a person has answered in the place of what was unclear."""
    for argument, response in (params.input_responses or {}).items():
        chosen = _chosen(response)
        if chosen is not None and argument in said:
            said = {**said, argument: chosen}
    return said


def said_no(params: types.CallToolRequestParams) -> bool:
    """Who was asked and did not choose is not asked again."""
    return any(_chosen(response) is None for response in (params.input_responses or {}).values())


def _form(choices: Choices) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {_ANSWER: {"type": "string", "title": choices.argument, "enum": list(choices.values)}},
        "required": [_ANSWER],
    }


def _chosen(response: object) -> str | None:
    if not isinstance(response, types.ElicitResult) or response.action != "accept":
        return None
    found = (response.content or {}).get(_ANSWER)
    return found if isinstance(found, str) else None
