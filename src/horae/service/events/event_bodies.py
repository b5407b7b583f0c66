"""Encoding of events as CloudEvents: each event is encoded once, however many streams and webhooks receive it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...errors import Refusal
from ...model.events.cloud_event import cloud_event, encode_body
from ...model.events.event import Event, EventKind, NumberedEvent, SequencedEvent
from ...model.events.trigger_fields import triggered_json
from ...model.inputs.effective_payload import task_of_run
from ...model.inputs.placeholders import TemplateTask
from ...model.run import Run
from ...model.task import Task
from ...ports.previous import load_previous
from ...ports.store import Book
from ..plans.results import load_plan_result


async def load_task_of_run(book: Book, task: Task, run: Run) -> Task:
    """Return the task with the input and the placeholders' values of a run.

    A task that was edited since, so that they no longer fit, is returned as it is.
    """
    if run.input is None and task.__class__ is not TemplateTask:
        return task
    previous = None if run.chain is None else await load_previous(book, run)
    try:
        return task_of_run(task, run, previous)
    except (Refusal, RecursionError):
        return task


class EncodedEvent(NamedTuple):
    """An event with its body: the CloudEvent as UTF-8 JSON, with the event's number for its owner, `sequence`."""

    position: int
    sequence: int
    event: Event
    body: bytes

    def cursor(self, scope: str | None) -> int:
        """Return the cursor after this event for a reader of that scope."""
        return self.position if scope is None else self.sequence


class EventEncoder:
    def __init__(self, book: Book) -> None:
        self._book = book

    async def encode(self, events: Sequence[SequencedEvent]) -> tuple[EncodedEvent, ...]:
        return tuple([await self._encode(event) for event in events])

    async def _encode(self, sequenced: SequencedEvent) -> EncodedEvent:
        event = sequenced.event
        content = await self._load_content(event)
        return EncodedEvent(
            sequenced.cursor,
            sequenced.sequence,
            event,
            encode_body(cloud_event(NumberedEvent(sequenced.sequence, event), content)),
        )

    async def _load_content(self, event: Event) -> dict[str, Any] | None:
        if event.kind is EventKind.TASK_TRIGGERED:
            return await self._load_trigger(event)
        if event.kind is EventKind.PLAN_RESULT:
            result = await load_plan_result(self._book, event)
            return None if result is None else result.data
        return None

    async def _load_trigger(self, event: Event) -> dict[str, Any] | None:
        """Return what the target published; None (only ids are sent) if the task or its run no longer exists."""
        facts = await self._book.facts(event.task_id, None)
        run = None if event.run_id is None else await self._book.run(event.run_id, None)
        if facts is None or run is None:
            return None
        task = await load_task_of_run(self._book, facts.task, run)
        spec = json.loads(task.target.spec) if task.target.kind == "event" else {}
        return triggered_json(task, run, {"topic": event.detail, "say": spec.get("say")}, event.at)
