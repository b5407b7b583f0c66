"""Demo tasks: the first fires within seconds, one fails and is retried; all carry one label, by which they are removed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from ...errors import Refusal
from ...model.accounts.principal import Principal, Scope
from ...model.policy import RetryPolicy
from ...model.task import Target
from ...ports.store import TaskFilter
from .operations.bulk import Bulk, BulkReport
from .task_request import Options, TaskRequest
from .tasks import Tasks

DEMO_LABEL: Final = ("demo", "yes")
FLAKY: Final = "horae.demo.flaky"
"""Function that every node of `horae up` has."""
_KEY: Final = "demo:"
_TICK: Final = timedelta(seconds=5)


async def create_demo_tasks(tasks: Tasks, principal: Principal) -> int:
    """Declare the demo tasks by key and return their number; tasks that this deployment refuses are left out."""
    principal.require_scope(Scope.WRITE)
    created = 0
    for request in _demo_requests(principal.quotas.shortest_interval or _TICK):
        labelled = request._replace(labels=dict([DEMO_LABEL]), key=_KEY + request.name)
        try:
            await tasks.declare(principal, labelled)
        except Refusal:
            continue
        created += 1
    return created


async def remove_demo_tasks(tasks: Tasks, principal: Principal) -> BulkReport:
    """Delete the demo tasks of the caller with their history."""
    principal.require_scope(Scope.WRITE)
    task_filter = TaskFilter(owner=principal.owner, labels=(DEMO_LABEL,))
    return await Bulk(tasks).each(principal, task_filter, lambda task: tasks.delete(principal, task.id))


def _demo_requests(shortest_interval: timedelta) -> Iterator[TaskRequest]:
    tick = max(_TICK, shortest_interval)
    yield TaskRequest("demo-tick", f"every {tick.total_seconds():g}s", _event("tick"))
    yield TaskRequest("demo-weekday", "every weekday at 9am", _event("good morning"))
    yield TaskRequest("demo-演示", "每周一早上9点 北京时间", _event("新的一周"))
    retry_options = Options(retry=RetryPolicy(backoff=timedelta(seconds=2)))
    yield TaskRequest("demo-flaky", "every 20s", Target("function", json.dumps({"name": FLAKY})), options=retry_options)
    yield TaskRequest("demo-date", "every 1m", Target("command", json.dumps({"argv": ["date"]})))


def _event(say: str) -> Target:
    return Target("event", json.dumps({"say": say}, ensure_ascii=False))
