"""Lanes with what waits in them to JSON and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..choices import Language
from ..model.lanes.idle import IdleRun
from ..model.lanes.lane import LaneStatus, LaneWaiter
from ..model.origin import Origin
from ..model.run import Run, RunState
from ..service.runs.lanes import LaneDetail, LaneRun, QueuedEntry
from .instants import parse_instant, parse_optional_instant, utc
from .overview import lane_json, read_lane
from .runs import idle_json, read_idle


def lane_status_json(status: LaneStatus) -> dict[str, Any]:
    return lane_json(status.use) | {
        "waiting": status.waiting,
        "oldest": utc(status.oldest),
        "idle": status.idle,
    }


def read_lane_status(data: Mapping[str, Any]) -> LaneStatus:
    return LaneStatus(read_lane(data), data["waiting"], parse_optional_instant(data["oldest"]), data["idle"])


def lane_detail_json(detail: LaneDetail, language: Language = "en") -> dict[str, Any]:
    return lane_status_json(detail.status) | {
        "runs": [_run_json(each, language) for each in detail.runs],
        "others": detail.others,
        "queue": [_entry_json(place, each) for place, each in enumerate(detail.queue, 1)],
        "more": detail.more,
    }


def read_lane_detail(data: Mapping[str, Any]) -> LaneDetail:
    return LaneDetail(
        read_lane_status(data),
        tuple(map(_read_run, data["runs"])),
        data["others"],
        tuple(map(_read_entry, data["queue"])),
        data["more"],
    )


def _run_json(held: LaneRun, language: Language) -> dict[str, Any]:
    run = held.run
    return {
        "id": run.id,
        "task_id": run.task_id,
        "task": held.task,
        "owner": run.owner,
        "state": run.state.value,
        "planned": utc(run.planned),
        "attempt": run.attempt,
        "started": utc(run.started),
        "node": run.node,
        "idle": idle_json(held.idle, language),
    }


def _read_run(data: Mapping[str, Any]) -> LaneRun:
    planned = parse_instant(data["planned"])
    run = Run(
        data["id"],
        data["task_id"],
        data["owner"],
        Origin.SCHEDULED,
        planned,
        planned,
        data["attempt"],
        RunState(data["state"]),
        node=data["node"],
        started=parse_optional_instant(data["started"]),
    )
    idle: IdleRun | None = read_idle(data)
    return LaneRun(run, data["task"], idle)


def _entry_json(place: int, queued: QueuedEntry) -> dict[str, Any]:
    waiter = queued.waiter
    return {
        "place": place,
        "task_id": waiter.task_id,
        "task": queued.task,
        "owner": waiter.owner,
        "priority": waiter.priority,
        "due": utc(waiter.due),
    }


def _read_entry(data: Mapping[str, Any]) -> QueuedEntry:
    due = parse_instant(data["due"])
    return QueuedEntry(LaneWaiter(data["task_id"], "", data["owner"], data["priority"], due), data["task"])
