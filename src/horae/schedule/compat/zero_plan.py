"""Parser for the fields of a Zero plan, and the policies they imply: catching up, skipping, pausing, retrying."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from ..instants import LAST_INSTANT, SECOND
from ..refusals import refuse
from .fields import Fields, format_value, parse_integer, require_in_range
from .translation import Note
from .translation_notes import note

SYSTEM: Final = "Zero"
# Zero numbers its types in this order, from 0.
TYPES: Final = ("none", "time", "second", "minute", "hour", "day", "week", "month")
SINGLE_TIME_TYPES: Final = ("none", "time")
SECONDS_BY_UNIT: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
PAUSED: Final = -1
RETRYING: Final = -2
KEYS: Final = (
    *("plan_type", "plan_value", "plan_repet", "plan_time"),
    *("no_keep", "no_skip", "skip_set", "real_repet", "skip_num"),
)
_MAX_INT32: Final = 2**31 - 1
_MAX_DELAY: Final = 32_767
_VALUE_RANGES: Final = {**dict.fromkeys(SECONDS_BY_UNIT, (1, _MAX_DELAY)), "week": (0, 6), "month": (-31, 31)}
_LATEST_TIME: Final = LAST_INSTANT // SECOND - 2 * 86_400


@dataclass(frozen=True, slots=True)
class Plan:
    """A checked plan; `time` is None where the moment of receipt replaces it, counters are None where absent."""

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
        plan_type = _read_type(fields.require("plan_type"))
        value = _read_value(plan_type, fields)
        plan = cls(
            plan_type,
            value,
            fields.read_integer("plan_repet", -1, _MAX_INT32) or 0,
            _read_time(fields, value * SECONDS_BY_UNIT.get(plan_type, 0)),
            _read_keep(fields),
            fields.read_integer("skip_set", RETRYING, _MAX_INT32) or 0,
            fields.read_integer("real_repet", 0, _MAX_INT32),
            fields.read_integer("skip_num", 0, _MAX_INT32),
        )
        if plan.repeat is not None and plan.skip_set >= plan.repeat:
            raise refuse("compat_skip_all", skip=plan.skip_set, repeat=plan.repeat)
        return plan

    @property
    def repeat(self) -> int | None:
        """How often it runs: -1 means without end, 0 once; types with a single time always run once."""
        if self.type in SINGLE_TIME_TYPES:
            return 1
        return None if self.repet < 0 else max(self.repet, 1)

    @property
    def skips_left(self) -> int:
        """Skips that remain: skip_set counts from the beginning, skip_num those done; -1 and -2 have other meanings."""
        return max(0, self.skip_set - (self.skip_num or 0))

    def policies(self) -> dict[str, Any]:
        """Zero retries three times, a second apart; one occurrence that fails for good ends the plan."""
        policies: dict[str, Any] = {
            "missed": {"policy": "all", "within": None} if self.keep else {"policy": "skip"},
            "overlap": "queue_all" if self.keep else "skip",
            "retry": {
                "attempts": 4,
                "backoff": "PT1S",
                "factor": 1,
                "max": "PT1S",
                "jitter": "none",
                "superseded_by_next": False,
            },
            "give_up_after": 1,
        }
        if self.skip_set == PAUSED:
            policies["paused"] = {"counting": True}
        if self.skips_left:
            policies["skip_next"] = self.skips_left
        return policies

    def state(self) -> dict[str, int]:
        state = {} if self.counted is None else {"counted": self.counted}
        if self.skip_set == RETRYING:
            state["retrying"] = self.skip_num or 0
        elif self.skip_num is not None:
            state["skipped"] = self.skip_num
        return state

    def notes(self) -> tuple[Note, ...]:
        notes = []
        if self.repet == 0 and self.type not in SINGLE_TIME_TYPES:
            notes.append(note("compat_runs_once"))
        if self.skip_set == PAUSED:
            notes.append(note("compat_paused_counting"))
        if self.skip_set == RETRYING:
            notes.append(note("compat_retrying", retries=self.skip_num or 0))
        if self.skips_left:
            notes.append(note("compat_skipping", skip_set=self.skip_set, left=self.skips_left))
        return tuple(notes)


def _read_type(value: object) -> str:
    """The plan type, by name or by Zero's number."""
    number = parse_integer(value)
    if number is not None and 0 <= number < len(TYPES):
        return TYPES[number]
    if isinstance(value, str) and value.lower() in TYPES:
        return value.lower()
    raise refuse("compat_unknown_choice", key="plan_type", value=format_value(value), allowed=", ".join(TYPES))


def _read_value(plan_type: str, fields: Fields) -> int:
    if plan_type in SINGLE_TIME_TYPES:
        return fields.read_integer("plan_value", -_MAX_INT32, _MAX_INT32) or 0
    return require_in_range("plan_value", fields.require("plan_value"), *_VALUE_RANGES[plan_type])


def _read_time(fields: Fields, delay: int) -> int | None:
    """Unix seconds; None for zero and less. The first run, `delay` seconds later, must be within the calendar too."""
    seconds = fields.read_integer("plan_time", -(2**63), _LATEST_TIME - delay)
    return seconds if seconds is not None and seconds > 0 else None


def _read_keep(fields: Fields) -> bool:
    """Read one field that has two names: no_keep in Zero's documents, no_skip in its programs."""
    keep, skip = fields.flag("no_keep"), fields.flag("no_skip")
    if keep is not None and skip is not None and keep != skip:
        raise refuse("compat_conflict", first="no_keep", second="no_skip")
    return keep or skip or False
