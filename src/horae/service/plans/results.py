"""Results of executions by stations with their content: read from the ledger, for event streams, webhooks and broadcasts."""

from __future__ import annotations

import json
from typing import Any, Final, NamedTuple

from ...lifecycle.plans.results import contents_of, execution_status
from ...lifecycle.plans.rules import plan_status
from ...model.events.event import Event
from ...model.plans.codes import PlanState, Status
from ...model.plans.plan import STATION_TARGET, plan_or_stand_in
from ...ports.store import Book

MAX_COUNTED_RUNS: Final = 100
"""Newest runs from which the counters are derived, as in lists of plans."""


class PlanResult(NamedTuple):
    """`state` has the fields that Zero broadcasts; its counters are those of the time of reading."""

    owner: str
    title: str
    plan_id: int
    status: Status
    state: dict[str, Any]
    values: tuple[Any, ...]
    """JSON values of the content frames that the station sent."""
    error: str | None

    @property
    def data(self) -> dict[str, Any]:
        """Return the fields that the event has beside its ids."""
        return {**self.state, "title": self.title, "values": list(self.values), "error": self.error}


async def load_plan_result(book: Book, event: Event) -> PlanResult | None:
    """Return the result that a `plan.result` event reports; None if its task or run no longer exists."""
    facts = await book.facts(event.task_id, None)
    run = None if event.run_id is None else await book.run(event.run_id, None)
    if facts is None or run is None or facts.task.target.kind != STATION_TARGET:
        return None
    task = facts.task
    runs = (await book.outcomes([task.id], MAX_COUNTED_RUNS)).get(task.id, ())
    plan = plan_or_stand_in(task)
    shown = plan_status(plan, facts, runs, event.at)
    status = execution_status(run)
    state = {
        "plan_id": plan.plan_id,
        "name": plan.name,
        "exec_time": 0 if run.started is None else int(run.started.timestamp()),
        "exec_state": int(Status.PLAN_ERROR if shown.state is PlanState.ERROR else status),
        "plan_state": int(shown.state),
        "plan_time": shown.plan_time,
        "real_repet": shown.real_repet,
        "skip_set": shown.skip_set,
        "skip_num": shown.skip_num,
        "planned": int(run.planned.timestamp()),
        "run_id": run.id,
    }
    title = json.loads(task.target.spec).get("title") or task.name
    return PlanResult(task.owner, title, plan.plan_id, status, state, values_of(run.result_json), run.error)


def values_of(result_json: str | None) -> tuple[Any, ...]:
    """Return the values of the content frames of a stored result: the content, and what followed it."""
    if result_json is None:
        return ()
    return contents_of(json.loads(result_json))
