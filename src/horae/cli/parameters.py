"""Parameter types and shared options of the command line, as Click decorators."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeAlias, get_args

import click

from ..model.page import MAX_PAGE_SIZE

Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]
Values: TypeAlias = dict[str, Any]
"""Values of the options of one group, by name."""
PAGE: Final = 100
_ZERO_FRACTION: Final = re.compile(r"\.0+\Z")


class Integer(click.ParamType[int]):
    """An integer without bounds; `10.0` is 10."""

    name = "integer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        try:
            return int(_ZERO_FRACTION.sub("", str(value)))
        except ValueError:
            self.fail("Input should be a valid integer, unable to parse string as an integer", param, ctx)


class IntegerRange(click.IntRange):
    """An integer within bounds; the help shows them."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        number = INTEGER.convert(value, param, ctx)
        _check_bounds(self, number, param, ctx)
        return number


class NumberRange(click.FloatRange):
    """A number within bounds; the help shows them. NaN is out of bounds."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            number = float(value)
        except ValueError:
            self.fail("Input should be a valid number, unable to parse string as a number", param, ctx)
        _check_bounds(self, number, param, ctx)
        return number


def _check_bounds(
    bounds: IntegerRange | NumberRange, number: float, param: click.Parameter | None, ctx: click.Context | None
) -> None:
    # Negated, so that NaN, which compares with nothing, is refused.
    if bounds.max is not None and not number <= bounds.max:
        bounds.fail(f"Input should be less than or equal to {bounds.max:g}", param, ctx)
    if bounds.min is not None and not number >= bounds.min:
        bounds.fail(f"Input should be greater than or equal to {bounds.min:g}", param, ctx)


INTEGER: Final = Integer()
FILE: Final = click.Path(path_type=Path)


def one_of(literal: Any) -> click.Choice[str]:
    """A choice among the values of a `Literal` type."""
    return click.Choice(get_args(literal))


_TYPE_NAMES: Final[dict[type, str]] = {
    Integer: "int",
    IntegerRange: "int range",
    NumberRange: "float range",
    click.Path: "path",
}


def type_name(parameter: click.Parameter) -> str:
    """The placeholder of a value in help where the parameter has no metavar: `<int>`, `<list[str]>`, `<en|zh>`."""
    kind = parameter.type
    name = "|".join(kind.choices) if isinstance(kind, click.Choice) else _TYPE_NAMES.get(type(kind), "str")
    return f"<list[{name}]>" if parameter.multiple or parameter.nargs == -1 else f"<{name}>"


def option_group(name: str, *options: Decorator) -> Decorator:
    """A decorator that adds all these options; the function gets their values as one dictionary, the argument `name`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **given: Any) -> Any:
            given[name] = {each: given.pop(each) for each in names}
            return function(*args, **given)

        before = len(getattr(function, "__click_params__", ()))
        for option in reversed(options):
            option(call)
        names = [each.name for each in reversed(call.__click_params__[before:])]  # type: ignore[attr-defined]
        return call

    return decorate


limit_option: Final = click.option(
    "--limit",
    "-n",
    type=IntegerRange(1, MAX_PAGE_SIZE),
    default=PAGE,
    show_default=True,
    help="Number of items on a page.",
)
after_option: Final = click.option("--after", help="Continue after this cursor; the previous page shows it.")


def typed_limit(limit: int) -> int | None:
    """The limit as an option of the next command; None for the default, which need not be typed again."""
    return None if limit == PAGE else limit
