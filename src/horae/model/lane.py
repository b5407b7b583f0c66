"""A lane: a name under which at most so many runs go on at once, across all nodes."""

from __future__ import annotations

from typing import Final, NamedTuple

from .checks import check_text
from .limits import KEY_CHARACTERS
from .refusals import refuse
from .route import is_route

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


def check_lane(name: object) -> None:
    """Whoever waits in a lane that is called like a door would be taken for somebody who waits at that door."""
    check_text("lane", name, KEY_CHARACTERS)
    if is_route(str(name)):
        raise refuse("bad_choice", name="lane", value=name, allowed="any name without 'function:' or 'target:'")
