"""What a request finds behind the door: the service, the clock, and how this front end was set up."""

from __future__ import annotations

from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

from starlette.requests import Request

from ..clock import Clock
from ..service.service import Service
from .rate_limit import Allowances


@dataclass(frozen=True, slots=True)
class WebSettings:
    """`secret` is the deployment's: cursors and answers of runs are checked with what is derived from it.

    `engine`: whether somebody is expected to run what is due; where nobody is, that alone makes nothing unready.
    """

    secret: str = field(default_factory=lambda: token_hex(32), repr=False)
    engine: bool = True
    body_seconds: float = 30.0
    """So long the body of a request may take to arrive."""
    callbacks: bool = False
    """Whether targets of this deployment are given an address to report back to; without one, nothing is taken there."""
    origins: tuple[str, ...] = ()
    """Pages of these origins may ask from a browser; none by default."""
    streams: int | None = None
    """How many event streams this process serves at once; None: 2,000, or half of the files that it may open."""
    orchestrator: str | None = None
    """Whom tasks of `/scheduled-tasks` call; where there is none, they cannot be made."""


@dataclass(frozen=True, slots=True)
class House:
    """`tail` reads the event log for many listeners at once, where there is one; `looking` is how others see that all is
    well."""

    service: Service
    clock: Clock
    settings: WebSettings
    allowances: Allowances
    tail: Any = None
    looking: Any = None


def house_of(request: Request) -> House:
    found: House = request.app.state.house
    return found


def request_id(request: Request) -> str:
    found: str = request.scope["state"]["request_id"]
    return found
