"""Plain requests, called without ceremony: what came is read by the rules that the route declares, and nothing else is done.

Nearly all requests are like that, and what the framework would do for them costs more than all else. Where anything is
different (a parameter that does not fit, a path that is too long, a function that asks for more), the framework binds it
as ever, and says what is wrong with it.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias, get_type_hints
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Scope

from ..model.accounts.principal import Principal
from .authentication import caller

_LONGEST: Final = 200
_STRANGE: Final = ("header_params", "cookie_params", "body_params")
_SIMPLE: Final = (str, int, float, bool, type(None))

Bound: TypeAlias = dict[str, Any]
"""What a function is called with, but for the request and who is asking."""


class Parameter(NamedTuple):
    """One that may come behind the question mark; `many`: more than once."""

    name: str
    read: Callable[[Any], tuple[Any, list[Any]]]
    many: bool


class Plain(NamedTuple):
    """How to call a function: where the request goes, where whoever asks, which parts of the path, and what is usual."""

    call: Callable[..., Awaitable[Response]]
    request: str | None
    who: tuple[str, ...]
    parts: tuple[str, ...]
    parameters: Mapping[str, Parameter]
    usual: Bound

    def bound(self, scope: Scope) -> Bound | None:
        """None where something does not fit, or where only the framework knows whether it does."""
        path: dict[str, str] = scope["path_params"]
        if any(not 1 <= len(path[part]) <= _LONGEST for part in self.parts):
            return None
        if not scope["query_string"]:
            return {**self.usual, **path}
        said = self._read(scope["query_string"])
        return None if said is None else {**self.usual, **said, **path}

    def _read(self, query: bytes) -> Bound | None:
        came: dict[str, list[str]] = {}
        for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
            came.setdefault(name, []).append(value)
        said: Bound = {}
        for name, values in came.items():
            parameter = self.parameters.get(name)
            if parameter is None or (len(values) > 1 and not parameter.many):
                return None
            value, errors = parameter.read(values if parameter.many else values[0])
            if errors:
                return None
            said[parameter.name] = value
        return said

    async def answer(self, request: Request, who: Principal, bound: Bound) -> Response:
        given = bound.copy()
        for name in self.who:
            given[name] = who
        if self.request is not None:
            given[self.request] = request
        return await self.call(**given)


def plain(dependant: Any) -> Plain | None:
    """None where the function asks for something that only the framework can give."""
    call = dependant.call
    if not inspect.iscoroutinefunction(call) or get_type_hints(call).get("return") is not Response:
        return None
    strange = any(getattr(dependant, name) for name in _STRANGE) or any(
        each.call is not caller for each in dependant.dependencies
    )
    taken = (dependant.websocket_param_name, dependant.response_param_name, dependant.background_tasks_param_name)
    if strange or any(taken) or any(each.field_info.annotation is not str for each in dependant.path_params):
        return None
    if any(each.field_info.is_required() for each in dependant.query_params):
        return None
    usual = {each.name: each.get_default() for each in dependant.query_params}
    if not all(isinstance(value, _SIMPLE) for value in usual.values()):
        # One that can be changed must not be shared.
        return None
    return Plain(
        call,
        dependant.request_param_name,
        tuple(each.name for each in dependant.dependencies),
        tuple(each.name for each in dependant.path_params),
        {each.alias: Parameter(each.name, each.validate, may_repeat(each)) for each in dependant.query_params},
        usual,
    )


def may_repeat(parameter: Any) -> bool:
    return "list[" in str(parameter.field_info.annotation).lower()
