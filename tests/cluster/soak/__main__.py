"""`make soak`: nodes under load and a nemesis on a real server for as long as the environment says, then the verdict."""

from __future__ import annotations

import os
import random
import sys
import tempfile
from pathlib import Path
from typing import cast, get_args

from tests.cluster.crowd import Crowd
from tests.cluster.soak.sizes import as_lines
from tests.cluster.soak.soak import Plan, Report, Soak
from tests.cluster.stores import DatabaseServer, StoreKind, new_place, standing
from tests.faults.client import soon
from tests.faults.functions import FOLDER
from tests.faults.processes import Workers

CROWD_A_MINUTE = 25_000
FULL_CROWD = 1_000_000
ADDED_A_SECOND = 1_500


def main() -> int:
    kind = cast("StoreKind", os.environ.get("SOAK_STORE", "postgres"))
    if kind not in get_args(StoreKind):
        _tell(f"SOAK_STORE is one of {', '.join(get_args(StoreKind))}, not {kind!r}")
        return 2
    minutes = float(os.environ.get("SOAK_MINUTES", "10"))
    seed = int(os.environ.get("SOAK_SEED") or random.randrange(1_000_000))
    crowd = int(os.environ.get("SOAK_CROWD") or min(FULL_CROWD, minutes * CROWD_A_MINUTE))
    plan = Plan(kind, minutes * 60, seed, nodes=int(os.environ.get("SOAK_NODES", "5")))
    _tell(f"soak on {kind}, {minutes:g} minutes, then a crowd of {crowd:,}; SOAK_SEED={seed} repeats it")
    with standing(kind) as server, tempfile.TemporaryDirectory(prefix="horae-soak-") as folder:
        wrong = _soak(plan, Path(folder) / "soak", server)
        wrong += _crowd(crowd, Path(folder) / "crowd", server) if crowd else []
    _tell("\n".join(["the promises were broken:", *wrong[:100]]) if wrong else "every promise was kept")
    _tell(f"SOAK_SEED={seed}")
    return 1 if wrong else 0


def _soak(plan: Plan, folder: Path, server: DatabaseServer | None) -> list[str]:
    folder.mkdir()
    report = Soak(plan, new_place(folder, server), server, _tell).run()
    _show(plan, report)
    return report.wrong


def _show(plan: Plan, report: Report) -> None:
    _tell(
        f"\n{report.tasks:,} tasks, {report.effects:,} effects, {report.repeated:,} of them repeated; {len(report.wrong)} wrong"
    )
    _tell("\nfault                 times  takeovers     p50      p90      max (s, from the fault to the next start)")
    for fault, times in sorted(report.faults.items()):
        seconds = sorted(report.takeovers.get(fault, []))
        shares = (
            "".join(f"{seconds[min(int(len(seconds) * share), len(seconds) - 1)]:9.2f}" for share in (0.5, 0.9, 1))
            if seconds
            else ""
        )
        _tell(f"{fault:20}{times:7}{len(seconds):11}{shares}")
    _tell("\n" + "\n".join(as_lines(report.sizes, plan.store)) + "\n")


def _crowd(size: int, folder: Path, server: DatabaseServer | None) -> list[str]:
    """Two nodes, and all of it due in one second (F14)."""
    folder.mkdir()
    place = new_place(folder, server)
    os.environ[FOLDER] = str(folder)
    crowd = Crowd(size, soon(size / ADDED_A_SECOND))
    crowd.add(place)
    workers = Workers(place)
    try:
        for _ in range(2):
            workers.ready(lease=15.0, ceiling=10.0)
        crowd.wait(place)
    finally:
        workers.bury()
    _tell(f"{size:,} tasks due in one second: {crowd.rate(place):,.0f} starts a second")
    return crowd.wrong(place)


def _tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
