"""The event target: tells those who listen that a task is due, and is done when they were told."""

from __future__ import annotations

import json

from ...errors import Refusal
from ...model.limits import ERROR_CHARACTERS, shortened
from ...model.outcome import Failed, Outcome, Succeeded
from ...ports.target import Invocation, Tools
from .body import event_body
from .places import Place, RedisChannel, WebhookPost
from .settings import EventSettings, read_settings
from .spec import checked_spec


class EventTarget:
    """Those in this process are told first and never wait for a network. When a place outside cannot be reached the run
    is tried again, and everybody hears of the same event once more."""

    def __init__(self, tools: Tools) -> None:
        self._clock = tools.clock
        self._publish = tools.publish
        self._places = _places(read_settings(tools.settings), tools)

    async def execute(self, invocation: Invocation) -> Outcome:
        try:
            spec = checked_spec(json.loads(invocation.task.target.spec))
            body = event_body(invocation, spec, self._clock.now())
            written = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
        except Refusal as refusal:
            return Failed(str(refusal), permanent=True)
        except (ValueError, RecursionError) as error:
            return Failed(shortened(f"its spec cannot be read: {error}", ERROR_CHARACTERS), permanent=True)
        if spec["say"] is not None:
            invocation.log(spec["say"])
        self._publish(spec["topic"], body)
        return await self._brought(spec["topic"], body["eventId"], written, invocation)

    async def aclose(self) -> None:
        for place in self._places:
            await place.close()

    async def _brought(self, topic: str, event_id: str, written: bytes, invocation: Invocation) -> Outcome:
        delivered = ["process"]
        for place in self._places:
            problem = await place.bring(event_id, written)
            if problem is not None:
                return problem
            invocation.heartbeat()
            delivered.append(place.name)
        return Succeeded(json.dumps({"delivered": delivered}), tells=topic)


def _places(settings: EventSettings, tools: Tools) -> tuple[Place, ...]:
    redis = () if settings.redis is None else (RedisChannel(settings.redis),)
    webhook = () if settings.webhook is None else (WebhookPost(settings.webhook, tools.clock),)
    return *redis, *webhook
