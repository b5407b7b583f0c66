"""In which language somebody wants to be answered."""

from __future__ import annotations

from functools import lru_cache

from starlette.requests import Request

from ..choices import Language


def language(request: Request) -> Language:
    return _preferred(request.headers.get("accept-language", "")[:200])


def states_language(request: Request) -> bool:
    """Whether the request names a language of ours; some clients send `*` whatever their user reads."""
    said = request.headers.get("accept-language", "")[:200].lower()
    return any(part.strip().startswith(("en", "zh")) for part in said.split(","))


@lru_cache(maxsize=256)
def _preferred(said: str) -> Language:
    """The first of the best that we speak; English where none is."""
    best: tuple[float, Language] = 0.0, "en"
    for part in said.split(","):
        name, _, weight = part.strip().partition(";")
        spoken = name.strip().lower().split("-")[0]
        worth = _weight(weight)
        if spoken == "zh" and worth > best[0]:
            best = worth, "zh"
        elif spoken == "en" and worth > best[0]:
            best = worth, "en"
    return best[1]


def _weight(said: str) -> float:
    name, _, value = said.strip().partition("=")
    if name.strip() != "q":
        return 1.0
    try:
        return float(value)
    except ValueError:
        return 0.0
