"""Runs one seed from the first node to the violations, or many seeds with their coverage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from hashlib import blake2b
from typing import Final, NamedTuple

from horae.ports.full_store import FullStore
from tests.simulation.checker import check
from tests.simulation.checks.violation import Violation
from tests.simulation.coverage import Coverage
from tests.simulation.evidence import Evidence
from tests.simulation.history import Note
from tests.simulation.watched_store import WatchedStore
from tests.simulation.world import World

LEAST_HOURS: Final = timedelta(hours=24)
LEAST_TASKS: Final = 20
LEAST_FAULTS: Final = 5
LEAST_OCCURRENCES: Final = 200


class Trial(NamedTuple):
    seed: int
    evidence: Evidence
    violations: tuple[Violation, ...]

    @property
    def replay(self) -> str:
        return f"python -m tests.simulation --seed {self.seed} --verbose"

    def __str__(self) -> str:
        lines = [f"seed {self.seed}: {len(self.violations)} violations; replay it with: {self.replay}"]
        return "\n".join([*lines, *(f"  {violation}" for violation in self.violations[:10])])


def run_seed(
    seed: int,
    make_store: Callable[[], FullStore] = WatchedStore,
    *,
    threaded: bool = False,
    on_note: Callable[[Note], None] = lambda _note: None,
) -> Trial:
    evidence = World(seed, make_store, threaded=threaded).run(on_note)
    return Trial(seed, evidence, (*check(evidence), *_check_activity(evidence)))


def run_seeds(seeds: Iterable[int], coverage: Coverage) -> Iterator[Trial]:
    """Only those that failed; the others leave their traces in the coverage."""
    for seed in seeds:
        trial = run_seed(seed)
        coverage.add(trial.evidence)
        if trial.violations:
            yield trial


def render_history(evidence: Evidence) -> Iterator[str]:
    """Everything that happened, as text: the same for the same seed, to the last character."""
    yield from (f"{note.steady:.6f} {note.wall.isoformat()} {note.who}: {note.what}" for note in evidence.history.notes)
    yield from (f"{number} {'|'.join(str(part) for part in event)}" for number, event in evidence.events)
    yield from (str(run) for run in evidence.runs.values())
    yield from (str(deed) for deed in evidence.history.deeds)


def fingerprint(evidence: Evidence) -> str:
    digest = blake2b(digest_size=16)
    for line in render_history(evidence):
        digest.update(line.encode())
    return digest.hexdigest()


def _check_activity(evidence: Evidence) -> Iterator[Violation]:
    """A world in which nothing happens proves nothing."""
    faults = sum(evidence.history.faults.values())
    if faults < LEAST_FAULTS or evidence.instants < LEAST_OCCURRENCES:
        yield Violation("world", f"only {faults} faults and {evidence.instants} occurrences")
    if evidence.quiet < LEAST_HOURS.total_seconds() or len(evidence.facts) < LEAST_TASKS:
        yield Violation("world", f"only {evidence.quiet / 3_600:.1f} hours and {len(evidence.facts)} tasks")
