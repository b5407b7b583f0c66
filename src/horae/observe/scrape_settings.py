"""What the front end over HTTP needs to let others look: the observer, whom it admits, and what counts as ready."""

from __future__ import annotations

from datetime import timedelta
from typing import NamedTuple

from .health import GRACE, TOLERANCE
from .metrics_server import Neighbour
from .observer import Observer
from .scrape_access import Policy


class Looking(NamedTuple):
    """`neighbour` is the engine's process of the same `horae up`, where it is another one."""

    observer: Observer
    policy: Policy = "local"
    neighbour: Neighbour | None = None
    tolerance: timedelta = TOLERANCE
    grace: timedelta = GRACE
