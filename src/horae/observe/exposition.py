"""Renders metrics in the Prometheus text format: those of this process, of the engine process, and of the deployment."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from .counters import Counter, Gauge, Histogram, MetricSet
from .deployment import Reading
from .metric_definitions import PROCESS, Metric
from .refusals import refuse

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def check_library() -> None:
    if find_spec("prometheus_client") is None:
        raise refuse("metrics_not_installed")


def render_metrics(figures: MetricSet, process: str, readings: Iterable[Reading] = (), engine_text: str = "") -> str:
    """Render all metrics. `process` is this process's label; `engine_text` is the text that another process rendered."""
    check_library()
    from prometheus_client.exposition import generate_latest  # noqa: PLC0415 - an extra

    families: dict[str, Family] = {}
    for family in (*_process_families(figures, process), *_parse(engine_text), *_deployment_families(readings)):
        merged = families.setdefault(family.name, family)
        if merged is not family:
            merged.samples.extend(family.samples)
    return generate_latest(_Collector(tuple(families.values()))).decode()


class _Collector:
    """Passes ready families to prometheus_client."""

    def __init__(self, families: tuple[Family, ...]) -> None:
        self._families = families

    def collect(self) -> tuple[Family, ...]:
        return self._families


def _process_families(figures: MetricSet, process: str) -> Iterator[Family]:
    from prometheus_client.process_collector import ProcessCollector  # noqa: PLC0415 - an extra

    for each in figures:
        yield _family(each, process)
    for family in ProcessCollector(registry=None).collect():
        family.samples = [each._replace(labels={**each.labels, PROCESS: process}) for each in family.samples]
        yield family


def _parse(text: str) -> Iterable[Family]:
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415 - an extra

    return text_string_to_metric_families(text)


def _deployment_families(readings: Iterable[Reading]) -> Iterable[Family]:
    families: dict[str, Family] = {}
    for metric, value, labels in readings:
        family = families.setdefault(metric.name, _make_family(metric))
        family.add_sample(metric.name, dict(zip(metric.labels, labels, strict=True)), value)
    return families.values()


def _family(each: Counter | Histogram | Gauge, process: str) -> Family:
    family = _make_family(each.metric)
    name = each.metric.name
    if isinstance(each, Histogram):
        for labels, row in each.rows.copy().items():
            _add_buckets(family, each, _label_values(each.metric, labels, process), row.counts.copy(), row.sum)
    elif isinstance(each, Counter):
        for labels, number in each.values.copy().items():
            family.add_sample(name, _label_values(each.metric, labels, process), number)
    else:
        for labels, read in each.values.copy().items():
            family.add_sample(name, _label_values(each.metric, labels, process), read())
    return family


def _make_family(metric: Metric) -> Family:
    from prometheus_client.core import Metric as MetricFamily  # noqa: PLC0415 - an extra

    return MetricFamily(metric.name.removesuffix("_total"), metric.help, metric.kind)


def _label_values(metric: Metric, labels: tuple[str, ...], process: str) -> dict[str, str]:
    return {**dict(zip(metric.labels, labels, strict=True)), PROCESS: process}


def _add_buckets(family: Family, each: Histogram, labels: dict[str, str], counts: list[int], total: float) -> None:
    name, edges = each.metric.name, [*map(_format_edge, each.metric.edges), "+Inf"]
    cumulative = list(accumulate(counts))
    for edge, number in zip(edges, cumulative, strict=True):
        family.add_sample(f"{name}_bucket", {**labels, "le": edge}, number)
    family.add_sample(f"{name}_count", labels, cumulative[-1])
    family.add_sample(f"{name}_sum", labels, total)


def _format_edge(seconds: float) -> str:
    return repr(float(seconds))
