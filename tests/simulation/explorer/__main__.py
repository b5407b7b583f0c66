"""`python -m tests.simulation.explorer`: explores small scopes exhaustively; exit code 1 if an invariant is violated."""

from __future__ import annotations

import argparse
import sys

from horae.clock import SystemClock
from tests.simulation.explorer.scope import LARGER, SCOPES, Scope
from tests.simulation.explorer.search import explore


def main() -> int:
    wanted = _arguments()
    known = (*SCOPES, *LARGER)
    scopes = [scope for scope in known if scope.name == wanted.scope] or (known if wanted.all else SCOPES)
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
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.explorer", description=__doc__)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--scope", choices=[scope.name for scope in (*SCOPES, *LARGER)], help="only this one")
    which.add_argument("--all", action="store_true", help="also those that take minutes")
    parser.add_argument("--faults", type=int, help="so many faults, where a scope would allow fewer or more")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
