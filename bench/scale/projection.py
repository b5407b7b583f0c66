"""Projection to a billion tasks: measured costs, multiplied, and a simulation of the deployments in virtual time.

    python -m bench.scale.projection

Nothing is measured here. The costs are those of bench/results; every other assumption is a field with its reason.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from math import ceil
from typing import Final, NamedTuple

from bench.scale.curve import matrix

DAY_SECONDS: Final = 86_400
_TICK: Final = 0.01
_MINUTE: Final = 60.0
_PARTS: Final = 200
"""Into how many parts of equal lateness a crowd is divided."""


class Costs(NamedTuple):
    """What one thing costs on PostgreSQL, as measured (docs/performance.md, bench/results/scale.md)."""

    node_microseconds: float = 50.0
    """Processor time of the node for a fire, in full batches."""
    server_microseconds: float = 54.0
    """Processor time of the server for a fire, in full batches."""
    log_bytes: float = 2_400.0
    task_bytes: float = 1_200.0
    run_bytes: float = 900.0
    """Of an ended run, with its events and indexes."""
    renewals: float = 1 / 3.75
    """Lease renewals of a busy node in a second; each reads a row of every other node."""


class Machines(NamedTuple):
    """One deployment: a database server, and nodes beside it. Half of each is kept free for faults and peaks."""

    server_cores: int = 16
    log_rate: float = 400e6
    """Bytes a second that the disk of the log takes durably."""
    disk_bytes: float = 20e12
    load: float = 0.5


MEASURED: Final = Costs()
ASSUMED: Final = Machines()


class Demand(NamedTuple):
    tasks: float
    fires: float
    """A second, on average."""
    keep_days: float = 30.0
    """For how long ended runs are kept."""


class Requirement(NamedTuple):
    """How many deployments each resource asks for, and what all of them have together."""

    by_processor: int
    by_log: int
    by_disk: int
    nodes: int
    task_bytes: float
    run_bytes: float
    log_rate: float

    @property
    def deployments(self) -> int:
        return max(self.by_processor, self.by_log, self.by_disk)

    @property
    def first_limit(self) -> str:
        """The resource that runs out first; `none` where one deployment has enough of each."""
        if self.deployments == 1:
            return "none"
        sizes = {"disk": self.by_disk, "log": self.by_log, "server": self.by_processor}
        return max(sizes, key=lambda name: sizes[name])


def require(demand: Demand, costs: Costs = MEASURED, machines: Machines = ASSUMED) -> Requirement:
    """Return what a demand needs, when it is spread evenly."""
    server_rate = machines.server_cores * machines.load / (costs.server_microseconds * 1e-6)
    log_rate = demand.fires * costs.log_bytes
    task_bytes = demand.tasks * costs.task_bytes
    run_bytes = demand.fires * DAY_SECONDS * demand.keep_days * costs.run_bytes
    return Requirement(
        by_processor=ceil(demand.fires / server_rate),
        by_log=ceil(log_rate / (machines.log_rate * machines.load)),
        by_disk=ceil((task_bytes + run_bytes) / (machines.disk_bytes * machines.load)),
        nodes=ceil(demand.fires * costs.node_microseconds * 1e-6 / machines.load),
        task_bytes=task_bytes,
        run_bytes=run_bytes,
        log_rate=log_rate,
    )


def lease_rows(nodes: int, costs: Costs = MEASURED) -> float:
    """Return the rows that the renewals of the nodes of one database read in a second."""
    return nodes * (nodes - 1) * costs.renewals


def spread_owners(owners: int, deployments: int, *, seed: int = 1) -> list[float]:
    """Return the share of all fires that each deployment gets, the greatest first.

    Owners have sizes of a Pareto distribution (shape 1.2: a fifth of the owners has most of the tasks), and live where
    rendezvous hashing puts them.
    """
    chance = random.Random(seed)
    shares = [0.0] * deployments
    for owner in range(owners):
        shares[_home_of(owner, deployments)] += chance.paretovariate(1.2)
    total = sum(shares)
    return sorted((share / total for share in shares), reverse=True)


def _home_of(owner: int, deployments: int) -> int:
    return max(range(deployments), key=lambda home: blake2b(f"{home}\0{owner}".encode(), digest_size=8).digest())


def simulate_lateness(
    fires: float, capacity: float, crowd: float, *, jitter: float = 0.0, minutes: int = 5, seed: int = 1
) -> tuple[float, float]:
    """Return p50 and p99 of the lateness in seconds, of a deployment that starts `capacity` runs a second.

    The share `crowd` of the fires of a minute is due at its first instant, spread over `jitter` seconds; the others come
    by chance (Poisson, as a normal distribution).
    """
    chance = random.Random(seed)
    steady = fires * (1 - crowd) * _TICK
    at_once = fires * crowd * _MINUTE
    waiting = 0.0
    late: list[tuple[float, float]] = []
    for tick in range(round(minutes * _MINUTE / _TICK)):
        second = tick * _TICK % _MINUTE
        come = max(0.0, chance.gauss(steady, steady**0.5))
        if jitter:
            come += at_once * _TICK / jitter if second < jitter else 0.0
        elif second < _TICK / 2:
            come += at_once
        # Those that come at once wait for all before them, and for those ahead among themselves.
        parts = _PARTS if come > 2 * capacity * _TICK else 1
        late += [((waiting + come * (part + 0.5) / parts) / capacity, come / parts) for part in range(parts)]
        waiting = max(0.0, waiting + come - capacity * _TICK)
    return _weighted(late, 0.5), _weighted(late, 0.99)


def _weighted(values: Sequence[tuple[float, float]], part: float) -> float:
    """Return a percentile of values with weights."""
    wanted = part * sum(weight for _, weight in values)
    for value, weight in sorted(values):
        wanted -= weight
        if wanted <= 0:
            return value
    return max(value for value, _ in values)


DEMANDS: Final = (
    Demand(1e6, 1e3),
    Demand(10e6, 10e3),
    Demand(100e6, 100e3),
    Demand(1e9, 1e6),
    Demand(1e9, 1e6, keep_days=1),
)


def _resources() -> Iterator[tuple[str, ...]]:
    for demand in DEMANDS:
        needed = require(demand)
        yield (
            f"{demand.tasks:,.0f}",
            f"{demand.fires:,.0f}",
            f"{demand.keep_days:g}",
            str(needed.nodes),
            f"{needed.log_rate / 1e6:,.1f}",
            f"{needed.task_bytes / 1e9:,.0f}",
            f"{needed.run_bytes / 1e12:,.1f}",
            f"{needed.by_processor} / {needed.by_log} / {needed.by_disk}",
            needed.first_limit,
        )


def _lateness(owners: int = 100_000) -> Iterator[tuple[str, ...]]:
    demand = DEMANDS[-1]
    needed = require(demand)
    shares = spread_owners(owners, needed.deployments)
    capacity = demand.fires / needed.deployments / ASSUMED.load
    for name, share in (("the busiest", shares[0]), ("the median", shares[len(shares) // 2])):
        fires = share * demand.fires
        for crowd, jitter in ((0.0, 0.0), (0.1, 0.0), (0.3, 0.0), (0.3, 30.0)):
            p50, p99 = simulate_lateness(fires, capacity, crowd, jitter=jitter)
            crowd_text = f"{crowd:.0%}" + (f", jitter {jitter:g} s" if jitter else "")
            yield name, f"{fires:,.0f}", f"{fires / capacity:.0%}", crowd_text, f"{p50:,.3f}", f"{p99:,.2f}"


def main() -> None:
    head = ("tasks", "fires/s", "days kept", "nodes", "log, MB/s", "tasks, GB", "runs, TB")
    resources = matrix((*head, "deployments by server / log / disk", "first limit"), list(_resources()))
    rows = [(str(nodes), f"{lease_rows(nodes):,.0f}") for nodes in (10, 100, 300, 1_000)]
    leases = matrix(("nodes on one database", "lease rows read a second"), rows)
    late_head = ("deployment", "fires/s", "of its capacity", "at the full minute", "late p50, s", "late p99, s")
    sys.stdout.write("\n\n".join((resources, leases, matrix(late_head, list(_lateness())))) + "\n")


if __name__ == "__main__":
    main()
