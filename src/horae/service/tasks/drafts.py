"""A wish becomes a change: read for whoever asks, within what they may have, and closed where somebody must approve it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Final

from ...clock import Clock
from ...entropy import entropy
from ...errors import Refusal
from ...lifecycle import control, edit
from ...lifecycle.plan import Draft, drafted, plan
from ...model.accounts.principal import NO_QUOTAS, Principal
from ...model.change import Change, Facts
from ...model.field_checks import check_text
from ...model.ids import ENTROPY, named, rising
from ...model.limits import KEY_CHARACTERS
from ...model.refusals import NOT_CARRIED, refuse
from ...model.task import Target, Task, TaskState
from ...schedule import Schedule
from ..accounts.approval_policy import STRICT, Gate
from ..accounts.rights import task_labels, task_lane
from .edits import Edits, Keep, edited_task
from .quotas import check_task
from .task_request import Wish, read_policies, read_when

_BETWEEN_TURNS: Final = 64
"""So many tasks are planned before others have their turn: about two milliseconds."""
_LONGEST_TURN: Final = 0.005
"""Seconds: where schedules have to be looked through, which some make last long, the turn is over before."""


_SUFFIX: Final = 6


def another_key(key: str, task_id: str) -> str:
    """A key to suggest for a successor of this task: derived from the task's id, so that no other task is likely to have
    it, and short enough."""
    return f"{key[: KEY_CHARACTERS - _SUFFIX - 1]}-{task_id[-_SUFFIX:]}"


class _Turn:
    """How long somebody has been at it without letting others have theirs."""

    def __init__(self, clock: Clock, *, is_slow: bool) -> None:
        self._clock = clock
        self._is_slow = is_slow
        self._began = clock.steady()

    async def given(self, done: int) -> None:
        """To others, when it was ours for long enough."""
        is_over = done % _BETWEEN_TURNS == _BETWEEN_TURNS - 1
        if is_over or (self._is_slow and self._clock.steady() - self._began > _LONGEST_TURN):
            await self._clock.pause(0)
            self._began = self._clock.steady()


class Drafting:
    """`check` looks at the target of each new or edited task, with its payload, and says how it is to be kept."""

    def __init__(
        self,
        clock: Clock,
        zone: str | None = None,
        check: Callable[[Target, str], Target] = lambda target, _payload: target,
        entropy: Callable[[int], bytes] = entropy,
        gate: Gate = STRICT,
    ) -> None:
        self.gate = gate
        self._clock = clock
        self._zone = zone
        self._check = check
        self.entropy = entropy

    def new_id(self, now: datetime) -> str:
        return named("tsk", now, self.entropy(ENTROPY))

    def planned(self, who: Principal, wish: Wish, task_id: str, now: datetime, paused: str | None = None) -> Change:
        """A new task."""
        draft = self.draft(who, wish, now, paused)
        return self.planned_from(who, draft, task_id, now, paused, granted_lane=wish.granted_lane)

    def planned_from(
        self,
        who: Principal,
        draft: Draft,
        task_id: str,
        now: datetime,
        paused: str | None = None,
        *,
        granted_lane: str | None = None,
    ) -> Change:
        lane = task_lane(who, draft.owner, draft.lane, granted=granted_lane)
        change = plan(draft._replace(lane=lane, labels=task_labels(who, draft.labels)), task_id, now)
        if change.task is not None:
            check_task(who, change.task, None, now)
        closed = self.gate.gated(change, now)
        return closed if closed is not change or paused is None else control.made_paused(change, now, paused)

    async def planned_many(self, who: Principal, wishes: Iterable[Wish]) -> list[Change]:
        """Read at one instant, so that the same words mean the same; runs that are due have their turn in between."""
        now = self._clock.now()
        names = rising("tsk", now, self.entropy)
        known: dict[tuple[str, str | None], Schedule] = {}
        changes: list[Change] = []
        turn = _Turn(self._clock, is_slow=who.quotas != NO_QUOTAS)
        try:
            for wish in wishes:
                await turn.given(len(changes))
                if isinstance(wish.when, str):
                    said = wish.when, self.zone_of(who) if wish.zone is None else wish.zone
                    if said not in known:
                        known[said] = read_when(*said, now)
                    wish = wish._replace(when=known[said])
                changes.append(self.planned(who, wish, next(names), now))
        except Refusal as refusal:
            refusal.add_note(f"This was number {len(changes) + 1}; nothing was written.")
            refusal.facts["number"] = len(changes) + 1
            raise
        return changes

    def declared(  # noqa: PLR0913 - each by its name
        self,
        who: Principal,
        draft: Draft,
        found: Facts | None,
        now: datetime,
        made: Callable[[], Change],
        *,
        is_new: bool = False,
        granted_lane: str | None = None,
    ) -> Change:
        """What has this key already is edited into what is wanted now, if it is not that yet. `is_new`: a task that runs
        is wanted, so that a cancelled one is refused also where nothing would change."""
        if found is None:
            return made()
        before = found.task
        draft = draft._replace(
            lane=task_lane(who, draft.owner, draft.lane, before, granted_lane),
            labels=task_labels(who, draft.labels, before),
        )
        wanted = drafted(draft, before.id, before.created)._replace(version=before.version)
        if found.standing.state is TaskState.CANCELLED and (is_new or wanted != before):
            raise refuse(
                "key_of_cancelled",
                key=before.key,
                name=before.name,
                id=before.id,
                other=another_key(before.key or "", before.id),
            )
        return self._edited(who, found, wanted, now)

    def edited(self, who: Principal, facts: Facts, edits: Edits, now: datetime) -> Change:
        """Only what is said changes."""
        before = facts.task
        if not isinstance(edits.lane, Keep):
            edits = edits._replace(lane=task_lane(who, before.owner, edits.lane, before, edits.granted_lane))
        if not isinstance(edits.labels, Keep):
            edits = edits._replace(labels=task_labels(who, edits.labels, before))
        wanted = edited_task(before, edits, self.zone_of(who), now)
        kept = wanted.target == before.target
        wanted = wanted._replace(target=self._checked(wanted.target, wanted.payload, may_wait=kept))
        return self._edited(who, facts, wanted, now)

    def _edited(self, who: Principal, facts: Facts, wanted: Task, now: datetime) -> Change:
        if wanted == facts.task:
            return Change()
        check_task(who, wanted, facts.task, now)
        return self.gate.gated(edit.edit(facts, wanted, now), now, facts)

    def _checked(self, target: Target, payload: str, *, may_wait: bool) -> Target:
        """`may_wait`: a target that nothing here runs is kept, because the task is paused, or has had it before."""
        try:
            return self._check(target, payload)
        except Refusal as refusal:
            if not may_wait or refusal.code != NOT_CARRIED:
                raise
            return target

    def check_carried(self, task: Task) -> None:
        """Refuses to start a task whose target nothing here runs, as its creation would be refused. What else may be wrong
        with the target is the node's to say."""
        try:
            self._check(task.target, task.payload)
        except Refusal as refusal:
            if refusal.code == NOT_CARRIED:
                raise

    def draft(self, who: Principal, wish: Wish, now: datetime, paused: str | None = None) -> Draft:
        owner = who.owner if wish.owner is None else wish.owner
        if owner != who.owner and who.scope is not None:
            raise refuse("foreign_owner", owner=owner)
        # They are looked for before the rest of the wish is looked at.
        check_text("owner", owner, KEY_CHARACTERS)
        if wish.key is not None:
            check_text("key", wish.key, KEY_CHARACTERS)
        schedule = read_when(wish.when, self.zone_of(who) if wish.zone is None else wish.zone, now)
        policies = read_policies(schedule, wish.options)
        target = self._checked(wish.target, wish.payload, may_wait=paused is not None)
        return Draft(owner, wish.name, schedule, target, wish.payload, policies, wish.key, wish.lane, wish.labels)

    def zone_of(self, who: Principal) -> str | None:
        """Where whoever asks says none, their own counts before that of the deployment."""
        return who.zone or self._zone
