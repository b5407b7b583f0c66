"""Policies of a task: missed occurrences, overlap, retry back-off, giving up, timeout, guarantee, priority."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import timedelta
from typing import Any, Final, Literal, TypeAlias

from ..schedule import Now, Once, Schedule
from .gate import Gate
from .lanes.node_labels import LabelPairs, check_where
from .refusals import refuse
from .text.field_checks import check_choice, check_duration, check_flag, check_number, check_text, check_type

MissedMode: TypeAlias = Literal["skip", "latest", "all", "merge"]
Overlap: TypeAlias = Literal["skip", "queue", "queue_all", "replace", "parallel"]
Guarantee: TypeAlias = Literal["at_least_once", "at_most_once"]

MISSED_MODES: Final[tuple[MissedMode, ...]] = ("skip", "latest", "all", "merge")
RetryJitter: TypeAlias = Literal["full", "none"]
RETRY_JITTERS: Final[tuple[RetryJitter, ...]] = ("full", "none")
OVERLAPS: Final[tuple[Overlap, ...]] = ("skip", "queue", "queue_all", "replace", "parallel")
GUARANTEES: Final[tuple[Guarantee, ...]] = ("at_least_once", "at_most_once")
Occasion: TypeAlias = Literal["failed", "recovered", "overdue", "succeeded"]
OCCASIONS: Final[tuple[Occasion, ...]] = ("failed", "recovered", "overdue", "succeeded")
INCIDENT_OCCASIONS: Final[tuple[Occasion, ...]] = ("failed", "recovered")
"""The beginning and the end of an incident: `task.failing` and `task.recovered`, which `notify_after` governs."""

MAX_DURATION: Final = timedelta(days=3660)
MAX_BACKOFF: Final = timedelta(days=30)
MAX_TIMEOUT: Final = timedelta(days=30)
MAX_CATCH_UP: Final = 10_000
UNLIMITED_CATCH_UP: Final = 2**31 - 1
"""Limit of a plan that catches up everything: a backlog is one entry, however long."""
MAX_ATTEMPTS: Final = 1_000
HIGHEST_PRIORITY: Final = 100
MAX_NOTIFIED: Final = 8
"""Destinations per task."""
DESTINATION_CHARACTERS: Final = 64
NOTICE_TEXT_CHARACTERS: Final = 500
NOTICE_PLACEHOLDERS: Final = ("result", "planned", "planned_local", "first", "last", "count", "attempt")
"""Names after `{horae.` in the text of messages: the result or the error, the planned instant in UTC and in the task's
zone, the span of a merged run, and the number of the attempt."""
NOTICE_TOKEN: Final = re.compile(r"\{horae\.([^{}]*)\}")
MAX_TASK_LANES: Final = 8
"""Lanes per task, its first one included."""


@dataclass(frozen=True, slots=True)
class Missed:
    """Policy for occurrences that came due while no node could run them."""

    mode: MissedMode = "latest"
    within: timedelta | None = timedelta(hours=24)
    limit: int = 100

    def __post_init__(self) -> None:
        check_choice("missed", self.mode, MISSED_MODES)
        if self.within is not None:
            check_duration("within", self.within, MAX_DURATION)
        if self.limit != UNLIMITED_CATCH_UP:
            check_number("limit", self.limit, 1, MAX_CATCH_UP)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Retry with exponential back-off. `attempts` includes the first one; None is unlimited."""

    attempts: int | None = 4
    backoff: timedelta = timedelta(seconds=60)
    factor: float = 2.0
    max: timedelta = timedelta(hours=1)
    jitter: RetryJitter = "full"
    """`full`: a random share of the wait, so that retries spread out. `none`: exactly the wait."""
    superseded_by_next: bool = True
    """The next occurrence ends a retry that still waits. False: the retry counts as a live run, and the overlap policy
    decides about the next occurrence."""

    def __post_init__(self) -> None:
        if self.attempts is not None:
            check_number("attempts", self.attempts, 1, MAX_ATTEMPTS)
        check_duration("backoff", self.backoff, MAX_BACKOFF, least=timedelta(0))
        check_duration("max", self.max, MAX_BACKOFF, least=timedelta(0))
        check_number("factor", self.factor, 1, 100, whole=False)
        check_choice("jitter", self.jitter, RETRY_JITTERS)
        check_flag("superseded_by_next", self.superseded_by_next)

    def wait(self, tries: int, share: float) -> timedelta:
        """Return the wait after `tries` attempts; `share` in [0, 1) is the run's random share for full jitter."""
        longest = self.longest_wait(tries)
        return longest * share if self.jitter == "full" else longest

    def longest_wait(self, tries: int) -> timedelta:
        # After 64 doublings every wait is the maximum, and floats would overflow.
        seconds = self.backoff.total_seconds() * self.factor ** min(tries - 1, 64)
        return self.max if seconds >= self.max.total_seconds() else timedelta(seconds=seconds)


@dataclass(frozen=True, slots=True)
class Notify:
    """Messages to people. `to` are names of destinations of the task's owner."""

    to: tuple[str, ...]
    on: tuple[Occasion, ...] = INCIDENT_OCCASIONS
    text: str = ""
    """Text of the messages, with placeholders of the run; empty: its result or error."""

    def __post_init__(self) -> None:
        _check_list("notify.to", self.to, MAX_NOTIFIED)
        _check_list("notify.on", self.on, len(OCCASIONS))
        for name in self.to:
            check_text("notify.to", name, DESTINATION_CHARACTERS)
        for occasion in self.on:
            check_choice("notify.on", occasion, OCCASIONS)
        _check_notice_text(self.text)


def _check_notice_text(text: object) -> None:
    """Refuse a text that is too long, not printable, or has a placeholder that does not exist."""
    name = "notify.text"
    if not isinstance(text, str) or len(text) > NOTICE_TEXT_CHARACTERS or not text.replace("\n", "").isprintable():
        raise refuse("bad_text", name=name, value=text, most=NOTICE_TEXT_CHARACTERS)
    for match in NOTICE_TOKEN.finditer(text):
        if match[1] not in NOTICE_PLACEHOLDERS:
            allowed = ", ".join(f"{{horae.{each}}}" for each in NOTICE_PLACEHOLDERS)
            raise refuse("unknown_placeholder", token=match[0], name=name, allowed=allowed)


@dataclass(frozen=True, slots=True)
class Policies:
    missed: Missed = Missed()
    overlap: Overlap = "skip"
    retry: RetryPolicy = RetryPolicy()
    give_up_after: int | None = 10
    timeout: timedelta = timedelta(seconds=300)
    max_duration: timedelta | None = None
    guarantee: Guarantee = "at_least_once"
    priority: int = 0
    notify_after: int = 3
    """Consecutive failed occurrences that raise one `task.failing`; the next success raises `task.recovered`. 0: never."""
    start_within: timedelta | None = None
    """A run that has not started that long after its due instant is skipped, whatever it waited for. None: no limit."""
    notify: Notify | None = None
    gate: Gate | None = None
    """A cheap check before each run: closed, the run is skipped."""
    where: LabelPairs = ()
    """Labels that a node must have to run the task; none: every node may."""
    lanes: tuple[str, ...] = ()
    """Further lanes, besides that of the task: a run starts when all of them have a free slot."""

    def __post_init__(self) -> None:
        check_type("missed", self.missed, Missed)
        check_type("retry", self.retry, RetryPolicy)
        check_choice("overlap", self.overlap, OVERLAPS)
        check_choice("guarantee", self.guarantee, GUARANTEES)
        if self.give_up_after is not None:
            check_number("give_up_after", self.give_up_after, 1, 1_000_000)
        check_duration("timeout", self.timeout, MAX_TIMEOUT)
        if self.max_duration is not None:
            check_duration("max_duration", self.max_duration, MAX_DURATION)
        check_number("priority", self.priority, -HIGHEST_PRIORITY, HIGHEST_PRIORITY)
        check_number("notify_after", self.notify_after, 0, 1_000_000)
        if self.start_within is not None:
            check_duration("start_within", self.start_within, MAX_DURATION)
        if self.notify is not None:
            check_type("notify", self.notify, Notify)
            if not self.notify_after and set(self.notify.on) & set(INCIDENT_OCCASIONS):
                raise refuse("notify_without_incident")
        if self.gate is not None:
            check_type("gate", self.gate, Gate)
            if self.gate.state and self.overlap == "parallel":
                raise refuse("gate_state_parallel")
        if self.where != ():
            check_where(self.where)
        if self.lanes != ():
            _check_lanes(self.lanes)


DEFAULT_POLICIES: Final = Policies()
ONE_SHOT_POLICIES: Final = Policies(missed=Missed(within=None), give_up_after=1)
"""Defaults for a schedule that fires once: it runs however late, and the task fails with its one occurrence."""


def policies_for(schedule: Schedule, chosen: Mapping[str, Any] | None = None) -> Policies:
    """Return the default policies for a schedule, overridden by `chosen`; refuses unknown names."""
    defaults = ONE_SHOT_POLICIES if isinstance(schedule, Now | Once) else DEFAULT_POLICIES
    if not chosen:
        return defaults
    unknown = sorted(set(chosen) - {each.name for each in fields(Policies)})
    if unknown:
        raise refuse("unknown_policy", name=unknown[0])
    return replace(defaults, **chosen)


def to_json(policies: Policies) -> dict[str, Any]:
    """Return the JSON form of stores; durations are seconds.

    Policies that came later are left out at their defaults: what is stored, and approved by its digest, stays the same.
    """
    notify = policies.notify
    return {
        "missed": {
            "mode": policies.missed.mode,
            "within": _seconds(policies.missed.within),
            "limit": policies.missed.limit,
        },
        "overlap": policies.overlap,
        "retry": {
            "attempts": policies.retry.attempts,
            "backoff": _seconds(policies.retry.backoff),
            "factor": policies.retry.factor,
            "max": _seconds(policies.retry.max),
            "jitter": policies.retry.jitter,
            **({} if policies.retry.superseded_by_next else {"superseded_by_next": False}),
        },
        "give_up_after": policies.give_up_after,
        "timeout": _seconds(policies.timeout),
        "max_duration": _seconds(policies.max_duration),
        "guarantee": policies.guarantee,
        "priority": policies.priority,
        "notify_after": policies.notify_after,
        **({} if policies.start_within is None else {"start_within": _seconds(policies.start_within)}),
        **({} if notify is None else {"notify": notify_to_json(notify)}),
        **({} if policies.gate is None else {"gate": gate_to_json(policies.gate)}),
        **({"where": dict(policies.where)} if policies.where else {}),
        **({"lanes": list(policies.lanes)} if policies.lanes else {}),
    }


def notify_to_json(notify: Notify) -> dict[str, Any]:
    """Return the JSON form of stores and clients; a text is left out where there is none."""
    return {"to": list(notify.to), "on": list(notify.on), **({"text": notify.text} if notify.text else {})}


def from_json(value: Mapping[str, Any]) -> Policies:
    missed, retry = value["missed"], value["retry"]
    return Policies(
        missed=Missed(missed["mode"], _duration(missed["within"]), missed["limit"]),
        overlap=value["overlap"],
        retry=RetryPolicy(
            retry["attempts"],
            timedelta(seconds=retry["backoff"]),
            retry["factor"],
            timedelta(seconds=retry["max"]),
            # Tasks stored before these policies existed get the defaults.
            retry.get("jitter", DEFAULT_POLICIES.retry.jitter),
            retry.get("superseded_by_next", DEFAULT_POLICIES.retry.superseded_by_next),
        ),
        give_up_after=value["give_up_after"],
        timeout=timedelta(seconds=value["timeout"]),
        max_duration=_duration(value["max_duration"]),
        guarantee=value["guarantee"],
        priority=value["priority"],
        # Tasks stored before these policies existed get the defaults.
        notify_after=value.get("notify_after", DEFAULT_POLICIES.notify_after),
        start_within=_duration(value.get("start_within")),
        notify=_notify_from(value.get("notify")),
        gate=gate_from_json(value.get("gate")),
        where=tuple(sorted(value.get("where", {}).items())),
        lanes=tuple(value.get("lanes", ())),
    )


def gate_to_json(gate: Gate) -> dict[str, Any]:
    return {"kind": gate.kind, "spec": gate.spec, "timeout": _seconds(gate.timeout), "state": gate.state}


def gate_from_json(value: Mapping[str, Any] | None) -> Gate | None:
    if value is None:
        return None
    return Gate(value["kind"], value["spec"], timedelta(seconds=value["timeout"]), value["state"])


def _notify_from(value: Mapping[str, Any] | None) -> Notify | None:
    return None if value is None else Notify(tuple(value["to"]), tuple(value["on"]), value.get("text", ""))


def _check_lanes(lanes: object) -> None:
    if isinstance(lanes, tuple) and len(lanes) > MAX_TASK_LANES:
        raise refuse("too_many_task_lanes", most=MAX_TASK_LANES, found=len(lanes))
    _check_list("lanes", lanes, MAX_TASK_LANES)


def _check_list(name: str, value: object, most: int) -> None:
    """Refuse a list that is empty, too long, or has a value twice."""
    is_list = isinstance(value, tuple) and 1 <= len(value) <= most and len(set(value)) == len(value)
    if not is_list:
        raise refuse("bad_list", name=name, most=most)


def _seconds(duration: timedelta | None) -> float | None:
    return None if duration is None else duration.total_seconds()


def _duration(seconds: float | None) -> timedelta | None:
    return None if seconds is None else timedelta(seconds=seconds)
