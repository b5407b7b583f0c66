"""Registry of a node's functions by name: stored tasks can only name a registered function, never an import path."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ...model.limits import NAME_CHARACTERS
from ...model.refusals import refuse
from ...model.text.field_checks import check_text
from .arguments.binder import Binding, bind, describe_value
from .arguments.converter import Mismatch, UnknownArgument
from .origin import Origin, origin_of

Isolation: TypeAlias = Literal["thread", "process"]


@dataclass(frozen=True, slots=True)
class Function:
    """A registered function with its argument binding. `origin` is None when no child process could import it."""

    name: str
    call: Callable[..., Any]
    source: Callable[..., Any]
    isolate: Isolation | None
    binding: Binding
    is_async: bool
    origin: Origin | None
    runs_on_loop: bool
    """Awaited on the node's event loop: no thread, no process."""
    needs_no_arguments: bool
    """An empty payload means a call without arguments."""


def describe_function(name: str, call: Any, isolate: Isolation | None = None) -> Function:
    """Inspect a function; raises a refusal for generators, classes, and required parameters that JSON cannot hold."""
    if not callable(call) or isinstance(call, type) or _is_generator(call):
        raise refuse("bad_function", name=name)
    binding = bind(name, call)
    origin = origin_of(call)
    if isolate == "process" and origin is None:
        raise refuse("not_importable", name=name)
    is_async = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(getattr(call, "__call__", None))  # noqa: B004 - the method itself
    return Function(
        name=name,
        call=binding.adapt(call),
        source=call,
        isolate=isolate,
        binding=binding,
        is_async=is_async,
        origin=origin,
        runs_on_loop=is_async and isolate is None,
        needs_no_arguments=binding.needs_nothing and binding.context is None,
    )


def _is_generator(call: Callable[..., Any]) -> bool:
    return inspect.isgeneratorfunction(call) or inspect.isasyncgenfunction(call)


class Registry:
    def __init__(self) -> None:
        self._functions: dict[str, Function] = {}
        self._aliases: dict[str, str] = {}

    def register(self, name: str, call: Callable[..., Any], isolate: Isolation | None = None) -> Function:
        """Register a function; the same one again is accepted, another one under the same name is refused."""
        known = self._functions.get(name)
        if known is not None:
            if known.source == call and known.isolate == isolate:
                return known
            raise refuse("function_taken", name=name)
        check_text("name", name, NAME_CHARACTERS)
        function = self._functions[name] = describe_function(name, call, isolate)
        return function

    def add_alias(self, alias: str, name: str) -> None:
        """Add an earlier name of a function, used by stored tasks; a function registered under that name wins."""
        if name in self._functions:
            self._aliases[alias] = name

    def find(self, name: str) -> Function | None:
        return self._functions.get(name) or self._functions.get(self._aliases.get(name, ""))

    @property
    def size(self) -> int:
        return len(self._functions) + len(self._aliases)

    def names(self) -> tuple[str, ...]:
        """Return all names, including aliases."""
        return tuple(sorted({*self._functions, *self._aliases}))


def function_spec(name: str) -> str:
    """Return the target spec of a function as JSON."""
    return json.dumps({"name": name}, ensure_ascii=False, separators=(",", ":"))


def check_payload(function: Function, payload: str) -> None:
    """Raise a refusal if the function cannot be called with this payload; called when a task is created or edited."""
    try:
        function.binding.read(payload)
    except UnknownArgument as unknown:
        raise refuse(
            "unknown_argument", function=function.name, argument=unknown.path, known=unknown.known or "none"
        ) from None
    except Mismatch as mismatch:
        raise refuse(
            "bad_arguments",
            function=function.name,
            argument=mismatch.path,
            came=describe_value(mismatch.value),
            wanted=mismatch.expected,
        ) from None
