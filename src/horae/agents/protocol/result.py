"""Result document: one answer of an agent, written between two marker lines on stdout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from .documents import read_object, write_object
from .errors import ProtocolError

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
