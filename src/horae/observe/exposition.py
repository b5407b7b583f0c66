"""Renders metrics in the Prometheus text format: of this process, of the engine process, and of the deployment."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from importlib.util import find_spec
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Final, NamedTuple

from ..clock import Clock
from ..errors import HoraeError
from ..model.counts import NO_HOUR, STATE_PREFIX
from ..model.page import MAX_PAGE_SIZE
from ..model.task import TaskState
from ..ports.full_store import FullStore
from ..ports.node_records import load_agreed_lease
from ..ports.store import Node, WaitingCounts
from . import metric_definitions
from .counters import Counter, Gauge, Histogram, MetricSet
from .health import STORE_TIMEOUT, is_live
from .metric_definitions import PROCESS, Labels, Metric
from .refusals import refuse

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family


_UNSEALED_KIND: Final = "audit.open"


class Reading(NamedTuple):
    metric: Metric
    value: float
    labels: Labels = ()


async def read_deployment(store: FullStore, clock: Clock) -> tuple[Reading, ...]:
    """Return the readings; only `horae_store_up 0` where the store does not answer."""
    try:
        async with asyncio.timeout(STORE_TIMEOUT):
            return await _read(store, clock)
    except (HoraeError, TimeoutError, OSError):
        return (Reading(metric_definitions.STORE_UP, 0),)


async def _read(store: FullStore, clock: Clock) -> tuple[Reading, ...]:
    now = clock.now()
    counts = await store.counts(None, [NO_HOUR])
    waiting = await store.waiting(None, now)
    head = await store.next_due()
    nodes, lease = await store.nodes(), await load_agreed_lease(store)
    unsealed = len((await store.records(_UNSEALED_KIND, limit=MAX_PAGE_SIZE)).items)
    late = 0.0 if head is None else max(0.0, (now - head).total_seconds())
    return (
        Reading(metric_definitions.STORE_UP, 1),
        *(
            Reading(metric_definitions.TASKS, counts.get((NO_HOUR, STATE_PREFIX + state), 0), (state.value,))
            for state in TaskState
        ),
        *_queue_readings(waiting),
        Reading(metric_definitions.HEAD_AGE, late),
        *_node_readings(nodes, now, lease),
        Reading(metric_definitions.AUDIT_UNSEALED, unsealed),
    )


def _queue_readings(waiting: WaitingCounts) -> Iterable[Reading]:
    counts = {"due": waiting.overdue, "parked": waiting.parked, "stranded": waiting.stranded}
    return [Reading(metric_definitions.QUEUE, number, (name,)) for name, number in counts.items()]


def _node_readings(nodes: Iterable[Node], now: datetime, lease: timedelta) -> Iterable[Reading]:
    counts = {"live": 0, "draining": 0, "silent": 0}
    offset = 0.0
    for node in nodes:
        if not is_live(node, now, lease):
            counts["silent"] += 1
            continue
        counts["draining" if node.draining else "live"] += 1
        offset = max(offset, abs(node.offset.total_seconds()))
    yield from (Reading(metric_definitions.NODES, number, (state,)) for state, number in counts.items())
    yield Reading(metric_definitions.CLOCK_OFFSET, offset)


CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


def check_library() -> None:
    if find_spec("prometheus_client") is None:
        raise refuse("metrics_not_installed")


def render_metrics(
    figures: MetricSet, process: str, readings: Iterable[Reading] = (), engine_texts: Iterable[str] = ()
) -> str:
    """Render all metrics. `process` is this process's label; `engine_texts` are the texts that other processes rendered."""
    check_library()
    from prometheus_client.exposition import generate_latest  # noqa: PLC0415 - an extra

    families: dict[str, Family] = {}
    others = chain.from_iterable(map(_parse, engine_texts))
    for family in (*_process_families(figures, process), *others, *_deployment_families(readings)):
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
