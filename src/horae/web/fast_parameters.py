"""Parameter binding without the framework: reads the path and query of an ordinary request with the validators that the
route declares.

Nearly all requests are ordinary, and the framework's binding costs more than the rest of the request. Anything else (an
invalid parameter, an over-long path segment, an endpoint with other dependencies) is bound by the framework, which also
produces the error message.
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
from .authentication import authenticate_caller

_MAX_SEGMENT: Final = 200
_UNSUPPORTED: Final = ("header_params", "cookie_params", "body_params")
_IMMUTABLE: Final = (str, int, float, bool, type(None))

Arguments: TypeAlias = dict[str, Any]
"""Keyword arguments of an endpoint, without the request and the principal."""


class Parameter(NamedTuple):
    """One query parameter; `is_repeatable`: may be given more than once."""

    name: str
    read: Callable[[Any], tuple[Any, list[Any]]]
    is_repeatable: bool


class DirectCall(NamedTuple):
    """Direct call of an endpoint: names of its request and principal arguments, its path parameters, and its defaults."""

    call: Callable[..., Awaitable[Response]]
    request: str | None
    principals: tuple[str, ...]
    path_parameters: tuple[str, ...]
    parameters: Mapping[str, Parameter]
    defaults: Arguments

    def bind(self, scope: Scope) -> Arguments | None:
        """Return the endpoint's arguments; None if a value is invalid or only the framework can decide that."""
        path: dict[str, str] = scope["path_params"]
        if any(not 1 <= len(path[part]) <= _MAX_SEGMENT for part in self.path_parameters):
            return None
        if not scope["query_string"]:
            return {**self.defaults, **path}
        values = self._parse_query(scope["query_string"])
        return None if values is None else {**self.defaults, **values, **path}

    def _parse_query(self, query: bytes) -> Arguments | None:
        given: dict[str, list[str]] = {}
        for name, value in parse_qsl(query.decode("latin-1"), keep_blank_values=True):
            given.setdefault(name, []).append(value)
        arguments: Arguments = {}
        for name, values in given.items():
            parameter = self.parameters.get(name)
            if parameter is None or (len(values) > 1 and not parameter.is_repeatable):
                return None
            value, errors = parameter.read(values if parameter.is_repeatable else values[0])
            if errors:
                return None
            arguments[parameter.name] = value
        return arguments

    async def invoke(self, request: Request, principal: Principal, bound: Arguments) -> Response:
        arguments = bound.copy()
        for name in self.principals:
            arguments[name] = principal
        if self.request is not None:
            arguments[self.request] = request
        return await self.call(**arguments)


def direct_call_of(dependant: Any) -> DirectCall | None:
    """Return the direct call of an endpoint; None if it needs something that only the framework provides."""
    call = dependant.call
    if not inspect.iscoroutinefunction(call) or get_type_hints(call).get("return") is not Response:
        return None
    unsupported = any(getattr(dependant, name) for name in _UNSUPPORTED) or any(
        each.call is not authenticate_caller for each in dependant.dependencies
    )
    special = (dependant.websocket_param_name, dependant.response_param_name, dependant.background_tasks_param_name)
    if unsupported or any(special) or any(each.field_info.annotation is not str for each in dependant.path_params):
        return None
    if any(each.field_info.is_required() for each in dependant.query_params):
        return None
    defaults = {each.name: each.get_default() for each in dependant.query_params}
    if not all(isinstance(value, _IMMUTABLE) for value in defaults.values()):
        # A mutable default must not be shared between calls.
        return None
    return DirectCall(
        call,
        dependant.request_param_name,
        tuple(each.name for each in dependant.dependencies),
        tuple(each.name for each in dependant.path_params),
        {each.alias: Parameter(each.name, each.validate, may_repeat(each)) for each in dependant.query_params},
        defaults,
    )


def may_repeat(parameter: Any) -> bool:
    return "list[" in str(parameter.field_info.annotation).lower()
