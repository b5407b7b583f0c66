"""`make soak`: nodes under load and a nemesis on a real server, for a time from the environment; then the report."""

from __future__ import annotations

import os
import random
import sys
import tempfile
from pathlib import Path
from typing import cast, get_args

from tests.cluster.crowd import Crowd
from tests.cluster.soak.soak import Plan, Report, Soak
from tests.cluster.soak.table_sizes import render_lines
from tests.cluster.stores import DatabaseServer, StoreKind, new_testbed, running_server
from tests.faults.client import from_now
from tests.faults.functions import FOLDER
from tests.faults.processes import Workers

CROWD_A_MINUTE = 25_000
FULL_CROWD = 1_000_000
ADDED_A_SECOND = 1_500


def main() -> int:
    kind = cast("StoreKind", os.environ.get("SOAK_STORE", "postgres"))
    if kind not in get_args(StoreKind):
        _log(f"SOAK_STORE is one of {', '.join(get_args(StoreKind))}, not {kind!r}")
        return 2
    minutes = float(os.environ.get("SOAK_MINUTES", "10"))
    seed = int(os.environ.get("SOAK_SEED") or random.randrange(1_000_000))
    crowd = int(os.environ.get("SOAK_CROWD") or min(FULL_CROWD, minutes * CROWD_A_MINUTE))
    plan = Plan(kind, minutes * 60, seed, nodes=int(os.environ.get("SOAK_NODES", "5")))
    _log(f"soak on {kind}, {minutes:g} minutes, then a crowd of {crowd:,}; SOAK_SEED={seed} repeats it")
    with running_server(kind) as server, tempfile.TemporaryDirectory(prefix="horae-soak-") as folder:
        violations = _soak(plan, Path(folder) / "soak", server)
        violations += _crowd(crowd, Path(folder) / "crowd", server) if crowd else []
    _log("\n".join(["guarantees were broken:", *violations[:100]]) if violations else "every guarantee held")
    _log(f"SOAK_SEED={seed}")
    return 1 if violations else 0


def _soak(plan: Plan, folder: Path, server: DatabaseServer | None) -> list[str]:
    folder.mkdir()
    report = Soak(plan, new_testbed(folder, server), server, _log).run()
    _show(plan, report)
    return report.violations


def _show(plan: Plan, report: Report) -> None:
    _log(
        f"\n{report.tasks:,} tasks, {report.effects:,} effects, {report.repeated:,} of them repeated; {len(report.violations)} wrong"
    )
    _log("\nfault                 times  takeovers     p50      p90      max (s, from the fault to the next start)")
    for fault, times in sorted(report.faults.items()):
        seconds = sorted(report.takeovers.get(fault, []))
        shares = (
            "".join(f"{seconds[min(int(len(seconds) * share), len(seconds) - 1)]:9.2f}" for share in (0.5, 0.9, 1))
            if seconds
            else ""
        )
        _log(f"{fault:20}{times:7}{len(seconds):11}{shares}")
    _log("\n" + "\n".join(render_lines(report.sizes, plan.store)) + "\n")


def _crowd(size: int, folder: Path, server: DatabaseServer | None) -> list[str]:
    """Run a crowd due in one second on two nodes (F14)."""
    folder.mkdir()
    testbed = new_testbed(folder, server)
    os.environ[FOLDER] = str(folder)
    crowd = Crowd(size, from_now(size / ADDED_A_SECOND))
    crowd.add(testbed)
    workers = Workers(testbed)
    try:
        for _ in range(2):
            workers.ready(lease=15.0, ceiling=10.0)
        crowd.wait(testbed)
    finally:
        workers.clean_up()
    _log(f"{size:,} tasks due in one second: {crowd.rate(testbed):,.0f} starts a second")
    return crowd.find_violations(testbed)


def _log(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
