"""Elicitation: an ambiguous argument is put to the user as a form where the client supports it; otherwise the refusal
lists the choices."""

from __future__ import annotations

import re
from typing import Any, Final, NamedTuple

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ..choices import Language
from ..errors import Refusal
from ..schedule.text.possible_texts import possible_texts
from .call import Arguments
from .lines import to_single_line

MAX_QUESTIONS: Final = 3
_FIELD: Final = "choice"
_TASK_ID: Final = re.compile(r"\btsk_[0-9a-z]+")


class Choices(NamedTuple):
    """Unambiguous values for one argument."""

    argument: str
    values: tuple[str, ...]


def choices_of(refusal: Refusal, arguments: Arguments) -> Choices | None:
    """Return the choices that a refusal for ambiguity offers; None for any other refusal."""
    if refusal.code == "ambiguous_name":
        argument = "task_id" if "task_id" in arguments else "task" if "task" in arguments else "id"
        found = str(refusal.facts["found"])
        return Choices(argument, tuple(_TASK_ID.findall(found)) or tuple(found.split(", ")))
    texts = possible_texts(refusal)
    # A single text is no question: the hint says it.
    return Choices(argument_with(refusal.source, arguments), texts) if len(texts) > 1 else None


def whole_texts(refusal: Refusal) -> tuple[str, ...]:
    """What a schedule text may have meant, as the schedule language offers it; empty for anything else."""
    found = refusal.facts.get("choices")
    return tuple(map(str, found)) if isinstance(found, list) else ()


def argument_with(text: str | None, said: Arguments) -> str:
    """The argument that holds the text: a task is scheduled by its `when`, explained by its `at`, paused by its `until`."""
    return next((name for name in ("at", "until") if said.get(name) == text), "when")


async def ask_user(
    context: ServerRequestContext[Any, Any],
    params: types.CallToolRequestParams,
    refusal: Refusal,
    choices: Choices,
    language: Language,
) -> types.InputRequiredResult | str | None:
    """Ask the user to choose. Returns the chosen value; for clients of newer protocol versions the form, with which the
    client asks and calls again; None if the client cannot ask or the user declined."""
    capabilities = context.session.client_capabilities
    if capabilities is None or capabilities.elicitation is None:
        return None
    message = to_single_line(refusal.in_language(language).message)
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        if has_declined(params):
            return None
        form = types.ElicitRequestFormParams(message=message, requested_schema=_form(choices))
        return types.InputRequiredResult(input_requests={choices.argument: types.ElicitRequest(params=form)})
    try:
        answer = await context.session.elicit_form(message, _form(choices), context.request_id)
    except MCPError:
        # The client announced elicitation but cannot do it: the refusal shows the choices instead.
        return None
    return _read_choice(answer)


def apply_answers(params: types.CallToolRequestParams, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with the user's choices in place of the ambiguous values."""
    for argument, response in (params.input_responses or {}).items():
        choice = _read_choice(response)
        if choice is not None and argument in arguments:
            arguments = {**arguments, argument: choice}
    return arguments


def has_declined(params: types.CallToolRequestParams) -> bool:
    """Return whether the user was asked and did not choose; such a user is not asked again."""
    return any(_read_choice(response) is None for response in (params.input_responses or {}).values())


def _form(choices: Choices) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {_FIELD: {"type": "string", "title": choices.argument, "enum": list(choices.values)}},
        "required": [_FIELD],
    }


def _read_choice(response: object) -> str | None:
    if not isinstance(response, types.ElicitResult) or response.action != "accept":
        return None
    choice = (response.content or {}).get(_FIELD)
    return choice if isinstance(choice, str) else None
