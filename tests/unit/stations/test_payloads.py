"""Payloads of stations become arguments by annotations; other types are refused with the place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from horae.stations.payloads import PayloadError, Signature


class Context:
    pass


@dataclass
class Line:
    name: str
    price: float = 1.0


@dataclass
class Order:
    number: int
    lines: list[Line]


def whole(order: Order) -> None: ...
def named(number: int, text: str | None = None, *, context: Context) -> None: ...
def open_to_all(number: int, **rest: Any) -> None: ...
def plain(values: dict[str, int], many: list[Any], anything: Any) -> None: ...


CONTEXT = Context()


@pytest.mark.parametrize(
    ("function", "payload", "arguments"),
    [
        (whole, {"number": 1, "lines": [{"name": "a", "price": 2}]}, {"order": Order(1, [Line("a", 2)])}),
        (whole, {"order": {"number": 1, "lines": []}}, {"order": Order(1, [])}),
        (named, {"number": 1, "text": None}, {"number": 1, "text": None, "context": CONTEXT}),
        (open_to_all, {"number": 1, "more": 2}, {"number": 1, "more": 2}),
        (plain, {"values": {"a": 1}, "many": [1], "anything": 2}, {"values": {"a": 1}, "many": [1], "anything": 2}),
    ],
)
def test_payload_is_bound(function: Callable[..., None], payload: Any, arguments: dict[str, Any]) -> None:
    assert Signature(function, Context).bind(payload, CONTEXT) == arguments


@pytest.mark.parametrize(
    ("function", "payload", "problem"),
    [
        (whole, {"number": "1", "lines": []}, "payload.number is no int"),
        (whole, {"number": 1, "lines": [{"name": 1}]}, "payload.lines[0].name is no str"),
        (whole, {"number": 1, "lines": [], "more": 1}, "payload.more: unknown"),
        (whole, {"number": 1}, "payload: "),
        (whole, [], "payload is no object"),
        (named, None, "number is missing"),
        (named, [1], "the payload is no object"),
        (named, {"number": True}, "number is no int"),
        (named, {"number": 1, "text": 5}, "text is no null"),
        (named, {"number": 1, "context": 2}, "context: unknown"),
        (plain, {"values": [], "many": [], "anything": 1}, "values is no object"),
    ],
)
def test_wrong_payload_is_refused(function: Callable[..., None], payload: Any, problem: str) -> None:
    with pytest.raises(PayloadError) as refused:
        Signature(function, Context).bind(payload, CONTEXT)
    assert str(refused.value).startswith(problem)
