"""A decorated function: calling it just calls it; the app knows it by name, and when it runs by itself."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Generic, NamedTuple, ParamSpec, TypeVar

from ..service.wishes import NO_OPTIONS, Options, When

P = ParamSpec("P")
R = TypeVar("R")


class Declaration(NamedTuple):
    """What the decorator said. A task with `when` is made, or edited, when the app opens."""

    name: str
    when: When | None = None
    zone: str | None = None
    lane: str | None = None
    options: Options = NO_OPTIONS


class TaskFunction(Generic[P, R]):
    def __init__(self, call: Callable[P, R], declaration: Declaration) -> None:
        self.declaration = declaration
        self._call = call
        functools.update_wrapper(self, call)

    @property
    def name(self) -> str:
        return self.declaration.name

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._call(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<task function {self.name}>"
