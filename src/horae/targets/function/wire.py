"""Protocol between a node and its child process: one JSON object per line over pipes, never pickle."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from ...model.lanes.idle import YieldReason
from ...model.outcome import Cancelled, Failed, Outcome, Skipped, Succeeded, TimedOut
from .arguments.build import converter_for
from .arguments.encode import dump_compact, to_jsonable
from .context import RunFacts
from .origin import Origin

MAX_LINE_BYTES: Final = 2 * 1024 * 1024
_CHUNK_BYTES: Final = 65_536


class CallRequest(NamedTuple):
    """The first message to a child. The payload is sent here, not in its arguments or environment."""

    name: str
    origin: Origin
    path: list[str]
    occasion: RunFacts
    deadline: datetime


class RunUpdate(NamedTuple):
    """A later message to a child: the current deadline, the cancellation and yield flags, and why it should yield."""

    deadline: datetime
    cancelled: bool
    yield_requested: bool
    yield_reason: YieldReason | None = None


_OUTCOMES: Final = {kind.__name__: kind for kind in (Succeeded, Failed, TimedOut, Cancelled, Skipped)}
_READERS: Final = {kind: converter_for(kind).read for kind in (CallRequest, RunUpdate, *_OUTCOMES.values())}


def encode_message(message: Mapping[str, Any]) -> bytes:
    return dump_compact(message).encode() + b"\n"


def encode_request(order: CallRequest) -> bytes:
    return encode_message(to_jsonable(order))


def decode_request(message: Any) -> CallRequest:
    return _READERS[CallRequest](message)  # type: ignore[no-any-return]


def encode_update(news: RunUpdate) -> bytes:
    return encode_message(to_jsonable(news))


def decode_update(message: Any) -> RunUpdate:
    return _READERS[RunUpdate](message)  # type: ignore[no-any-return]


def encode_outcome(outcome: Outcome) -> dict[str, Any]:
    return {"kind": type(outcome).__name__, "values": to_jsonable(outcome)}


def decode_outcome(message: Mapping[str, Any]) -> Outcome:
    return _READERS[_OUTCOMES[message["kind"]]](message["values"])  # type: ignore[no-any-return]


def read_messages(pipe: int) -> Iterator[Any]:
    """Yield every message until the other side closes the pipe; blocks between them."""
    rest = b""
    while data := os.read(pipe, _CHUNK_BYTES):
        *complete, rest = (rest + data).split(b"\n")
        yield from map(json.loads, complete)
