"""A pile is accounted for, instant by instant: requested skips first, then what a policy says of the rest."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from ..model.entry import Entry
from ..model.reason import Reason
from ..model.run import Run
from ..model.task import Standing
from .agenda import waiting_entry
from .due_backlog import Pile
from .event_rows import skipped
from .missed import MakeUp, Occurrence, Skips


class Reckoning(NamedTuple):
    """`left` is what nobody asked to skip, `skips` what somebody did, and `standing` remembers how many wishes are left."""

    whole: Pile
    left: Pile | None
    standing: Standing
    skips: Skips = ()

    @property
    def remaining(self) -> int | None:
        """How many occurrences may still be given a run."""
        schedule = self.whole.task.schedule
        if schedule.repeat is None or schedule.counting == "planned":
            return None
        return schedule.repeat - self.standing.counted

    def rows(self, plan: MakeUp, now: datetime) -> tuple[Run, ...]:
        return tuple(skipped(self.whole.task, span, reason, now) for span, reason in (*self.skips, *plan.skips))

    def counted(self, given: int, planned: int) -> Standing:
        """The standing when so many occurrences were given a run; some schedules count all that were planned."""
        fires = planned if self.whole.task.schedule.counting == "planned" else given
        return self.standing if fires == 0 else self.standing._replace(counted=self.standing.counted + fires)

    def queued(self, occurrence: Occurrence) -> Entry:
        """Its place on the agenda, behind what goes on."""
        return waiting_entry(
            self.whole.task,
            occurrence.planned,
            self.whole.due(occurrence.planned),
            through=occurrence.through,
            span=occurrence.span,
            in_order=occurrence.in_order,
        )


def reckon(standing: Standing, pile: Pile) -> Reckoning:
    """The oldest occurrences go to whoever asked to skip some."""
    wanted = standing.skips_left
    if wanted == 0:
        return Reckoning(pile, pile, standing)
    if wanted >= pile.size:
        asked = standing._replace(skips_left=wanted - pile.size)
        return Reckoning(pile, None, asked, ((pile.span, Reason.SKIP_REQUESTED),))
    taken, left = pile.cut(wanted)
    return Reckoning(pile, left, standing._replace(skips_left=0), ((taken.span, Reason.SKIP_REQUESTED),))
