"""Query parameter check: refuses unknown names, with the closest known one first, and repeated ones unless the route
declares a list."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, NamedTuple

from starlette.requests import Request

from .fast_parameters import may_repeat
from .refusals import refuse


class DeclaredParameters(NamedTuple):
    """Query parameters that a route declares; those in `repeatable` may be repeated."""

    names: frozenset[str]
    repeatable: frozenset[str]


def declared_parameters(dependant: Any) -> DeclaredParameters:
    declared = list(_declared(dependant))
    return DeclaredParameters(
        frozenset(name for name, _ in declared), frozenset(name for name, many in declared if many)
    )


def _declared(dependant: Any) -> Iterator[tuple[str, bool]]:
    for each in dependant.query_params:
        yield each.alias, may_repeat(each)
    for inner in dependant.dependencies:
        yield from _declared(inner)


def check_parameters(request: Request, known: DeclaredParameters) -> None:
    if not request.scope["query_string"]:
        return
    given = [name for name, _ in request.query_params.multi_items()]
    for name in given:
        if name not in known.names:
            closest = get_close_matches(name[:100], known.names, 1)
            allowed = ", ".join([*closest, *sorted(known.names.difference(closest))]) or "none"
            raise refuse("unknown_parameter", name=name, allowed=allowed)
    if len(set(given)) != len(given):
        repeated = next((name for name in given if given.count(name) > 1 and name not in known.repeatable), None)
        if repeated is not None:
            raise refuse("parameter_twice", name=repeated)
