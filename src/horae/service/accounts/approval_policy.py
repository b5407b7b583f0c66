"""What an agent made and a person must look at first: bound to the digest of the whole task, so that any edit closes it again."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from typing import Final, NamedTuple

from ...lifecycle import control
from ...lifecycle.conclude import facts_after
from ...model.accounts.agent_label import agent_of
from ...model.change import Change, Facts
from ...model.pause_notes import AWAITING_APPROVAL
from ...model.policy import to_json as policies_to_json
from ...model.task import FRESH, GOING, PauseCause, Target, Task
from ...schedule import to_json
from .refusals import refuse

APPROVED_LABEL: Final = "horae/approved"
"""The digest that somebody has approved; stamped by the service like every label that begins so."""
UNGATED: Final = frozenset({"event"})
"""What an agent may ask for by itself: to be told of something."""
FUNCTION: Final = "function"
ANY_FUNCTION: Final = "*"
_NOTE: Final = AWAITING_APPROVAL


def digest_of(task: Task) -> str:
    """Everything that says what the task does, and when; it changes with every edit that changes any of that."""
    labels = [label for label in task.labels if label[0] != APPROVED_LABEL]
    whole = [
        task.id,
        task.owner,
        task.name,
        to_json(task.schedule),
        list(task.target),
        task.payload,
        policies_to_json(task.policies),
        task.key,
        task.lane,
        labels,
    ]
    return sha256(json.dumps(whole, sort_keys=True, separators=(",", ":"), default=str).encode()).hexdigest()


def without_approval(task: Task) -> Task:
    return task._replace(labels=tuple(label for label in task.labels if label[0] != APPROVED_LABEL))


def with_approval(task: Task) -> Task:
    bare = without_approval(task)
    return bare._replace(labels=tuple(sorted((*bare.labels, (APPROVED_LABEL, digest_of(bare))))))


class Gate(NamedTuple):
    """Which tasks of agents wait for a person: all but prompts and events, and the functions that the operator allows."""

    functions: frozenset[str] = frozenset()
    """Names of functions that agents may schedule by themselves; `*` stands for all."""

    def needs_approval(self, task: Task) -> bool:
        if agent_of(task) is None or task.target.kind in UNGATED:
            return False
        return not self._allows(task.target)

    def is_closed(self, task: Task) -> bool:
        """Whether nothing of it may run before somebody approves it as it is."""
        return self.needs_approval(task) and dict(task.labels).get(APPROVED_LABEL) != digest_of(task)

    def check_open(self, task: Task) -> None:
        if self.is_closed(task):
            raise refuse("awaiting_approval", digest=digest_of(task), id=task.id)

    def gated(self, change: Change, now: datetime, before: Facts | None = None) -> Change:
        """The same change; where it makes or leaves a task that nobody has approved as it is now, that one is paused too."""
        task = change.task
        if task is None or not self.is_closed(task):
            return change
        change = change._replace(task=without_approval(task))
        facts = before or Facts(task, change.standing or FRESH)
        if facts_after(facts, change).standing.state not in GOING:
            return change
        return followed(facts, change, lambda after: _closed(after, now))

    def _allows(self, target: Target) -> bool:
        if target.kind != FUNCTION or not self.functions:
            return False
        return ANY_FUNCTION in self.functions or json.loads(target.spec).get("name") in self.functions


STRICT: Final = Gate()
"""No function runs for an agent before a person has approved it."""


def _closed(facts: Facts, now: datetime) -> Change:
    return control.pause(facts, now, cause=PauseCause.AWAITING_APPROVAL, note=_NOTE)


def followed(facts: Facts, first: Change, decide: Callable[[Facts], Change]) -> Change:
    """Two decisions as one: the second is made on what the first one leaves."""
    second = decide(facts_after(facts, first))
    put = {entry.slot: entry for entry in (*first.put, *second.put)}
    gone = dict.fromkeys((*first.dropped, *second.dropped))
    for slot in second.dropped:
        put.pop(slot, None)
    return Change(
        task=second.task or first.task,
        standing=second.standing or first.standing,
        born=(*first.born, *second.born),
        moved=(*first.moved, *second.moved),
        cancelled=(*first.cancelled, *second.cancelled),
        put=tuple(put.values()),
        dropped=tuple(slot for slot in gone if slot not in put),
        events=(*first.events, *second.events),
        deleted=first.deleted or second.deleted,
        beside=(*first.beside, *second.beside),
    )
