"""In-process counters, histograms and gauges: an update is one addition without lock or library.

Each series is written by one thread, and readers copy it, so no further synchronisation is needed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Final

from .metric_definitions import METRICS, Labels, Metric, Process

NO_LABELS: Final[Labels] = ()


class Counter:
    __slots__ = ("metric", "values")

    def __init__(self, metric: Metric, initial_labels: tuple[Labels, ...] = ()) -> None:
        self.metric = metric
        self.values: dict[Labels, float] = dict.fromkeys(initial_labels, 0.0)

    def add(self, labels: Labels = NO_LABELS, by: float = 1) -> None:
        self.values[labels] = self.values.get(labels, 0.0) + by


class HistogramSeries:
    """One series of a histogram: the count per bucket, the last one above all edges, and the sum."""

    __slots__ = ("counts", "sum")

    def __init__(self, size: int) -> None:
        self.counts = [0] * size
        self.sum = 0.0


class Histogram:
    __slots__ = ("metric", "rows")

    def __init__(self, metric: Metric, initial_labels: tuple[Labels, ...] = ()) -> None:
        self.metric = metric
        self.rows: dict[Labels, HistogramSeries] = {}
        for labels in initial_labels:
            self.row(labels)

    def row(self, labels: Labels) -> HistogramSeries:
        row = self.rows.get(labels)
        if row is None:
            row = self.rows[labels] = HistogramSeries(len(self.metric.edges) + 1)
        return row

    def add(self, seconds: float, labels: Labels = NO_LABELS) -> None:
        if seconds < 0:
            # Negative only when a clock was set back.
            seconds = 0.0
        row = self.rows.get(labels) or self.row(labels)
        row.counts[bisect_left(self.metric.edges, seconds)] += 1
        row.sum += seconds


class Gauge:
    """Values that are read by callback at each scrape."""

    __slots__ = ("metric", "values")

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.values: dict[Labels, Callable[[], float]] = {}

    def set_callback(self, read: Callable[[], float], labels: Labels = NO_LABELS) -> None:
        self.values[labels] = read


class MetricSet:
    """All metrics of one process; deployment-wide ones are read from the store instead."""

    def __init__(self, process: Process = "both") -> None:
        own = [metric for metric in METRICS if not metric.is_deployment_wide]
        begins = {
            each.name: each.initial_labels if {process, each.process} != {"api", "engine"} else () for each in own
        }
        self._counters = {each.name: Counter(each, begins[each.name]) for each in own if each.kind == "counter"}
        self._histograms = {each.name: Histogram(each, begins[each.name]) for each in own if each.kind == "histogram"}
        self._gauges = {each.name: Gauge(each) for each in own if each.kind == "gauge"}

    def counter(self, metric: Metric) -> Counter:
        return self._counters[metric.name]

    def histogram(self, metric: Metric) -> Histogram:
        return self._histograms[metric.name]

    def gauge(self, metric: Metric) -> Gauge:
        return self._gauges[metric.name]

    def __iter__(self) -> Iterator[Counter | Histogram | Gauge]:
        yield from self._counters.values()
        yield from self._histograms.values()
        yield from self._gauges.values()
