"""Lane with a rate: kept rate with many waiting, and processor time per start against plain claims.

`python -m bench.rate_lane [URL PLAIN_URL] [--waiting 10000] [--seconds 30]`; without URLs on SQLite files. On a server, the
time is that of the client.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time
from typing import Final, NamedTuple

from horae import Context, Horae
from horae.clock import SystemClock
from horae.lifecycle.fire import fire
from horae.lifecycle.plan import Draft, plan
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.ids import ENTROPY_BYTES, make_id
from horae.model.lanes.rate import Rate
from horae.model.outcome import Settlement, Succeeded
from horae.model.policy import Policies
from horae.model.run import Run
from horae.model.task import Target
from horae.ports.full_store import FullStore
from horae.ports.store import DEFAULT_TERMS, Node
from horae.runtime.stores import make_store
from horae.schedule import Once

LANE: Final = "api"
RATE: Final = Rate(100, timedelta(seconds=1))
WAITING: Final = 10_000
SECONDS: Final = 30
ROOM: Final = 10_000
"""Runs that a claim may return: more than ever start at once."""
NODE: Final = "nod_bench"


# --- processor time of claims -----------------------------------------------------------------------------------------


class ClaimCost(NamedTuple):
    """Processor seconds of the claims that start `RATE.starts` runs each, and of the first one, which parks the others."""

    first: float
    claims: list[float]

    @property
    def microseconds_per_start(self) -> float:
        return 1_000_000 * median(self.claims) / RATE.starts


async def measure_claims(url: str, plain_url: str, begin: datetime, waiting: int) -> tuple[ClaimCost, ClaimCost]:
    """Claim in turns from a lane with a rate, and plain tasks of which as many are due at once."""
    paced, plain = make_store(url), make_store(plain_url)
    for store in (paced, plain):
        await store.open()
        await store.join(Node(NODE, "bench", "0", begin, begin))
    try:
        await paced.set_lane(LANE, None, rate=RATE)
        await _add_tasks(paced, begin, waiting, lane=LANE)
        await _add_tasks(plain, begin, waiting, lane=None)
        costs: tuple[list[float], list[float]] = ([], [])
        for number in range(waiting // RATE.starts):
            for store, seconds in zip((paced, plain), costs, strict=True):
                seconds.append(await _claim_all(store, begin + number * RATE.period))
        return ClaimCost(costs[0][0], costs[0][1:]), ClaimCost(costs[1][0], costs[1][1:])
    finally:
        for store in (paced, plain):
            await store.close()


async def _add_tasks(store: FullStore, begin: datetime, waiting: int, lane: str | None) -> None:
    """Add tasks: all due at once in the lane, else as many in each period as the rate allows."""
    changes = []
    for number in range(waiting):
        due = begin if lane is not None else begin + number // RATE.starts * RATE.period
        task_id = make_id("tsk", begin, number.to_bytes(ENTROPY_BYTES))
        target = Target("function", '{"name":"bench"}')
        draft = Draft("ada", f"task {number}", Once(at=due), target, "{}", Policies(), lane=lane)
        changes.append(plan(draft, task_id, begin - RATE.period))
    for first in range(0, waiting, 1_000):
        await store.add(changes[first : first + 1_000])


async def _claim_all(store: FullStore, now: datetime) -> float:
    """Return the processor seconds of the claims at this instant, which must start as many runs as the rate allows."""
    decide = partial(fire, claim=ClaimContext(NODE, now, DEFAULT_TERMS.poll_ceiling))
    runs, has_more, begun = list[Run](), True, process_time()
    while has_more:
        claim = await store.claim_due(now, NODE, ROOM, decide)
        runs += [each.run for each in claim.runs]
        has_more = claim.more
    seconds = process_time() - begun
    assert len(runs) == RATE.starts, len(runs)
    ends = [Settlement(run.id, run.token, Succeeded(), run.started, now) for run in runs]
    assert not await store.settle(ends, settle)
    return seconds


# --- kept rate --------------------------------------------------------------------------------------------------------


async def measure_rate(url: str, waiting: int, seconds: float) -> tuple[float, int]:
    """Return the starts per period that an engine keeps while so many tasks wait, and the most within any period."""
    instants: list[datetime] = []
    app = Horae(url)

    async def note(ctx: Context) -> None:
        instants.append(ctx.due + ctx.lateness)

    app.task(name="note", lane=LANE)(note)
    async with app:
        await app.lane(LANE, rate=RATE)
        at = SystemClock().now() + timedelta(seconds=waiting / 500)
        await app.schedule_many([("note", at, None)] * waiting)
        await SystemClock().pause((at - SystemClock().now()).total_seconds() + seconds)
        while len(set(instants)) < 2:  # on a busy machine, with few seconds
            await SystemClock().pause(0.1)
    return kept_rate(instants), most_in_window(instants)


def kept_rate(instants: list[datetime]) -> float:
    """Return the starts per period, from the first instant to the last one."""
    ordered = sorted(instants)
    number = sum(each < ordered[-1] for each in ordered)
    return number / ((ordered[-1] - ordered[0]) / RATE.period)


def most_in_window(instants: list[datetime]) -> int:
    ordered, first, most = sorted(instants), 0, 0
    for place, at in enumerate(ordered):
        while ordered[first] <= at - RATE.period:
            first += 1
        most = max(most, place - first + 1)
    return most


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.rate_lane", description=__doc__)
    parser.add_argument("urls", nargs="*", metavar="URL", help="two empty stores: of the lane, and of the plain claims")
    parser.add_argument("--waiting", type=int, default=WAITING, help="a multiple of the starts of the rate")
    parser.add_argument("--seconds", type=int, default=SECONDS)
    chosen = parser.parse_args(arguments)
    if len(chosen.urls) not in (0, 2) or chosen.waiting < 2 * RATE.starts or chosen.waiting % RATE.starts:
        parser.error(f"give no URL or two, and --waiting as a multiple of {RATE.starts}, at least {2 * RATE.starts}")
    waiting, begin = chosen.waiting, datetime.fromisoformat("2026-11-18T00:00:00+00:00")
    with TemporaryDirectory() as folder:
        files = [f"sqlite:///{Path(folder, name)}.db" for name in ("paced", "plain", "engine")]
        url, plain_url = chosen.urls or files[:2]
        paced, plain = asyncio.run(measure_claims(url, plain_url, begin, waiting))
        share = paced.microseconds_per_start / plain.microseconds_per_start
        parking = 1_000_000 * (paced.first - plain.first) / (waiting - RATE.starts)
        print(
            f"processor time per start: {paced.microseconds_per_start:.1f} µs in a lane of {RATE}, "
            f"{plain.microseconds_per_start:.1f} µs plain: {share:.2f} ×; and {parking:.1f} µs to park an entry once"
        )
        kept, most = asyncio.run(measure_rate(files[2], waiting, chosen.seconds))
        print(
            f"kept rate with {waiting:,} waiting, over {chosen.seconds} s: {kept:.2f} of {RATE} "
            f"({100 * kept / RATE.starts - 100:+.2f} %), at most {most} within any period"
        )


if __name__ == "__main__":
    main()
