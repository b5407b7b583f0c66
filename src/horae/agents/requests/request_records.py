"""Stored answers: the record of a request commits with its effect, so that a repeated file has no second effect."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from hashlib import sha256
from typing import Any, Final, NamedTuple

from ...clock import Clock
from ...errors import Conflict
from ...model.record import Record, RecordWrite
from ...ports.records import Records, is_conflict_over
from .answers import Answer
from .inbox import Request

REQUEST_KIND: Final = "agent.request"
KEPT_FOR: Final = timedelta(days=1)


class RequestRecord:
    """Record of one request, identified by the group, the directory and the name of its file."""

    def __init__(self, request: Request, owner: str, clock: Clock) -> None:
        self._key = f"{request.folder}/{request.box}/{request.name}"
        self._owner = owner
        self._clock = clock
        self._digest = _digest(request.document or {})
        self._stored: Record | None = None

    async def load(self, records: Records) -> Answer | None:
        """Return the answer that was stored with the effect of this request; None if it had none yet.

        A file with the name of an earlier one and another content is a new request.
        """
        self._stored = await records.get_record(REQUEST_KIND, self._key)
        if self._stored is None:
            return None
        stored = _StoredAnswer(**json.loads(self._stored.body))
        return stored.answer if stored.digest == self._digest else None

    def write(self, answer: Answer) -> RecordWrite:
        """Return the write that commits with the effect; it fails where another process has carried out the request."""
        body = json.dumps(_StoredAnswer(self._digest, answer)._asdict(), ensure_ascii=False, separators=(",", ":"))
        known = self._stored
        version = 1 if known is None else known.version
        record = Record(REQUEST_KIND, self._key, self._owner, body, version, self._clock.now() + KEPT_FOR)
        return RecordWrite(record, None if known is None else known.version)


class _StoredAnswer(NamedTuple):
    digest: str
    answer: Mapping[str, Any]


def is_repetition(conflict: Conflict) -> bool:
    """Return whether a write failed because this request has been carried out meanwhile."""
    return is_conflict_over(conflict, REQUEST_KIND)


def _digest(document: Mapping[str, Any]) -> str:
    return sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()
