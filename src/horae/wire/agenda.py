"""What stands on the agenda of one task, and what of it goes on now: beside the task itself, out and in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model.change import Facts
from ..model.entry import Entry, EntryKind, Stand
from ..model.reason import Reason
from ..model.run import Origin, Span
from ..service.accounts.approval_policy import digest_of
from .instants import instant, read_instant, utc
from .overview import lane_json, read_lane
from .runs import read_run, run_json


def agenda_json(facts: Facts) -> dict[str, Any]:
    """All that a decision sees of a task and that the task's own shape leaves out; and the digest by which it is approved."""
    task = facts.task
    return {
        "entries": [entry_json(entry) for entry in facts.entries],
        "live": [run_json(run, task.name, task.schedule.zone) for run in facts.live],
        "lanes": [lane_json(lane) for lane in facts.lanes],
        "last_end": utc(facts.standing.last_end),
        "barred": None if facts.barred is None else facts.barred.value,
        "digest": digest_of(task),
    }


def entry_json(entry: Entry) -> dict[str, Any]:
    span = entry.span
    return {
        "slot": entry.slot,
        "kind": entry.kind.value,
        "due": utc(entry.due),
        "planned": utc(entry.planned),
        "through": utc(entry.through),
        "stand": entry.stand.value,
        "origin": entry.origin.value,
        "attempt": entry.attempt,
        "priority": entry.priority,
        "lane": entry.lane,
        "run_id": entry.run_id,
        "waited": entry.waited,
        "in_order": entry.in_order,
        "span": None if span is None else {"first": utc(span.first), "last": utc(span.last), "count": span.count},
    }


def with_agenda(facts: Facts, said: Mapping[str, Any]) -> Facts:
    """The facts of a task with what was told of its agenda."""
    return facts._replace(
        standing=facts.standing._replace(last_end=read_instant(said["last_end"])),
        entries=tuple(_entry(facts, each) for each in said["entries"]),
        live=tuple(read_run(each) for each in said["live"]),
        lanes=tuple(read_lane(each) for each in said["lanes"]),
        barred=None if said["barred"] is None else Reason(said["barred"]),
    )


def _entry(facts: Facts, said: Mapping[str, Any]) -> Entry:
    return Entry(
        facts.task.id,
        said["slot"],
        EntryKind(said["kind"]),
        instant(said["due"]),
        instant(said["planned"]),
        facts.task.owner,
        priority=said["priority"],
        stand=Stand(said["stand"]),
        origin=Origin(said["origin"]),
        attempt=said["attempt"],
        through=read_instant(said["through"]),
        span=_span(said["span"]),
        waited=said["waited"],
        in_order=said["in_order"],
        lane=said["lane"],
        run_id=said["run_id"],
    )


def _span(said: Mapping[str, Any] | None) -> Span | None:
    return None if said is None else Span(instant(said["first"]), instant(said["last"]), said["count"])
