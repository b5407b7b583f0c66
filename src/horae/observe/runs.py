"""Target wrapper that binds the run's ids to the log context and opens a trace span around each run."""

from __future__ import annotations

from ..model.events.trace_context import trace_id
from ..model.outcome import Outcome
from ..ports.target import Invocation, Target
from .log_context import bind_ids
from .traces import Tracing, end_run


class ObservedTarget:
    def __init__(self, target: Target, tracing: Tracing | None) -> None:
        self._target = target
        self._tracing = tracing

    async def execute(self, invocation: Invocation) -> Outcome:
        run = invocation.run
        bind_ids(task=run.task_id, run=run.id, trace=trace_id(run))
        if self._tracing is None:
            return await self._target.execute(invocation)
        with self._tracing.run(invocation.task, run) as span:
            outcome = await self._target.execute(invocation)
            end_run(span, outcome)
        return outcome
