"""Planning of notices: which events of the log become messages, to which destinations, and with which text.

A task without the policy `notify` costs nothing at its settlement: the log is read by the dispatcher alone, and only
where its owner has a destination.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Final

from ...lifecycle.event_rows import is_failing
from ...model.accounts.system_owner import account_of, is_system_owner
from ...model.change import Facts
from ...model.entry import EntryKind
from ...model.events.destination import (
    NOTICE_CHARACTERS,
    Destination,
    Notice,
    Occasion,
    notice_json,
)
from ...model.events.event import Event, EventKind, SequencedEvent
from ...model.events.trigger_fields import alert_of
from ...model.events.webhook import Delivery, delivery_id
from ...model.limits import to_storable
from ...model.origin import Origin
from ...model.page import MAX_PAGE_SIZE
from ...model.policy import Notify
from ...model.run import Run
from ...model.task import Task
from ...ports.store import Book, RunFilter
from .event_bodies import load_task_of_run
from .notice_text import fill_notice_text

_OCCASIONS: Final = {
    EventKind.TASK_FAILING: Occasion.FAILED,
    EventKind.TASK_RECOVERED: Occasion.RECOVERED,
    EventKind.TASK_OVERDUE: Occasion.OVERDUE,
    EventKind.RUN_SUCCEEDED: Occasion.SUCCEEDED,
    EventKind.TASK_TRIGGERED: Occasion.REMINDER,
}
_FAILURES: Final = frozenset({EventKind.RUN_FAILED, EventKind.RUN_TIMED_OUT, EventKind.RUN_LOST})
_REQUESTED: Final = frozenset({Origin.MANUAL, Origin.BACKFILL})
"""Origins of runs whose failures begin no incident, because they do not count as failures of the task."""
_EDITS: Final = frozenset({EventKind.TASK_CREATED, EventKind.TASK_EDITED, EventKind.TASK_DELETED})
_MAX_CACHED: Final = 10_000
_SYSTEM_NUMBERS: Final = 1 << 44


class NoticePlanner:
    """Caches by task whether it can cause notices, so that an event of another task costs no read.

    The log has every edit in front of the events that it affects, so the cache needs no time limit; it is dropped when
    another process has read part of the log.
    """

    def __init__(self, book: Book) -> None:
        self._book = book
        self._silent: OrderedDict[str, None] = OrderedDict()
        """Tasks that cause no notices."""
        self._position = 0

    def continue_from(self, after: int, until: int) -> None:
        """Say which part of the log the next events are from."""
        if after != self._position:
            self._silent.clear()
        self._position = until

    async def plan(
        self, events: Sequence[SequencedEvent], destinations: Sequence[Destination], now: datetime
    ) -> list[tuple[int, Delivery]]:
        """Return the new deliveries, each with the log position of its event."""
        by_owner: dict[str, list[Destination]] = {}
        for destination in destinations:
            by_owner.setdefault(destination.owner, []).append(destination)
        planned: list[tuple[int, Delivery]] = []
        for each in events:
            owned = [known for known in by_owner.get(account_of(each.event.owner), ()) if each.cursor > known.since]
            if owned:
                planned += [(each.cursor, delivery) async for delivery in self._plan_event(each, owned, now)]
        return planned

    async def _plan_event(
        self, sequenced: SequencedEvent, destinations: Sequence[Destination], now: datetime
    ) -> AsyncIterator[Delivery]:
        event = sequenced.event
        if event.kind in _EDITS:
            self._silent.pop(event.task_id, None)
        occasion = Occasion.FAILED if event.kind in _FAILURES else _OCCASIONS.get(event.kind)
        if occasion is None or event.task_id in self._silent:
            return
        facts = await self._book.facts(event.task_id, None)
        if facts is None or not _can_notify(facts.task):
            self._mark_silent(event.task_id)
            return
        receivers = tuple(_receivers(facts.task, occasion, destinations))
        if not receivers:
            return
        run = None if event.run_id is None else await self._book.run(event.run_id, None)
        if event.kind in _FAILURES and not await self._has_failed_on_request(facts, run):
            return
        task = facts.task
        if run is not None and occasion is Occasion.REMINDER:
            task = await load_task_of_run(self._book, task, run)
        notice = Notice(occasion, task.name, event.task_id, event.run_id, event.at, _text(task, occasion, event, run))
        for destination in receivers:
            yield Delivery(
                delivery_id(event.at, _number(sequenced)),
                destination.id,
                destination.owner,
                f"evt_{sequenced.sequence}",
                f"notice.{occasion.value}",
                event.task_id,
                notice_json(notice),
                now,
                due=destination.due(occasion, now),
            )

    async def _has_failed_on_request(self, facts: Facts, run: Run | None) -> bool:
        """Whether a requested occurrence has ended with this failure, outside of an incident, which has its own message."""
        if run is None or run.origin not in _REQUESTED or is_failing(facts.task, facts.status):
            return False
        occurrence = (EntryKind.RETRY, run.origin, run.planned)
        if any((each.kind, each.origin, each.planned) == occurrence for each in facts.entries):
            return False
        wanted = RunFilter(None, run.task_id, since=run.planned, until=run.planned)
        attempts = await self._book.runs(wanted, None, MAX_PAGE_SIZE)
        return not any(each.origin is run.origin and each.attempt > run.attempt for each in attempts.items)

    def _mark_silent(self, task_id: str) -> None:
        self._silent[task_id] = None
        if len(self._silent) > _MAX_CACHED:
            self._silent.popitem(last=False)


def _number(sequenced: SequencedEvent) -> int:
    """Return the number of an event within its account: those of system tasks are counted apart, in a range of their own."""
    return sequenced.sequence + (_SYSTEM_NUMBERS if is_system_owner(sequenced.event.owner) else 0)


def _can_notify(task: Task) -> bool:
    return task.policies.notify is not None or task.target.kind == "event"


def _receivers(task: Task, occasion: Occasion, destinations: Sequence[Destination]) -> Iterator[Destination]:
    notify = task.policies.notify
    if occasion is Occasion.REMINDER:
        names = _reminder_names(task, notify, destinations)
    else:
        names = notify.to if notify is not None and occasion.value in notify.on else ()
    return (each for each in destinations if each.name in names)


def _reminder_names(task: Task, notify: Notify | None, destinations: Sequence[Destination]) -> tuple[str, ...]:
    """Return where a task's own words go: to its destinations, to those named like its alert methods, or to reminders."""
    alert = alert_of(task.payload)
    if alert is None and _say_of(task) is None:
        return ()
    if notify is not None:
        return notify.to
    by_method = tuple(each.name for each in destinations if alert is not None and each.name.lower() in alert.methods)
    return by_method or tuple(each.name for each in destinations if each.reminders)


def _say_of(task: Task) -> str | None:
    spec = json.loads(task.target.spec)
    say = spec.get("say") if isinstance(spec, dict) else None
    return say if isinstance(say, str) else None


def _text(task: Task, occasion: Occasion, event: Event, run: Run | None) -> str:
    """Return the result or the error of the run, or the words of a reminder."""
    alert = alert_of(task.payload)
    if occasion is Occasion.REMINDER:
        text = _say_of(task) or ("" if alert is None else alert.text)
    elif run is not None:
        text = (run.result_json if run.error is None else run.error) or ""
    else:
        text = event.detail or ""
    text, notify = _readable(text), task.policies.notify
    if occasion is not Occasion.REMINDER and notify is not None and notify.text:
        text = fill_notice_text(notify.text, task.schedule.zone, run, text)
    return to_storable(text, NOTICE_CHARACTERS)


def _readable(text: str) -> str:
    """Return a result that is a plain JSON text without its quotes; control characters become spaces."""
    if text.startswith('"'):
        with suppress(ValueError):
            text = json.loads(text)
    return "".join(each if each.isprintable() or each == "\n" else " " for each in text).strip()
