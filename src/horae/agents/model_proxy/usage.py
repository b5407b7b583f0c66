"""Tokens of a response as the endpoint reports them, read from JSON or from a stream of events while it passes; pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..model_prices import NO_PRICES, Prices, find_price, in_micros

MAX_JSON_BYTES: Final = 4 * 1024 * 1024
_MAX_LINE_BYTES: Final = 256 * 1024
_INPUT_NAMES: Final = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "prompt_tokens")
_CACHED_NAMES: Final = ("cache_read_input_tokens", "cached_tokens")
_OUTPUT_NAMES: Final = ("output_tokens", "completion_tokens")
_BYTES_PER_TOKEN: Final = 4
"""Of an estimate."""


@dataclass(slots=True)
class RunUsage:
    """What one run has used so far."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    model: str | None = None
    unpriced: str | None = None
    """A model that was used and has no price, where the settings have prices: the cost is then at least the counted one."""
    _cost: int | None = None

    @property
    def cost_micros(self) -> int | None:
        """Cost in millionths of a US dollar; None: no price was known."""
        return None if self._cost is None else in_micros(self._cost)

    def add(self, response: UsageReader, prices: Prices = NO_PRICES, asked: str = "") -> None:
        """Count a response. Its price is that of the model that the endpoint names, else of the requested one."""
        self.input_tokens += response.input_tokens
        self.output_tokens += response.output_tokens
        self.model = response.model or self.model
        if not prices or not response.input_tokens + response.output_tokens:
            return
        price = find_price(prices, response.model or "", asked)
        if price is None:
            self.unpriced = response.model or asked or "?"
            return
        cost = price.cost_of(response.input_tokens, response.output_tokens, response.cached_tokens)
        self._cost = (self._cost or 0) + cost


def estimated_tokens(number_of_bytes: int) -> int:
    return number_of_bytes // _BYTES_PER_TOKEN


class UsageReader:
    """Reads one response. Longer lines and bodies than the limits are not counted; they can be estimated."""

    def __init__(self, *, is_stream: bool) -> None:
        self._is_stream = is_stream
        self._rest = bytearray()
        self._is_skipping = False
        self._size = 0
        self._events = 0
        self.is_final = False
        """Whether the endpoint has reported the tokens of the whole response."""
        self.input_tokens = 0
        self.output_tokens = 0
        self.cached_tokens = 0
        """Of the input, those that the endpoint had in its cache."""
        self.model: str | None = None

    def feed(self, data: bytes) -> None:
        self._size += len(data)
        if not self._is_stream:
            if len(self._rest) <= MAX_JSON_BYTES:
                self._rest += data[: MAX_JSON_BYTES + 1]
            return
        *lines, last = data.split(b"\n")
        for line in lines:
            if not self._is_skipping:
                self._rest += line
                self._events += self._rest.startswith(b"data:")
                self._take(bytes(self._rest))
            self._rest.clear()
            self._is_skipping = False
        if not self._is_skipping:
            self._rest += last
            if len(self._rest) > _MAX_LINE_BYTES:
                self._is_skipping = True
                self._rest.clear()

    def finish(self) -> None:
        if self._is_stream or len(self._rest) <= MAX_JSON_BYTES:
            self._take(bytes(self._rest))
        self._rest.clear()

    def estimate(self, request_bytes: int) -> None:
        """Set what the endpoint has not reported: a caller can ask for a stream without usage, or leave before its end.

        An event of a stream has at least one token.
        """
        if self.is_final:
            return
        self.input_tokens = self.input_tokens or estimated_tokens(request_bytes)
        found = self._events if self._is_stream else estimated_tokens(self._size)
        self.output_tokens = max(self.output_tokens, found)

    def _take(self, line: bytes) -> None:
        """Read the usage of one event or body. Events repeat their counts, which only grow."""
        if b'"usage"' not in line:
            return
        try:
            value: Any = json.loads(line.removeprefix(b"data:"))
        except (ValueError, RecursionError):
            return
        if not isinstance(value, dict):
            return
        inner = value.get("message")
        for part in (value, inner if isinstance(inner, dict) else {}):
            if isinstance(part.get("model"), str):
                self.model = part["model"]
            usage = part.get("usage")
            if isinstance(usage, dict):
                self.input_tokens = max(self.input_tokens, _sum(usage, _INPUT_NAMES))
                self.output_tokens = max(self.output_tokens, _sum(usage, _OUTPUT_NAMES))
                details = usage.get("prompt_tokens_details")
                cached = _sum(usage, _CACHED_NAMES) + (_sum(details, _CACHED_NAMES) if isinstance(details, dict) else 0)
                self.cached_tokens = max(self.cached_tokens, cached)
                # The first event of a stream has the usage so far, in its message.
                self.is_final |= part is value and any(name in usage for name in _OUTPUT_NAMES)


def _sum(usage: Mapping[str, Any], names: tuple[str, ...]) -> int:
    return sum(value for name in names if isinstance(value := usage.get(name), int) and value > 0)
