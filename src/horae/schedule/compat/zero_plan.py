"""A Zero plan's fields, checked, and what they say besides when: catching up, skipping, pausing, retrying."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ..instants import LAST_INSTANT, SECOND
from ..refusals import refuse
from .fields import Fields, shown, whole_number, within
from .notes import note
from .translation import Note

SYSTEM: Final = "Zero"
# In the order of their numbers there, from 0.
TYPES: Final = ("none", "time", "second", "minute", "hour", "day", "week", "month")
SINGLE: Final = ("none", "time")
SECONDS_OF: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
PAUSED: Final = -1
RETRYING: Final = -2
KEYS: Final = (
    *("plan_type", "plan_value", "plan_repet", "plan_time"),
    *("no_keep", "no_skip", "skip_set", "real_repet", "skip_num"),
)
_LARGEST: Final = 2**31 - 1
_LONGEST_DELAY: Final = 32_767
_VALUES: Final = {**dict.fromkeys(SECONDS_OF, (1, _LONGEST_DELAY)), "week": (0, 6), "month": (-31, 31)}
_LATEST_TIME: Final = LAST_INSTANT // SECOND - 2 * 86_400


@dataclass(frozen=True, slots=True)
class Plan:
    """`time` is None where the moment of receipt takes its place; counters are None where nothing was said."""

    type: str
    value: int
    repet: int
    time: int | None
    keep: bool
    skip_set: int
    counted: int | None
    skip_num: int | None

    @classmethod
    def of(cls, fields: Fields) -> Plan:
        plan_type = _type(fields.need("plan_type"))
        value = _value(plan_type, fields)
        plan = cls(
            plan_type,
            value,
            fields.whole("plan_repet", -1, _LARGEST) or 0,
            _time(fields, value * SECONDS_OF.get(plan_type, 0)),
            _keep(fields),
            fields.whole("skip_set", RETRYING, _LARGEST) or 0,
            fields.whole("real_repet", 0, _LARGEST),
            fields.whole("skip_num", 0, _LARGEST),
        )
        if plan.repeat is not None and plan.skip_set >= plan.repeat:
            raise refuse("compat_skip_all", skip=plan.skip_set, repeat=plan.repeat)
        return plan

    @property
    def repeat(self) -> int | None:
        """-1 is for ever and 0 once; what has only one time runs once, whatever is said."""
        if self.type in SINGLE:
            return 1
        return None if self.repet < 0 else max(self.repet, 1)

    @property
    def skips_left(self) -> int:
        """skip_set is how many to skip from the beginning, skip_num how many were; -1 and -2 mean something else."""
        return max(0, self.skip_set - (self.skip_num or 0))

    def policies(self) -> dict[str, Any]:
        """Three retries, each a second later, and one occurrence that fails for good ends the plan."""
        found: dict[str, Any] = {
            "missed": {"policy": "all", "within": None} if self.keep else {"policy": "skip"},
            "overlap": "queue_all" if self.keep else "skip",
            "retry": {"attempts": 4, "backoff": "PT1S", "factor": 1, "max": "PT1S"},
            "give_up_after": 1,
        }
        if self.skip_set == PAUSED:
            found["paused"] = {"counting": True}
        if self.skips_left:
            found["skip_next"] = self.skips_left
        return found

    def state(self) -> dict[str, int]:
        found = {} if self.counted is None else {"counted": self.counted}
        if self.skip_set == RETRYING:
            found["retrying"] = self.skip_num or 0
        elif self.skip_num is not None:
            found["skipped"] = self.skip_num
        return found

    def notes(self) -> tuple[Note, ...]:
        told = []
        if self.repet == 0 and self.type not in SINGLE:
            told.append(note("compat_runs_once"))
        if self.skip_set == PAUSED:
            told.append(note("compat_paused_counting"))
        if self.skip_set == RETRYING:
            told.append(note("compat_retrying", retries=self.skip_num or 0))
        if self.skips_left:
            told.append(note("compat_skipping", skip_set=self.skip_set, left=self.skips_left))
        return tuple(told)


def _type(value: object) -> str:
    """A name, or its number there."""
    number = whole_number(value)
    if number is not None and 0 <= number < len(TYPES):
        return TYPES[number]
    if isinstance(value, str) and value.lower() in TYPES:
        return value.lower()
    raise refuse("compat_unknown_choice", key="plan_type", value=shown(value), allowed=", ".join(TYPES))


def _value(plan_type: str, fields: Fields) -> int:
    if plan_type in SINGLE:
        return fields.whole("plan_value", -_LARGEST, _LARGEST) or 0
    return within("plan_value", fields.need("plan_value"), *_VALUES[plan_type])


def _time(fields: Fields, delay: int) -> int | None:
    """Unix seconds; zero and less are no time at all. The first run, a delay later, has to be on the calendar too."""
    found = fields.whole("plan_time", -(2**63), _LATEST_TIME - delay)
    return found if found is not None and found > 0 else None


def _keep(fields: Fields) -> bool:
    """Two names of one field: the documents say no_keep, the programs no_skip."""
    keep, skip = fields.flag("no_keep"), fields.flag("no_skip")
    if keep is not None and skip is not None and keep != skip:
        raise refuse("compat_conflict", first="no_keep", second="no_skip")
    return keep or skip or False
