"""One task at a time in a fresh process: added, claimed when due alone, settled; and the first retention pass."""

from __future__ import annotations

import random
from collections.abc import Awaitable
from datetime import timedelta
from functools import partial
from time import perf_counter
from typing import Any, Final, TypeVar

from bench.engine import work
from bench.engine.claims import NODE, join
from bench.engine.steady_rate import timed_block
from bench.postgres.loop import run
from horae import Horae
from horae.engine.settings import EngineSettings
from horae.lifecycle.fire import fire
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.outcome import Settlement, Succeeded
from horae.ports.store import DEFAULT_TERMS

T = TypeVar("T")
Seconds = dict[str, list[float]]

ADD, CLAIM, SETTLE = "adding one task", "claim of the one that is due", "settling it"
LOOK, FIRST_LOOK = "the janitor, nothing to do", "the janitor's first pass"
_AT_ONCE: Final = 500


def alone(url: str, times: int) -> Seconds:
    """What is due is what was filled in, each at its own instant: the calls take the time as an argument."""
    return run(_alone(url, times))


def looks(url: str, times: int) -> Seconds:
    return run(_looks(url, times))


def punctual(url: str, rate: float, seconds: float, lead: float) -> list[float]:
    """Lateness of timed tasks among all others, with a default engine."""
    return run(_punctual(url, rate, seconds, lead))


async def timed(seconds: list[float], call: Awaitable[T]) -> T:
    started = perf_counter()
    answer = await call
    seconds.append(perf_counter() - started)
    return answer


async def _alone(url: str, times: int) -> Seconds:
    seen: Seconds = {ADD: [], CLAIM: [], SETTLE: []}
    chance = random.Random(1)
    async with Horae(url, engine=False) as app:
        task = app.task(work.async_noop)
        await join(app)
        for _ in range(times + 1):
            later = work.now() + timedelta(hours=2 + 20 * chance.random())
            await timed(seen[ADD], app.schedule(task, later))
            await _carried(app, seen)
        await app.store.leave(NODE)
    # The first of each has made the connection and prepared its statements.
    return {name: seconds[1:] for name, seconds in seen.items()}


async def _carried(app: Horae, seen: Seconds) -> None:
    now = await app.store.next_due()
    assert now is not None
    decide = partial(fire, claim=ClaimContext(NODE, now, DEFAULT_TERMS.poll_ceiling))
    claim = await timed(seen[CLAIM], app.store.claim_due(now, NODE, 1, decide))
    ((_, begun),) = claim.runs
    report = Settlement(begun.id, begun.token, Succeeded(), now, now)
    assert not await timed(seen[SETTLE], app.store.settle([report], settle))


async def _looks(url: str, times: int) -> Seconds:
    kept = EngineSettings()
    seen: Seconds = {FIRST_LOOK: [], LOOK: []}
    async with Horae(url, engine=False) as app:
        before = work.now() - kept.keep_for
        look: Any = partial(app.store.trim, before, kept.keep_runs, _AT_ONCE)
        started, found = perf_counter(), await look()
        while found.more:
            found = await look(found.after)
        seen[FIRST_LOOK].append(perf_counter() - started)
        for _ in range(times):
            found = await timed(seen[LOOK], look(found.after))
    return seen


async def _punctual(url: str, rate: float, seconds: float, lead: float) -> list[float]:
    async with Horae(url) as app:
        return await timed_block(app, rate, seconds, lead)
