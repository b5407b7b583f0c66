"""Protocol between a node and its child process: one JSON object per line over pipes, never pickle."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from ...model.outcome import Cancelled, Failed, Outcome, Skipped, Succeeded, TimedOut
from .arguments.build import converter_for
from .arguments.encode import compact, plain
from .context import Occasion
from .origin import Origin

LONGEST_LINE: Final = 2 * 1024 * 1024
_CHUNK_BYTES: Final = 65_536


class Order(NamedTuple):
    """The first message to a child. The payload is sent here, not in its arguments or environment."""

    name: str
    origin: Origin
    path: list[str]
    occasion: Occasion
    deadline: datetime


class News(NamedTuple):
    """A later message to a child: the current deadline and the cancellation and yield flags."""

    deadline: datetime
    cancelled: bool
    yield_requested: bool


_OUTCOMES: Final = {kind.__name__: kind for kind in (Succeeded, Failed, TimedOut, Cancelled, Skipped)}
_READERS: Final = {kind: converter_for(kind).read for kind in (Order, News, *_OUTCOMES.values())}


def line(message: Mapping[str, Any]) -> bytes:
    return compact(message).encode() + b"\n"


def write_order(order: Order) -> bytes:
    return line(plain(order))


def read_order(message: Any) -> Order:
    return _READERS[Order](message)  # type: ignore[no-any-return]


def write_news(news: News) -> bytes:
    return line(plain(news))


def read_news(message: Any) -> News:
    return _READERS[News](message)  # type: ignore[no-any-return]


def write_outcome(outcome: Outcome) -> dict[str, Any]:
    return {"kind": type(outcome).__name__, "values": plain(outcome)}


def read_outcome(message: Mapping[str, Any]) -> Outcome:
    return _READERS[_OUTCOMES[message["kind"]]](message["values"])  # type: ignore[no-any-return]


def messages(pipe: int) -> Iterator[Any]:
    """Yield every message until the other side closes the pipe; blocks between them."""
    rest = b""
    while data := os.read(pipe, _CHUNK_BYTES):
        *complete, rest = (rest + data).split(b"\n")
        yield from map(json.loads, complete)
