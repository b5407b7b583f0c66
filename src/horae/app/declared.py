"""A decorated function: calling it just calls it; the app knows it by name, and when it runs by itself."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, ParamSpec, TypeVar

from ..model.refusals import refuse
from ..service.wishes import NO_OPTIONS, Options, When

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

    async def later(self, when: When, *args: Any, **kwargs: Any) -> TaskHandle:
        """A task that calls it then, with these arguments: `await remind.later("in 20m", user=7)`."""
        return await self._app.schedule(self, when, self._payload(args, kwargs))

    async def now(self, *args: Any, **kwargs: Any) -> TaskHandle:
        """A task that calls it at once, durably: it is on the disk before this returns."""
        return await self._app.schedule(self, "now", self._payload(args, kwargs))

    def _payload(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by name, as a payload has them; the context is not among them."""
        names = self._app.argument_names(self)
        if len(args) > len(names):
            raise refuse("bad_payload", value=f"{self.name} takes {len(names)} arguments, not {len(args)}")
        return {**dict(zip(names, args, strict=False)), **kwargs}

    def __repr__(self) -> str:
        return f"<task function {self.name}>"


def module_of(call: Callable[..., Any]) -> str:
    """Where a function is written; a script is known by its file, since many are called `main.py`."""
    module = getattr(call, "__module__", None) or "?"
    script = sys.modules.get(module)
    if module == "__main__" or hasattr(script, SCRIPT_MARK):
        file = getattr(script, "__file__", None)
        return module if file is None else str(Path(file).resolve())
    return module
