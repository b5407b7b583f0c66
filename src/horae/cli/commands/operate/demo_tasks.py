"""Function of the flaky demo task (`horae up --demo`), which every node of `horae up` has."""

from __future__ import annotations

from ....app import Horae
from ....service.tasks.demo_tasks import FLAKY
from ....targets.function.context import Context


def flaky(ctx: Context) -> str:
    """Fail at the first attempt and succeed at the next."""
    if ctx.attempt == 1:
        raise ConnectionError("the demo fails on purpose at its first attempt")
    return f"it worked at attempt {ctx.attempt}"


def register_demo_function(app: Horae) -> None:
    """Register the function of the flaky demo task; also without `--demo`, as the task may exist from an earlier start."""
    app.task(name=FLAKY)(flaky)
