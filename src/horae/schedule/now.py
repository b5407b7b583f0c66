"""The `now` schedule: due once, when it is created."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .instants import to_instant
from .rules import Rule
from .value import Past, Schedule, Setting


@dataclass(frozen=True, slots=True)
class FixedInstantsRule:
    """A few known instants in order, usually one."""

    instants: tuple[int, ...]

    def after(self, instant: int) -> int | None:
        return next((each for each in self.instants if each > instant), None)

    def count(self, after: int, until: int) -> int | None:
        return sum(after < each <= until for each in self.instants)


@dataclass(frozen=True, slots=True)
class Now(Schedule):
    kind: ClassVar[str] = "now"

    def rule(self, setting: Setting, past: Past) -> Rule:  # noqa: ARG002 - independent of the zone
        return FixedInstantsRule((to_instant(past.anchor),))
