"""Whether what comes due can start: the store answers and takes writes, a node lives, its clock is right, nothing waits for long."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple, Protocol

from ..clock import Clock
from ..errors import HoraeError, StoreUnavailable
from ..ports.clock_steps import ClockStep, clock_steps
from ..ports.lease_terms import agreed_lease
from ..ports.records import Records
from ..ports.store import Agenda, Book, Node
from ..wire.instants import milliseconds, utc
from .write_probe import Writes

PATIENCE: Final = 2.0
"""Seconds: a store that takes longer to say anything at all cannot be worked with."""
TOLERANCE: Final = timedelta(seconds=60)
GRACE: Final = timedelta(seconds=60)


class Asked(Agenda, Book, Records, Protocol):
    """What is asked of the store."""


class Readiness(NamedTuple):
    """Each part by itself: where the store does not answer, nothing is known of the others, and none of them is right."""

    store: bool = False
    writes: bool = False
    """It has taken one lately."""
    engine: bool = False
    """Some node lives that claims what is due."""
    clock: bool = False
    """No live node's clock is further from the store's than it may be."""
    on_time: bool = False
    """What is first in line has not been due for longer than the grace."""

    def is_ready(self, *, engine: bool) -> bool:
        """`engine`: whether somebody is expected to run what is due; otherwise a store that works is enough."""
        return self.store and self.writes and (not engine or (self.engine and self.clock and self.on_time))


class Condition(NamedTuple):
    """`problem` is why the store does not answer, or takes no writes. `clock_steps` of the last day make nothing unready:
    the engine has dealt with them."""

    parts: Readiness
    problem: HoraeError | None = None
    clock_steps: tuple[ClockStep, ...] = ()

    def steps_json(self) -> list[dict[str, Any]]:
        """Without names of hosts, for anybody may ask."""
        return [{"at": utc(step.at), "by_ms": milliseconds(step.by)} for step in self.clock_steps]


async def condition(
    store: Asked, clock: Clock, writes: Writes, *, tolerance: timedelta = TOLERANCE, grace: timedelta = GRACE
) -> Condition:
    try:
        async with asyncio.timeout(PATIENCE):
            lease = await agreed_lease(store)
            nodes = await store.nodes()
            head = await store.next_due()
            steps = await clock_steps(store, clock.now())
    except HoraeError as error:
        return Condition(Readiness(), error)
    except (TimeoutError, OSError):
        return Condition(Readiness(), StoreUnavailable(f"It said nothing for {PATIENCE:.0f} s."))
    problem = await writes.problem(store, PATIENCE)
    now = clock.now()
    live = [node for node in nodes if lives(node, now, lease)]
    parts = Readiness(
        store=True,
        writes=problem is None,
        engine=any(not node.draining for node in live),
        clock=all(abs(node.offset) <= tolerance for node in live),
        on_time=head is None or now - head <= grace,
    )
    return Condition(parts, problem, steps)


def lives(node: Node, now: datetime, lease: timedelta) -> bool:
    return now - node.renewed <= lease
