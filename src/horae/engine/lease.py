"""Local view of the node's lease, on the monotonic clock and with a safety margin before its expiry in the store."""

from __future__ import annotations

from ..clock import Clock
from ..ports.store import Terms


class Lease:
    """Written by the keeper, read by all other actors. Each write is a single assignment, so any thread may read."""

    def __init__(self, clock: Clock, terms: Terms) -> None:
        self._clock = clock
        self._self_stop = terms.self_stop.total_seconds()
        self._renewed_at: float | None = None
        self.node = ""

    @property
    def is_held(self) -> bool:
        """Whether the lease holds: until T − T/4 after the last renewal was sent, before another node may take over."""
        return self.seconds_left > 0

    @property
    def seconds_left(self) -> float:
        """Seconds until this node must have stopped its runs."""
        if self._renewed_at is None:
            return 0.0
        return self._renewed_at + self._self_stop - self._clock.steady()

    def mark_renewed(self, sent_at: float) -> None:
        """Record a successful renewal that was sent at monotonic time `sent_at`."""
        self._renewed_at = sent_at

    def mark_lost(self) -> None:
        self._renewed_at = None
