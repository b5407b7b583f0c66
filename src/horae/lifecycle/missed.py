"""What becomes of occurrences that came due while nothing could run: the missed policy, and nothing else."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple, assert_never

from ..model.policy import Missed
from ..model.reason import Reason
from ..model.run import Span
from .pile import Pile


class Occurrence(NamedTuple):
    """What is to be run: one planned instant, told of a stretch where it stands for one."""

    planned: datetime
    span: Span | None = None


class MakeUp(NamedTuple):
    """`run` first; then, in order, those from `queued` to `through` (or the one that stands for `queued_span`)."""

    skips: tuple[tuple[Span, Reason], ...] = ()
    run: Occurrence | None = None
    queued: datetime | None = None
    through: datetime | None = None
    queued_span: Span | None = None
    in_order: bool = False
    accepted: int = 0
    """How many occurrences are given a run, now or later."""


def on_time(planned: datetime) -> MakeUp:
    return MakeUp(run=Occurrence(planned), accepted=1)


def make_up(missed: Missed, pile: Pile, now: datetime, offset: timedelta, remaining: int | None) -> MakeUp:
    """`offset` is the task's jitter, `remaining` what its repeat still allows."""
    if missed.mode == "skip":
        return MakeUp(skips=((pile.span, Reason.MISSED_SKIPPED),))
    stale, fresh = (None, pile) if missed.within is None else pile.split(now - missed.within - offset)
    skips = () if stale is None else ((stale.span, Reason.STALE),)
    if fresh is None:
        return MakeUp(skips=skips)
    match missed.mode:
        case "latest":
            return _latest(fresh, skips)
        case "merge":
            span = fresh.span if fresh.size > 1 else None
            return MakeUp(skips, Occurrence(fresh.last, span), accepted=1)
        case "all":
            return _all(fresh, skips, missed.limit, remaining)
        case _:
            assert_never(missed.mode)


def after_waiting(missed: Missed, pile: Pile, now: datetime, offset: timedelta, remaining: int | None) -> MakeUp:
    """The first of the pile only had to wait for a seat or its turn, and runs; what passed meanwhile was missed."""
    first, rest = pile.drop_oldest(1)
    if rest is None or remaining == 1:
        return on_time(first.first)
    later = make_up(missed, rest, now, offset, None if remaining is None else remaining - 1)
    if later.run is None:
        return later._replace(run=Occurrence(first.first), accepted=1)
    return later._replace(
        run=Occurrence(first.first),
        queued=later.run.planned,
        queued_span=later.run.span,
        through=later.through,
        accepted=later.accepted + 1,
    )


def _latest(pile: Pile, skips: tuple[tuple[Span, Reason], ...]) -> MakeUp:
    if pile.size > 1:
        older = pile._replace(size=pile.size - 1).ending_before(pile.last)
        skips = (*skips, (older.span, Reason.MERGED))
    return MakeUp(skips, Occurrence(pile.last), accepted=1)


def _all(pile: Pile, skips: tuple[tuple[Span, Reason], ...], limit: int, remaining: int | None) -> MakeUp:
    kept = pile.newest(limit)
    if pile.size > len(kept):
        older = pile._replace(size=pile.size - len(kept)).ending_before(kept[0])
        skips = (*skips, (older.span, Reason.MISSED_SKIPPED))
    kept = kept if remaining is None else kept[:remaining]
    queued = kept[1] if len(kept) > 1 else None
    return MakeUp(
        skips,
        Occurrence(kept[0]),
        queued=queued,
        through=kept[-1] if queued is not None else None,
        in_order=True,
        accepted=len(kept),
    )
