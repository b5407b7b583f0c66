"""The next fire, against cronsim and croniter: from a parsed value, and from text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import horae
from bench import contenders
from bench.counts import Counts
from bench.instants import ZONE, random_instants
from bench.measure import Contender, take_turns
from bench.results import Bar, Section, timed, times_faster

EXPRESSIONS: Final = ("0 9 * * 1-5", "*/5 * * * *")
_TWENTY: Final = Bar("at least", 20)
# No bar here: it shows how much of the lead is owed to UTC datetimes, which are Horae's own.
_LOCAL: Final = "horae.schedule.next, local datetimes"


def from_values(counts: Counts) -> list[Section]:
    return [_from_value(text, counts) for text in EXPRESSIONS]


def from_texts(counts: Counts) -> list[Section]:
    return [_from_text(text, counts) for text in EXPRESSIONS]


def _from_value(text: str, counts: Counts) -> Section:
    value = horae.parse(text, zone=ZONE)
    instants = random_instants(counts.instants)
    asked = {
        "horae.schedule.next": contenders.horae_next(value, instants),
        "horae.preview": contenders.horae_preview(value, instants),
        _LOCAL: contenders.horae_next_local(value, instants),
        "cronsim, object kept": contenders.cronsim_reused(text, instants),
        "croniter, object kept": contenders.croniter_reused(text, instants),
    }
    bars = {"cronsim, object kept": Bar("at least", 8), "croniter, object kept": _TWENTY}
    return _compare(f"Next of `{text}` in {ZONE}, from a parsed value", asked, bars, counts)


def _from_text(text: str, counts: Counts) -> Section:
    instants = random_instants(counts.texts)
    asked = {
        "horae.preview": contenders.horae_preview(text, instants),
        "cronsim, constructed": contenders.cronsim_constructed(text, instants),
        "croniter, constructed": contenders.croniter_constructed(text, instants),
    }
    bars = {"cronsim, constructed": Bar("at least", 5), "croniter, constructed": _TWENTY}
    return _compare(f"Next of `{text}` in {ZONE}, from text", asked, bars, counts)


def _compare(title: str, asked: Mapping[str, Contender], bars: Mapping[str, Bar], counts: Counts) -> Section:
    notes = _agreement(asked)
    timings = take_turns(asked, counts.rounds)
    rows = [timed(name, timing, "µs") for name, timing in timings.items()]
    rows += [
        times_faster(f"{ours}, against {theirs}", timings[ours], timings[theirs], None if ours == _LOCAL else bar)
        for ours in asked
        if ours not in bars
        for theirs, bar in bars.items()
    ]
    return Section(title, tuple(rows), notes)


def _agreement(asked: Mapping[str, Contender]) -> tuple[str, ...]:
    """A race counts only where all give the same answers."""
    first, *others = asked.values()
    different = {name: contenders.differences(first, other) for name, other in zip([*asked][1:], others, strict=True)}
    told = [f"{name} differs in {many:,}" for name, many in different.items() if many]
    return (f"Of {len(first.questions):,} answers " + ("; ".join(told) if told else "all agree") + ".",)
