"""Settings: one module per tab, each with its page and its forms."""

from __future__ import annotations

from typing import Final

from ...page import PageRoute
from . import messages, owners, profile, secrets, sessions, system, tokens, webhooks

ROUTES: Final[tuple[PageRoute, ...]] = (
    *profile.ROUTES,
    *owners.ROUTES,
    *tokens.ROUTES,
    *webhooks.ROUTES,
    *messages.ROUTES,
    *secrets.ROUTES,
    *sessions.ROUTES,
    *system.ROUTES,
)
