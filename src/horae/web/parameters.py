"""Parameters behind the question mark: those that a route knows, each once; the nearest known one is named."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple

from starlette.requests import Request

from .fast_parameters import may_repeat
from .refusals import refuse


class Known(NamedTuple):
    """What a route understands; `many` are those that may come more than once."""

    names: frozenset[str]
    many: frozenset[str]


def known_to(dependant: Any) -> Known:
    found = list(_declared(dependant))
    return Known(frozenset(name for name, _ in found), frozenset(name for name, many in found if many))


def _declared(dependant: Any) -> Iterator[tuple[str, bool]]:
    for each in dependant.query_params:
        yield each.alias, may_repeat(each)
    for inner in dependant.dependencies:
        yield from _declared(inner)


def check_parameters(request: Request, known: Known) -> None:
    if not request.scope["query_string"]:
        return
    came = [name for name, _ in request.query_params.multi_items()]
    for name in came:
        if name not in known.names:
            near = get_close_matches(name[:100], known.names, 1)
            listed = ", ".join([*near, *sorted(known.names.difference(near))]) or "none"
            raise refuse("unknown_parameter", name=name, allowed=listed)
    if len(set(came)) != len(came):
        twice = next((name for name in came if came.count(name) > 1 and name not in known.many), None)
        if twice is not None:
            raise refuse("parameter_twice", name=twice)
