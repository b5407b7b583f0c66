"""Waterfall of an occurrence: wait, attempts, back-off pauses and takeovers as bars from its due instant on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, NamedTuple

from ..model.run import Run, RunState

WIDTH: Final = 1_000
MIN_BAR: Final = 4.0
MAX_ATTEMPTS: Final = 30
"""Attempts that are drawn: the first one and the newest others."""
_NOTHING: Final = timedelta(0)
_MILLISECOND: Final = timedelta(milliseconds=1)


class StepKind(StrEnum):
    WAIT = "wait"
    """From the due instant to the first start."""
    ATTEMPT = "attempt"
    PAUSE = "pause"
    """Back-off before the next attempt."""
    TAKEOVER = "takeover"
    """The node of the attempt before was lost; until another attempt started."""
    NEXT = "next"
    """Until the next attempt, which has not started."""


class Span(NamedTuple):
    """A step without geometry."""

    kind: StepKind
    begin: datetime
    end: datetime
    run: Run | None = None


class Step(NamedTuple):
    """One row: `x` and `width` in units of `WIDTH`; offset and length in whole milliseconds."""

    kind: StepKind
    run: Run | None
    offset: int
    length: int
    x: float
    width: float
    is_open: bool

    @property
    def offset_text(self) -> str:
        return format_milliseconds(self.offset)

    @property
    def length_text(self) -> str:
        return format_milliseconds(self.length)


class Waterfall(NamedTuple):
    """`total` is the length of the whole in milliseconds, `omitted` the number of attempts that are not drawn."""

    steps: tuple[Step, ...]
    total: int
    omitted: int

    @property
    def total_text(self) -> str:
        return format_milliseconds(self.total)


def build_waterfall(attempts: Sequence[Run], next_due: datetime | None, now: datetime) -> Waterfall:
    """Place the attempts of one occurrence, oldest first, on a common scale that begins at its due instant."""
    if not attempts:
        return Waterfall((), 0, 0)
    drawn = attempts if len(attempts) <= MAX_ATTEMPTS else (attempts[0], *attempts[1 - MAX_ATTEMPTS :])
    origin = attempts[0].occurrence_due
    spans = list(_spans(drawn, origin, next_due, now))
    total = max(_NOTHING, *(span.end - origin for span in spans))
    steps = tuple(_place(span, origin, total) for span in spans)
    return Waterfall(steps, _milliseconds(total), len(attempts) - len(drawn))


def _spans(attempts: Sequence[Run], origin: datetime, next_due: datetime | None, now: datetime) -> Iterator[Span]:
    cursor, kind = origin, StepKind.WAIT
    for run in attempts:
        begin = run.started or run.ended or run.claimed or now
        if kind is not StepKind.PAUSE or begin > cursor:
            yield Span(kind, cursor, max(cursor, begin))
        end = begin if run.started is None and not run.live else (run.ended or now)
        yield Span(StepKind.ATTEMPT, begin, max(begin, end), run)
        cursor = max(cursor, end)
        kind = StepKind.TAKEOVER if run.state is RunState.LOST else StepKind.PAUSE
    if next_due is not None:
        yield Span(StepKind.NEXT, cursor, max(cursor, next_due))


def _place(span: Span, origin: datetime, total: timedelta) -> Step:
    offset, length = max(_NOTHING, span.begin - origin), span.end - span.begin
    share = WIDTH / (total / _MILLISECOND) if total else 0.0
    width = max(MIN_BAR, round(length / _MILLISECOND * share, 1))
    x = min(WIDTH - width, round(offset / _MILLISECOND * share, 1))
    is_open = span.run is not None and span.run.live
    return Step(span.kind, span.run, _milliseconds(offset), _milliseconds(length), max(0.0, x), width, is_open)


def _milliseconds(length: timedelta) -> int:
    return round(length / _MILLISECOND)


def format_milliseconds(number: int) -> str:
    """Return milliseconds with thin spaces between thousands: `30 000`."""
    return f"{number:,}".replace(",", "\u202f")
