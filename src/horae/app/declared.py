"""A decorated function: calling it just calls it; the app knows it by name, and when it runs by itself."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, NoReturn, ParamSpec, TypeVar

from ..model.refusals import refuse
from ..schedule import Schedule
from ..schedule.describe import sentence
from ..service.wishes import NO_OPTIONS, Delay, Options, When, read_delay
from .suggestions import FUNCTION_NAMES, refuse_attribute

if TYPE_CHECKING:
    from .handle import TaskHandle
    from .horae import Horae

SCRIPT_MARK: Final = "__horae_script__"
"""A module that has this is a script that somebody runs for its app."""

P = ParamSpec("P")
R = TypeVar("R")


class Declaration(NamedTuple):
    """What the decorator said. A task with `when` is made, or edited, when the app opens."""

    name: str
    when: When | None = None
    zone: str | None = None
    lane: str | None = None
    options: Options = NO_OPTIONS
    labels: Mapping[str, str] | None = None


class TaskFunction(Generic[P, R]):
    def __init__(self, call: Callable[P, R], declaration: Declaration, app: Horae) -> None:
        self.declaration = declaration
        self._call = call
        self._app = app
        functools.update_wrapper(self, call)

    @property
    def name(self) -> str:
        return self.declaration.name

    @property
    def module(self) -> str:
        return module_of(self._call)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._call(*args, **kwargs)

    async def later(self, when: When | Delay, *args: Any, **kwargs: Any) -> TaskHandle:
        """A task that calls it then, with these arguments: `await remind.later("in 20m", user=7)`.

        A number of seconds, a `timedelta` and text such as `5s` are delays from now.
        """
        moment = read_delay(when, self.declaration.zone or self._app.zone, self._app.clock.now())
        return await self._app.schedule(self, moment, self._payload(args, kwargs))

    async def now(self, *args: Any, **kwargs: Any) -> TaskHandle:
        """A task that calls it at once, durably: it is on the disk before this returns."""
        return await self._app.schedule(self, "now", self._payload(args, kwargs))

    def _payload(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by name, as a payload has them; the context is not among them."""
        names = self._app.argument_names(self)
        if len(args) > len(names):
            known = ", ".join(names) or "none"
            raise refuse("too_many_arguments", function=self.name, most=len(names), count=len(args), known=known)
        return {**dict(zip(names, args, strict=False)), **kwargs}

    def __repr__(self) -> str:
        when = self.declaration.when
        runs = "" if when is None else f", {sentence(when, 'en') if isinstance(when, Schedule) else when}"
        return f"<task function {self.name}{runs}>"

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            called = self.__dict__.get("__name__", "f")
            refuse_attribute(self, "A task function", name, FUNCTION_NAMES, called)


def module_of(call: Callable[..., Any]) -> str:
    """Where a function is written; a script is known by its file, since many are called `main.py`."""
    module = getattr(call, "__module__", None) or "?"
    script = sys.modules.get(module)
    if module == "__main__" or hasattr(script, SCRIPT_MARK):
        file = getattr(script, "__file__", None)
        return module if file is None else str(Path(file).resolve())
    return module
