"""An app with an engine in virtual time, on a store in memory."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from horae import Horae
from horae.engine.settings import EngineSettings
from horae.virtual_time import VirtualClock

SETTINGS = EngineSettings(lease_thread=False, fine_timer=False, upkeep_every=timedelta(days=1))


def an_app(clock: VirtualClock, **options: Any) -> Horae:
    return Horae("memory://", **{"zone": "UTC", "settings": SETTINGS, "clock": clock, **options})
