"""A handful of tasks to look at: the first fires within seconds, one fails and is tried again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

from ....app import Horae
from ....errors import Refusal
from ....model.policy import Retry
from ....model.task import Target
from ....service.tasks.task_request import Options, TaskRequest
from ....targets.function.context import Context
from ....targets.function.registry import function_spec

LABEL: Final = ("demo", "yes")
FLAKY: Final = "horae.demo.flaky"
_KEY: Final = "demo:"


def flaky(ctx: Context) -> str:
    """Fails at first, as things do, and succeeds when it is tried again."""
    if ctx.attempt == 1:
        raise ConnectionError("the demo fails on purpose at its first attempt")
    return f"it worked at attempt {ctx.attempt}"


def know_demo(app: Horae) -> None:
    """Also without `--demo`: the tasks may be there from an earlier time."""
    app.task(name=FLAKY)(flaky)


async def put_demo(app: Horae) -> int:
    """Made or edited, by key; how many there are. What this deployment does not allow is left out."""
    put = 0
    for wish in _wishes():
        try:
            await app.service.tasks.declare(app.who, wish._replace(labels=dict([LABEL]), key=_KEY + wish.name))
        except Refusal:
            continue
        put += 1
    return put


def _wishes() -> Iterator[TaskRequest]:
    yield TaskRequest("demo-tick", "every 5s", _event("tick"))
    yield TaskRequest("demo-weekday", "every weekday at 9am", _event("good morning"))
    yield TaskRequest("demo-演示", "每周一早上9点 北京时间", _event("新的一周"))
    again = Options(retry=Retry(backoff=timedelta(seconds=2)))
    yield TaskRequest("demo-flaky", "every 20s", Target("function", function_spec(FLAKY)), options=again)
    yield TaskRequest("demo-date", "every 1m", Target("command", json.dumps({"argv": ["date"]})))


def _event(say: str) -> Target:
    spec: dict[str, Any] = {"say": say}
    return Target("event", json.dumps(spec, ensure_ascii=False))
