"""Output of an agent: result documents between two marker lines on stdout, and lines of its tool calls on stderr."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from .documents import ProtocolError, read_object, write_object

START_MARKER: Final = b"---HORAE_OUTPUT_START---"
END_MARKER: Final = b"---HORAE_OUTPUT_END---"
NANOCLAW_START_MARKER: Final = b"---NANOCLAW_OUTPUT_START---"
NANOCLAW_END_MARKER: Final = b"---NANOCLAW_OUTPUT_END---"

MAX_RESULT_BYTES: Final = 1024 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What a turn consumed, as far as the mind reports it; `cost` is in US dollars."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResult:
    """A success with the result None says that the turn has ended and has no (further) text."""

    status: Literal["success", "error"]
    result: str | None = None
    new_session_id: str | None = None
    error: str | None = None
    usage: Usage | None = None


def read_result(data: bytes, max_bytes: int = MAX_RESULT_BYTES) -> AgentResult:
    """Read one document, or raise `ProtocolError`. Unknown fields are ignored: a newer runner may add some."""
    fields = read_object(data, max_bytes)
    status = fields.text("status")
    if status not in {"success", "error"}:
        raise ProtocolError("unknown_status", f"the status {status[:40]!r} is neither success nor error", "/status")
    usage = fields.optional_object("usage")
    return AgentResult(
        status="success" if status == "success" else "error",
        result=fields.optional_text("result"),
        new_session_id=fields.optional_text("newSessionId"),
        error=fields.optional_text("error"),
        usage=None
        if usage is None
        else Usage(
            input_tokens=usage.optional_count("inputTokens"),
            output_tokens=usage.optional_count("outputTokens"),
            cost=usage.optional_amount("cost"),
            model=usage.optional_text("model"),
        ),
    )


def write_result(value: AgentResult) -> bytes:
    """Return the document between its markers. The first newline ends a line that the agent left unfinished."""
    usage = value.usage
    described = usage and {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cost": usage.cost,
        "model": usage.model,
    }
    document = {
        "status": value.status,
        "result": value.result,
        "newSessionId": value.new_session_id,
        "error": value.error,
        "usage": described and {name: each for name, each in described.items() if each is not None},
    }
    return b"\n".join((b"", START_MARKER, write_object(document, nullable=("result",)), END_MARKER, b""))


_CALL_PREFIX: Final = "[tool call] "
_CALL_CHARACTERS: Final = 1_000


def write_tool_call(name: str, arguments: Mapping[str, Any]) -> str:
    """Return the line of a tool call for the log, without its end. The agent writes it, so it proves nothing."""
    text = json.dumps(arguments, default=str)
    shown = text if len(text) <= _CALL_CHARACTERS else text[:_CALL_CHARACTERS] + "…"
    return f"{_CALL_PREFIX}{' '.join(name.split())} {shown}"


def read_tool_call(line: str) -> str | None:
    """Return the name and the arguments in a line of stderr; None for any other line."""
    return line.removeprefix(_CALL_PREFIX)[: _CALL_CHARACTERS * 2].strip() if line.startswith(_CALL_PREFIX) else None


_INTERNAL_TEXT: Final = re.compile(r"<internal>.*?</internal>", re.DOTALL)


def remove_internal_text(text: str) -> str:
    """Return the text without `<internal>…</internal>`; an empty result is not sent. A tag without its end stays visible."""
    return _INTERNAL_TEXT.sub("", text).strip()
