"""The same POST twice is done once: its answer is kept for a day under the key that came with it, and given again.

Where a change can take records with it, the answer is one of them: it is there exactly if the change is. Elsewhere the
key is reserved before, and the answer written after.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Coroutine
from datetime import timedelta
from hashlib import sha256
from typing import Any, Final, NamedTuple, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from ..errors import Conflict, StoreError
from ..model.principal import Principal
from ..model.record import Record, Writing
from ..ports.records import Records
from .answers import JSON
from .bodies import raw_body
from .house import House, house_of, request_id
from .refusals import refuse

_F = TypeVar("_F", bound=Callable[..., Any])
Handler = Callable[[Request], Coroutine[Any, Any, Response]]

HEADER: Final = "idempotency-key"
KIND: Final = "answer"
KEPT_FOR: Final = timedelta(hours=24)
_RESERVED_FOR: Final = timedelta(seconds=60)
"""A process that dies in between leaves the key reserved for so long, and not for ever."""
_LONGEST: Final = 200
_ASK_AGAIN: Final = 1
_HEADERS: Final = ("location", "etag", "link", "content-type")
_OWN: Final = "__writes_its_answer__"
_HIDDEN: Final = "__shown_once__"
LOG: Final = logging.getLogger("horae.web")


class Kept(NamedTuple):
    """Where the answer to this request goes. `replacing` is the version of what has expired there."""

    key: str
    owner: str
    fingerprint: str
    house: House
    hidden: tuple[str, ...] = ()
    replacing: int | None = None

    def writing(self, response: Response) -> Writing:
        """The answer as a record, to be written with the change that it tells of."""
        return Writing(self.record(response, KEPT_FOR), self.replacing)

    def record(self, response: Response | None, life: timedelta) -> Record:
        body: dict[str, Any] = {"fingerprint": self.fingerprint}
        if response is not None:
            headers = {name: response.headers[name] for name in _HEADERS if name in response.headers}
            text = _without(bytes(response.body).decode(), self.hidden)
            body |= {"status": response.status_code, "headers": headers, "body": text}
        return Record(KIND, self.key, self.owner, json.dumps(body), expires=self.house.clock.now() + life)


def writes_its_answer(function: _F) -> _F:
    """A route whose change takes its answer with it: it asks `kept_for` where that goes."""
    setattr(function, _OWN, True)
    return function


def shows_once(*fields: str) -> Callable[[_F], _F]:
    """A route that shows something only once: of a repeated request, these fields are null."""

    def mark(function: _F) -> _F:
        setattr(function, _HIDDEN, fields)
        return function

    return mark


def kept_for(request: Request) -> Kept | None:
    """None where no key came with the request."""
    found: Kept | None = request.scope["state"].get("kept")
    return found


async def once(request: Request, who: Principal, endpoint: Callable[..., Any], handle: Handler) -> Response:
    house = house_of(request)
    kept = await _kept(request, who, house)
    found = await _found(house, kept)
    if isinstance(found, Response):
        return found
    kept = kept._replace(replacing=found, hidden=getattr(endpoint, _HIDDEN, ()))
    if not hasattr(endpoint, _OWN):
        return await _reserved(request, kept, handle)
    request.scope["state"]["kept"] = kept
    try:
        return await handle(request)
    except Conflict as conflict:
        if conflict.code != "record_changed" or conflict.facts.get("kind") != KIND:
            raise
        # Somebody sent the same at the same time, and was faster.
        return await _theirs(house, kept)


async def _reserved(request: Request, kept: Kept, handle: Handler) -> Response:
    """Reserve the key, do it, and keep the answer; of what was refused nothing is kept, since nothing was done."""
    records: Records = kept.house.service.store
    if not await records.put_record(kept.record(None, _RESERVED_FOR), replacing=kept.replacing):
        return await _theirs(kept.house, kept)
    version = 1 if kept.replacing is None else kept.replacing + 1
    done = False
    try:
        response = await handle(request)
        done = response.status_code < 300 and hasattr(response, "body")
    finally:
        if not done:
            await records.drop_record(KIND, kept.key, version)
    if done:
        try:
            await records.put_record(kept.record(response, KEPT_FOR), replacing=version)
        except StoreError:
            LOG.warning("%s was done, but its answer could not be kept", request_id(request))
    return response


async def _theirs(house: House, kept: Kept) -> Response:
    found = await _found(house, kept)
    if isinstance(found, Response):
        return found
    raise refuse("still_in_progress", retry_after=_ASK_AGAIN)


async def _found(house: House, kept: Kept) -> Response | int | None:
    """The answer that was given before; or the version of one that is no longer kept, or None."""
    record = await house.service.store.get_record(KIND, kept.key)
    if record is None:
        return None
    if record.expires is not None and record.expires <= house.clock.now():
        return record.version
    body = json.loads(record.body)
    if body["fingerprint"] != kept.fingerprint:
        raise refuse("idempotency_key_reused")
    if "status" not in body:
        raise refuse("still_in_progress", retry_after=_ASK_AGAIN)
    headers = {**body["headers"], "Idempotent-Replayed": "true"}
    kind = headers.pop("content-type", JSON)
    return Response(body["body"], body["status"], headers, kind)


def _without(text: str, hidden: tuple[str, ...]) -> str:
    if not hidden:
        return text
    return json.dumps({**json.loads(text), **dict.fromkeys(hidden)}, ensure_ascii=False)


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
