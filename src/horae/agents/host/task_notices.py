"""Notices to a chat that a scheduled prompt of its group has failed or could not run: at most one in twelve hours for each task."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import Final

from ...choices import Language
from ...clock import Clock
from ...errors import Refusal, StoreUnavailable
from ...model.agents.agent_task import AGENT_KIND
from ...model.agents.budget import note_in
from ...model.agents.group import Group
from ...model.change import Facts
from ...model.entry import CONTROL_KINDS, NEXT_SLOT
from ...model.events.event import Event, EventKind
from ...model.reason import UNPLANNED_SKIPS, Reason, describe_reason
from ...model.record import Record, RecordWrite
from ...model.run import Origin, Run, RunState
from ...model.task import TaskState
from ...ports.store import RunFilter
from ...service.service import Service
from . import command_texts as words
from .outbox import Outbox

LOG: Final = logging.getLogger("horae.agents")
FAILURE_KIND: Final = "group.task_failure"
_FAILED_STATES: Final = frozenset({RunState.FAILED, RunState.TIMED_OUT, RunState.LOST})
_FAILED_EVENTS: Final = frozenset({EventKind.RUN_FAILED, EventKind.RUN_TIMED_OUT, EventKind.RUN_LOST})
_BETWEEN: Final = timedelta(hours=12)
_RECENT_RUNS: Final = 50
_NEWEST_RUNS: Final = 8


def needs_notice(event: Event) -> bool:
    """Return whether the chat may need a notice about the task of an event."""
    is_skip = event.kind is EventKind.RUN_SKIPPED and event.detail in UNPLANNED_SKIPS
    return is_skip or event.kind in _FAILED_EVENTS


class TaskNotices:
    """The notice commits with the record of its task, so that a crash neither loses nor repeats it."""

    def __init__(self, service: Service, clock: Clock, outbox: Outbox) -> None:
        self._service = service
        self._store = service.store
        self._clock = clock
        self._outbox = outbox

    async def recent(self, group: Group) -> set[str]:
        """Return the tasks of the group with a run that failed or was skipped lately, for the start of a host."""
        since = self._clock.now() - _BETWEEN
        found: list[Run] = []
        for states in (_FAILED_STATES, frozenset({RunState.SKIPPED})):
            page = await self._store.runs(RunFilter(group.owner, states=states, since=since), limit=_RECENT_RUNS)
            found += page.items
        return {run.task_id for run in found if run.state is not RunState.SKIPPED or run.reason in UNPLANNED_SKIPS}

    async def tell(self, group: Group, task_id: str) -> None:
        """Tell the chat that the task has failed or was skipped, unless it is tried again or the chat knows."""
        facts = await self._store.facts(task_id, group.owner)
        if facts is None or facts.task.target.kind != AGENT_KIND or _goes_on(facts):
            return
        skipped = await self._find_skip(task_id)
        if skipped is None and not _has_failed(facts):
            return
        language = await self._outbox.language_of(group) or "en"
        text = _failure_text(group, facts, language) if skipped is None else _skip_text(group, facts, skipped, language)
        now = self._clock.now()
        before = await self._store.get_record(FAILURE_KIND, task_id)
        if before is not None and before.expires is not None and before.expires > now:
            return
        record = Record(FAILURE_KIND, task_id, group.owner, "{}", expires=now + _BETWEEN)
        write = RecordWrite(record, None if before is None else before.version)
        source_id = f"task_failed:{task_id}:{now.isoformat()}"
        try:
            await self._outbox.send(group, text, source_id, "", [write])
        except StoreUnavailable:
            raise
        except Refusal as refusal:
            # Another host was first, or the chat takes no more messages: its router goes on.
            if refusal.code != "record_changed":
                LOG.warning("the chat of %s gets no notice about a task: %s", group.folder, refusal)

    async def _find_skip(self, task_id: str) -> Run | None:
        """Return the newest run of a task, except for those on request, if it is a skip that nothing has planned."""
        page = await self._store.runs(RunFilter(task_id=task_id), limit=_NEWEST_RUNS)
        own = [run for run in page.items if run.origin is not Origin.MANUAL]
        newest = max(own, key=lambda run: (run.planned, run.attempt), default=None)
        is_skip = newest is not None and newest.state is RunState.SKIPPED and newest.reason in UNPLANNED_SKIPS
        return newest if is_skip else None


def _failure_text(group: Group, facts: Facts, language: Language) -> str:
    problem = " ".join((facts.status.last_result or "").split())
    return words.TASK_FAILED.in_language(
        language, name=facts.task.name, problem=problem or words.NO_PROBLEM, command=_why(group, facts)
    )


def _skip_text(group: Group, facts: Facts, run: Run, language: Language) -> str:
    problem = "" if run.reason is None else describe_reason(run.reason, language)
    if run.reason is Reason.OVER_BUDGET and run.error:
        problem = note_in(language, run.error)
    return words.TASK_SKIPPED.in_language(language, name=facts.task.name, problem=problem, command=_why(group, facts))


def _why(group: Group, facts: Facts) -> str:
    """Return the command of the chat that explains what has happened."""
    trigger = f"{group.trigger} " if group.needs_trigger else ""
    return f"{trigger}/why {facts.task.name}"


def _goes_on(facts: Facts) -> bool:
    """Return whether a run of the task goes on, or an entry besides its next occurrence waits, such as a retry."""
    return bool(facts.live) or any(each.slot != NEXT_SLOT and each.kind not in CONTROL_KINDS for each in facts.entries)


def _has_failed(facts: Facts) -> bool:
    """Return whether the last occurrence of a prompt has failed."""
    return facts.status.failures > 0 or facts.status.state is TaskState.FAILED
