"""An edit says only what is to change; everything else stays as it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from enum import Enum
from itertools import islice
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from ...lifecycle.plan import Draft, drafted
from ...model.accounts.agent_label import agent_of
from ...model.policy import Missed, Policies, policies_for
from ...model.task import Standing, Target, Task, past_of
from ...schedule import Schedule, iterate
from .function_records import Defaults
from .task_request import NO_OPTIONS, Options, When, chosen_policies, read_when

_T = TypeVar("_T")
_P = TypeVar("_P", Policies, Missed)


class Keep(Enum):
    """The value of a field that an edit does not mention: None is a value of its own."""

    KEEP = "keep"


KEEP: Final = Keep.KEEP
Kept: TypeAlias = _T | Literal[Keep.KEEP]


class Redeclared(NamedTuple):
    """The declarations of the function that a task had and of the one that it gets."""

    before: Defaults
    after: Defaults

    def follow(self, task: Task) -> Task:
        """What is as the former function declared it, or as is usual, becomes what the new one declares; the rest stays."""
        usual = policies_for(task.schedule)
        old, new = (chosen_policies(usual, each.options) for each in self)
        task = task._replace(policies=_followed(task.policies, old, new))
        labels = self.after.labels or {}
        if not task.labels or dict(task.labels) == (self.before.labels or {}):
            task = task._replace(labels=tuple(sorted(labels.items())))
        # An agent stays in its own lane, which is what limits it.
        if agent_of(task) is None and task.lane in (None, self.before.lane):
            task = task._replace(lane=self.after.lane)
        return task


class Edits(NamedTuple):
    name: Kept[str] = KEEP
    when: Kept[When] = KEEP
    zone: str | None = None
    """Where the new `when` names none; by itself it moves the schedule that the task has."""
    target: Kept[Target] = KEEP
    payload: Kept[str] = KEEP
    lane: Kept[str | None] = KEEP
    labels: Kept[Mapping[str, str] | None] = KEEP
    options: Options = NO_OPTIONS
    granted_lane: str | None = None
    """The lane that the declaration of a function names, where `lane` is taken from there."""
    redeclared: Redeclared | None = None
    """Where the task gets another function."""


class FireChanges(NamedTuple):
    """What an edit does to the fires ahead: those that go, and those that come."""

    removed: tuple[datetime, ...] = ()
    added: tuple[datetime, ...] = ()


class Edited(NamedTuple):
    before: Task
    after: Task
    fires: FireChanges


def edited_task(task: Task, edits: Edits, zone: str | None, now: datetime) -> Task:
    """The task as the edit wants it, checked part by part like a new one."""
    task = task if edits.redeclared is None else edits.redeclared.follow(task)
    schedule = task.schedule
    if not isinstance(edits.when, Keep):
        schedule = read_when(edits.when, edits.zone or schedule.zone or zone, now)
    elif edits.zone is not None:
        schedule = replace(schedule, zone=None).with_defaults(edits.zone)
    draft = Draft(
        task.owner,
        _chosen(edits.name, task.name),
        schedule,
        _chosen(edits.target, task.target),
        _chosen(edits.payload, task.payload),
        _policies(task, schedule, edits.options),
        task.key,
        _chosen(edits.lane, task.lane),
        dict(task.labels) if isinstance(edits.labels, Keep) else edits.labels,
    )
    return drafted(draft, task.id, task.created)._replace(version=task.version)


def fire_changes(before: Task, after: Task, standing: Standing, now: datetime, most: int = 10) -> FireChanges:
    """The next fires of each without those that they share, as far ahead as both were looked at."""
    if before.schedule == after.schedule:
        return FireChanges()
    old, new = _ahead(before, standing, now, most), _ahead(after, standing._replace(counted=0), now, most)
    # Where one was cut off, what the other has beyond that says nothing.
    seen = min((each[-1] for each in (old, new) if len(each) == most), default=None)
    if seen is not None:
        old, new = ([each for each in ahead if each <= seen] for ahead in (old, new))
    return FireChanges(tuple(each for each in old if each not in new), tuple(each for each in new if each not in old))


def _ahead(task: Task, standing: Standing, now: datetime, most: int) -> list[datetime]:
    return list(islice(iterate(task.schedule, now, past_of(task, standing)), most))


def _policies(task: Task, schedule: Schedule, options: Options) -> Policies:
    """What was never chosen follows the kind of the schedule; what was, stays."""
    return chosen_policies(_followed(task.policies, policies_for(task.schedule), policies_for(schedule)), options)


def _followed(value: _P, old: _P, new: _P) -> _P:
    """Each part that is as the old kind has it by default becomes what the new kind has."""
    if old == new:
        return value
    parts: dict[str, Any] = {}
    for name in (each.name for each in fields(value)):
        mine, before, after = getattr(value, name), getattr(old, name), getattr(new, name)
        parts[name] = after if mine == before else _followed(mine, before, after) if isinstance(mine, Missed) else mine
    return replace(value, **parts)


def _chosen(edit: Kept[_T], before: _T) -> _T:
    return before if isinstance(edit, Keep) else edit
