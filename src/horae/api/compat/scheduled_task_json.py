"""Renders tasks and runs as `/scheduled-tasks` JSON, with the leases of live runs as `locked_by` and `locked_until`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from ...model.accounts.principal import LOCAL
from ...model.change import Facts
from ...model.entry import EntryKind, EntryState
from ...model.ids import trace_id
from ...model.reason import describe_reason as reason_sentence
from ...model.run import LIVE_STATES, Run, RunState
from ...model.task import Target, TaskState
from ...ports.node_records import load_agreed_lease
from ...schedule import Cron, Every, Now, Once, Schedule
from ...schedule.describe import describe_schedule
from ...service.runs.nodes import NodeState
from ...service.service import Service
from ...wire.tasks.task import next_due
from ...wire.tasks.text_tasks import answer_of
from .stored_fields import last_change, render_payload

_TARGET: Final = "target"
"""Holder of a run that waits for an external target, until its deadline."""


class Lease(NamedTuple):
    """Lease of a live run, shown as `locked_by` and `locked_until`."""

    holder: str
    until: datetime | None


async def leases_of(service: Service, tasks: Sequence[Facts]) -> dict[str, Lease]:
    """Return the leases by task id. An expired lease is left out: its runs are recovered without any client clearing a
    lock."""
    running = [facts for facts in tasks if facts.live]
    if not running:
        return {}
    length = await load_agreed_lease(service.store)
    # The list of nodes is for operators only; the caller sees just the node of its own run.
    seen = await service.nodes.all(LOCAL)
    nodes = {each.node.id: each.node.renewed + length for each in seen if each.state is not NodeState.SILENT}
    pairs = ((facts.task.id, _lease(facts.live, nodes)) for facts in running)
    return {task_id: lease for task_id, lease in pairs if lease is not None}


def _lease(live: Sequence[Run], nodes: Mapping[str, datetime]) -> Lease | None:
    for run in live:
        if run.state is RunState.WAITING:
            return Lease(_TARGET, run.deadline)
        if run.node is not None and run.node in nodes:
            return Lease(run.node, nodes[run.node])
    return None


UTC_ZONE: Final = "UTC"
_SECOND: Final = timedelta(seconds=1)
_STATUSES: Final = {RunState.SUCCEEDED: "success", **dict.fromkeys(LIVE_STATES, "running")}
SHOWN_RUNS: Final = frozenset(RunState) - {RunState.SKIPPED}
"""Runs are executions there, so skipped ones are left out."""


class ScheduleFields(NamedTuple):
    """The three schedule fields."""

    schedule_type: str
    schedule_expr: str
    timezone: str


def schedule_fields_of(schedule: Schedule) -> ScheduleFields:
    """Return the schedule fields. A schedule that their format cannot express is shown by its kind and its description."""
    zone = schedule.zone or UTC_ZONE
    match schedule:
        case Cron(expression=expression):
            return ScheduleFields("cron", expression, zone)
        case Every(interval=interval) if not interval % _SECOND:
            return ScheduleFields("interval", str(interval // _SECOND), zone)
        case Once() | Now():
            return ScheduleFields("once", "", zone)
        case _:
            return ScheduleFields(schedule.kind, describe_schedule(schedule, "en"), zone)


def render_task(facts: Facts, latest: Run | None, lease: Lease | None, now: datetime) -> dict[str, Any]:
    task = facts.task
    return {
        "id": task.id,
        "user_id": task.owner,
        "name": task.name,
        "enabled": facts.status.state is TaskState.ACTIVE,
        **schedule_fields_of(task.schedule)._asdict(),
        "payload": render_payload(task.payload),
        "next_run_at": format_instant(next_run(facts, now)),
        "last_run_at": format_instant(_last_run(facts, latest)),
        "locked_by": None if lease is None else lease.holder,
        "locked_until": None if lease is None else format_instant(lease.until),
        "created_at": format_instant(task.created),
        "updated_at": format_instant(last_change(facts, latest)),
    }


def next_run(facts: Facts, now: datetime) -> datetime | None:
    """Return the next time; for a disabled task the time it would have if it were enabled now, if that is in the
    future."""
    due = next_due(facts)
    if due is not None:
        return due
    asleep = (each.due for each in facts.entries if each.kind is EntryKind.NEXT and each.state is EntryState.ASLEEP)
    return next((each for each in asleep if each > now), None)


def render_run(run: Run, target: Target) -> dict[str, Any]:
    return {
        "id": run.id,
        "task_id": run.task_id,
        "user_id": run.owner,
        "status": _STATUSES.get(run.state, "failed"),
        "trace_id": trace_id(run),
        "started_at": format_instant(run.started or run.claimed or run.due),
        "finished_at": format_instant(run.ended),
        "error": _error(run),
        "result": answer_of(run, target),
    }


def format_instant(at: datetime | None) -> str | None:
    """Format as `2026-02-27T01:30:00+00:00`, their format."""
    return None if at is None else at.astimezone(UTC).isoformat()


def _last_run(facts: Facts, latest: Run | None) -> datetime | None:
    return latest.started if latest is not None and latest.started is not None else facts.status.last_end


def _error(run: Run) -> str | None:
    if run.state in _STATUSES or run.error is not None:
        return run.error
    return run.state.value if run.reason is None else reason_sentence(run.reason, "en")
