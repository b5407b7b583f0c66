"""`once`: one instant, or one wall time in a zone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from .instants import SECOND, to_instant, wall_seconds
from .now import SingleRule
from .refusals import refuse
from .rules import Rule
from .value import Past, Schedule, Setting, check_moment
from .zones import Zone


@dataclass(frozen=True, slots=True)
class Once(Schedule):
    """`at` without an offset is wall time; with one it is an instant, and the zone only says how to show it."""

    kind: ClassVar[str] = "once"
    at: datetime

    def __post_init__(self) -> None:
        if not isinstance(self.at, datetime):
            raise refuse("bad_moment", value=self.at)
        check_moment(self.at)
        Schedule.__post_init__(self)

    def rule(self, setting: Setting, past: Past) -> Rule:
        """A time that has passed already is due at creation."""
        anchor = to_instant(past.anchor)
        return SingleRule(tuple(sorted({max(each, anchor) for each in self.instants(setting)})))

    def instants(self, setting: Setting) -> list[int]:
        if self.at.tzinfo is not None:
            return [to_instant(self.at)]
        local = wall_seconds(self.at)
        return [each * SECOND + self._fraction(each, local, setting) for each in _meant(local, setting)]

    def _fraction(self, instant: int, local: int, setting: Setting) -> int:
        # What stands in for a time in a gap is the end of the gap itself, not some microseconds later.
        shown = instant + setting.require_zone().offset(instant)
        return self.at.microsecond if shown == local or setting.gap == "shift" else 0


def _meant(local: int, setting: Setting) -> list[int]:
    zone: Zone = setting.require_zone()
    found: list[int] = []
    after = local - 2 * 86_400
    while (
        each := zone.next_match(lambda at: local if at < local else None, after, setting.gap, setting.fold)
    ) is not None:
        found.append(each)
        after = each
    return found
