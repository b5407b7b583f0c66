"""Stations: calls per second through a real socket to a worker process and back, and the round trip at a fixed rate.

    python -m bench.stations [--seconds 5] [--rate 500]

`dispatch` measures node → worker → outcome without a store. `settled` measures plans of a real engine on SQLite that are due at one
instant, from there to the settlement of the last one: claims, dispatch, answers and settlements, without the adding of plans.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from time import process_time

from bench.counts import Counts
from bench.engine.horae_side import recorded
from bench.results import Bar, Section, counted
from horae import Horae
from horae.clock import SystemClock
from horae.engine.settings import EngineSettings
from horae.model.accounts.principal import LOCAL
from horae.model.plans.codes import FrameType
from horae.service.accounts.audit import Audit
from horae.service.stations.stations import Stations
from horae.stations.calls import CallRequest
from horae.stations.frames import Frame
from horae.stations.keys import load_or_make_keys
from horae.stations.server import StationServer
from horae.stations.settings import StationSettings
from horae.stores.memory import MemoryStore

CLOCK = SystemClock()
SLOTS = 256
RATE = 500
ADD_SECONDS = 1.0
ADD_SECONDS_EACH = 0.001
"""Time to add the plans, and to add each, before they are due."""
LOOK_SECONDS = 0.005
SETTLED_BAR = Bar("at least", 5_000)
ROUND_TRIP_BAR = Bar("at most", 10)
WORKER = """
import asyncio, sys
from horae.stations import Station
name, address, server_key, key_file, slots = sys.argv[1:]
station = Station(name, servers=address, server_key=server_key, key_file=key_file, worker="one", slots=int(slots))
@station.api("work")
async def work(number: int = 0) -> int:
    return number
asyncio.run(station.run(on_joined=lambda: print("joined", flush=True)))
"""


async def start_worker(folder: Path, address: str, server_key: str) -> asyncio.subprocess.Process:
    key_file = str(folder / "bench.key")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", WORKER, "bench", address, server_key, key_file, str(SLOTS), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    await process.stdout.readline()
    return process


def quantile(values: list[float], part: float) -> float:
    return sorted(values)[min(len(values) - 1, int(part * len(values)))]


async def measure_dispatch(folder: Path, seconds: float, rate: int) -> dict[str, float]:
    store = MemoryStore()
    stations = Stations(store, Audit(store, CLOCK), CLOCK)
    await stations.allow(LOCAL, "bench", load_or_make_keys(folder / "bench.key").public)
    settings = StationSettings(True, "tcp://127.0.0.1:*", "tcp://127.0.0.1:*", str(folder / "node"))  # noqa: FBT003
    server = StationServer(settings, CLOCK, store, node="bench")
    server.start()
    assert server.keys is not None
    process = await start_worker(folder, server.address, server.keys.public)
    payload = (Frame(FrameType.CONTENT_JSON, b'{"number":1}'),)
    number = 0

    async def call() -> float:
        nonlocal number
        number += 1
        request = CallRequest("local", "bench", number, f"occ_{number}", "work", payload, b"{}")
        began = CLOCK.steady()
        answer = await server.hub.call(request, lambda: None)
        assert answer.status == 1, answer
        return CLOCK.steady() - began

    async def repeat(until: float) -> int:
        done = 0
        while CLOCK.steady() < until:
            await call()
            done += 1
        return done

    try:
        await call()
        began = CLOCK.steady()
        counts = await asyncio.gather(*(repeat(began + seconds) for _ in range(SLOTS // 2)))
        per_second = sum(counts) / (CLOCK.steady() - began)
        tasks = []
        began = CLOCK.steady()
        for place in range(int(rate * seconds)):
            await CLOCK.pause(max(0.0, began + place / rate - CLOCK.steady()))
            tasks.append(asyncio.ensure_future(call()))
        trips = list(await asyncio.gather(*tasks))
    finally:
        process.kill()
        await process.wait()
        await server.stop()
    return {
        "calls_per_second": round(per_second),
        "p50_ms": round(quantile(trips, 0.5) * 1000, 2),
        "p99_ms": round(quantile(trips, 0.99) * 1000, 2),
    }


async def measure_settled(folder: Path, number: int) -> dict[str, float]:
    """Add plans that are due at one instant, and measure from there until the last one is settled."""
    listen = "tcp://127.0.0.1:46749"
    settings = {
        "enabled": True,
        "listen": listen,
        "publish": "tcp://127.0.0.1:46759",
        "directory": str(folder / "engine"),
    }
    engine = EngineSettings(capacity=SLOTS * 2)
    app = Horae(f"sqlite:///{folder}/bench.db", targets={"station": settings}, settings=engine)
    async with app:
        await app.service.stations.allow(app.who, "bench", load_or_make_keys(folder / "bench.key").public)
        key = load_or_make_keys(folder / "engine" / "server.key").public
        process = await start_worker(folder, listen, key)
        try:
            due = CLOCK.now() + timedelta(seconds=ADD_SECONDS + number * ADD_SECONDS_EACH)
            target = {"kind": "station", "station": "bench", "command": "work"}
            items = [(target, due, {"number": place}) for place in range(number)]
            await app.schedule_many(items)  # type: ignore[arg-type]  # a target in wire format works too
            left = (due - CLOCK.now()).total_seconds()
            assert left > 0, "the plans were due before all were added"
            await CLOCK.pause(left)
            busy = process_time()
            await wait_until_settled(app)
            elapsed, busy = (CLOCK.now() - due).total_seconds(), process_time() - busy
        finally:
            process.kill()
            await process.wait()
    succeeded = await recorded(folder / "bench.db")
    assert succeeded == number, f"{succeeded} of {number} succeeded"
    return {
        "plans": number,
        "settled_per_second": round(number / elapsed),
        "node_microseconds": round(busy / number * 1e6),
    }


async def wait_until_settled(app: Horae) -> None:
    engine = app.engine
    assert engine is not None
    while await app.store.next_due() is not None or not engine.runner.is_idle or engine.settler.pending:
        await CLOCK.pause(LOOK_SECONDS)


def stations(counts: Counts) -> Iterator[Section]:
    """`python -m bench --only stations`."""
    sizes = counts.postgres
    with tempfile.TemporaryDirectory() as folder:
        dispatch = asyncio.run(measure_dispatch(Path(folder), sizes.block_seconds, RATE))
        settled = asyncio.run(measure_settled(Path(folder), max(sizes.due // 10, 1)))
    rows = (
        counted("node, worker and back", dispatch["calls_per_second"], "/s"),
        counted("plans settled, on SQLite", settled["settled_per_second"], "/s", SETTLED_BAR),
        counted("processor time of the node for each", settled["node_microseconds"], "µs"),
        counted(f"round trip at {RATE}/s, p50", dispatch["p50_ms"], "ms"),
        counted(f"round trip at {RATE}/s, p99", dispatch["p99_ms"], "ms", ROUND_TRIP_BAR),
    )
    notes = (f"{settled['plans']:,} plans that are due at once, one worker process with {SLOTS} slots, CURVE.",)
    yield Section("Stations: through a real socket", rows, notes)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rate", type=int, default=RATE)
    parser.add_argument("--plans", type=int, default=5_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        dispatch = await measure_dispatch(Path(folder), given.seconds, given.rate)
        settled = await measure_settled(Path(folder), given.plans)
    print(json.dumps({"dispatch": dispatch, "settled": settled}, indent=2))


if __name__ == "__main__":
    asyncio.run(main())
