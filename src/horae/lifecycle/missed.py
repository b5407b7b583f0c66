"""What becomes of occurrences that came due while nothing could run: the missed policy, and nothing else."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple, TypeAlias, assert_never

from ..model.policy import Missed
from ..model.reason import Reason
from ..model.run import Span
from .due_backlog import Pile

Skips: TypeAlias = tuple[tuple[Span, Reason], ...]


class Occurrence(NamedTuple):
    """What is to be run: one planned instant, told of a stretch where it stands for one; or all of those up to `through`.

    `in_order` says that it ends, retries included, before a later one starts.
    """

    planned: datetime
    span: Span | None = None
    through: datetime | None = None
    in_order: bool = False


class MakeUp(NamedTuple):
    """What is skipped, what runs first, and what runs after that; `accepted` occurrences are given a run, now or later."""

    skips: Skips = ()
    run: Occurrence | None = None
    queued: Occurrence | None = None
    accepted: int = 0

    @property
    def all_queued(self) -> MakeUp:
        """The same, when even the first has to wait."""
        if self.run is None or self.queued is None:
            return self._replace(run=None, queued=self.run)
        return self._replace(run=None, queued=self.queued._replace(planned=self.run.planned))


def on_time(planned: datetime) -> MakeUp:
    return MakeUp(run=Occurrence(planned), accepted=1)


def make_up(missed: Missed, pile: Pile, now: datetime, remaining: int | None) -> MakeUp:
    """`remaining` is what the schedule's repeat still allows."""
    if missed.mode == "skip":
        return MakeUp(skips=((pile.span, Reason.MISSED_SKIPPED),))
    stale, fresh = (None, pile) if missed.within is None else pile.due_before(now - missed.within)
    skips: Skips = () if stale is None else ((stale.span, Reason.STALE),)
    if fresh is None:
        return MakeUp(skips)
    match missed.mode:
        case "latest":
            return _latest(fresh, skips)
        case "merge":
            return MakeUp(skips, Occurrence(fresh.last, fresh.span if fresh.size > 1 else None), accepted=1)
        case "all":
            return _all(fresh, skips, missed.limit, remaining)
        case _:
            assert_never(missed.mode)


def after_waiting(missed: Missed, pile: Pile, now: datetime, remaining: int | None) -> MakeUp:
    """The first of the pile only had to wait for a seat or its turn, and runs; what passed meanwhile was missed."""
    if pile.size == 1 or remaining == 1:
        return on_time(pile.first)
    _, rest = pile.cut(1)
    later = make_up(missed, rest, now, None if remaining is None else remaining - 1).all_queued
    return later._replace(run=Occurrence(pile.first), accepted=later.accepted + 1)


def _latest(pile: Pile, skips: Skips) -> MakeUp:
    if pile.size > 1:
        skips = (*skips, (pile.oldest(pile.size - 1).span, Reason.MERGED))
    return MakeUp(skips, Occurrence(pile.last), accepted=1)


def _all(pile: Pile, skips: Skips, limit: int, remaining: int | None) -> MakeUp:
    surplus = pile.size - limit
    if surplus > 0:
        older, pile = pile.cut(surplus)
        skips = (*skips, (older.span, Reason.MISSED_SKIPPED))
    if remaining is not None and remaining < pile.size:
        # The schedule ends with the last repeat: what is planned after it is no occurrence any more.
        pile = pile.oldest(remaining)
    rest = Occurrence(pile.nth(2), through=pile.last, in_order=True) if pile.size > 1 else None
    return MakeUp(skips, Occurrence(pile.first, in_order=True), rest, accepted=pile.size)
