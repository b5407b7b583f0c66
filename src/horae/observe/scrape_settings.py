"""Settings of the metrics and readiness endpoints: observer, access policy, engine process, tolerances."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from .health import GRACE, TOLERANCE
from .metrics_server import EnginePeer
from .observer import Observer
from .scrape_access import Policy


class Observability(NamedTuple):
    """`engine_peer` is the engine process of the same `horae up`, if it is a separate one."""

    observer: Observer
    policy: Policy = "local"
    engine_peer: EnginePeer | None = None
    tolerance: timedelta = TOLERANCE
    grace: timedelta = GRACE
