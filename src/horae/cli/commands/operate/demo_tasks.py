"""Demo tasks of `horae up --demo`: the first fires within seconds, one fails and is retried."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

from ....app import Horae
from ....errors import Refusal
from ....model.policy import RetryPolicy
from ....model.task import Target
from ....service.tasks.task_request import Options, TaskRequest
from ....targets.function.context import Context
from ....targets.function.registry import function_spec

LABEL: Final = ("demo", "yes")
FLAKY: Final = "horae.demo.flaky"
_KEY: Final = "demo:"


def flaky(ctx: Context) -> str:
    """Fail at the first attempt and succeed at the next."""
    if ctx.attempt == 1:
        raise ConnectionError("the demo fails on purpose at its first attempt")
    return f"it worked at attempt {ctx.attempt}"


def register_demo_function(app: Horae) -> None:
    """Register the function of the flaky demo task; also without `--demo`, as the task may exist from an earlier start."""
    app.task(name=FLAKY)(flaky)


async def create_demo_tasks(app: Horae) -> int:
    """Declare the demo tasks by key and return their number; tasks that this deployment refuses are left out."""
    created = 0
    for request in _demo_requests():
        try:
            await app.service.tasks.declare(app.who, request._replace(labels=dict([LABEL]), key=_KEY + request.name))
        except Refusal:
            continue
        created += 1
    return created


def _demo_requests() -> Iterator[TaskRequest]:
    yield TaskRequest("demo-tick", "every 5s", _event("tick"))
    yield TaskRequest("demo-weekday", "every weekday at 9am", _event("good morning"))
    yield TaskRequest("demo-演示", "每周一早上9点 北京时间", _event("新的一周"))
    retry_options = Options(retry=RetryPolicy(backoff=timedelta(seconds=2)))
    yield TaskRequest("demo-flaky", "every 20s", Target("function", function_spec(FLAKY)), options=retry_options)
    yield TaskRequest("demo-date", "every 1m", Target("command", json.dumps({"argv": ["date"]})))


def _event(say: str) -> Target:
    spec: dict[str, Any] = {"say": say}
    return Target("event", json.dumps(spec, ensure_ascii=False))
