"""Keeps an actor going: what ends it unexpectedly is told, and after a pause it begins again.

A node that stopped because of one bad row would take everybody's work with it, and one that went on without an actor
would do so in silence. All that an actor must not forget is kept outside of its loop, so beginning again is safe.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Final

from ..clock import Clock

PAUSE_SECONDS: Final = 1.0
LOG: Final = logging.getLogger("horae")


async def keep_going(name: str, run: Callable[[], Awaitable[None]], clock: Clock) -> None:
    """Until it returns by itself, or is cancelled."""
    while True:
        try:
            await run()
        except Exception:
            LOG.exception("the %s failed unexpectedly, and begins again in %g s", name, PAUSE_SECONDS)
            await clock.pause(PAUSE_SECONDS)
        else:
            return
