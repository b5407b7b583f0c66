"""A lane: a name under which at most so many runs go on at once, across all nodes."""

from __future__ import annotations

from typing import Final, NamedTuple

OWNER_LANE: Final = "owner:"
"""An owner's quota of concurrent runs is a lane too, under this prefix; it exists where a limit was set for it."""


class LaneUse(NamedTuple):
    """A lane as a decision sees it; one for which nobody set a limit holds one run at a time."""

    name: str
    limit: int
    taken: int

    @property
    def full(self) -> bool:
        return self.taken >= self.limit


DEFAULT_LIMIT: Final = 1


def owner_lane(owner: str) -> str:
    return OWNER_LANE + owner
