"""Idempotent POST requests: the same request with the same `Idempotency-Key` is done once within a day.

A record keeps the fingerprint of the request and the ids of what it made, never the answer itself: a replay renders the
resources again, as they are now. Where a change can take records with it, that record is one of them: it is there exactly
if the change is. Elsewhere the key is reserved before, and the ids are written after.
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
from ..model.record import Record, Writing
from ..ports.records import Records
from .body import raw_body
from .refusals import refuse
from .request_context import House, house_of, request_id

_F = TypeVar("_F", bound=Callable[..., Any])
Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Ids: TypeAlias = Mapping[str, Any]
"""What is kept of an answer: ids, and the few numbers that cannot be read again."""
Replay: TypeAlias = Callable[[Request, Principal, Ids], Awaitable[Response]]
"""Renders an answer again, from the request and the ids that were kept."""

HEADER: Final = "idempotency-key"
KIND: Final = "answer"
KEPT_FOR: Final = timedelta(hours=24)
_RESERVED_FOR: Final = timedelta(seconds=60)
"""A process that dies in between leaves the key reserved for so long, and not for ever."""
_LONGEST: Final = 200
_ASK_AGAIN: Final = 1
_DECLARED: Final = "__repeatable__"
LOG: Final = logging.getLogger("horae.web")


class Repeatable(NamedTuple):
    """How a route is replayed. `scope` None: `replay` itself checks what the caller may do. `own`: the route writes the
    record with its change (`kept_for`)."""

    scope: Scope | None
    replay: Replay
    own: bool = False


class Kept(NamedTuple):
    """Where the ids of this request go. `replacing` is the version of an expired record in their place."""

    key: str
    owner: str
    fingerprint: str
    house: House
    replacing: int | None = None

    def writing(self, status: int, ids: Ids) -> Writing:
        """The record to be written with the change."""
        return Writing(self.record(KEPT_FOR, status, ids), self.replacing)

    def record(self, life: timedelta, status: int | None = None, ids: Ids | None = None) -> Record:
        body: dict[str, Any] = {"fingerprint": self.fingerprint}
        if status is not None:
            body |= {"status": status, "ids": dict(ids or {})}
        return Record(KIND, self.key, self.owner, json.dumps(body), expires=self.house.clock.now() + life)


def repeatable(scope: Scope | None, replay: Replay, *, own: bool = False) -> Callable[[_F], _F]:
    """Declare that a route honours `Idempotency-Key`. `scope` is checked before a replay, as the route checks it before
    the change."""

    def mark(function: _F) -> _F:
        setattr(function, _DECLARED, Repeatable(scope, replay, own))
        return function

    return mark


def repeatable_of(endpoint: Callable[..., Any]) -> Repeatable | None:
    found: Repeatable | None = getattr(endpoint, _DECLARED, None)
    return found


def remember(request: Request, **ids: Any) -> None:
    """Keep these ids with the key of this request, where one came with it."""
    request.scope["state"]["remembered"] = ids


def kept_for(request: Request) -> Kept | None:
    """None where no key came with the request."""
    found: Kept | None = request.scope["state"].get("kept")
    return found


async def once(request: Request, who: Principal, route: Repeatable, handle: Handler) -> Response:
    if route.scope is not None:
        who.must(route.scope)
    house = house_of(request)
    kept = await _kept(request, who, house)
    found = await _found(request, who, kept, route)
    if isinstance(found, Response):
        return found
    await house.service.key_budget.take(who)
    kept = kept._replace(replacing=found)
    if not route.own:
        return await _reserved(request, who, kept, route, handle)
    request.scope["state"]["kept"] = kept
    try:
        return await handle(request)
    except Conflict as conflict:
        if conflict.code != "record_changed" or conflict.facts.get("kind") != KIND:
            raise
        # The same request came at the same time, and was faster.
        return await _theirs(request, who, kept, route)


async def _reserved(request: Request, who: Principal, kept: Kept, route: Repeatable, handle: Handler) -> Response:
    """Reserve the key, do it, and keep the ids; of what was refused nothing is kept, since nothing was done."""
    records: Records = kept.house.service.store
    if not await records.put_record(kept.record(_RESERVED_FOR), replacing=kept.replacing):
        return await _theirs(request, who, kept, route)
    version = 1 if kept.replacing is None else kept.replacing + 1
    done = False
    try:
        response = await handle(request)
        done = response.status_code < 300
    finally:
        if not done:
            await records.drop_record(KIND, kept.key, version)
    if done:
        ids = request.scope["state"].get("remembered")
        try:
            await records.put_record(kept.record(KEPT_FOR, response.status_code, ids), replacing=version)
        except StoreError:
            LOG.warning("%s was done, but its idempotency key could not be kept", request_id(request))
    return response


async def _theirs(request: Request, who: Principal, kept: Kept, route: Repeatable) -> Response:
    found = await _found(request, who, kept, route)
    if isinstance(found, Response):
        return found
    raise refuse("still_in_progress", retry_after=_ASK_AGAIN)


async def _found(request: Request, who: Principal, kept: Kept, route: Repeatable) -> Response | int | None:
    """The answer again; or the version of a record that has expired, or None."""
    record = await kept.house.service.store.get_record(KIND, kept.key)
    if record is None:
        return None
    if record.expires is not None and record.expires <= kept.house.clock.now():
        return record.version
    body = json.loads(record.body)
    if body["fingerprint"] != kept.fingerprint:
        raise refuse("idempotency_key_reused")
    if "status" not in body:
        raise refuse("still_in_progress", retry_after=_ASK_AGAIN)
    if "ids" not in body:
        # A record of an earlier version: what it made cannot be found, and must not be made again.
        raise refuse("replayed_gone")
    # The answer to a change is shown to its maker, who need not have the right to read.
    reader = who._replace(scopes=who.scopes | {Scope.READ})
    try:
        response = await route.replay(request, reader, body["ids"])
    except NotFound:
        raise refuse("replayed_gone") from None
    response.status_code = body["status"]
    response.headers["Idempotent-Replayed"] = "true"
    return response


async def _kept(request: Request, who: Principal, house: House) -> Kept:
    said = request.headers[HEADER].strip()
    text = said[1:-1] if len(said) > 1 and said[0] == said[-1] == '"' else said
    if not 1 <= len(text) <= _LONGEST or not text.isprintable():
        raise refuse("bad_idempotency_key", value=text, most=_LONGEST)
    # An agent is a guest of its owner: what it was answered is not told to others, nor theirs to it.
    key = sha256(json.dumps([who.owner, who.agent, text]).encode()).hexdigest()
    asked = f"{request.method}\n{request.scope['path']}\n".encode(errors="replace")
    whole = b"%s%s\n%s" % (asked, request.scope["query_string"], await raw_body(request))
    return Kept(key, who.owner, sha256(whole).hexdigest(), house)
