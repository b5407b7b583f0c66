"""`/plans/notify`: results and changes of plans over a WebSocket, read from the event log, so that a client can resume."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Annotated, Any, Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from ...choices import Language
from ...errors import StoreError
from ...model.accounts.principal import Principal
from ...model.events.event import EventKind
from ...service.events.event_bodies import EncodedEvent
from ...service.events.event_tail import Batch, EventFilter, ListenerClosed
from ...service.plans.plans import Plans, PlanView
from ...web.authentication import bearer_token
from ...web.event_format import StreamRequest
from ...web.event_streams import RECONNECT, REVOKED, Credential, EventStreams, Stream
from ...web.language import request_language
from ...web.parameters import Query
from ...web.request_context import app_context
from ...web.responses import encode_json
from ...web.websocket import ServerWebSocket, accept, close_quietly, require_websocket
from ...wire.plans import plan_json
from .routes import compat_operation, compat_routes

routes: Final = compat_routes("/plans", "plans")
NAMES: Final = {
    EventKind.TASK_CREATED: "add",
    EventKind.TASK_DELETED: "remove",
    EventKind.PLAN_RESULT: "result",
    **dict.fromkeys(
        (
            EventKind.TASK_EDITED,
            EventKind.TASK_PAUSED,
            EventKind.TASK_RESUMED,
            EventKind.TASK_COMPLETED,
            EventKind.TASK_FAILED,
            EventKind.TASK_CANCELLED,
            EventKind.RUN_STARTED,
            EventKind.RUN_WAITING,
            EventKind.RUN_RETRYING,
            EventKind.RUN_SKIPPED,
        ),
        "update",
    ),
}
"""Names of Zero's page for the events of plans; `result` has what Zero broadcasts."""
GONE: Final = "gone"
UNEXPECTED: Final = "a client sends no messages"
CLOSE_SECONDS: Final = 1.0
_NORMAL: Final = 1000
_UNSUPPORTED: Final = 1003
_POLICY: Final = 1008
_RESTART: Final = 1012
_AGAIN: Final = 1013
_CODES: Final = {
    GONE: _NORMAL,
    UNEXPECTED: _UNSUPPORTED,
    REVOKED: _POLICY,
    RECONNECT: _RESTART,
    "closing": _RESTART,
}
_MAX_POSITION: Final = 2**63 - 1


@routes.get(
    "/notify",
    compat_operation(
        "notify_plans",
        "Changes and results of plans, over a WebSocket",
        None,
        status=101,
        problems=(426,),
        description="Each message is a JSON object with `event` and `number`. Pages send their token as the subprotocol `horae.token.TOKEN`.",
    ),
)
async def notify(
    request: Request,
    principal: Principal,
    *,
    after: Annotated[
        int | None, Query(minimum=0, maximum=_MAX_POSITION, description="The number of the last message that arrived.")
    ] = None,
) -> Response:
    context = app_context(request)
    gap = await context.service.events.gap(principal, after or 0)
    socket = require_websocket(request, context.settings.origins)
    gap = None if after is None else gap
    stream = StreamRequest(
        principal,
        Credential(bearer_token(request)),
        EventFilter(frozenset(NAMES)),
        after if gap is None else gap.resumes,
        gap,
    )
    return PlanNotifications(context.tail, context.service.plans, stream, socket, request_language(request))


class PlanNotifications(Response):
    """Sends one JSON message for each event until the connection ends, or the client is too slow."""

    def __init__(
        self, streams: EventStreams, plans: Plans, request: StreamRequest, socket: ServerWebSocket, language: Language
    ) -> None:
        super().__init__()
        self._streams = streams
        self._plans = plans
        self._request = request
        self._socket = socket
        self._language = language

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002 - the ASGI signature
        principal, credential, event_filter, after, _, _ = self._request
        async with self._streams.listen(principal, credential, event_filter, after) as stream:
            await accept(send)
            watch = asyncio.ensure_future(self._watch_client(stream))
            try:
                await self._run(stream)
            except asyncio.CancelledError:
                if not stream.is_stuck:
                    raise
            finally:
                watch.cancel()

    async def _watch_client(self, stream: Stream) -> None:
        stream.listener.close(UNEXPECTED if await self._socket.wait_for_end() else GONE)

    async def _run(self, stream: Stream) -> None:
        listener, gap = stream.listener, self._request.gap
        await self._send(stream, {"event": "ready", "number": listener.cursor})
        if gap is not None:
            await self._send(stream, {"event": "gap", "after": gap.after, "number": gap.resumes})
        reason = await self._send_until_end(stream)
        if reason != GONE:
            await close_quietly(self._socket, _CODES.get(reason, _AGAIN), reason, CLOSE_SECONDS)

    async def _send_until_end(self, stream: Stream) -> str:
        """Send batches until the connection ends; return why it does."""
        try:
            while True:
                batch = await stream.listener.next()
                if isinstance(batch, Batch):
                    await self._send_batch(stream, batch.events)
                stream.sent_at = self._streams.now
        except ListenerClosed as cut:
            return cut.reason
        except StoreError:
            return "store"

    async def _send_batch(self, stream: Stream, events: Iterable[EncodedEvent]) -> None:
        """Send the events of plans; each plan is shown as it is now."""
        events = tuple(events)
        owners = {each.event.task_id: each.event.owner for each in events}
        views = await self._plans.of_tasks(owners)
        for each in events:
            message = self._message_of(each, views.get(each.event.task_id), stream.listener.scope)
            if message is not None:
                await self._send(stream, message)

    def _message_of(self, encoded: EncodedEvent, view: PlanView | None, scope: str | None) -> dict[str, Any] | None:
        """Return the message of an event; None for a task that is no plan, or that was deleted since."""
        event = encoded.event
        name = event.detail if event.kind is EventKind.TASK_DELETED else None if view is None else view.plan.name
        if name is None:
            return None
        result = json.loads(encoded.body)["data"] if event.kind is EventKind.PLAN_RESULT else None
        return {
            "event": NAMES[event.kind],
            "number": encoded.cursor(scope),
            "kind": event.kind.value,
            "time": int(event.at.timestamp()),
            "name": name,
            "task_id": event.task_id,
            "owner": event.owner,
            "plan": None if view is None else plan_json(view, self._language),
            "result": result,
        }

    async def _send(self, stream: Stream, message: dict[str, Any]) -> None:
        stream.is_sending, stream.sent_at = True, self._streams.now
        await self._socket.send_text(encode_json(message).decode())
        stream.is_sending = False
