"""A node as the explorer sees it: the few things that it knows, which a crash takes away."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from ...model.outcome import Cancelled, Failed, Outcome, Succeeded


class Lease(StrEnum):
    HELD = "held"
    LAPSED = "lapsed"
    """It has not renewed for so long that others may take it for dead, whether or not it goes on."""
    NOTICED = "noticed"
    """It has noticed that itself: it claims nothing until it has renewed."""
    RENEWED_LATE = "renewed late"
    """It has renewed just in time, while somebody else was about to recover it."""
    LOST = "lost"
    """It has learned that others took it for dead, and needs a new name."""


MAY_BE_TAKEN_FOR_DEAD: Final = (Lease.LAPSED, Lease.NOTICED)
CLAIMS_NOTHING: Final = (Lease.NOTICED, Lease.LOST)


class Phase(StrEnum):
    CLAIMED = "claimed"
    """Must be written down as started before it may start."""
    GOING = "going"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


OUTCOMES: Final[dict[Phase, Outcome]] = {
    Phase.SUCCEEDED: Succeeded(),
    Phase.FAILED: Failed("it failed"),
    Phase.CANCELLED: Cancelled(),
}


class Carried(NamedTuple):
    """`ordered`: the node knows that somebody wants the run to end."""

    run_id: str
    token: int
    phase: Phase
    ordered: bool = False

    @property
    def ended(self) -> bool:
        """Its target has answered; what is left is to record it."""
        return self.phase in OUTCOMES


class Process(NamedTuple):
    """`node` is None while it is down. `handed_back` is what it will give back to the store."""

    node: str | None = None
    lease: Lease = Lease.HELD
    stopping: bool = False
    carried: tuple[Carried, ...] = ()
    handed_back: tuple[tuple[str, int], ...] = ()

    @property
    def busy(self) -> bool:
        return bool(self.carried or self.handed_back)

    @property
    def has_unended(self) -> bool:
        return any(not each.ended for each in self.carried)

    def with_carried(self, run: Carried) -> Process:
        """The same, with this run in place of what was known of it."""
        others = (each for each in self.carried if each.run_id != run.run_id)
        return self._replace(carried=tuple(sorted((*others, run))))

    def without(self, run_ids: Iterable[str]) -> Process:
        gone = set(run_ids)
        return self._replace(carried=tuple(each for each in self.carried if each.run_id not in gone))

    def letting_go(self) -> Process:
        """Everything that has not ended is stopped, and will be handed back."""
        unended = [(each.run_id, each.token) for each in self.carried if not each.ended]
        return self.handing_back(unended)

    def handing_back(self, claims: Iterable[tuple[str, int]]) -> Process:
        wanted = tuple(claims)
        left = self.without(run_id for run_id, _ in wanted)
        return left._replace(handed_back=tuple(sorted({*self.handed_back, *wanted})))

    def obeying(self, orders: frozenset[str]) -> Process:
        """Only what goes on can be told to end; what has not started yet hears of it from the store."""
        carried = (
            each._replace(ordered=True) if each.phase is Phase.GOING and each.run_id in orders else each
            for each in self.carried
        )
        return self._replace(carried=tuple(carried))


DOWN: Final = Process()
