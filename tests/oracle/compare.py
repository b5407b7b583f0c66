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
from itertools import islice

from horae import InvalidSchedule, preview
from horae.schedule import AnyOf, Cron, Every, Past, count, iterate
from horae.schedule import next as next_after

from .cases import Stretch, draw_stretch, questions, stretches
from .cron_oracle import Fold, Gap, fires
from .cron_reader import Refused
from .edges import edge, edges
from .zone_oracle import is_near_change

QUESTIONS = 30  # in one stretch
LISTED = 20  # fires of one list
FIRST = 1_500  # comparisons before the edges
NEAR = timedelta(hours=48)
MAX_LISTED = 400  # fires of a schedule that is compared in a list with others
# In a list with the schedule of a stretch: pinned and flowing ones, some at equal instants, and two intervals.
BESIDE: tuple[tuple[str, Gap, Fold], ...] = (
    ("30 2 * * *", "next", "first"),
    ("15,30 2 * * *", "skip", "last"),
    ("0 */2 * * *", "next", "first"),
    ("0 0 1 * *", "next", "first"),
)
INTERVALS = (Every(timedelta(minutes=90)), Every(timedelta(minutes=150)))
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
    counted: int = 0
    refused: int = 0
    several: int = 0  # lists of schedules, not among the comparisons
    near: int = 0
    zones: set[str] = field(default_factory=set)
    differences: list[Difference] = field(default_factory=list)

    @property
    def comparisons(self) -> int:
        return self.asked + self.listed + self.counted + self.refused

    @property
    def near_share(self) -> float:
        return self.near / max(self.comparisons, 1)

    def __str__(self) -> str:
        return (
            f"{self.comparisons:,} comparisons ({self.asked:,} questions, {self.listed:,} fires of lists, "
            f"{self.counted:,} counts, {self.refused:,} refusals), {self.near_share:.0%} within 48 h of a clock change, "
            f"{self.several:,} lists of schedules, {len(self.zones)} zones, {len(self.differences)} differences"
        )


def compare(
    wanted: int,
    seed: int,
    *,
    zones: Sequence[str] = (),
    stop_after: int = 20,
    report: Callable[[str], None] = print,
) -> Tally:
    """At least so many comparisons, or fewer if there were that many differences."""
    tally = Tally()
    milestone = step = max(wanted // 10, 1)
    for stretch in stretches(seed, zones):
        compare_stretch(stretch, tally)
        if tally.comparisons >= milestone:
            report(f"seed {seed}: {tally}")
            milestone += step
        if tally.comparisons >= wanted or len(tally.differences) >= stop_after:
            break
    for difference in tally.differences:
        report(str(difference))
    return tally


def compare_edges(zones: Sequence[str] = (), *, stop_after: int = 20, report: Callable[[str], None] = print) -> Tally:
    tally = Tally()
    for stretch in edges(zones):
        compare_stretch(stretch, tally)
        if len(tally.differences) >= stop_after:
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
    found = list(_compare_questions(stretch, cron, known, known_until, tally))
    # A wrong next may make a list or a count go on for ever.
    if not found and known and stretch.number % 3 == 0:
        found += _compare_list(stretch, cron, known[:LISTED], tally)
    if not found:
        found += _compare_count(stretch, cron, bisect_right(known, stretch.end), tally)
    if not found and stretch.number % 5 == 0 and len(known) < MAX_LISTED:
        found += _compare_several(stretch, cron, [each for each in known if each <= stretch.end], tally)
    tally.differences += found


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


def _compare_list(stretch: Stretch, cron: Cron, expected: list[datetime], tally: Tally) -> Iterator[Difference]:
    got = _listed(stretch, cron, expected[-1])
    tally.listed += len(expected)
    tally.near += sum(is_near_change(stretch.zone, instant, NEAR) for instant in expected)
    if got != expected:
        yield Difference(stretch, f"list after {stretch.start.isoformat()}", _shown(expected), _shown(got))


def _listed(stretch: Stretch, cron: Cron, until: datetime) -> list[datetime]:
    """By each of the ways to a list in turn: iterated, previewed as a value, previewed as text."""
    start = stretch.start
    match stretch.number // 3 % 3:
        case 0:
            return list(islice(iterate(cron, start, Past(anchor=start), until=until), LISTED + 1))
        case 1:
            return preview(cron, zone="UTC", after=start, until=until, limit=LISTED + 1)
        case _:
            expression, zone, gap, fold = stretch.expression, stretch.zone, stretch.gap, stretch.fold
            return preview(expression, zone=zone, after=start, until=until, limit=LISTED + 1, gap=gap, fold=fold)


def _compare_count(stretch: Stretch, cron: Cron, expected: int, tally: Tally) -> Iterator[Difference]:
    tally.counted += 1
    tally.near += is_near_change(stretch.zone, stretch.start, NEAR)
    got = count(cron, stretch.start, stretch.end, Past(anchor=stretch.start))
    if got != expected:
        yield Difference(stretch, f"count until {stretch.end.isoformat()}", expected, got)


def _compare_several(stretch: Stretch, cron: Cron, known: list[datetime], tally: Tally) -> Iterator[Difference]:
    """The schedule in a list with others: by the oracle the union of their fires, without those that are equal."""
    start, end = stretch.start, stretch.end
    several = AnyOf(
        (cron, *(Cron(each, gap=gap, fold=fold) for each, gap, fold in BESIDE), *INTERVALS), zone=stretch.zone
    )
    expected = {*known, *_grid_fires(start, end)}
    for expression, gap, fold in BESIDE:
        expected.update(fires(expression, stretch.zone, start, end, gap=gap, fold=fold))
    ordered, past = sorted(expected), Past(anchor=start)
    tally.several += 1
    got = list(islice(iterate(several, start, past, until=end), len(ordered) + 1))
    if got != ordered:
        at = next((number for number, pair in enumerate(zip(got, ordered, strict=False)) if pair[0] != pair[1]), 0)
        yield Difference(stretch, "list of several", _shown(ordered[at : at + 3]), _shown(got[at : at + 3]))
        return
    counted = count(several, start, end, past)
    if counted != len(ordered):
        yield Difference(stretch, "count of several", len(ordered), counted)


def _grid_fires(start: datetime, end: datetime) -> Iterator[datetime]:
    for every in INTERVALS:
        at = start + every.interval
        while at <= end:
            yield at
            at += every.interval


def _shown(instants: list[datetime]) -> str:
    return ", ".join(instant.isoformat() for instant in instants)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options().parse_args(arguments)
    tally = Tally()
    if options.replay:
        stretch = edge(options.replay) if options.replay.startswith("edge:") else draw_stretch(options.replay)
        compare_stretch(stretch, tally)
        print(*tally.differences, sep="\n")
    else:
        zones = [name for name in options.zones.split(",") if name]
        if options.edges:
            # Most mistakes show in the first few comparisons, and the others at the edges.
            tally = compare(min(options.count, FIRST), options.seed, zones=zones, stop_after=options.stop_after)
            if not tally.differences:
                tally = compare_edges(zones, stop_after=options.stop_after)
        if not tally.differences:
            tally = compare(options.count, options.seed, zones=zones, stop_after=options.stop_after)
    print(tally)
    return 1 if tally.differences else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--zones", default="", help="comma-separated; all zones without it")
    parser.add_argument("--edges", action="store_true", help="also the stretches that chance would seldom draw")
    parser.add_argument("--stop-after", type=int, default=20, help="differences")
    parser.add_argument("--replay", help="one stretch again, by the word printed with its difference")
    return parser


if __name__ == "__main__":
    sys.exit(main())
