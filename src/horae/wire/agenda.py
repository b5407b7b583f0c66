"""Agenda entries, live runs and lanes of one task to JSON and back (`include=agenda`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..model.change import Facts
from ..model.entry import Entry, EntryKind, EntryState
from ..model.reason import Reason
from ..model.run import Origin, Span
from ..service.accounts.approval_policy import digest_of
from .instants import parse_instant, parse_optional_instant, utc
from .overview import lane_json, read_lane
from .runs import read_run, run_json


def agenda_json(facts: Facts) -> dict[str, Any]:
    """Encode all facts of a task that its own JSON leaves out, and the digest by which it is approved."""
    task = facts.task
    return {
        "entries": [entry_json(entry) for entry in facts.entries],
        "live": [run_json(run, task.name, task.schedule.zone) for run in facts.live],
        "lanes": [lane_json(lane) for lane in facts.lanes],
        "last_end": utc(facts.status.last_end),
        "block_reason": None if facts.block_reason is None else facts.block_reason.value,
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
        "state": entry.state.value,
        "origin": entry.origin.value,
        "attempt": entry.attempt,
        "priority": entry.priority,
        "lane": entry.lane,
        "run_id": entry.run_id,
        "waited": entry.waited,
        "in_order": entry.in_order,
        "span": None if span is None else {"first": utc(span.first), "last": utc(span.last), "count": span.count},
    }


def with_agenda(facts: Facts, data: Mapping[str, Any]) -> Facts:
    """Return the facts with the decoded agenda in them."""
    return facts._replace(
        status=facts.status._replace(last_end=parse_optional_instant(data["last_end"])),
        entries=tuple(_read_entry(facts, each) for each in data["entries"]),
        live=tuple(read_run(each) for each in data["live"]),
        lanes=tuple(read_lane(each) for each in data["lanes"]),
        block_reason=None if data["block_reason"] is None else Reason(data["block_reason"]),
    )


def _read_entry(facts: Facts, data: Mapping[str, Any]) -> Entry:
    return Entry(
        facts.task.id,
        data["slot"],
        EntryKind(data["kind"]),
        parse_instant(data["due"]),
        parse_instant(data["planned"]),
        facts.task.owner,
        priority=data["priority"],
        state=EntryState(data["state"]),
        origin=Origin(data["origin"]),
        attempt=data["attempt"],
        through=parse_optional_instant(data["through"]),
        span=_read_span(data["span"]),
        waited=data["waited"],
        in_order=data["in_order"],
        lane=data["lane"],
        run_id=data["run_id"],
    )


def _read_span(data: Mapping[str, Any] | None) -> Span | None:
    return None if data is None else Span(parse_instant(data["first"]), parse_instant(data["last"]), data["count"])
