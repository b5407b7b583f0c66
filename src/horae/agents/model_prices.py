"""Prices of models in the settings, and the cost of the tokens that passed the model proxy; pure."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeAlias

from ..model.agents.usage import to_micros

_MAX_PRICE: Final = 100_000
"""US dollars for a million tokens."""
_MILLION: Final = 1_000_000
_NAMES: Final = ("input", "output", "cached_input")


class ModelPrice(NamedTuple):
    """Millionths of a US dollar for a million tokens. `cached_input` is for those that the endpoint had in its cache."""

    input: int
    output: int
    cached_input: int

    def cost_of(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> int:
        """Return the cost in millionths of a millionth of a US dollar: sums of many small responses stay exact."""
        cached = min(cached_tokens, input_tokens)
        return (input_tokens - cached) * self.input + cached * self.cached_input + output_tokens * self.output


Prices: TypeAlias = Mapping[str, ModelPrice]
NO_PRICES: Final[Prices] = MappingProxyType({})


def find_price(prices: Prices, *models: str) -> ModelPrice | None:
    """Return the price of the first of these models that has one."""
    return next((prices[each] for each in models if each in prices), None)


def in_micros(cost: int) -> int:
    """Return a sum of `cost_of` in millionths of a US dollar, rounded up."""
    return -(-cost // _MILLION)


def read_prices(value: Any) -> dict[str, ModelPrice]:
    """Read `{"gpt-5-mini": {"input": 0.25, "output": 2}}`, in US dollars for a million tokens, or `gpt-5-mini=0.25/2`.

    Raises ValueError.
    """
    table = _read_text(value) if isinstance(value, str) else value
    if not isinstance(table, Mapping):
        raise ValueError("no table")  # noqa: TRY004 - one error for all that is no price
    return {str(model): _read_price(price) for model, price in table.items()}


def _read_text(text: str) -> dict[str, Any]:
    """Read `gpt-5-mini=0.25/2, gpt-5=1.25/10/0.125`: input, output and, if given, cached input."""
    table: dict[str, Any] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        model, _, amounts = part.rpartition("=")
        table[model.strip()] = dict(zip(_NAMES, map(float, amounts.split("/")), strict=False))
    return table


def _read_price(price: Any) -> ModelPrice:
    if not isinstance(price, Mapping) or not {"input", "output"} <= price.keys() <= set(_NAMES):
        raise ValueError("a price has input and output, and perhaps cached_input")
    amounts = {name: to_micros(amount) for name, amount in price.items()}
    known = [amount for amount in amounts.values() if amount is not None and amount <= _MAX_PRICE * _MILLION]
    if len(known) != len(amounts):
        raise ValueError("a price is an amount of US dollars")
    given = amounts["input"], amounts["output"], amounts.get("cached_input", amounts["input"])
    return ModelPrice(*(amount or 0 for amount in given))
