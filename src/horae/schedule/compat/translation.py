"""What comes of reading somebody else's spelling: a schedule, the policies that went without saying, and notes."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..value import Schedule


class Note(NamedTuple):
    """Something that the person should know about what was understood; it stops nothing."""

    code: str
    english: str
    chinese: str


@dataclass(frozen=True, slots=True)
class Original:
    """The fields as they were spelled, and what they meant then: good for as long as the meaning is the same."""

    system: str
    zone: str | None
    spelling: dict[str, Any]
    meaning: tuple[Schedule, Mapping[str, Any], Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Translation:
    """`policies` names only what the dialect settles: an absent policy is the task's default, null means no limit.

    `state` is what a plan brings along from its former life: occurrences counted, occurrences skipped, retries made.
    Spelling is not meaning: two translations are equal when they mean the same.
    """

    schedule: Schedule
    policies: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    state: Mapping[str, int] = field(default_factory=dict)
    original: Original | None = field(default=None, compare=False, repr=False)

    def spelled(self, system: str, zone: str | None, spelling: dict[str, Any]) -> Translation:
        """The same, remembering how it was spelled, so that writing it back changes nothing."""
        meaning = (self.schedule, deepcopy(self.policies), deepcopy(self.state))
        return replace(self, original=Original(system, zone, deepcopy(spelling), meaning))

    def spelling_in(self, system: str, zone: str | None) -> dict[str, Any] | None:
        """How this was spelled there; None when it came from elsewhere, or was changed since."""
        origin = self.original
        if origin is None or (origin.system, origin.zone) != (system, zone):
            return None
        unchanged = origin.meaning == (self.schedule, self.policies, self.state)
        return deepcopy(origin.spelling) if unchanged else None
