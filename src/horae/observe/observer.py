"""Observer of one process: owns its metrics and tracing, wraps stores and targets, renders the metrics."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from typing import Final

from ..clock import Clock
from ..model.ids import trace_id
from ..model.outcome import Outcome
from ..ports.full_store import FullStore
from ..ports.store import DEFAULT_TERMS, Terms
from ..ports.target import Invocation, Target
from ..version import __version__
from . import metric_definitions
from .counters import MetricSet
from .exposition import Reading, read_deployment, render_metrics
from .health import WriteProbe
from .logs import bind_ids
from .metric_definitions import Process
from .store import observe_store
from .traces import Tracing, end_run

ALWAYS_ONE: Final = 1.0


class Observer:
    def __init__(self, process: Process, clock: Clock, tracing: Tracing | None = None, number: int = 0) -> None:
        """`number` tells engine processes of one supervisor apart: `engine`, `engine-2`, `engine-3`."""
        self.process = f"{process}-{number + 1}" if number else process
        self.metrics = MetricSet(process)
        self.tracing = tracing
        self._clock = clock
        errors = self.metrics.counter(metric_definitions.STORE_ERRORS)
        self.write_probe = WriteProbe(clock, lambda: sum(errors.values.copy().values()))
        self.metrics.gauge(metric_definitions.BUILD_INFO).set_callback(
            lambda: ALWAYS_ONE, (__version__, platform.python_version())
        )

    def store(self, store: FullStore, terms: Terms = DEFAULT_TERMS) -> FullStore:
        return observe_store(store, self.metrics, self._clock, terms)

    def target(self, target: Target) -> Target:
        count_refusals = getattr(target, "count_refusals", None)
        if count_refusals is not None:
            refusals = self.metrics.counter(metric_definitions.STATION_REFUSALS)
            count_refusals(lambda cause: refusals.add((cause,)))
        return ObservedTarget(target, self.tracing)

    def count_webhook_attempt(self, is_delivered: bool) -> None:  # noqa: FBT001 - a signal with one word
        self.metrics.counter(metric_definitions.WEBHOOK_ATTEMPTS).add(("delivered" if is_delivered else "failed",))

    def render_process(self) -> str:
        """Render the metrics of this process alone."""
        return render_metrics(self.metrics, self.process)

    async def text(self, store: FullStore, engine_texts: Sequence[str] = ()) -> str:
        """Render the metrics of this process, of other engine processes, and of the deployment.

        `engine_texts` are the texts of the other processes; empty: it did not answer.
        """
        readings = await read_deployment(store, self._clock)
        if engine_texts:
            readings = (*readings, Reading(metric_definitions.ENGINE_SCRAPED, float(all(engine_texts))))
        return render_metrics(self.metrics, self.process, readings, engine_texts)


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
