"""Plain requests, called without ceremony: no parameter behind the question mark, and nothing that only the framework knows.

Most requests are like that, and what the framework would do for them costs more than all else. Where anything is
different (a parameter, a path that does not fit, a function that asks for more), the framework binds it as ever.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple, get_type_hints

from starlette.requests import Request
from starlette.responses import Response

from ..model.principal import Principal
from .caller import caller

_LONGEST: Final = 200
_STRANGE: Final = ("header_params", "cookie_params", "body_params")


class Plain(NamedTuple):
    """How to call a function: where the request goes, where whoever asks, which parts of the path, and what is usual."""

    call: Callable[..., Awaitable[Response]]
    request: str | None
    who: tuple[str, ...]
    parts: tuple[str, ...]
    usual: dict[str, Any]

    def fits(self, request: Request) -> bool:
        scope = request.scope
        if scope["query_string"]:
            return False
        return all(1 <= len(scope["path_params"][part]) <= _LONGEST for part in self.parts)

    async def answer(self, request: Request, who: Principal) -> Response:
        given: dict[str, Any] = {**self.usual, **request.scope["path_params"]}
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
    return Plain(
        call,
        dependant.request_param_name,
        tuple(each.name for each in dependant.dependencies),
        tuple(each.name for each in dependant.path_params),
        {each.name: each.get_default() for each in dependant.query_params},
    )
