"""`python -m bench.api.compare BEFORE AFTER [--pairs N]`: the API of two checkouts, in alternating blocks of requests.

Both deployments run at the same time and answer blocks in turn, so that other load on the machine meets both. The result
is the median of the paired ratios with a 95 % interval: processor time of the API process for each request, all its
threads included, and requests per second. The client is a process in Python, which takes as much of the machine as the
server: requests per second are worth something as a ratio only.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, NamedTuple

from bench.api.deployment import Deployment, deployed, tick
from bench.api.line import connected
from bench.api.load import BULK_SIZE, make_requests, prepare
from bench.compare import Checkout, interval_of_median, process_seconds
from bench.engine.samples import percentile
from horae.clock import SystemClock
from horae.node.event_loop import run_fast

_CLOCK: Final = SystemClock()
_CONNECTIONS: Final = 32
_KNOWN: Final = 500
_BLOCKS: Final = {"create": 600, "get": 1_500, "list": 400, "bulk": 10}
"""Requests of one block."""
_TITLES: Final = {"create": "create", "get": "get", "list": "list of 50", "bulk": f"bulk of {BULK_SIZE}"}
_LATE_SECONDS: Final = 0.5
"""What was due at the end of a block may begin a little later."""


class Block(NamedTuple):
    """Processor time for each request and requests per second; `late` are the latenesses of the engine meanwhile."""

    seconds: float
    rate: float
    late: tuple[float, ...] = ()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.api.compare", description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--ticking", type=int, default=0, help="tasks a second that fire meanwhile, in each deployment")
    parser.add_argument("--kinds", nargs="*", default=list(_BLOCKS), choices=list(_BLOCKS))
    chosen = parser.parse_args(arguments)
    with ExitStack() as stack:
        sides: list[Deployment] = []
        for checkout in (Checkout(chosen.before.resolve()), Checkout(chosen.after.resolve())):
            folder = Path(stack.enter_context(TemporaryDirectory()))
            deployment = stack.enter_context(deployed(folder, python=checkout.python))
            prepare(deployment, deployment.member("ada"), _KNOWN)
            if chosen.ticking:
                tick(deployment, chosen.ticking)
            sides.append(deployment)
        print("| 32 connections | before | after | after / before | 95 % interval |\n|---|--:|--:|--:|--:|")
        for kind in chosen.kinds:
            blocks = list(_measure_pairs(sides, kind, chosen.pairs))
            print("\n".join(_rows(_TITLES[kind], blocks)), flush=True)
    return 0


def _measure_pairs(sides: Sequence[Deployment], kind: str, pairs: int) -> Iterator[tuple[Block, Block]]:
    for number in range(pairs + 1):
        order = (0, 1) if number % 2 == 0 else (1, 0)
        seen: dict[int, Block] = {}
        for side in order:
            seen[side] = _measure_block(sides[side], kind, number)
        if number:
            # The first pair fills caches and compiles statements.
            yield seen[0], seen[1]
        print(f"{kind}: pair {number} of {pairs}", file=sys.stderr, flush=True)


def _measure_block(deployment: Deployment, kind: str, number: int) -> Block:
    requests = list(islice(make_requests(deployment, kind, number), _BLOCKS[kind]))
    process, spent, began = deployment.api_process, process_seconds(deployment.api_process), _CLOCK.now()
    took = run_fast(_send(deployment, requests))
    spent, ended = process_seconds(process) - spent, _CLOCK.now()
    late: tuple[float, ...] = ()
    if (deployment.folder / "starts").exists():
        run_fast(_CLOCK.pause(_LATE_SECONDS))
        late = tuple(deployment.lateness(began, ended))
    return Block(spent / len(requests), len(requests) / took, late)


async def _send(deployment: Deployment, requests: Sequence[bytes]) -> float:
    """Send all requests over the connections and return the seconds until the last answer."""
    lines = [await connected(deployment.base) for _ in range(_CONNECTIONS)]
    left, began = iter(requests), _CLOCK.steady()

    async def ask(place: int) -> None:
        for each in left:
            reply = await lines[place].ask(each)
            if not 200 <= reply.status < 300:
                raise RuntimeError(f"{reply.status} {reply.body[:300]!r}")

    await asyncio.gather(*map(ask, range(_CONNECTIONS)))
    took = _CLOCK.steady() - began
    for line in lines:
        line.close()
    return took


def _rows(title: str, blocks: Sequence[tuple[Block, Block]]) -> Iterator[str]:
    yield _row(f"{title}, processor µs", [(1e6 * old.seconds, 1e6 * new.seconds) for old, new in blocks])
    yield _row(f"{title}, requests/s", [(old.rate, new.rate) for old, new in blocks])
    if blocks[0][0].late:
        sides = ([late for block in pair for late in block.late] for pair in zip(*blocks, strict=True))
        old, new = (1e3 * percentile(side, 0.99) for side in sides)
        yield f"| {title}, lateness p99, ms | {old:.1f} | {new:.1f} | {new / old:.2f} | |"


def _row(title: str, pairs: Sequence[tuple[float, float]]) -> str:
    before, after = zip(*pairs, strict=True)
    ratios = [new / old for old, new in pairs]
    low, high = interval_of_median(ratios)
    medians = f"{statistics.median(before):,.0f} | {statistics.median(after):,.0f} | {statistics.median(ratios):.2f}"
    return f"| {title} | {medians} | {low:.2f} to {high:.2f} |"


if __name__ == "__main__":
    sys.exit(main())
