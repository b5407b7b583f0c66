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
        self._reach = tools.reach
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
        delivered = {"process": self._publish(spec["topic"], body) or 0}
        if self._reach is not None:
            task = invocation.task
            delivered |= await self._reach(task.owner, task.id, spec["topic"])
        for place in self._places:
            reached = await place.bring(body["eventId"], written)
            if isinstance(reached, Failed):
                return reached
            invocation.heartbeat()
            delivered[place.name] = reached
        to = {name: number for name, number in delivered.items() if number}
        return Succeeded(json.dumps({"delivered": sum(to.values()), "to": to}), tells=spec["topic"])

    async def aclose(self) -> None:
        for place in self._places:
            await place.close()


def _places(settings: EventSettings, tools: Tools) -> tuple[Place, ...]:
    redis = () if settings.redis is None else (RedisChannel(settings.redis),)
    webhook = () if settings.webhook is None else (WebhookPost(settings.webhook, tools.clock),)
    return *redis, *webhook
