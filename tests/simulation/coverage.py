"""Coverage by pairs of policies, schedule kinds and conditions that the seeds have run."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import combinations, product
from typing import Final, TypeAlias

from tests.simulation.drafts import KINDS, MODIFIERS, OWNERS, Traits
from tests.simulation.evidence import Evidence

Trait: TypeAlias = tuple[str, str]
Pair: TypeAlias = tuple[Trait, Trait]

VALUES: Final[dict[str, tuple[str, ...]]] = {
    "kind": KINDS,
    "modifier": MODIFIERS,
    "missed": ("skip", "latest", "all", "merge"),
    "overlap": ("skip", "queue", "queue_all", "replace", "parallel"),
    "retry": ("one attempt", "three", "for ever"),
    "give_up": ("at once", "after three", "never"),
    "guarantee": ("at_least_once", "at_most_once"),
    "lane": ("none", "narrow", "wide"),
    "priority": ("low", "usual", "high"),
    "owner": OWNERS,
}
_SINGLE: Final = ("once", "now")


def possible(pair: Pair) -> bool:
    """Possible values of a trait; once schedules have no modifiers."""
    traits = dict(pair)
    return traits.get("kind") not in _SINGLE or traits.get("modifier", "plain") == "plain"


def all_pairs() -> Iterator[Pair]:
    for one, other in combinations(VALUES, 2):
        for pair in product(((one, value) for value in VALUES[one]), ((other, value) for value in VALUES[other])):
            if possible(pair):
                yield pair


class Coverage:
    """Counts tasks of which something was really run, by pairs of their traits."""

    def __init__(self) -> None:
        self.pairs: Counter[Pair] = Counter()
        self.faults: Counter[str] = Counter()
        self.reasons: Counter[str] = Counter()
        self.occurrences = 0

    def add(self, evidence: Evidence) -> None:
        tried = {deed.task_id for deed in evidence.history.deeds}
        for task_id, traits in evidence.traits.items():
            if task_id in tried:
                self.pairs.update(pairs_of(traits))
        self.faults.update(evidence.history.faults)
        self.reasons.update(run.reason.value for run in evidence.runs.values() if run.reason is not None)
        self.occurrences += evidence.instants

    def packed(self) -> str:
        """Serialise the counts for another process."""
        pairs = [[*one, *other, count] for (one, other), count in self.pairs.items()]
        return json.dumps([pairs, self.faults, self.reasons, self.occurrences])

    def unpack(self, text: str) -> None:
        """Add the counts of another process."""
        pairs, faults, reasons, occurrences = json.loads(text)
        for *names, count in pairs:
            self.pairs[(names[0], names[1]), (names[2], names[3])] += count
        self.faults.update(faults)
        self.reasons.update(reasons)
        self.occurrences += occurrences

    def missing(self) -> list[Pair]:
        return [pair for pair in all_pairs() if not self.pairs[pair]]

    def table(self) -> Iterator[str]:
        """One line per pair of traits: number of covered pairs, and the rarest one."""
        yield f"{'traits':<24}{'met':>9}  {'fewest':>6}"
        for one, other in combinations(VALUES, 2):
            pairs = [pair for pair in all_pairs() if {one, other} == {name for name, _ in pair}]
            rarest = min(pairs, key=lambda pair: self.pairs[pair])
            met = sum(self.pairs[pair] > 0 for pair in pairs)
            shown = " x ".join(value for _, value in rarest)
            yield f"{one + ' x ' + other:<24}{f'{met}/{len(pairs)}':>9}  {self.pairs[rarest]:>6}  {shown}"
        yield from _counted("faults", self.faults)
        yield from _counted("reasons", self.reasons)
        yield f"occurrences: {self.occurrences}"


def pairs_of(traits: Traits) -> Iterable[Pair]:
    return combinations(traits._asdict().items(), 2)


def _counted(name: str, counter: Counter[str]) -> Iterator[str]:
    yield f"{name}: " + ", ".join(f"{each} {count}" for each, count in counter.most_common())
