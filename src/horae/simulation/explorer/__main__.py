"""`python -m horae.simulation.explorer`: every scope, or one, and how many states it has. Ends with 1 where a promise breaks."""

from __future__ import annotations

import argparse
import sys

from ...clock import SystemClock
from .scope import SCOPES, Scope
from .search import explore


def main() -> int:
    wanted = _arguments()
    scopes = [scope for scope in SCOPES if wanted.scope in (None, scope.name)]
    return max(
        [_explored(scope if wanted.faults is None else scope._replace(faults=wanted.faults)) for scope in scopes]
    )


def _explored(scope: Scope) -> int:
    clock = SystemClock()
    began = clock.steady()
    sys.stdout.write(f"{scope.name}: {scope.about}\n")
    sys.stdout.flush()
    exploration = explore(scope)
    sys.stdout.write(f"  {exploration.counts}, {clock.steady() - began:.1f} s\n")
    if exploration.found is None:
        return 0
    sys.stdout.write(f"{exploration.found}\n")
    return 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m horae.simulation.explorer", description=__doc__)
    parser.add_argument("--scope", choices=[scope.name for scope in SCOPES], help="only this one")
    parser.add_argument("--faults", type=int, help="so many faults, where a scope would allow fewer or more")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
