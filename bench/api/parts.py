"""Divides a profile of the API process by the parts of a request: protocol, routing, authentication, validation, service, store,
rendering, response."""

from __future__ import annotations

import pstats
from collections import Counter
from typing import Any, Final, NamedTuple, TypeAlias, cast

_Function: TypeAlias = tuple[str, int, str]


class _Rule(NamedTuple):
    """A function belongs to the part of the first rule whose text its path contains, and whose prefix its name has."""

    path: str
    part: str
    name: str = ""


_RULES: Final = (
    _Rule("/uvicorn/", "HTTP protocol"),
    _Rule("horae/runtime/http_protocol", "HTTP protocol"),
    _Rule("asyncio/runners", "event loop and sockets"),
    _Rule("/asyncio/", "event loop and sockets"),
    _Rule("horae/web/authentication", "authentication"),
    _Rule("horae/web/rate_limit", "authentication"),
    _Rule("horae/service/accounts/tokens", "authentication"),
    _Rule("horae/service/accounts/sessions", "authentication"),
    _Rule("horae/web/routing", "routing and parameters"),
    _Rule("horae/web/parameters", "routing and parameters"),
    _Rule("horae/api/parameters", "routing and parameters"),
    _Rule("starlette/routing", "routing and parameters"),
    _Rule("starlette/responses", "response"),
    _Rule("horae/web/etags", "response"),
    _Rule("horae/web/pagination", "response"),
    _Rule("horae/web/language", "response"),
    _Rule("horae/web/body", "validation of the body"),
    _Rule("horae/wire/", "validation of the body", "read_"),
    _Rule("horae/wire/", "validation of the body", "_read_"),
    _Rule("horae/wire/fields", "validation of the body"),
    _Rule("horae/wire/tasks/targets", "validation of the body"),
    _Rule("horae/web/idempotency", "idempotency"),
    _Rule("horae/service/accounts/key_budget", "idempotency"),
    _Rule("horae/web/", "middleware and metrics"),
    _Rule("horae/observe/", "middleware and metrics"),
    _Rule("starlette/", "middleware and metrics"),
    _Rule("horae/wire/", "JSON rendering"),
    _Rule("horae/api/task_json_cache", "JSON rendering"),
    _Rule("horae/service/accounts/audit", "audit"),
    _Rule("horae/stores/", "store"),
    _Rule("horae/schedule/", "schedule, plan and target checks"),
    _Rule("horae/lifecycle/", "schedule, plan and target checks"),
    _Rule("horae/model/", "schedule, plan and target checks"),
    _Rule("horae/targets/", "schedule, plan and target checks"),
    _Rule("horae/outgoing/", "schedule, plan and target checks"),
    _Rule("horae/runtime/target_kinds", "schedule, plan and target checks"),
    _Rule("horae/service/", "service"),
    _Rule("horae/api/", "service"),
)
_OTHER: Final = "other"
_MAX_DEPTH: Final = 4


def divide_by_part(profile: pstats.Stats) -> dict[str, float]:
    """Return the seconds of each part, most first. Functions of libraries count for the parts that call them."""
    functions = cast(dict[_Function, Any], profile.stats)  # type: ignore[attr-defined]  # not in typeshed
    parts: Counter[str] = Counter()
    for function, (_, _, seconds, _, _) in functions.items():
        for part, share in _shares(functions, function, _MAX_DEPTH).items():
            parts[part] += share * seconds
    return dict(parts.most_common())


def _shares(functions: dict[_Function, Any], function: _Function, depth: int) -> dict[str, float]:
    """Return to which parts the own time of a function belongs."""
    own = _part_of(function)
    callers = functions[function][4] if function in functions else {}
    if own is not None or not callers or not depth:
        return {own or _OTHER: 1.0}
    total = sum(own_seconds for _, _, own_seconds, _ in callers.values()) or 1.0
    shares: Counter[str] = Counter()
    for caller, (_, _, own_seconds, _) in callers.items():
        for part, share in _shares(functions, caller, depth - 1).items():
            shares[part] += share * own_seconds / total
    return dict(shares)


def _part_of(function: _Function) -> str | None:
    path, _, name = function
    for rule in _RULES:
        if rule.path in path and name.startswith(rule.name):
            return rule.part
    return None
