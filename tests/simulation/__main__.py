"""`python -m tests.simulation`: replays one seed, or runs a range of seeds."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tests.simulation.coverage import Coverage
from tests.simulation.history import Note
from tests.simulation.trial import fingerprint, run_seed, run_seeds

_ENOUGH = 100
"""So many seeds meet every pair of traits; fewer need not."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seed", type=int, help="replay one seed")
    which.add_argument("--seeds", type=_range, metavar="A-B", help="try these seeds, both ends included")
    parser.add_argument("--verbose", action="store_true", help="tell everything that happens")
    chosen = parser.parse_args(arguments)
    if chosen.seed is not None:
        return _replay(chosen.seed, verbose=chosen.verbose)
    return _try(chosen.seeds)


def _range(text: str) -> range:
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def _replay(seed: int, *, verbose: bool) -> int:
    trial = run_seed(seed, on_note=_print_note if verbose else lambda _note: None)
    evidence = trial.evidence
    if verbose:
        for number, event in evidence.events:
            _print(
                f"event {number} {event.at.isoformat()} {event.kind} {event.run_id or event.task_id} {event.detail or ''}"
            )
    faults = sum(evidence.history.faults.values())
    _print(f"seed {seed}: {evidence.instants} occurrences, {len(evidence.runs)} rows, {faults} faults")
    _print(f"fingerprint {fingerprint(evidence)}")
    for violation in trial.violations:
        _print(str(violation))
    return 1 if trial.violations else 0


def _try(seeds: range) -> int:
    coverage = Coverage()
    failed = 0
    for trial in run_seeds(seeds, coverage):
        failed += 1
        _print(str(trial))
    for line in coverage.table():
        _print(line)
    missing = coverage.missing() if len(seeds) >= _ENOUGH else []
    for pair in missing:
        _print(f"never met: {pair}")
    _print(f"{len(seeds)} seeds, {failed} failed")
    return 1 if failed or missing else 0


def _print_note(note: Note) -> None:
    _print(f"{note.steady:12.3f} {note.wall.isoformat()} {note.who}: {note.what}")


def _print(line: str) -> None:
    sys.stdout.write(line + "\n")


if __name__ == "__main__":
    sys.exit(main())
