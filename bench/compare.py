"""Compares two checkouts of Horae in alternating pairs: processor time per task, per request and per command.

    python -m bench.compare ../before ../after --pairs 12

Each checkout runs in its own interpreter (`.venv/bin/python`) and through the public library, the command line and the HTTP
API only, so that any two versions can be compared. The result is the median ratio after/before with a 95 % interval.
The two services of a pair run at the same time and answer blocks of requests in turn: the processor time of one request
changes by a quarter within minutes on a shared machine, and both sides must see the same minutes.

With `--beside`, a lane with a rate, a chain, a task with labels, an owner with a limit and a blocked one are in the store of
the second checkout, and only the runs of tasks that use none of them are measured.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from tests.servers.postgres import PostgresServer

DRAIN: Final = """
import asyncio, json, sys
from datetime import UTC, datetime
from time import process_time
from horae import Horae
url, count = sys.argv[1], int(sys.argv[2])
left, finished = count, None
async def noop():
    global left
    left -= 1
    if not left:
        finished.set()
async def main():
    global finished
    finished = asyncio.Event()
    now = datetime.now(UTC)
    async with Horae(url, engine=False) as app:
        task = app.task(noop)
        started = process_time()
        await app.schedule_many([(task, now, {})] * count)
        added = process_time() - started
    app = Horae(url)
    app.task(noop)
    started = process_time()
    async with app:
        await finished.wait()
    return added, process_time() - started
added, ran = asyncio.run(main())
print(json.dumps({"added": added / count, "ran": ran / count}))
"""
_COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "import horae": ("-c", "import horae"),
    "horae --help": ("-m", "horae", "--help"),
    "horae add --help": ("-m", "horae", "add", "--help"),
    "horae ls": ("-m", "horae", "ls", "--store", "sqlite:///compare.db"),
}
_BESIDE: Final[tuple[tuple[str, ...], ...]] = (
    ("lane", "api", "--rate", "1/1h"),
    ("add", "in 2h", "--say", "x", "--name", "first", "--lane", "api"),
    ("add", "--after", "first", "--say", "x", "--name", "second"),
    ("add", "in 2h", "--say", "x", "--name", "third", "--where", "gpu=a100"),
)
"""Commands that make what other tasks of the same store use."""
_RESTRICT: Final = """
import asyncio, sys
from horae.model.lanes.lane import owner_lane
from horae.model.reason import Reason
from horae.runtime.stores import make_store
async def main():
    store = make_store(sys.argv[1])
    await store.open()
    await store.set_lane(owner_lane("limited"), 1)
    await store.block_owner("blocked", Reason.OWNER_REVOKED)
    await store.close()
asyncio.run(main())
"""
"""Makes an owner with a limit, and a blocked one."""
_BLOCKS: Final = 20
_REQUESTS_PER_BLOCK: Final = 50
_WARM_UP_REQUESTS: Final = 200
_RESAMPLES: Final = 2_000
_START_SECONDS: Final = 60

Sample = dict[str, float]


class Checkout(NamedTuple):
    path: Path

    @property
    def python(self) -> str:
        return str(self.path / ".venv" / "bin" / "python")

    def run(self, *arguments: str, folder: Path) -> str:
        """Run the interpreter of the checkout; returns its standard output."""
        return subprocess.run(
            [self.python, "-P", *arguments],
            cwd=folder,
            env=quiet_environment(),
            capture_output=True,
            text=True,
            check=True,
        ).stdout


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.compare", description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("--pairs", type=int, default=12)
    parser.add_argument("--tasks", type=int, default=3_000)
    parser.add_argument("--beside", action="store_true", help="lanes, chains and labels in the second checkout's store")
    chosen = parser.parse_args(arguments)
    with PostgresServer() as server:
        samples = _measure_pairs(Checkout(chosen.before.resolve()), Checkout(chosen.after.resolve()), chosen, server)
    print(_table(samples))
    return 0


def _measure_pairs(
    before: Checkout, after: Checkout, chosen: argparse.Namespace, server: PostgresServer
) -> list[tuple[Sample, Sample]]:
    pairs = []
    for number in range(chosen.pairs):
        # The order alternates, so that warm caches favour neither side.
        order = (before, after) if number % 2 == 0 else (after, before)
        seen: dict[Checkout, Sample] = {checkout: {} for checkout in order}
        prepared = after if chosen.beside else None
        measures: list[Callable[[Checkout, Path], Sample]] = [
            partial(_measure_store, chosen.tasks, prepared),
            partial(_measure_server, chosen.tasks, prepared, server),
        ]
        for measure in measures if chosen.beside else [*measures, _measure_commands]:
            # Both sides of one measure follow each other directly: the machine changes less between them.
            for checkout in order:
                with TemporaryDirectory() as folder:
                    seen[checkout] |= measure(checkout, Path(folder))
        if not chosen.beside:
            for checkout, requests in _measure_requests(order).items():
                seen[checkout] |= requests
        pairs.append((seen[before], seen[after]))
        print(f"pair {number + 1} of {chosen.pairs}", file=sys.stderr, flush=True)
    return pairs


def _measure_store(tasks: int, prepared: Checkout | None, checkout: Checkout, folder: Path) -> Sample:
    url = f"sqlite:///{folder}/drain.db"
    if checkout == prepared:
        prepare(checkout, folder, url)
    return _drain(checkout, folder, url, tasks, "SQLite")


def prepare(checkout: Checkout, folder: Path, url: str) -> None:
    for command in _BESIDE:
        checkout.run("-m", "horae", *command, "--store", url, folder=folder)
    checkout.run("-c", _RESTRICT, url, folder=folder)


def _measure_server(
    tasks: int, prepared: Checkout | None, server: PostgresServer, checkout: Checkout, folder: Path
) -> Sample:
    database = server.new_database()
    try:
        if checkout == prepared:
            prepare(checkout, folder, database)
        return _drain(checkout, folder, database, tasks, "PostgreSQL")
    finally:
        server.drop_database(database)


def _measure_commands(checkout: Checkout, folder: Path) -> Sample:
    checkout.run("-m", "horae", "add", "in 2h", "--say", "x", "--store", "sqlite:///compare.db", folder=folder)
    return {
        f"{title}, ms": 1_000 * _processor_seconds(partial(checkout.run, *command, folder=folder))
        for title, command in _COMMANDS.items()
    }


def _drain(checkout: Checkout, folder: Path, url: str, tasks: int, store: str) -> Sample:
    seen = json.loads(checkout.run("-c", DRAIN, url, str(tasks), folder=folder))
    return {f"add a task, {store}, µs": 1e6 * seen["added"], f"run a task, {store}, µs": 1e6 * seen["ran"]}


def _processor_seconds(work: Callable[[], object]) -> float:
    """Return the processor time of the child processes that `work` starts and waits for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _measure_requests(checkouts: Sequence[Checkout]) -> dict[Checkout, Sample]:
    """Return the processor time per request of the checkouts, whose services run at the same time."""
    samples: dict[Checkout, Sample] = {checkout: {} for checkout in checkouts}
    with ExitStack() as stack:
        services = {checkout: stack.enter_context(_started_service(checkout)) for checkout in checkouts}
        for title in ("create", "get"):
            seconds = dict.fromkeys(checkouts, 0.0)
            for service in services.values():
                service.send(title, _WARM_UP_REQUESTS)
            for block in range(_BLOCKS):
                for checkout in checkouts if block % 2 == 0 else reversed(checkouts):
                    before = services[checkout].processor_seconds()
                    services[checkout].send(title, _REQUESTS_PER_BLOCK)
                    seconds[checkout] += services[checkout].processor_seconds() - before
            for checkout, spent in seconds.items():
                samples[checkout][f"API {title}, µs"] = 1e6 * spent / (_BLOCKS * _REQUESTS_PER_BLOCK)
    return samples


class _Service:
    """The API of a running `horae up`, over one connection."""

    def __init__(self, url: str, token: str, supervisor: int) -> None:
        self._connection = http.client.HTTPConnection(urlsplit(url).netloc)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._supervisor = supervisor
        self._created = 0
        self._task = ""

    def close(self) -> None:
        self._connection.close()

    def send(self, title: str, count: int) -> None:
        """Send requests: tasks that are created, or the last of them read again."""
        for _ in range(count):
            if title == "create":
                self._create()
            else:
                _ask(self._connection, "GET", f"/v1/tasks/{self._task}", self._headers)

    def _create(self) -> None:
        self._created += 1
        body = {"name": f"r{self._created}", "when": f"{self._created % 60} 9 * * 1-5", "zone": "UTC", "say": "x"}
        self._task = str(_ask(self._connection, "POST", "/v1/tasks", self._headers, body)["id"])

    def processor_seconds(self) -> float:
        """Return the processor time of the supervisor and its children so far."""
        children = (
            Path(f"/proc/{self._supervisor}/task/{self._supervisor}/children").read_text(encoding="ascii").split()
        )
        return sum(process_seconds(each) for each in (self._supervisor, *map(int, children)))


def _ask(
    connection: http.client.HTTPConnection, method: str, path: str, headers: Mapping[str, str], body: Any = None
) -> Any:
    connection.request(method, path, None if body is None else json.dumps(body), dict(headers))
    response = connection.getresponse()
    content = response.read()
    if response.status >= 400:
        raise RuntimeError(f"{method} {path}: {response.status} {content[:300]!r}")
    return json.loads(content)


@contextmanager
def _started_service(checkout: Checkout) -> Iterator[_Service]:
    """Start `horae up` of the checkout on an empty SQLite file."""
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/served.db"
        command = [checkout.python, "-P", "-m", "horae", "up", "--store", url, "--port", "0", "--json"]
        environment = {**quiet_environment(), "HORAE_RATE_LIMIT": "off"}
        with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None
                waiting = {"node.ready", "api.ready"}
                api: dict[str, Any] = {}
                for line in process.stdout:
                    event = json.loads(line)
                    waiting.discard(event["type"])
                    api = event if event["type"] == "api.ready" else api
                    if not waiting:
                        break
                threading.Thread(target=process.stdout.read, daemon=True).start()
                token = Path(api["token_file"]).read_text(encoding="ascii").strip()
                with closing(_Service(api["url"], token, process.pid)) as service:
                    yield service
            finally:
                process.terminate()
                process.wait(_START_SECONDS)


def process_seconds(process: int) -> float:
    schedstat = Path(f"/proc/{process}/task").iterdir()
    return sum(int((thread / "schedstat").read_text(encoding="ascii").split()[0]) for thread in schedstat) / 1e9


def quiet_environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("HORAE_", "PYTHON"))}
    return {**kept, "HORAE_ZONE": "UTC", "LANG": "C.UTF-8"}


def _table(pairs: Sequence[tuple[Sample, Sample]]) -> str:
    lines = ["| measure (processor time) | before | after | after / before | 95 % interval |", "|---|--:|--:|--:|--:|"]
    for name in pairs[0][0]:
        before = [pair[0][name] for pair in pairs]
        after = [pair[1][name] for pair in pairs]
        ratios = [new / old for old, new in zip(before, after, strict=True)]
        low, high = interval_of_median(ratios)
        lines.append(
            f"| {name} | {statistics.median(before):.1f} | {statistics.median(after):.1f} "
            f"| {statistics.median(ratios):.3f} | {low:.3f} to {high:.3f} |"
        )
    return "\n".join(lines)


def interval_of_median(ratios: Sequence[float]) -> tuple[float, float]:
    """Return the bootstrap interval of the median."""
    chance = random.Random(1)
    medians = sorted(statistics.median(chance.choices(ratios, k=len(ratios))) for _ in range(_RESAMPLES))
    return medians[int(_RESAMPLES * 0.025)], medians[int(_RESAMPLES * 0.975)]


if __name__ == "__main__":
    sys.exit(main())
