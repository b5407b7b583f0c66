"""How it stands, what happened, and what a wish for many came to, as JSON."""

from __future__ import annotations

from typing import Any

from ..choices import Language
from ..model.event import Numbered
from ..model.lane import LaneUse
from ..ports.store import Node
from ..service.bulk import BulkReport
from ..service.nodes import NodeSeen
from ..service.overview import Overview
from .moments import local, milliseconds, utc
from .runs import run_json
from .tasks import next_due


def overview_json(overview: Overview, language: Language = "en") -> dict[str, Any]:
    late = overview.lateness
    return {
        "at": utc(overview.at),
        "tasks": {state.value: number for state, number in overview.tasks.items()},
        "last_24h": {
            "outcomes": overview.outcomes,
            "started": late.counted,
            "on_time": overview.on_time,
            "lateness_p50_ms": milliseconds(late.p50),
            "lateness_p99_ms": milliseconds(late.p99),
        },
        "waiting": overview.waiting._asdict(),
        "running": [run_json(run, language=language) for run in overview.running],
        "next": [
            {
                "task_id": facts.task.id,
                "task": facts.task.name,
                "due": utc(next_due(facts)),
                "due_local": local(next_due(facts), facts.task.schedule.zone),
            }
            for facts in overview.upcoming
        ],
        "needs_you": [
            {
                "kind": need.kind.value,
                "task_id": need.facts.task.id,
                "task": need.facts.task.name,
                "last_result": need.facts.standing.last_result,
            }
            for need in overview.needs
        ],
        "lanes": [lane_json(lane) for lane in overview.lanes],
        "nodes": [node_json(node) for node in overview.nodes],
    }


def lane_json(lane: LaneUse) -> dict[str, Any]:
    return {"name": lane.name, "limit": lane.limit, "taken": lane.taken}


def node_json(node: Node) -> dict[str, Any]:
    return {
        "id": node.id,
        "home": node.home,
        "version": node.version,
        "host": node.host,
        "joined": utc(node.joined),
        "renewed": utc(node.renewed),
        "load": node.load,
        "capacity": node.capacity,
        "clock_offset_ms": milliseconds(node.offset),
        "draining": node.draining,
    }


def node_seen_json(seen: NodeSeen) -> dict[str, Any]:
    return {**node_json(seen.node), "renewed_ago_ms": milliseconds(seen.ago), "state": seen.state.value}


def event_json(numbered: Numbered) -> dict[str, Any]:
    number, event = numbered
    return {
        "number": number,
        "type": event.kind.value,
        "at": utc(event.at),
        "owner": event.owner,
        "task_id": event.task_id,
        "run_id": event.run_id,
        "detail": event.detail,
    }


def bulk_json(report: BulkReport, language: Language = "en") -> dict[str, Any]:
    return {
        "matched": report.matched,
        "done": report.done,
        "refused": [
            {
                "task_id": task.id,
                "task": task.name,
                "code": refusal.code,
                "detail": refusal.in_language(language).message,
            }
            for task, refusal in report.refused
        ],
    }
