"""Order of turns between groups, in rounds: no group has a second turn while another one that wants a turn has had none.

The lane of all agents serves owners in turn by name, which is not the order in which groups have been served. So a turn is
asked for when no other group that wants one is in an earlier round.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from ...clock import Clock

LONGEST_WAIT: Final = 120.0
"""Seconds after which a turn that has not started holds up no other group."""


class _Wish(NamedTuple):
    """A group that wants a turn: its round, since when, and whether the turn was requested."""

    round: int
    since: float
    is_asked: bool = False


class TurnOrder:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._round = 0
        """Round of the turn that started last."""
        self._last: dict[str, int] = {}
        """Round of the last turn of each group."""
        self._wishes: dict[str, _Wish] = {}

    def may_ask(self, folder: str) -> bool:
        """Return whether the turn of a group may be requested now; if not, the group is released later."""
        wish = self._wishes.get(folder)
        if wish is None:
            number = max(self._round, self._last.get(folder, -1) + 1)
            wish = self._wishes[folder] = _Wish(number, self._clock.steady())
        return wish.round <= self._first_round()

    def asked(self, folder: str) -> None:
        wish = self._wishes.get(folder)
        if wish is not None:
            self._wishes[folder] = wish._replace(is_asked=True, since=self._clock.steady())

    def started(self, folder: str) -> None:
        """Note that the turn of a group has started, or will not start."""
        wish = self._wishes.pop(folder, None)
        if wish is not None:
            self._round = max(self._round, wish.round)
            self._last[folder] = wish.round

    def forget(self, folder: str) -> None:
        """Note that a group wants no turn any more."""
        self._wishes.pop(folder, None)

    def release(self) -> Sequence[str]:
        """Return the groups whose turn may be requested now."""
        first = self._first_round()
        return [folder for folder, wish in self._wishes.items() if not wish.is_asked and wish.round <= first]

    def _first_round(self) -> int:
        oldest = self._clock.steady() - LONGEST_WAIT
        counted = (wish.round for wish in self._wishes.values() if not wish.is_asked or wish.since > oldest)
        return min(counted, default=self._round)
