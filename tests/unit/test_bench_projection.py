"""The projection to many deployments multiplies correctly, and its simulation agrees with arithmetic where that has an answer."""

from __future__ import annotations

import pytest

from bench.scale.projection import (
    DEMANDS,
    Costs,
    Demand,
    Machines,
    lease_rows,
    main,
    require,
    simulate_lateness,
    spread_owners,
)


def test_resources_grow_with_fires() -> None:
    costs = Costs(node_microseconds=100, server_microseconds=100, log_bytes=1_000, run_bytes=1_000)
    machines = Machines(server_cores=2, log_rate=10e6, disk_bytes=1e12, load=0.5)
    needed = require(Demand(tasks=0, fires=25_000, keep_days=1), costs, machines)
    assert needed.by_processor == 3, "a server of two cores, half used, carries 10,000 fires a second"
    assert needed.by_log == 5, "25 MB/s on disks that take 5"
    assert needed.by_disk == 5, "2.16 TB on disks of which half a terabyte is used"
    assert needed.nodes == 5
    assert needed.deployments == 5


def test_one_deployment_has_no_limit() -> None:
    assert require(Demand(1e6, 1e3)).first_limit == "none"


def test_kept_runs_are_the_first_limit_of_a_million_fires_and_the_log_the_next() -> None:
    assert [require(demand).first_limit for demand in DEMANDS[-2:]] == ["disk", "log"]


def test_lease_reads_grow_with_the_square_of_the_nodes() -> None:
    assert lease_rows(1) == 0
    assert lease_rows(1_000) / lease_rows(100) == pytest.approx(100, rel=0.01)


def test_hashing_spreads_owners_evenly_and_sums_to_all() -> None:
    shares = spread_owners(20_000, 8)
    assert sum(shares) == pytest.approx(1)
    assert shares == sorted(shares, reverse=True)
    assert shares[-1] > 0.05, "no deployment stays empty"


def test_a_crowd_is_late_by_the_time_that_its_queue_takes() -> None:
    """6,000 at once against 1,000 a second, without other fires: half wait up to 3 s, the last one 6 s."""
    p50, p99 = simulate_lateness(100, 1_000, 1.0)
    assert p50 == pytest.approx(3, abs=0.05)
    assert p99 == pytest.approx(5.94, abs=0.05)
    assert simulate_lateness(100, 1_000, 1.0, jitter=30)[1] < 0.05


def test_overload_grows_without_end() -> None:
    short, long = (simulate_lateness(1_100, 1_000, 0.0, minutes=minutes)[1] for minutes in (1, 4))
    assert short == pytest.approx(6, rel=0.1)
    assert long == pytest.approx(24, rel=0.1)


def test_report_has_every_demand(capsys: pytest.CaptureFixture[str]) -> None:
    main()
    printed = capsys.readouterr().out
    assert all(f"| {demand.tasks:,.0f} |" in printed for demand in DEMANDS)
