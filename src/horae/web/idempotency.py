"""Idempotent POST requests: the same request with the same `Idempotency-Key` takes effect once within a day.

A record holds the fingerprint of the request and the ids of the resources it created, never the response itself: a
replay renders the resources again in their current state. Where a change can write attached records, the record is one
of them and exists exactly if the change does. Elsewhere the key is reserved before the change, and the ids are written
after it.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from datetime import timedelta
from hashlib import sha256
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from ..errors import Conflict, NotFound, StoreError
from ..model.accounts.principal import Principal, Scope
from ..model.record import Record, RecordWrite
from ..ports.records import Records
from .body import read_body
from .refusals import refuse
from .request_context import AppContext, app_context, request_id

_F = TypeVar("_F", bound=Callable[..., Any])
Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Ids: TypeAlias = Mapping[str, Any]
"""Stored part of a response: ids, and the few numbers that cannot be read again."""
Replay: TypeAlias = Callable[[Request, Principal, Ids], Awaitable[Response]]
"""Renders a response again from the request and the stored ids."""

HEADER: Final = "idempotency-key"
RECORD_KIND: Final = "answer"
RETENTION: Final = timedelta(hours=24)
_RESERVED_FOR: Final = timedelta(seconds=60)
"""Expiry of a reservation, so that a process that dies in between does not block the key for ever."""
_MAX_KEY_LENGTH: Final = 200
_RETRY_AFTER: Final = 1
_ATTRIBUTE: Final = "__idempotent_route__"
LOG: Final = logging.getLogger("horae.web")


class IdempotentRoute(NamedTuple):
    """Replay rule of a route. `scope` None: `replay` checks the caller's rights itself. `writes_record`: the route
    writes the record with its change (see `key_of`)."""

    scope: Scope | None
    replay: Replay
    writes_record: bool = False


class IdempotencyKey(NamedTuple):
    """Idempotency key of this request. `replacing` is the version of an expired record that is overwritten."""

    key: str
    owner: str
    fingerprint: str
    context: AppContext
    replacing: int | None = None

    def to_writing(self, status: int, ids: Ids) -> RecordWrite:
        """Return the record to write in the same transaction as the change."""
        return RecordWrite(self.to_record(RETENTION, status, ids), self.replacing)

    def to_record(self, expires_in: timedelta, status: int | None = None, ids: Ids | None = None) -> Record:
        body: dict[str, Any] = {"fingerprint": self.fingerprint}
        if status is not None:
            body |= {"status": status, "ids": dict(ids or {})}
        return Record(
            RECORD_KIND, self.key, self.owner, json.dumps(body), expires=self.context.clock.now() + expires_in
        )


def idempotent(scope: Scope | None, replay: Replay, *, writes_record: bool = False) -> Callable[[_F], _F]:
    """Decorator: the route honours `Idempotency-Key`. `scope` is checked before a replay, as the route checks it before
    the change."""

    def mark(function: _F) -> _F:
        setattr(function, _ATTRIBUTE, IdempotentRoute(scope, replay, writes_record))
        return function

    return mark


def idempotent_route_of(endpoint: Callable[..., Any]) -> IdempotentRoute | None:
    declared: IdempotentRoute | None = getattr(endpoint, _ATTRIBUTE, None)
    return declared


def store_ids(request: Request, **ids: Any) -> None:
    """Store these ids with the idempotency key of the request, if it has one."""
    request.scope["state"]["idempotent_ids"] = ids


def key_of(request: Request) -> IdempotencyKey | None:
    """Return the idempotency key of the request; None if it has none."""
    key: IdempotencyKey | None = request.scope["state"].get("idempotency_key")
    return key


async def run_once(request: Request, principal: Principal, route: IdempotentRoute, handle: Handler) -> Response:
    """Replay the stored response if this key was used for the same request before; otherwise call `handle` and store
    the ids of its result. Raises a refusal if the key was used for another request or its first use is still
    running.
    """
    if route.scope is not None:
        principal.require_scope(route.scope)
    context = app_context(request)
    key = await _read_key(request, principal, context)
    replayed = await _replay(request, principal, key, route)
    if isinstance(replayed, Response):
        return replayed
    await context.service.key_budget.take(principal)
    key = key._replace(replacing=replayed)
    if not route.writes_record:
        return await _handle_reserved(request, principal, key, route, handle)
    request.scope["state"]["idempotency_key"] = key
    try:
        return await handle(request)
    except Conflict as conflict:
        if conflict.code != "record_changed" or conflict.facts.get("kind") != RECORD_KIND:
            raise
        # A concurrent request with the same key committed first.
        return await _replay_concurrent(request, principal, key, route)


async def _handle_reserved(
    request: Request, principal: Principal, key: IdempotencyKey, route: IdempotentRoute, handle: Handler
) -> Response:
    """Reserve the key, call `handle`, then store the ids. A refused or failed request releases the key: it changed
    nothing."""
    records: Records = key.context.service.store
    if not await records.put_record(key.to_record(_RESERVED_FOR), replacing=key.replacing):
        return await _replay_concurrent(request, principal, key, route)
    version = 1 if key.replacing is None else key.replacing + 1
    succeeded = False
    try:
        response = await handle(request)
        succeeded = response.status_code < 300
    finally:
        if not succeeded:
            await records.drop_record(RECORD_KIND, key.key, version)
    if succeeded:
        ids = request.scope["state"].get("idempotent_ids")
        try:
            await records.put_record(key.to_record(RETENTION, response.status_code, ids), replacing=version)
        except StoreError:
            LOG.warning("%s was done, but its idempotency key could not be kept", request_id(request))
    return response


async def _replay_concurrent(
    request: Request, principal: Principal, key: IdempotencyKey, route: IdempotentRoute
) -> Response:
    """Replay the response of the request that took the key first; refuse while it is still running."""
    replayed = await _replay(request, principal, key, route)
    if isinstance(replayed, Response):
        return replayed
    raise refuse("still_in_progress", retry_after=_RETRY_AFTER)


async def _replay(
    request: Request, principal: Principal, key: IdempotencyKey, route: IdempotentRoute
) -> Response | int | None:
    """Return the replayed response; the version of an expired record; or None if there is no record."""
    record = await key.context.service.store.get_record(RECORD_KIND, key.key)
    if record is None:
        return None
    if record.expires is not None and record.expires <= key.context.clock.now():
        return record.version
    body = json.loads(record.body)
    if body["fingerprint"] != key.fingerprint:
        raise refuse("idempotency_key_reused")
    if "status" not in body:
        raise refuse("still_in_progress", retry_after=_RETRY_AFTER)
    if "ids" not in body:
        # Record of an earlier version without ids: its result cannot be found, and must not be created twice.
        raise refuse("replayed_gone")
    # A change shows its result also to a caller without the read scope; so does its replay.
    reader = principal._replace(scopes=principal.scopes | {Scope.READ})
    try:
        response = await route.replay(request, reader, body["ids"])
    except NotFound:
        raise refuse("replayed_gone") from None
    response.status_code = body["status"]
    response.headers["Idempotent-Replayed"] = "true"
    return response


async def _read_key(request: Request, principal: Principal, context: AppContext) -> IdempotencyKey:
    header = request.headers[HEADER].strip()
    text = header[1:-1] if len(header) > 1 and header[0] == header[-1] == '"' else header
    if not 1 <= len(text) <= _MAX_KEY_LENGTH or not text.isprintable():
        raise refuse("bad_idempotency_key", value=text, most=_MAX_KEY_LENGTH)
    # Keys are separate per agent: an agent never sees responses of its owner or of other agents, nor they its.
    key = sha256(json.dumps([principal.owner, principal.agent, text]).encode()).hexdigest()
    request_line = f"{request.method}\n{request.scope['path']}\n".encode(errors="replace")
    content = b"%s%s\n%s" % (request_line, request.scope["query_string"], await read_body(request))
    return IdempotencyKey(key, principal.owner, sha256(content).hexdigest(), context)
