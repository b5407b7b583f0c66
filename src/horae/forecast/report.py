"""Report of a forecast as values, with its JSON form."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, NamedTuple

from ..choices import Language
from ..errors import Sentence
from ..model.lanes.rate import Rate
from ..model.reason import Reason
from ..schedule.lint import Effect

Severity = Literal["info", "warning", "problem"]
Became = Literal["skipped", "queued", "replaced", "parallel"]


class Began(NamedTuple):
    at: datetime
    planned: datetime
    task: int
    """Index in the list of tasks."""


class Overlap(NamedTuple):
    """An instant at which an earlier run of the same task was still live."""

    planned: datetime
    going: datetime
    """The planned instant of that earlier run."""
    became: Became


class ClockHit(NamedTuple):
    """A clock change that a wall time of the task falls into: the wall time does not exist, or exists twice."""

    at: datetime
    kind: Literal["gap", "fold"]
    effect: Effect
    sentences: Mapping[Language, str]


@dataclass(frozen=True, slots=True)
class TaskForecast:
    """`planned` = `ran` + everything `skipped` + `waiting` (still parked or queued at the end)."""

    name: str
    owner: str
    zone: str
    lane: str | None
    takes: timedelta
    planned: int
    ran: int
    skipped: Mapping[Reason, int]
    waiting: int
    cut_short: int
    """Runs that were replaced by a newer one or exceeded their `max_duration`."""
    first: datetime | None
    last: datetime | None
    """First and last planned instant with a run."""
    upcoming: datetime | None
    """Next planned instant after the end of the forecast."""
    lateness_max: timedelta
    lateness_p99: timedelta
    lane_wait_max: timedelta
    capacity_wait_max: timedelta
    overlaps: int
    overlap_examples: tuple[Overlap, ...]
    clock_changes: tuple[ClockHit, ...]


@dataclass(frozen=True, slots=True)
class LaneForecast:
    """`limit` None: the lane does not bound concurrent runs. `full_share` is the share of time with all slots of the limit in use."""

    name: str
    limit: int | None
    rate: Rate | None
    runs: int
    peak_wanted: int
    """Largest number of live and parked runs at one time."""
    full_share: float
    longest_wait: timedelta
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Busiest:
    """Busiest minute by starts, or second by due instants; `tasks` are names with their number of occurrences."""

    at: datetime
    count: int
    tasks: tuple[tuple[str, int], ...]


class Day(NamedTuple):
    date: date
    ran: int
    skipped: int


@dataclass(frozen=True, slots=True)
class Finding:
    """Stable code, severity, and sentence with hint by language."""

    code: str
    severity: Severity
    task: str | None
    lane: str | None
    sentences: Mapping[Language, Sentence]

    def in_language(self, language: Language) -> Sentence:
        return self.sentences[language]


@dataclass(frozen=True, slots=True)
class Report:
    """`until` is the instant reached: before `end` only if the forecast hit its limit of rows."""

    start: datetime
    end: datetime
    until: datetime
    zone: str
    capacity: int
    runs: int
    skipped: int
    most_at_once: int
    busiest_minute: Busiest | None
    busiest_second: Busiest | None
    tasks: tuple[TaskForecast, ...]
    lanes: tuple[LaneForecast, ...]
    first_starts: tuple[Began, ...]
    days: tuple[Day, ...]
    findings: tuple[Finding, ...]

    @property
    def complete(self) -> bool:
        return self.until >= self.end

    def to_json(self) -> dict[str, Any]:
        """Plain values; instants in UTC, durations in seconds. The shape is documented in docs/simulate.md."""
        names = [task.name for task in self.tasks]
        return {
            "start": _instant(self.start),
            "end": _instant(self.end),
            "until": _instant(self.until),
            "complete": self.complete,
            "zone": self.zone,
            "capacity": self.capacity,
            "runs": self.runs,
            "skipped": self.skipped,
            "most_at_once": self.most_at_once,
            "busiest_minute": _busiest(self.busiest_minute),
            "busiest_second": _busiest(self.busiest_second),
            "tasks": [_task(each) for each in self.tasks],
            "lanes": [_lane(each) for each in self.lanes],
            "first_starts": [
                {"at": _instant(each.at), "planned": _instant(each.planned), "task": names[each.task]}
                for each in self.first_starts
            ],
            "days": [{"date": each.date.isoformat(), "ran": each.ran, "skipped": each.skipped} for each in self.days],
            "findings": [_finding(each) for each in self.findings],
        }


def _task(task: TaskForecast) -> dict[str, Any]:
    return {
        "name": task.name,
        "owner": task.owner,
        "zone": task.zone,
        "lane": task.lane,
        "takes": task.takes.total_seconds(),
        "planned": task.planned,
        "ran": task.ran,
        "skipped": {reason.value: count for reason, count in task.skipped.items()},
        "waiting": task.waiting,
        "cut_short": task.cut_short,
        "first": _instant(task.first),
        "last": _instant(task.last),
        "upcoming": _instant(task.upcoming),
        "lateness_max": task.lateness_max.total_seconds(),
        "lateness_p99": task.lateness_p99.total_seconds(),
        "lane_wait_max": task.lane_wait_max.total_seconds(),
        "capacity_wait_max": task.capacity_wait_max.total_seconds(),
        "overlaps": task.overlaps,
        "overlap_examples": [
            {"planned": _instant(each.planned), "going": _instant(each.going), "became": each.became}
            for each in task.overlap_examples
        ],
        "clock_changes": [
            {"at": _instant(each.at), "kind": each.kind, "effect": each.effect, "sentence": dict(each.sentences)}
            for each in task.clock_changes
        ],
    }


def _lane(lane: LaneForecast) -> dict[str, Any]:
    return {
        "name": lane.name,
        "limit": lane.limit,
        "rate": None if lane.rate is None else str(lane.rate),
        "runs": lane.runs,
        "peak_wanted": lane.peak_wanted,
        "full_share": round(lane.full_share, 6),
        "longest_wait": lane.longest_wait.total_seconds(),
        "tasks": list(lane.tasks),
    }


def _busiest(busiest: Busiest | None) -> dict[str, Any] | None:
    if busiest is None:
        return None
    tasks = [{"name": name, "count": count} for name, count in busiest.tasks]
    return {"at": _instant(busiest.at), "count": busiest.count, "tasks": tasks}


def _finding(finding: Finding) -> dict[str, Any]:
    sentences = {
        language: {"message": sentence.message, "hint": sentence.hint}
        for language, sentence in finding.sentences.items()
    }
    return {
        "code": finding.code,
        "severity": finding.severity,
        "task": finding.task,
        "lane": finding.lane,
        "sentence": sentences,
    }


def _instant(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).replace(tzinfo=None).isoformat() + "Z"
