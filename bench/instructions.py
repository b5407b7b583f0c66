"""Instructions per task of two checkouts, counted by valgrind: on a busy machine times vary by a tenth, instructions hardly.

    python -m bench.instructions ../before ../after

On SQLite, PostgreSQL and Redis: adding a task through the library, claim and settlement of a run by the store alone, and a run by
an engine, of one-time tasks that are due together (the whole path, without the creation of the task). On a server the
instructions of the client are counted. The difference of two counts leaves out the start of the process. In the store of the
second checkout are what `bench.compare --beside` puts there; `--alone` leaves them out, `--only TEXT` selects rows. The row of the engine needs a quiet
machine: how its batches are divided depends on time.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.compare import Checkout, prepare, quiet_environment
from tests.servers.postgres import PostgresServer
from tests.servers.redis import RedisServer

Stores = Callable[[], AbstractContextManager[str]]

FEW: Final = 500
MANY: Final = 2_500
_COUNTED: Final = re.compile(r"I\s+refs:\s+([\d,]+)")
_ADD: Final = """
import asyncio, sys
from datetime import UTC, datetime
from horae import Horae
async def noop(): pass
async def main():
    async with Horae(sys.argv[1], engine=False) as app:
        task, now = app.task(name="noop")(noop), datetime.now(UTC)
        await app.schedule_many([(task, now, {})] * int(sys.argv[2]))
asyncio.run(main())
"""
_WITHOUT_TIME_LIMIT: Final = """
from importlib import import_module
from contextlib import suppress
# Under valgrind the time limit of a claim would divide it, by chance. The modules of older checkouts have other names.
for name in ("sql.claim", "sql.claims.claim", "redis.claim", "redis.claims.claim", "redis.claims.decision_round"):
    with suppress(ModuleNotFoundError):
        import_module("horae.stores." + name).thread_time = lambda: 0.0
"""
CLAIM: Final = f"""
import asyncio, sys
from datetime import UTC, datetime, timedelta
from functools import partial
from horae.lifecycle.fire import fire
try:
    from horae.lifecycle.batch import ClaimDecision, SettlementDecision
except ImportError:
    # A checkout from before there were batch decisions.
    ClaimDecision, SettlementDecision = (lambda context: partial(fire, claim=context)), (lambda: settle)
from horae.lifecycle.plan import Draft, plan
from horae.lifecycle.settle import settle
from horae.lifecycle.start import ClaimContext
from horae.model.ids import ENTROPY_BYTES, make_id
from horae.model.outcome import Settlement, Succeeded
from horae.model.policy import Policies
from horae.model.task import Target
from horae.ports.store import DEFAULT_TERMS, Node
from horae.runtime.stores import make_store
from horae.schedule import Once
{_WITHOUT_TIME_LIMIT}
SIZE, SECOND, ROUTES = 100, timedelta(seconds=1), frozenset({{"function:f"}})
async def main():
    store, begin = make_store(sys.argv[1]), datetime.now(UTC).replace(microsecond=0)
    await store.open()
    await store.join(Node("nod_bench", "bench", "0", begin, begin))
    target, changes = Target("function", '{{"name":"f"}}'), []
    for number in range({MANY}):
        draft = Draft("ada", "task", Once(at=begin + number // SIZE * SECOND), target, "{{}}", Policies())
        changes.append(plan(draft, make_id("tsk", begin, number.to_bytes(ENTROPY_BYTES)), begin - SECOND))
    await store.add(changes)
    for number in range(int(sys.argv[2]) // SIZE):
        now = begin + number * SECOND
        context = ClaimContext("nod_bench", now, DEFAULT_TERMS.poll_ceiling, ROUTES)
        runs, more = [], True
        while more:
            claim = await store.claim_due(now, "nod_bench", 1_000, ClaimDecision(context))
            runs, more = [*runs, *(each.run for each in claim.runs)], claim.more
        assert len(runs) == SIZE
        # Each run has an end of its own, as with an engine.
        ends = [now + place * timedelta(microseconds=1) for place in range(SIZE)]
        reports = [Settlement(run.id, run.token, Succeeded(), run.started, end) for run, end in zip(runs, ends)]
        await store.settle(reports, SettlementDecision())
    await store.close()
asyncio.run(main())
"""

RUN: Final = f"""
import asyncio, sys
from datetime import UTC, datetime, timedelta
from horae import Horae
{_WITHOUT_TIME_LIMIT}
left, finished = int(sys.argv[2]), None
async def noop():
    global left
    left -= 1
    if not left:
        finished.set()
async def main():
    global finished
    finished, now = asyncio.Event(), datetime.now(UTC)
    async with Horae(sys.argv[1], engine=False) as app:
        task = app.task(noop)
        await app.schedule_many([(task, now, {{}})] * left)
        await app.schedule_many([(task, now + timedelta(days=1), {{}})] * ({MANY} - left))
    app = Horae(sys.argv[1])
    app.task(noop)
    async with app:
        await finished.wait()
asyncio.run(main())
"""
"""The number of tasks that are added is always the same, so the difference is that of the runs."""


def count_per_task(checkout: Checkout, program: str, stores: Stores, *, beside: bool) -> float:
    """Return the instructions for one more task."""
    few, many = (_count(checkout, program, stores, number, beside=beside) for number in (FEW, MANY))
    return (many - few) / (MANY - FEW)


def _count(checkout: Checkout, program: str, stores: Stores, number: int, *, beside: bool) -> int:
    with TemporaryDirectory() as folder, stores() as url:
        checkout.run("-c", _ADD, url, "1", folder=Path(folder))
        if beside:
            prepare(checkout, Path(folder), url)
        return count_instructions(checkout, program, url, str(number), folder=Path(folder))


def count_instructions(checkout: Checkout, program: str, *arguments: str, folder: Path) -> int:
    """Return the instructions of a program in the interpreter of a checkout."""
    valgrind = [
        "valgrind",
        "--tool=cachegrind",
        "--cache-sim=no",
        "--cachegrind-out-file=/dev/null",
        "--fair-sched=yes",
    ]
    done = subprocess.run(
        [*valgrind, checkout.python, "-P", "-c", program, *arguments],
        cwd=folder,
        env={**quiet_environment(), "PYTHONHASHSEED": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    found = _COUNTED.search(done.stderr)
    assert found is not None, done.stderr
    return int(found[1].replace(",", ""))


@contextmanager
def _sqlite_file() -> Iterator[str]:
    with TemporaryDirectory() as folder:
        yield f"sqlite:///{folder}/counted.db"


def _databases(server: PostgresServer | RedisServer) -> Stores:
    @contextmanager
    def new_database() -> Iterator[str]:
        url = server.new_database()
        try:
            yield url
        finally:
            server.drop_database(url)

    return new_database


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.instructions", description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--only", default="", metavar="TEXT", help="rows with this in their title")
    parser.add_argument("--alone", action="store_true", help="nothing else in the store of the second checkout")
    chosen = parser.parse_args()
    before, after = (Checkout(each.resolve()) for each in (chosen.before, chosen.after))
    print("| instructions per task | before | after | after / before |\n|---|--:|--:|--:|")
    with PostgresServer() as postgres, RedisServer() as redis:
        for store, stores in (
            ("SQLite", _sqlite_file),
            ("PostgreSQL, client", _databases(postgres)),
            ("Redis, client", _databases(redis)),
        ):
            for name, program in (("add a task", _ADD), ("claim and settle a run", CLAIM), ("run by an engine", RUN)):
                title = f"{name}, {store}"
                if chosen.only not in title:
                    continue
                old = count_per_task(before, program, stores, beside=False)
                new = count_per_task(after, program, stores, beside=not chosen.alone)
                print(f"| {title} | {old:,.0f} | {new:,.0f} | {new / old:.3f} |", flush=True)


if __name__ == "__main__":
    main()
