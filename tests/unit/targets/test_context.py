"""The context of a run inside a function."""

from __future__ import annotations

import math
from datetime import timedelta

import pytest

from horae.model.lanes.idle import YieldKind, YieldReason
from horae.model.limits import LOG_LINE_CHARACTERS
from horae.model.run import Span
from horae.targets.function.context import Context, run_facts_of
from tests.unit.targets.invocations import NOON, Recorded, a_run, a_task


def seen(invocation: Recorded) -> Context:
    return Context(run_facts_of(invocation), invocation)


def test_the_facts_of_an_ordinary_run() -> None:
    ctx = seen(Recorded(a_task("it", '{"a": 1}')))
    assert (ctx.task_id, ctx.run_id, ctx.name, ctx.owner, ctx.key) == ("tsk_1", "run_1", "nightly", "local", "occ_1")
    # It is a second attempt: its occurrence was due before it was.
    assert (ctx.planned, ctx.due, ctx.lateness) == (NOON, NOON, timedelta(seconds=3))
    assert (ctx.first, ctx.last, ctx.count, ctx.attempt) == (NOON, NOON, 1, 2)
    assert ctx.payload == {"a": 1}
    assert ctx.payload is not ctx.payload
    assert ctx.trace.startswith("00-")


def test_context_of_a_merged_run_has_its_span() -> None:
    first = NOON - timedelta(days=3)
    ctx = seen(Recorded(a_task("it"), a_run(span=Span(first, NOON, 4))))
    assert (ctx.first, ctx.last, ctx.count) == (first, NOON, 4)


def test_context_reflects_progress() -> None:
    invocation = Recorded(a_task("it"))
    ctx = seen(invocation)
    before = ctx.deadline
    ctx.heartbeat()
    assert ctx.deadline > before
    assert (ctx.cancelled, ctx.yield_requested) == (False, False)
    invocation.cancelled = invocation.yield_requested = True
    assert (ctx.cancelled, ctx.yield_requested) == (True, True)
    assert ctx.yield_reason is None
    invocation.yield_reason = YieldReason(YieldKind.HIGHER_PRIORITY, "press")
    assert str(ctx.yield_reason) == "higher_priority: press"
    ctx.idle()
    ctx.idle(idle=False)
    assert invocation.idle_states == [True, False]


def test_context_log_has_the_interface_of_logging() -> None:
    invocation = Recorded(a_task("it"))
    log = seen(invocation).log
    log.debug("%d%%", 50)
    log.info("100%")
    log.warning("%d", "not a number")
    log.error(ValueError("as it is"))
    assert invocation.lines == [
        ("debug", "50%"),
        ("info", "100%"),
        ("warning", "%d ('not a number',)"),
        ("error", "as it is"),
    ]


def test_log_lines_are_bounded_and_storable() -> None:
    invocation = Recorded(a_task("it"))
    seen(invocation).log.info("\ud800\0" + "x" * 10_000)
    (text,) = invocation.texts("info")
    assert len(text) == LOG_LINE_CHARACTERS
    assert text.startswith("?\N{REPLACEMENT CHARACTER}x")


@pytest.mark.parametrize(("done", "clamped"), [(0.5, "0.5"), (-1, "0.0"), (7, "1.0"), (1, "1.0"), (math.nan, "0.0")])
def test_progress_is_clamped_between_zero_and_one(done: float, clamped: str) -> None:
    invocation = Recorded(a_task("it"))
    seen(invocation).progress(done, "rows")
    assert invocation.texts("progress") == [f"{clamped} rows"]
