"""Compares the evaluator with the oracle: python -m tests.oracle.compare --count 1000000 --seed 7.

One comparison is one question, "next after this instant", or one fire of a list. A difference is printed with
the word that draws it again: python -m tests.oracle.compare --replay 7:42:Europe/Berlin
"""

# ruff: noqa: T201 - a command that prints
from __future__ import annotations

import argparse
import sys
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from horae import InvalidSchedule, preview
from horae.schedule import Cron, Past
from horae.schedule import next as next_after

from .cases import Stretch, draw_stretch, questions, stretches
from .cron_oracle import fires
from .cron_reader import Refused
from .zone_oracle import is_near_change

QUESTIONS = 30  # in one stretch
LISTED = 20  # fires of one list
NEAR = timedelta(hours=48)
# How far beyond the questions their answers are looked for: rare dates are years away, busy ones minutes.
LOOK_AHEAD = tuple(timedelta(hours=hours) for hours in (6, 72, 24 * 40, 24 * 400, 24 * 4000))


@dataclass(frozen=True, slots=True)
class Difference:
    stretch: Stretch
    asked: str
    expected: object
    got: object

    def __str__(self) -> str:
        schedule = self.stretch
        return (
            f"--replay {schedule.replay}: {schedule.expression!r} {schedule.zone} gap={schedule.gap} "
            f"fold={schedule.fold} {self.asked}: expected {self.expected}, got {self.got}"
        )


@dataclass(slots=True)
class Tally:
    asked: int = 0
    listed: int = 0
    refused: int = 0
    near: int = 0
    zones: set[str] = field(default_factory=set)
    differences: list[Difference] = field(default_factory=list)

    @property
    def comparisons(self) -> int:
        return self.asked + self.listed + self.refused

    @property
    def near_share(self) -> float:
        return self.near / max(self.comparisons, 1)

    def __str__(self) -> str:
        return (
            f"{self.comparisons:,} comparisons ({self.asked:,} questions, {self.listed:,} fires of lists, "
            f"{self.refused:,} refusals), {self.near_share:.0%} within 48 h of a clock change, "
            f"{len(self.zones)} zones, {len(self.differences)} differences"
        )


def compare(
    count: int,
    seed: int,
    *,
    zones: Sequence[str] = (),
    stop_after: int = 20,
    report: Callable[[str], None] = print,
) -> Tally:
    """At least so many comparisons, or fewer if there were that many differences."""
    tally = Tally()
    milestone = step = max(count // 10, 1)
    for stretch in stretches(seed, zones):
        compare_stretch(stretch, tally)
        if tally.comparisons >= milestone:
            report(f"seed {seed}: {tally}")
            milestone += step
        if tally.comparisons >= count or len(tally.differences) >= stop_after:
            break
    for difference in tally.differences:
        report(str(difference))
    return tally


def compare_stretch(stretch: Stretch, tally: Tally) -> None:
    tally.zones.add(stretch.zone)
    try:
        known, known_until = _known_fires(stretch)
    except Refused:
        tally.refused += 1
        tally.differences += _compare_refusal(stretch)
        return
    try:
        cron = _cron(stretch)
    except InvalidSchedule as refusal:
        tally.differences.append(Difference(stretch, "is accepted", "a schedule", refusal))
        return
    tally.differences += _compare_questions(stretch, cron, known, known_until, tally)
    if known and stretch.number % 3 == 0:
        tally.differences += _compare_list(stretch, cron, known, tally)


def _cron(stretch: Stretch) -> Cron:
    return Cron(expression=stretch.expression, zone=stretch.zone, gap=stretch.gap, fold=stretch.fold)


def _known_fires(stretch: Stretch) -> tuple[list[datetime], datetime]:
    """The fires of the stretch and at least one beyond, as far as it is worth looking."""
    known: list[datetime] = []
    start = stretch.start
    for further in (timedelta(0), *LOOK_AHEAD):
        end = stretch.end + further
        known += fires(stretch.expression, stretch.zone, start, end, gap=stretch.gap, fold=stretch.fold)
        start = end
        if known and known[-1] > stretch.end:
            break
    return known, start


def _compare_refusal(stretch: Stretch) -> Iterator[Difference]:
    try:
        got = _cron(stretch)
    except InvalidSchedule:
        return
    yield Difference(stretch, "is refused", "a refusal", got)


def _compare_questions(
    stretch: Stretch, cron: Cron, known: list[datetime], known_until: datetime, tally: Tally
) -> Iterator[Difference]:
    for after in questions(stretch, known, QUESTIONS):
        tally.asked += 1
        tally.near += is_near_change(stretch.zone, after, NEAR)
        place = bisect_right(known, after)
        got = _answer(cron, after)
        if place < len(known):
            if got != known[place]:
                yield Difference(stretch, f"next after {after.isoformat()}", known[place].isoformat(), got)
        elif isinstance(got, Exception) or (got is not None and got <= known_until):
            yield Difference(stretch, f"next after {after.isoformat()}", f"later than {known_until}", got)


def _answer(cron: Cron, after: datetime) -> datetime | Exception | None:
    try:
        answer = next_after(cron, after, Past(anchor=after))
    except Exception as failure:  # noqa: BLE001 - a crash is a difference too, and is replayed like one
        return failure
    if answer is not None and answer.tzinfo is not UTC:
        return ValueError(f"not in UTC: {answer!r}")
    return answer


def _compare_list(stretch: Stretch, cron: Cron, known: list[datetime], tally: Tally) -> Iterator[Difference]:
    expected = known[:LISTED]
    got = preview(cron, zone=stretch.zone, after=stretch.start, until=expected[-1], limit=LISTED + 1)
    tally.listed += len(expected)
    tally.near += sum(is_near_change(stretch.zone, instant, NEAR) for instant in expected)
    if got != expected:
        yield Difference(stretch, f"list after {stretch.start.isoformat()}", _shown(expected), _shown(got))


def _shown(instants: list[datetime]) -> str:
    return ", ".join(instant.isoformat() for instant in instants)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--zones", default="", help="comma-separated; all zones without it")
    parser.add_argument("--stop-after", type=int, default=20, help="differences")
    parser.add_argument("--replay", help="one stretch again, by the word printed with its difference")
    options = parser.parse_args(arguments)
    if options.replay:
        tally = Tally()
        compare_stretch(draw_stretch(options.replay), tally)
        print(*tally.differences, sep="\n")
    else:
        zones = [name for name in options.zones.split(",") if name]
        tally = compare(options.count, options.seed, zones=zones, stop_after=options.stop_after)
    print(tally)
    return 1 if tally.differences else 0


if __name__ == "__main__":
    sys.exit(main())
