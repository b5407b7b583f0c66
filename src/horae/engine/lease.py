"""The node's right to carry runs, as its own process sees it: on a clock that never steps, and on the safe side."""

from __future__ import annotations

from ..clock import Clock
from ..ports.store import Terms


class Lease:
    """Written by the keeper, read by everybody else; one assignment each, so it may be read from any thread."""

    def __init__(self, clock: Clock, terms: Terms) -> None:
        self._clock = clock
        self._self_stop = terms.self_stop.total_seconds()
        self._renewed: float | None = None
        self.node = ""

    @property
    def held(self) -> bool:
        """Only until T − T/4 after the last renewal was asked for: nobody else may have taken over by then."""
        return self.left > 0

    @property
    def left(self) -> float:
        """Seconds until this node must have stopped what it carries."""
        if self._renewed is None:
            return 0.0
        return self._renewed + self._self_stop - self._clock.steady()

    def renewed(self, asked: float) -> None:
        """The store said yes to a renewal that was asked for at that point of the steady clock."""
        self._renewed = asked

    def lost(self) -> None:
        self._renewed = None
