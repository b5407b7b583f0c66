"""The event target and its kind: publishes to this process, then to each external channel; succeeds when all accepted."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from ...errors import Refusal
from ...model.events.trigger_fields import alert_of, triggered_json
from ...model.limits import ERROR_CHARACTERS, shorten
from ...model.outcome import Failed, Outcome, Succeeded
from ...model.task import Task
from ...ports.target import Invocation, TargetKind, Tools
from .places import EventChannel, RedisChannel, WebhookChannel
from .settings import EventSettings, read_settings
from .spec import check_spec


class EventTarget:
    """Publishes to this process first, so that its listeners never wait for a network.

    When an external channel fails, the run is retried and every listener receives the same event again.
    """

    def __init__(self, tools: Tools) -> None:
        self._clock = tools.clock
        self._publish = tools.publish
        self._reach = tools.reach
        self._channels = _make_channels(read_settings(tools.settings), tools)

    async def execute(self, invocation: Invocation) -> Outcome:
        try:
            spec = check_spec(json.loads(invocation.task.target.spec))
            body = event_body(invocation, spec, self._clock.now())
            encoded = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
        except Refusal as refusal:
            return Failed(str(refusal), permanent=True)
        except (ValueError, RecursionError) as error:
            return Failed(shorten(f"its spec cannot be read: {error}", ERROR_CHARACTERS), permanent=True)
        if spec["say"] is not None:
            invocation.log(spec["say"])
        delivered = {"process": self._publish(spec["topic"], body) or 0}
        if self._reach is not None:
            task = invocation.task
            delivered |= await self._reach(task.owner, task.id, spec["topic"])
            delivered["destinations"] = _count_destinations(task, spec, delivered.get("destinations", 0))
        for channel in self._channels:
            receivers = await channel.deliver(body["eventId"], encoded)
            if isinstance(receivers, Failed):
                return receivers
            invocation.heartbeat()
            delivered[channel.name] = receivers
        to = {name: number for name, number in delivered.items() if number}
        return Succeeded(json.dumps({"delivered": sum(to.values()), "to": to}), triggered_topic=spec["topic"])

    async def aclose(self) -> None:
        for channel in self._channels:
            await channel.close()


def _count_destinations(task: Task, spec: Mapping[str, Any], reminders: int) -> int:
    """Return how many destinations of messages to people the task's own words go to."""
    if spec["say"] is None and alert_of(task.payload) is None:
        return 0
    return reminders if task.policies.notify is None else len(task.policies.notify.to)


def _make_channels(settings: EventSettings, tools: Tools) -> tuple[EventChannel, ...]:
    redis = () if settings.redis is None else (RedisChannel(settings.redis),)
    webhook = () if settings.webhook is None else (WebhookChannel(settings.webhook, tools.clock),)
    return *redis, *webhook


def event_body(invocation: Invocation, spec: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    """Return the event. Every attempt at an occurrence has the same `eventId`, so that receivers can deduplicate."""
    body = triggered_json(invocation.task, invocation.run, spec, now, invocation.trace)
    return body if invocation.task.policies.gate is None else {**body, "gate": json.loads(invocation.gate)}


class EventKind:
    kind: Final = "event"

    def check(
        self,
        spec: Mapping[str, Any],
        payload: Any,  # noqa: ARG002 - an event may have any payload
        settings: Mapping[str, Any],  # noqa: ARG002 - they choose the channels, not what a spec may hold
    ) -> Mapping[str, Any]:
        return check_spec(spec)

    def open(self, tools: Tools) -> EventTarget:
        return EventTarget(tools)


EVENT: Final[TargetKind] = EventKind()
