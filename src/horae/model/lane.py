"""A lane: a name under which at most so many runs go on at once, across all nodes."""

from __future__ import annotations

from typing import Final, NamedTuple

from .field_checks import check_text
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
_AGENT: Final = "agent:"


def owner_lane(owner: str) -> str:
    return OWNER_LANE + owner


def own_lanes(owner: str) -> str:
    """How the names of an owner's lanes begin. No owner's name has a slash."""
    return f"{owner}/"


def agent_lane(owner: str, agent: str) -> str:
    """All tasks of an agent share one lane, so that it cannot have more runs at once, or in a day, than it may."""
    return f"{own_lanes(owner)}{_AGENT}{agent}"


def agent_in(owner: str, lane: str) -> str | None:
    """Whose lane it is, where it is that of an agent of this owner."""
    begins = own_lanes(owner) + _AGENT
    return lane.removeprefix(begins) if lane.startswith(begins) else None


def also_barred_as(owner: str, lane: str | None) -> str:
    """Besides by its owner's name, a task may be barred by this one; empty where there is none. Other lanes could be called
    like an owner."""
    return lane if lane is not None and agent_in(owner, lane) is not None else ""


def check_lane(name: object) -> None:
    """Whoever waits in a lane that is called like a door would be taken for somebody who waits at that door."""
    check_text("lane", name, KEY_CHARACTERS)
    if is_route(str(name)):
        raise refuse("bad_choice", name="lane", value=name, allowed="any name without 'function:' or 'target:'")
