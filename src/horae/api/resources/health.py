"""Liveness and readiness probes, without a token."""

from __future__ import annotations

from typing import Any, Final

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from ...observe.health import Condition, condition
from ...observe.scrape_settings import Looking
from ...version import __version__
from ...web.language import language
from ...web.request_context import house_of
from ...web.responses import answer
from ...wire.problems import told_of
from ..openapi import told

router: Final = APIRouter(tags=["health"])


@router.get("/healthz", **told("healthz", "The process is alive", "Health", public=True))
async def healthz() -> Response:
    return answer({"status": "ok", "version": __version__})


_READYZ: Final[dict[str, Any]] = told(
    "readyz", "It can do its work; if not (503), which part is missing", "Readiness", public=True
)
_READYZ["responses"][503] = _READYZ["responses"][200]


async def _load_condition(request: Request) -> Condition:
    context = house_of(request)
    observability: Looking = context.observability
    return await condition(
        context.service.store,
        context.clock,
        observability.observer.write_probe,
        tolerance=observability.tolerance,
        grace=observability.grace,
    )


async def is_ready(request: Request) -> bool:
    """Return whether `/readyz` would answer 200."""
    return (await _load_condition(request)).readiness.is_ready(engine=house_of(request).settings.expects_engine)


@router.get("/readyz", **_READYZ)
async def readyz(request: Request) -> Response:
    state = await _load_condition(request)
    ready = state.readiness.is_ready(engine=house_of(request).settings.expects_engine)
    data: dict[str, Any] = {
        "status": "ready" if ready else "not ready",
        "version": __version__,
        "parts": state.readiness._asdict(),
        "clock_steps": state.steps_json(),
        "problem": told_of(state.problem, language(request)),
    }
    return answer(data, 200 if ready else 503, None if ready else {"Retry-After": "2"})
