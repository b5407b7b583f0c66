"""Partial edits of a task: fields that an edit does not mention keep their value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import datetime
from enum import Enum
from itertools import islice
from typing import Any, Final, Literal, NamedTuple, TypeAlias, TypeVar

from ...lifecycle.plan import Draft, build_task
from ...model.accounts.account import agent_of
from ...model.policy import Missed, Policies, policies_for
from ...model.task import Target, Task, TaskStatus, past_of
from ...schedule import Schedule, iterate
from .functions.records import Defaults
from .task_request import NO_OPTIONS, Options, When, apply_options, read_when, with_zone

_T = TypeVar("_T")
_P = TypeVar("_P", Policies, Missed)


class Keep(Enum):
    """Type of the sentinel for a field that an edit does not mention, because None is a value of its own."""

    KEEP = "keep"


KEEP: Final = Keep.KEEP
MaybeKept: TypeAlias = _T | Literal[Keep.KEEP]


class DeclarationChange(NamedTuple):
    """Declarations of the former function of a task and of its new one."""

    before: Defaults
    after: Defaults

    def follow(self, task: Task) -> Task:
        """Replace values that equal the former declaration, or the default, with the new declaration; keep the others."""
        defaults = policies_for(task.schedule)
        old, new = (apply_options(defaults, each.options) for each in self)
        task = task._replace(policies=_rebase(task.policies, old, new))
        labels = self.after.labels or {}
        if not task.labels or dict(task.labels) == (self.before.labels or {}):
            task = task._replace(labels=tuple(sorted(labels.items())))
        # An agent stays in its own lane, because that limits its concurrency.
        if agent_of(task) is None and task.lane in (None, self.before.lane):
            task = task._replace(lane=self.after.lane)
        return task


class Edits(NamedTuple):
    name: MaybeKept[str] = KEEP
    when: MaybeKept[When] = KEEP
    zone: str | None = None
    """Zone for a new `when` without one; alone, it moves the current schedule to this zone."""
    target: MaybeKept[Target] = KEEP
    payload: MaybeKept[str] = KEEP
    lane: MaybeKept[str | None] = KEEP
    labels: MaybeKept[Mapping[str, str] | None] = KEEP
    options: Options = NO_OPTIONS
    granted_lanes: tuple[str, ...] = ()
    """Lanes of the function's declaration, if they come from there."""
    redeclared: DeclarationChange | None = None
    """Set if the task gets another function."""


class FireChanges(NamedTuple):
    """Effect of an edit on upcoming fires: removed and added instants."""

    removed: tuple[datetime, ...] = ()
    added: tuple[datetime, ...] = ()


class EditResult(NamedTuple):
    before: Task
    after: Task
    fires: FireChanges


def apply_edits(task: Task, edits: Edits, zone: str | None, now: datetime) -> Task:
    """Return the task after the edit, checked field by field like a new one."""
    task = task if edits.redeclared is None else edits.redeclared.follow(task)
    schedule = task.schedule
    if not isinstance(edits.when, Keep):
        schedule = read_when(edits.when, edits.zone or schedule.zone or zone, now)
    elif edits.zone is not None:
        schedule = with_zone(replace(schedule, zone=None), edits.zone)
    draft = Draft(
        task.owner,
        _value_or(edits.name, task.name),
        schedule,
        _value_or(edits.target, task.target),
        _value_or(edits.payload, task.payload),
        _edited_policies(task, schedule, edits.options),
        task.key,
        _value_or(edits.lane, task.lane),
        dict(task.labels) if isinstance(edits.labels, Keep) else edits.labels,
    )
    built = build_task(draft, task.id, task.created)
    return built._replace(version=task.version, successors=task.successors)


def fire_changes(before: Task, after: Task, standing: TaskStatus, now: datetime, most: int = 10) -> FireChanges:
    """Compare the next fires before and after, as far ahead as both lists reach."""
    if before.schedule == after.schedule:
        return FireChanges()
    old, new = _next_fires(before, standing, now, most), _next_fires(after, standing._replace(counted=0), now, most)
    # Beyond the end of a truncated list, the lists cannot be compared.
    horizon = min((each[-1] for each in (old, new) if len(each) == most), default=None)
    if horizon is not None:
        old, new = ([each for each in ahead if each <= horizon] for ahead in (old, new))
    return FireChanges(tuple(each for each in old if each not in new), tuple(each for each in new if each not in old))


def _next_fires(task: Task, standing: TaskStatus, now: datetime, most: int) -> list[datetime]:
    return list(islice(iterate(task.schedule, now, past_of(task, standing)), most))


def _edited_policies(task: Task, schedule: Schedule, options: Options) -> Policies:
    """Policies that were never chosen follow the kind of the schedule; chosen ones stay."""
    return apply_options(_rebase(task.policies, policies_for(task.schedule), policies_for(schedule)), options)


def _rebase(value: _P, old: _P, new: _P) -> _P:
    """Replace each part that equals the old default with the new default."""
    if old == new:
        return value
    parts: dict[str, Any] = {}
    for name in (each.name for each in fields(value)):
        mine, before, after = getattr(value, name), getattr(old, name), getattr(new, name)
        parts[name] = after if mine == before else _rebase(mine, before, after) if isinstance(mine, Missed) else mine
    return replace(value, **parts)


def _value_or(edit: MaybeKept[_T], before: _T) -> _T:
    return before if isinstance(edit, Keep) else edit
