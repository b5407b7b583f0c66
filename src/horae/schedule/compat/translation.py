"""Result of reading another system's schedule: the schedule, the policies that the dialect implies, and notes."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from ..value import Schedule


class Note(NamedTuple):
    """Information for the user about how a schedule was understood; it does not block anything."""

    code: str
    english: str
    chinese: str


@dataclass(frozen=True, slots=True)
class Original:
    """The original spelling with its meaning at that time: valid for as long as the meaning is unchanged."""

    system: str
    zone: str | None
    spelling: dict[str, Any]
    meaning: tuple[Schedule, Mapping[str, Any], Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Translation:
    """A translated schedule; an absent policy is the task's default, null means no limit.

    `state` holds counters that a plan brings along: occurrences counted, occurrences skipped, retries made.
    Translations with the same meaning are equal, whatever their spelling.
    """

    schedule: Schedule
    policies: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    state: Mapping[str, int] = field(default_factory=dict)
    original: Original | None = field(default=None, compare=False, repr=False)

    def with_original(self, system: str, zone: str | None, spelling: dict[str, Any]) -> Translation:
        """The same translation with its original spelling attached, so that writing it back changes nothing."""
        meaning = (self.schedule, deepcopy(self.policies), deepcopy(self.state))
        return replace(self, original=Original(system, zone, deepcopy(spelling), meaning))

    def original_spelling(self, system: str, zone: str | None) -> dict[str, Any] | None:
        """The original spelling in this dialect; None when it came from another one, or was changed since."""
        origin = self.original
        if origin is None or (origin.system, origin.zone) != (system, zone):
            return None
        is_unchanged = origin.meaning == (self.schedule, self.policies, self.state)
        return deepcopy(origin.spelling) if is_unchanged else None
