"""Payloads become typed arguments, or an error names the argument, the value and the expected type."""

from __future__ import annotations

import collections.abc
import functools
import json
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, NewType, NotRequired, Optional, TypedDict
from uuid import UUID

import pytest

from horae.errors import InvalidTask
from horae.model.outcome import Failed
from horae.targets.function.arguments.build import converter_for
from horae.targets.function.arguments.converter import Mismatch
from horae.targets.function.arguments.encode import encode_result
from horae.targets.function.context import Context
from horae.targets.function.registry import check_payload, describe_function
from tests.unit.targets.invocations import execute

if TYPE_CHECKING:
    from decimal import Context as Unknown


class Color(Enum):
    RED = "red"
    BLUE = "blue"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True)
class Address:
    city: str
    lines: tuple[str, ...] = ()


@dataclass
class Person:
    name: str
    home: Address
    born: date | None = None
    friends: list[Person] = field(default_factory=list)
    noted: int = field(default=0, init=False)
    shout: InitVar[bool] = False

    def __post_init__(self, shout: bool) -> None:
        if not self.name:
            raise ValueError("a person has a name")
        self.name = self.name.upper() if shout else self.name


class Point(NamedTuple):
    x: int
    y: int = 0


class Options(TypedDict):
    deep: bool
    depth: NotRequired[int]


@dataclass
class Model:
    """Has the two methods by which models of validation libraries are known."""

    size: Any

    @classmethod
    def model_validate(cls, value: Any) -> Model:
        if value.keys() != {"size"} or not isinstance(value["size"], int):
            raise ValueError("size should be a valid integer")
        return cls(**value)

    def model_dump(self, mode: str) -> dict[str, Any]:
        return {"size": self.size, "mode": mode}


Ticket = NewType("Ticket", int)

FITTING: list[tuple[Any, Any, Any]] = [
    (int, 5, 5),
    (float, 5, 5.0),
    (str, "五", "五"),
    (bool, True, True),
    (None, None, None),
    (Any, {"a": [1]}, {"a": [1]}),
    (object, "x", "x"),
    (list, [1, "a"], [1, "a"]),
    (list[int], [1, 2], [1, 2]),
    (set[str], ["a", "a"], {"a"}),
    (frozenset[int], [1], frozenset({1})),
    (tuple[int, ...], [1, 2], (1, 2)),
    (tuple[int, str], [1, "a"], (1, "a")),
    (tuple[()], [], ()),
    (dict, {"a": 1}, {"a": 1}),
    (dict[str, list[int]], {"a": [1]}, {"a": [1]}),
    (dict[int, str], {"7": "a"}, {7: "a"}),
    (dict[date, bool], {"2026-03-01": True}, {date(2026, 3, 1): True}),
    (collections.abc.Sequence[int], [1], [1]),
    (collections.abc.Mapping[str, int], {"a": 1}, {"a": 1}),
    (int | None, None, None),
    (Optional[int], 3, 3),  # noqa: UP045 - older code is written so
    (float | int, 3, 3),
    (datetime | str, "soon", "soon"),
    (Literal["a", 1, True], 1, 1),
    (Literal["a", 1, True], True, True),
    (Color, "red", Color.RED),
    (Color, "BLUE", Color.BLUE),
    (Level, 2, Level.HIGH),
    (datetime, "2026-03-01T12:00:00Z", datetime(2026, 3, 1, 12, tzinfo=UTC)),
    (date, "2026-03-01", date(2026, 3, 1)),
    (time, "09:30", time(9, 30)),
    (timedelta, 1.5, timedelta(seconds=1.5)),
    (timedelta, "90s", timedelta(seconds=90)),
    (timedelta, "PT1H", timedelta(hours=1)),
    (UUID, "12345678-1234-5678-1234-567812345678", UUID("12345678-1234-5678-1234-567812345678")),
    (Decimal, "1.10", Decimal("1.10")),
    (Annotated[int, "of pieces"], 5, 5),
    (Ticket, 5, 5),
    (Point, {"x": 1}, Point(1)),
    (Options, {"deep": True}, {"deep": True}),
    (Address, {"city": "Xi'an", "lines": ["a"]}, Address("Xi'an", ("a",))),
    (
        Person,
        {"name": "li", "shout": True, "home": {"city": "y"}, "friends": [{"name": "wu", "home": {"city": "z"}}]},
        Person("LI", Address("y"), friends=[Person("wu", Address("z"))]),
    ),
    (Model, {"size": 3}, Model(size=3)),
]


@pytest.mark.parametrize(("annotation", "value", "wanted"), FITTING)
def test_valid_arguments_are_converted(annotation: Any, value: Any, wanted: Any) -> None:
    found = converter_for(annotation).read(value)
    assert found == wanted
    assert type(found) is type(wanted)


MISFITS: list[tuple[Any, Any, str, str]] = [
    (int, "5", "", "int"),
    (int, True, "", "int"),
    (int, 5.0, "", "int"),
    (float, "1", "", "float"),
    (float, 10**400, "", "float"),
    (str, 5, "", "str"),
    (bool, 1, "", "bool"),
    (list[int], [1, "a"], "[1]", "int"),
    (set[Any], [[1]], "", "set[Any]"),
    (tuple[int, str], [1], "", "tuple[int, str]"),
    (dict[str, int], {"a": None}, "['a']", "int"),
    (dict[int, int], {"a": 1}, "['a']", "int"),
    (int | str, None, "", "int or str"),
    (list[int] | None, ["a"], "[0]", "int"),
    (Literal["a", 1], True, "", 'one of "a", 1'),
    (Color, "green", "", 'Color: one of "red", "blue"'),
    (Color, float("nan"), "", 'Color: one of "red", "blue"'),
    (datetime, "2026-03-01T12:00:00", "", "an instant with its offset, such as '2026-03-01T15:00:00+08:00'"),
    (datetime, 5, "", "an instant with its offset, such as '2026-03-01T15:00:00+08:00'"),
    (date, "tomorrow", "", "a date such as '2026-03-01'"),
    (timedelta, "1 month", "", "a duration: seconds, '90s' or 'PT1M30S'"),
    (timedelta, True, "", "a duration: seconds, '90s' or 'PT1M30S'"),
    (timedelta, 1e300, "", "a duration: seconds, '90s' or 'PT1M30S'"),
    (UUID, "x", "", "a UUID"),
    (Decimal, "x", "", "a decimal number as text"),
    (Address, {}, "city", "str"),
    (Address, {"city": "x", "zip": 5}, "zip", "one of these names: city, lines"),
    (Person, {"name": "a", "home": {"city": 5}}, "home.city", "str"),
    (Person, {"name": "a", "home": {"city": "x", "lines": [1]}}, "home.lines[0]", "str"),
    (Person, {"name": "", "home": {"city": "x"}}, "", "Person (a person has a name)"),
    (Person, "li", "", "Person"),
    (Options, {"depth": 1}, "deep", "bool"),
]


@pytest.mark.parametrize(("annotation", "value", "path", "wanted"), MISFITS)
def test_invalid_argument_is_located(annotation: Any, value: Any, path: str, wanted: str) -> None:
    with pytest.raises(Mismatch) as caught:
        converter_for(annotation).read(value)
    assert (caught.value.path, caught.value.expected) == (path, wanted)


def test_validation_error_of_a_model_is_reported() -> None:
    with pytest.raises(Mismatch, match=r"Model .*size"):
        converter_for(Model).read({"size": "large"})
    assert encode_result(Model(3)) == '{"size":3,"mode":"json"}'


def kinds(first: int, /, second: str, *rest: int, third: bool = False, **others: float) -> list[Any]:
    return [first, second, rest, third, others]


def ahead(first: int = 1, second: int = 2, /) -> list[int]:
    return [first, second]


def with_annotated_context(a: int, run: Context) -> list[Any]:
    return [a, run.attempt]


def with_optional_context(run: Context | None = None) -> int:
    return 0 if run is None else run.attempt


def with_unannotated_context(ctx, a: int = 1) -> list[Any]:  # type: ignore[no-untyped-def]  # noqa: ANN001
    return [ctx.attempt, a]


def with_a_number_called_ctx(ctx: int) -> int:
    return ctx


def with_a_default_out_of_reach(a: int = 1, call: Callable[[], int] | None = None) -> list[Any]:
    return [a, call]


class Shop:
    def sell(self, pieces: int) -> int:
        return pieces * 2

    def __call__(self, pieces: int) -> int:
        return pieces * 3


@functools.wraps(kinds)
def wrapped(*args: Any, **kwargs: Any) -> Any:
    return kinds(*args, **kwargs)


CALLS: list[tuple[Callable[..., Any], str, Any]] = [
    (kinds, '{"first": 1, "second": "x"}', [1, "x", [], False, {}]),
    (kinds, '{"first": 1, "second": "x", "third": true, "more": 5}', [1, "x", [], True, {"more": 5.0}]),
    (ahead, '{"second": 5}', [1, 5]),
    (ahead, "", [1, 2]),
    (ahead, "null", [1, 2]),
    (with_annotated_context, '{"a": 1}', [1, 2]),
    (with_optional_context, "{}", 2),
    (with_unannotated_context, '{"a": 7}', [2, 7]),
    (with_a_number_called_ctx, '{"ctx": 7}', 7),
    (with_a_default_out_of_reach, '{"a": 7}', [7, None]),
    (Shop().sell, '{"pieces": 7}', 14),
    (Shop(), '{"pieces": 7}', 21),
    (functools.partial(kinds, 1, second="y"), "{}", [1, "y", [], False, {}]),
    (wrapped, '{"first": 1, "second": "x"}', [1, "x", [], False, {}]),
]


@pytest.mark.parametrize(("call", "payload", "wanted"), CALLS)
async def test_function_receives_the_arguments_of_its_signature(
    call: Callable[..., Any], payload: str, wanted: Any
) -> None:
    outcome, _ = await execute(call, payload)
    assert json.loads(outcome.result or "") == wanted  # type: ignore[union-attr]


BAD_CALLS = [
    (kinds, "{}", "argument 'first' of it is missing; wanted: int"),
    (kinds, '{"first": 1}', "argument 'second' of it is missing; wanted: str"),
    (kinds, '{"first": 1, "second": "x", "more": "y"}', "argument 'more' of it cannot be 'y' (str); wanted: float"),
    (ahead, '{"third": 1}', "argument 'third' of it is not known; its arguments are: first, second"),
    (ahead, "[1]", "argument 'payload' of it cannot be [1] (list); wanted: a JSON object"),
    (ahead, "{", "argument 'payload' of it cannot be '{' (str); wanted: a JSON object"),
    (ahead, "[" * 100_000, "argument 'payload' of it cannot be '[[[[["),
    (with_a_default_out_of_reach, '{"call": 1}', "argument 'call' of it is not known; its arguments are: a"),
]


@pytest.mark.parametrize(("call", "payload", "error"), BAD_CALLS)
async def test_invalid_payload_is_refused_and_fails_permanently(
    call: Callable[..., Any], payload: str, error: str
) -> None:
    outcome, _ = await execute(call, payload)
    assert isinstance(outcome, Failed)
    assert outcome.permanent
    assert outcome.error.startswith(error)
    with pytest.raises(InvalidTask) as caught:
        check_payload(describe_function("it", call), payload)
    assert caught.value.code == ("unknown_argument" if "is not known" in error else "bad_arguments")


def test_refusal_has_both_languages() -> None:
    with pytest.raises(InvalidTask) as caught:
        check_payload(describe_function("sell", Shop().sell), '{"pieces": "many"}')
    refusal = caught.value
    assert str(refusal) == "The argument 'pieces' of sell cannot be 'many' (str). Wanted: int."
    assert "pieces" in refusal.in_language("zh").message
    check_payload(describe_function("sell", Shop().sell), '{"pieces": 1}')


async def test_annotations_that_only_the_type_checker_understands_do_no_harm() -> None:
    def work(a: int, run: Context, other: Unknown | None = None) -> list[Any]:
        return [a, run.attempt, other]

    def unclear(other: Unknown) -> None: ...

    outcome, _ = await execute(work, '{"a": 1}')
    assert json.loads(outcome.result or "") == [1, 2, None]  # type: ignore[union-attr]
    with pytest.raises(InvalidTask, match="No payload can give 'other'"):
        describe_function("it", unclear)
