"""Language negotiation: picks English or Chinese from the `Accept-Language` header."""

from __future__ import annotations

from functools import lru_cache

from starlette.requests import Request

from ..choices import Language
from ..model.accounts.principal import Principal


def request_language(request: Request) -> Language:
    """Return the language of the header; where it names none, that of the account of the caller."""
    caller: Principal | None = request.scope.get("state", {}).get("caller")
    if caller is not None and caller.language is not None and not states_language(request):
        return caller.language
    return _preferred(request.headers.get("accept-language", "")[:200])


def states_language(request: Request) -> bool:
    """Return whether the header names English or Chinese; some clients send `*` for every user."""
    header = request.headers.get("accept-language", "")[:200].lower()
    return any(part.strip().startswith(("en", "zh")) for part in header.split(","))


@lru_cache(maxsize=256)
def _preferred(header: str) -> Language:
    """Return the supported language with the highest weight, the first one on a tie; English by default."""
    best: tuple[float, Language] = 0.0, "en"
    for part in header.split(","):
        name, _, weight = part.strip().partition(";")
        primary = name.strip().lower().split("-")[0]
        quality = _weight(weight)
        if primary == "zh" and quality > best[0]:
            best = quality, "zh"
        elif primary == "en" and quality > best[0]:
            best = quality, "en"
    return best[1]


def _weight(parameter: str) -> float:
    name, _, value = parameter.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
