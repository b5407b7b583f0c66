"""Reads the deployment-wide metrics from the store (tasks, queue, nodes, audit) with a few indexed queries."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from ..clock import Clock
from ..errors import HoraeError
from ..model.counts import NO_HOUR, STATE_PREFIX
from ..model.page import MAX_PAGE_SIZE
from ..model.task import TaskState
from ..ports.full_store import FullStore
from ..ports.node_records import load_agreed_lease
from ..ports.store import Node, WaitingCounts
from . import metric_definitions
from .health import STORE_TIMEOUT, is_live
from .metric_definitions import Labels, Metric

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
