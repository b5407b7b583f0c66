"""How it stands, what happened, and what a wish for many came to, as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..choices import Language
from ..model.change import Facts
from ..model.counts import Lateness
from ..model.entry import NEXT_SLOT, Entry, EntryKind
from ..model.events.event import Event, EventKind, Numbered
from ..model.ids import EPOCH
from ..model.lane import LaneUse
from ..model.policy import policies_for
from ..model.task import Standing, Target, Task, TaskState
from ..ports.clock_steps import ClockStep
from ..ports.settlement_delays import WINDOW, SettlementDelay
from ..ports.store import Node, Waiting
from ..schedule import Now
from ..service.runs.nodes import NodeSeen, NodeState
from ..service.runs.overview import Need, NeedKind, Overview
from ..service.tasks.bulk import BulkReport
from .instants import instant, length, local, milliseconds, utc
from .runs import read_run, run_json
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
        "settlement_delay": _delay_json(overview.settlement_delay),
        "waiting": overview.waiting._asdict(),
        "running": [run_json(run, language=language) for run in overview.running],
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
                "last_result": need.facts.standing.last_result,
            }
            for need in overview.needs
        ],
        "lanes": [lane_json(lane) for lane in overview.lanes],
        "nodes": [node_json(node) for node in overview.nodes],
        "alive": overview.alive,
        "clock_steps": [{"host": step.host, **clock_step_json(step)} for step in overview.clock_steps],
    }


def read_overview(said: Mapping[str, Any]) -> Overview:
    """Of the tasks in it, only what it says of them is known: enough to show it."""
    day = said["last_24h"]
    late = Lateness(
        day["started"],
        round((day["on_time"] or 0) * day["started"]),
        None if day["lateness_p50_ms"] is None else length(day["lateness_p50_ms"]),
        None if day["lateness_p99_ms"] is None else length(day["lateness_p99_ms"]),
    )
    return Overview(
        instant(said["at"]),
        {TaskState(state): number for state, number in said["tasks"].items()},
        dict(day["outcomes"]),
        late,
        Waiting(**said["waiting"]),
        tuple(read_run(each) for each in said["running"]),
        tuple(_upcoming(each) for each in said["next"]),
        tuple(_need(each) for each in said["needs_you"]),
        tuple(read_lane(each) for each in said["lanes"]),
        tuple(read_node(each) for each in said["nodes"]),
        said.get("alive", bool(said["nodes"])),
        _read_delay(said.get("settlement_delay")),
        tuple(_read_step(each["host"], each) for each in said.get("clock_steps", ())),
    )


def clock_step_json(step: ClockStep) -> dict[str, Any]:
    return {"at": utc(step.at), "by_ms": milliseconds(step.by)}


def _read_step(host: str, said: Mapping[str, Any]) -> ClockStep:
    return ClockStep(host, instant(said["at"]), length(said["by_ms"]))


def _delay_json(delay: SettlementDelay) -> dict[str, Any]:
    return {
        "window_ms": milliseconds(WINDOW),
        "counted": delay.counted,
        "p50_ms": milliseconds(delay.p50),
        "p99_ms": milliseconds(delay.p99),
        "max_ms": milliseconds(delay.longest),
    }


def _read_delay(said: Mapping[str, Any] | None) -> SettlementDelay:
    """None: the server is older than this field."""
    if said is None or not said["counted"]:
        return SettlementDelay()
    return SettlementDelay(said["counted"], *(length(said[name]) for name in ("p50_ms", "p99_ms", "max_ms")))


def _upcoming(said: Mapping[str, Any]) -> Facts:
    facts = Facts(glimpse(said["task_id"], said["task"], said.get("zone")), Standing())
    if said["due"] is None:
        return facts
    due = instant(said["due"])
    return facts._replace(entries=(Entry(facts.task.id, NEXT_SLOT, EntryKind.NEXT, due, due, ""),))


def _need(said: Mapping[str, Any]) -> Need:
    task, standing = glimpse(said["task_id"], said["task"], None), Standing(last_result=said["last_result"])
    return Need(NeedKind(said["kind"]), Facts(task, standing))


def glimpse(task_id: str, name: str, zone: str | None) -> Task:
    """A task of which no more is known than what it is called, and where."""
    schedule = Now(zone=zone)
    return Task(task_id, "", name, schedule, Target("", "{}"), "{}", policies_for(schedule), EPOCH)


def lane_json(lane: LaneUse) -> dict[str, Any]:
    return {"name": lane.name, "limit": lane.limit, "taken": lane.taken}


def read_lane(said: Mapping[str, Any]) -> LaneUse:
    return LaneUse(said["name"], said["limit"], said["taken"])


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
    return {
        **node_json(seen.node),
        "renewed_ago_ms": milliseconds(seen.ago),
        "state": seen.state.value,
        "clock_step": None if seen.clock_step is None else clock_step_json(seen.clock_step),
        "functions": list(seen.functions),
    }


def read_node(said: Mapping[str, Any]) -> Node:
    return Node(
        id=said["id"],
        home=said["home"],
        version=said["version"],
        joined=instant(said["joined"]),
        renewed=instant(said["renewed"]),
        host=said["host"],
        load=said["load"],
        capacity=said["capacity"],
        offset=length(said["clock_offset_ms"]),
        draining=said["draining"],
    )


def read_node_seen(said: Mapping[str, Any]) -> NodeSeen:
    node, step = read_node(said), said.get("clock_step")
    state, ago = NodeState(said["state"]), length(said["renewed_ago_ms"])
    functions = tuple(said.get("functions", ()))
    return NodeSeen(node, state, ago, None if step is None else _read_step(node.host, step), functions)


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


def read_event(said: Mapping[str, Any]) -> Numbered:
    kind, at = EventKind(said["type"]), instant(said["at"])
    event = Event(kind, at, said["owner"], said["task_id"], said["run_id"], said["detail"])
    return Numbered(said["number"], event)


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
