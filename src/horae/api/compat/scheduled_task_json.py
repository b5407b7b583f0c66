"""A schedule and a task as `/scheduled-tasks` says them. Pure: facts in, JSON out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final, NamedTuple

from ...model.change import Facts
from ...model.entry import EntryKind, Stand
from ...model.ids import occurrence_key
from ...model.reason import sentence as reason_sentence
from ...model.run import LIVE, Run, RunState
from ...model.task import Target, TaskState
from ...schedule import Cron, Every, Now, Once, Schedule
from ...schedule.describe import sentence
from ...wire.runs import result_of
from ...wire.tasks import next_due
from .labels import updated
from .leases import Lease
from .payloads import shown_payload
from .targets import is_orchestrator

UTC_ZONE: Final = "UTC"
_SECOND: Final = timedelta(seconds=1)
_STATUSES: Final = {RunState.SUCCEEDED: "success", **dict.fromkeys(LIVE, "running")}
SHOWN_RUNS: Final = frozenset(RunState) - {RunState.SKIPPED}
"""Their runs are executions: what was never started has no row there."""


class Words(NamedTuple):
    """The three fields that say when."""

    schedule_type: str
    schedule_expr: str
    timezone: str


def words_of(schedule: Schedule) -> Words:
    """What they have no words for is told by its own kind and sentence: their clients show both as they come."""
    zone = schedule.zone or UTC_ZONE
    match schedule:
        case Cron(expression=expression):
            return Words("cron", expression, zone)
        case Every(interval=interval) if not interval % _SECOND:
            return Words("interval", str(interval // _SECOND), zone)
        case Once() | Now():
            return Words("once", "", zone)
        case _:
            return Words(schedule.kind, sentence(schedule, "en"), zone)


def task_shown(facts: Facts, latest: Run | None, lease: Lease | None, now: datetime) -> dict[str, Any]:
    task = facts.task
    return {
        "id": task.id,
        "user_id": task.owner,
        "name": task.name,
        "enabled": facts.standing.state is TaskState.ACTIVE,
        **words_of(task.schedule)._asdict(),
        "payload": shown_payload(task.payload),
        "next_run_at": instant(next_run(facts, now)),
        "last_run_at": instant(_last_run(facts, latest)),
        "locked_by": None if lease is None else lease.holder,
        "locked_until": None if lease is None else instant(lease.until),
        "created_at": instant(task.created),
        "updated_at": instant(updated(facts, latest)),
    }


def next_run(facts: Facts, now: datetime) -> datetime | None:
    """Of what is disabled, the time that it would have if it were enabled now, while that is still to come."""
    found = next_due(facts)
    if found is not None:
        return found
    asleep = (each.due for each in facts.entries if each.kind is EntryKind.NEXT and each.stand is Stand.ASLEEP)
    return next((due for due in asleep if due > now), None)


def run_shown(run: Run, target: Target) -> dict[str, Any]:
    return {
        "id": run.id,
        "task_id": run.task_id,
        "user_id": run.owner,
        "status": _STATUSES.get(run.state, "failed"),
        "trace_id": occurrence_key(run.task_id, run.origin, run.planned).removeprefix("occ_"),
        "started_at": instant(run.started or run.claimed or run.due),
        "finished_at": instant(run.ended),
        "error": _error(run),
        "result": _result(run, target),
    }


def _result(run: Run, target: Target) -> Any:
    """The JSON that the orchestrator answered, without the status that an http target keeps beside it."""
    result = result_of(run)
    wrapped = isinstance(result, dict) and {"status", "body"} <= result.keys() <= {"status", "body", "truncated"}
    return result["body"] if wrapped and is_orchestrator(target) else result


def instant(at: datetime | None) -> str | None:
    """`2026-02-27T01:30:00+00:00`, as they tag their times."""
    return None if at is None else at.astimezone(UTC).isoformat()


def _last_run(facts: Facts, latest: Run | None) -> datetime | None:
    return latest.started if latest is not None and latest.started is not None else facts.standing.last_end


def _error(run: Run) -> str | None:
    if run.state in _STATUSES or run.error is not None:
        return run.error
    return run.state.value if run.reason is None else reason_sentence(run.reason, "en")
