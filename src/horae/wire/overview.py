"""Overview, lanes, nodes, events and bulk reports to JSON and back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from ..choices import Language
from ..model.change import Facts
from ..model.counts import HourSummary, Lateness
from ..model.entry import NEXT_SLOT, Entry, EntryKind
from ..model.events.event import Event, EventKind, NumberedEvent
from ..model.lanes.lane import LaneQueue, LaneUse
from ..model.lanes.rate import parse_rate
from ..model.run import Run
from ..model.task import TaskState, TaskStatus, partial_task
from ..ports.journal import Progress
from ..ports.node_records import WINDOW, ClockStep, SettlementDelay
from ..ports.store import Node, WaitingCounts
from ..service.runs.nodes import NodeState, NodeStatus
from ..service.runs.outage_reviews import MissedTask, OutageReview, OutageSummary
from ..service.runs.overview import Need, NeedKind, Overview, RunningDetail
from ..service.tasks.operations.bulk import BulkReport
from .instants import duration_from_ms, local, milliseconds, parse_instant, parse_optional_instant, utc
from .runs import outage_json, read_outage, read_run, run_json
from .tasks.task import next_due


def overview_json(overview: Overview, language: Language = "en") -> dict[str, Any]:
    lateness = overview.lateness
    return {
        "at": utc(overview.at),
        "tasks": {state.value: number for state, number in overview.tasks.items()},
        "last_24h": {
            "outcomes": overview.outcomes,
            "started": lateness.total,
            "on_time": overview.on_time,
            "lateness_p50_ms": milliseconds(lateness.p50),
            "lateness_p99_ms": milliseconds(lateness.p99),
            "hours": [_hour_json(hour) for hour in overview.hours],
        },
        "outage": None if overview.outage is None else _review_json(overview.outage),
        "settlement_delay": _delay_json(overview.settlement_delay),
        "waiting": overview.waiting._asdict(),
        "running": [_running_json(run, overview.running_details.get(run.id), language) for run in overview.running],
        "next": [
            {
                "task_id": facts.task.id,
                "task": facts.task.name,
                "due": utc(next_due(facts)),
                "due_local": local(next_due(facts), facts.task.schedule.zone),
                "zone": facts.task.schedule.zone,
            }
            for facts in overview.upcoming
        ],
        "needs_you": [
            {
                "kind": need.kind.value,
                "task_id": need.facts.task.id,
                "task": need.facts.task.name,
                "last_result": need.facts.status.last_result,
            }
            for need in overview.needs
        ],
        "needs_you_counts": {kind.value: number for kind, number in overview.needs_counts.items()},
        "lanes": [lane_json(lane) for lane in overview.lanes],
        "nodes": [node_json(node) for node in overview.nodes],
        "alive": overview.alive,
        "clock_steps": [{"host": step.host, **clock_step_json(step)} for step in overview.clock_steps],
    }


def read_overview(data: Mapping[str, Any]) -> Overview:
    """Decode an overview. Its tasks hold only the fields that an overview carries."""
    day = data["last_24h"]
    lateness = Lateness(
        day["started"],
        round((day["on_time"] or 0) * day["started"]),
        _optional_ms(day["lateness_p50_ms"]),
        _optional_ms(day["lateness_p99_ms"]),
    )
    return Overview(
        parse_instant(data["at"]),
        {TaskState(state): number for state, number in data["tasks"].items()},
        dict(day["outcomes"]),
        lateness,
        WaitingCounts(**data["waiting"]),
        tuple(read_run(each) for each in data["running"]),
        tuple(_read_upcoming(each) for each in data["next"]),
        tuple(_read_need(each) for each in data["needs_you"]),
        tuple(read_lane(each) for each in data["lanes"]),
        tuple(read_node(each) for each in data["nodes"]),
        data.get("alive", bool(data["nodes"])),
        _read_delay(data.get("settlement_delay")),
        tuple(_read_clock_step(each["host"], each) for each in data.get("clock_steps", ())),
        tuple(_read_hour(each) for each in day.get("hours", ())),
        {each["id"]: _read_detail(each) for each in data["running"]},
        _read_review(data.get("outage")),
        _read_need_counts(data),
    )


def _read_need_counts(data: Mapping[str, Any]) -> dict[NeedKind, int]:
    """Servers of earlier versions send no counts; the list stands for them."""
    counts = data.get("needs_you_counts", Counter(each["kind"] for each in data["needs_you"]))
    return {NeedKind(kind): number for kind, number in counts.items()}


def _running_json(run: Run, detail: RunningDetail | None, language: Language) -> dict[str, Any]:
    progress = None if detail is None else detail.progress
    return {
        **run_json(run, None if detail is None else detail.task, language=language),
        "progress": None if progress is None else {"done": progress.done, "text": progress.text},
    }


def _read_detail(data: Mapping[str, Any]) -> RunningDetail:
    progress = data.get("progress")
    return RunningDetail(
        data.get("task") or data["task_id"], None if progress is None else Progress(progress["done"], progress["text"])
    )


def _hour_json(hour: HourSummary) -> dict[str, Any]:
    return {
        "at": utc(hour.at),
        "outcomes": hour.outcomes,
        "started": hour.lateness.total,
        "on_time": hour.lateness.on_time,
        "lateness_p50_ms": milliseconds(hour.lateness.p50),
        "lateness_p99_ms": milliseconds(hour.lateness.p99),
    }


def _read_hour(data: Mapping[str, Any]) -> HourSummary:
    lateness = Lateness(
        data["started"], data["on_time"], _optional_ms(data["lateness_p50_ms"]), _optional_ms(data["lateness_p99_ms"])
    )
    return HourSummary(parse_instant(data["at"]), dict(data["outcomes"]), lateness)


def _review_json(review: OutageReview) -> dict[str, Any]:
    return {
        **outage_json(review.outage),
        **review.summary._asdict(),
        "due": review.summary.due,
        "missed": [
            {
                "task_id": task.task_id,
                "task": task.name,
                "count": task.number,
                "first": utc(task.first),
                "latest": utc(task.latest),
            }
            for task in review.missed
        ],
        "partial": review.is_partial,
    }


def _read_review(data: Mapping[str, Any] | None) -> OutageReview | None:
    outage = read_outage(data)
    if data is None or outage is None:
        return None
    missed = tuple(
        MissedTask(
            each["task_id"], each["task"], each["count"], parse_instant(each["first"]), parse_instant(each["latest"])
        )
        for each in data["missed"]
    )
    summary = OutageSummary(*(data[name] for name in OutageSummary._fields))
    return OutageReview(outage, summary, missed, data["partial"])


def _optional_ms(value: float | None) -> timedelta | None:
    return None if value is None else duration_from_ms(value)


def clock_step_json(step: ClockStep) -> dict[str, Any]:
    return {"at": utc(step.at), "by_ms": milliseconds(step.by)}


def _read_clock_step(host: str, data: Mapping[str, Any]) -> ClockStep:
    return ClockStep(host, parse_instant(data["at"]), duration_from_ms(data["by_ms"]))


def _delay_json(delay: SettlementDelay) -> dict[str, Any]:
    return {
        "window_ms": milliseconds(WINDOW),
        "counted": delay.counted,
        "p50_ms": milliseconds(delay.p50),
        "p99_ms": milliseconds(delay.p99),
        "max_ms": milliseconds(delay.longest),
    }


def _read_delay(data: Mapping[str, Any] | None) -> SettlementDelay:
    """Decode the settlement delay; None comes from a server older than this field."""
    if data is None or not data["counted"]:
        return SettlementDelay()
    return SettlementDelay(data["counted"], *(duration_from_ms(data[name]) for name in ("p50_ms", "p99_ms", "max_ms")))


def _read_upcoming(data: Mapping[str, Any]) -> Facts:
    facts = Facts(partial_task(data["task_id"], data["task"], data.get("zone")), TaskStatus())
    if data["due"] is None:
        return facts
    due = parse_instant(data["due"])
    return facts._replace(entries=(Entry(facts.task.id, NEXT_SLOT, EntryKind.NEXT, due, due, ""),))


def _read_need(data: Mapping[str, Any]) -> Need:
    task, status = partial_task(data["task_id"], data["task"], None), TaskStatus(last_result=data["last_result"])
    return Need(NeedKind(data["kind"]), Facts(task, status))


def lane_json(lane: LaneUse) -> dict[str, Any]:
    return {
        "name": lane.name,
        "limit": lane.limit,
        "taken": lane.used,
        "rate": None if lane.rate is None else str(lane.rate),
        "next_start_at": utc(lane.next_start),
    }


def lane_queue_json(queue: LaneQueue) -> dict[str, Any]:
    return {"lane": queue.lane, "waiting": queue.waiting, "oldest": utc(queue.oldest)}


def read_lane(data: Mapping[str, Any]) -> LaneUse:
    rate, at = data.get("rate"), data.get("next_start_at")
    return LaneUse(
        data["name"],
        data["limit"],
        data["taken"],
        rate=None if rate is None else parse_rate(rate),
        next_start=parse_optional_instant(at),
    )


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
        "labels": dict(node.labels),
    }


def node_seen_json(seen: NodeStatus) -> dict[str, Any]:
    return {
        **node_json(seen.node),
        "renewed_ago_ms": milliseconds(seen.ago),
        "state": seen.state.value,
        "clock_step": None if seen.clock_step is None else clock_step_json(seen.clock_step),
        "functions": list(seen.functions),
    }


def read_node(data: Mapping[str, Any]) -> Node:
    return Node(
        id=data["id"],
        home=data["home"],
        version=data["version"],
        joined=parse_instant(data["joined"]),
        renewed=parse_instant(data["renewed"]),
        host=data["host"],
        load=data["load"],
        capacity=data["capacity"],
        offset=duration_from_ms(data["clock_offset_ms"]),
        draining=data["draining"],
        labels=tuple(sorted(data.get("labels", {}).items())),
    )


def read_node_seen(data: Mapping[str, Any]) -> NodeStatus:
    node, step = read_node(data), data.get("clock_step")
    state, ago = NodeState(data["state"]), duration_from_ms(data["renewed_ago_ms"])
    functions = tuple(data.get("functions", ()))
    return NodeStatus(node, state, ago, None if step is None else _read_clock_step(node.host, step), functions)


def event_json(numbered: NumberedEvent) -> dict[str, Any]:
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


def read_event(data: Mapping[str, Any]) -> NumberedEvent:
    kind, at = EventKind(data["type"]), parse_instant(data["at"])
    event = Event(kind, at, data["owner"], data["task_id"], data["run_id"], data["detail"])
    return NumberedEvent(data["number"], event)


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
        "undo": report.undo,
    }
