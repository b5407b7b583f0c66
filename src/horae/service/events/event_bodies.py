"""Events with the bodies that are told outside: each encoded once, however many hear of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ...model.events.cloud_event import cloud_event, encoded
from ...model.events.event import Event, EventKind, Numbered, Sequenced
from ...model.events.trigger_fields import triggered_json
from ...ports.store import Book


class Told(NamedTuple):
    """`body` is the CloudEvent as JSON text in UTF-8; it has the owner's number of the event, `sequence`."""

    position: int
    sequence: int
    event: Event
    body: bytes

    def cursor(self, scope: str | None) -> int:
        """Where a reader of that scope resumes after this event."""
        return self.position if scope is None else self.sequence


class Telling:
    def __init__(self, book: Book) -> None:
        self._book = book

    async def told(self, events: Sequence[Sequenced]) -> tuple[Told, ...]:
        return tuple([await self._one(each) for each in events])

    async def _one(self, each: Sequenced) -> Told:
        event = each.event
        more = await self._triggered(event) if event.kind is EventKind.TASK_TRIGGERED else None
        return Told(each.cursor, each.sequence, event, encoded(cloud_event(Numbered(each.sequence, event), more)))

    async def _triggered(self, event: Event) -> dict[str, Any] | None:
        """What the target told of it; nothing more than the ids where the task or its run are gone by now."""
        facts = await self._book.facts(event.task_id, None)
        run = None if event.run_id is None else await self._book.run(event.run_id, None)
        if facts is None or run is None:
            return None
        spec = json.loads(facts.task.target.spec) if facts.task.target.kind == "event" else {}
        return triggered_json(facts.task, run, {"topic": event.detail, "say": spec.get("say")}, event.at)
