"""Application context of a request: the service, the clock and the settings of this HTTP front end."""

from __future__ import annotations

from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any, NamedTuple

from starlette.requests import Request

from ..clock import Clock
from ..outgoing.identity_provider import IdentityProvider
from ..service.accounts.identity import ClaimRules
from ..service.service import Service
from .rate_limit import RateLimits
from .trusted_proxies import NO_PROXIES, TrustedProxies


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Settings of the HTTP front end.

    `secret` is the deployment's secret: keys for cursors and for callback tokens of runs are derived from it.
    `expects_engine`: whether a node is expected to execute due tasks; if not, a missing node does not make the server
    unready.
    """

    secret: str = field(default_factory=lambda: token_hex(32), repr=False)
    expects_engine: bool = True
    body_seconds: float = 30.0
    """Seconds that a request body may take to arrive."""
    callbacks: bool = False
    """Whether targets of this deployment get a callback URL; without one, callbacks are refused."""
    origins: tuple[str, ...] = ()
    """Origins whose pages may call the API from a browser (CORS); none by default."""
    max_streams: int | None = None
    """Maximum number of concurrent event streams of this process; None: 2,000, or half of the files that it may open.
    """
    makes_links: bool = True
    """Whether `horae open` can make sign-in links of this console; it does not know one in another application."""
    trusted_proxies: TrustedProxies = NO_PROXIES
    """Proxies and routers whose forwarded client addresses are believed, and which may look up credentials."""
    orchestrator: str | None = None
    """URL that tasks of `/scheduled-tasks` call; without one, they cannot be created."""


class ExternalSignIn(NamedTuple):
    """Sign-in with an identity provider. `console_url` is the address of the console for browsers; None: as requested."""

    provider: IdentityProvider
    rules: ClaimRules = ClaimRules()
    creates_owners: bool = False
    console_url: str | None = None


@dataclass(frozen=True, slots=True)
class AppContext:
    """Objects that requests use. `tail` reads the event log once for all event streams, where there is one; `observability`
    measures health and metrics."""

    service: Service
    clock: Clock
    settings: WebSettings
    rate_limits: RateLimits
    tail: Any = None
    observability: Any = None
    external_sign_in: ExternalSignIn | None = None


def app_context(request: Request) -> AppContext:
    context: AppContext = request.scope["app"].context
    return context


def request_id(request: Request) -> str:
    identifier: str = request.scope["state"]["request_id"]
    return identifier
