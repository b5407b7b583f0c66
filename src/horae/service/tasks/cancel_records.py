"""Record of a cancelled task, written with the cancel, from which the cancel can be undone."""

from __future__ import annotations

from datetime import datetime

from ...lifecycle.control import control
from ...lifecycle.control.restore import restorable_change, restore_cancelled
from ...model.accounts.pause_change import (
    CANCEL_RETENTION,
    PAUSE_CHANGE_KIND,
    PauseChange,
    cancel_operation,
    first_key,
    pause_change_from,
    pause_change_record,
)
from ...model.change import Change, Facts
from ...model.record import Record, RecordWrite
from ...model.refusals import refuse
from ...model.task import TaskState
from ...ports.records import Records


def with_cancel_record(facts: Facts, change: Change, agent: str | None, now: datetime) -> Change:
    """Attach the record of an undo to a cancel, unless the cancel is final. `agent` is the agent that cancels, if any."""
    undoable = restorable_change(cancel_operation(now), facts, change)
    if undoable is None:
        return change
    record = pause_change_record(undoable._replace(agent=agent), facts.task.owner, now, CANCEL_RETENTION)
    return change._replace(attached=(*change.attached, RecordWrite(record)))


async def read_cancel_record(records: Records, facts: Facts, agent: str | None) -> Record:
    """Return the record of the cancel of a task; refused if it cannot be undone, or by this agent.

    An agent can undo its own cancels: otherwise it could take back the decision of a person.
    """
    task, status = facts.task, facts.status
    if status.state is not TaskState.CANCELLED or status.ended is None:
        raise refuse("not_cancelled", name=task.name, id=task.id)
    key = first_key(cancel_operation(status.ended)) + task.id
    record = await records.get_record(PAUSE_CHANGE_KIND, key, task.owner)
    if record is None:
        raise refuse("cancel_is_final", name=task.name, id=task.id)
    if agent is not None and agent != pause_change_from(record).agent:
        raise refuse("cancelled_by_another", name=task.name, id=task.id)
    return record


def restore_change(facts: Facts, change: PauseChange, now: datetime) -> Change:
    """Undo a pause, a resume or a cancel; refused if the task was changed since, or was restarted after it had failed."""
    if change.cancelled is not None:
        return restore_cancelled(facts, change.before, change.cancelled, now)
    if not change.is_current(facts):
        raise refuse("changed_since", id=facts.task.id)
    if change.state is TaskState.FAILED:
        raise refuse("restarted_since", id=facts.task.id)
    return control.restore_pause(facts, change.before, now)
