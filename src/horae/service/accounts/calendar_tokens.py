"""Calendar tokens: made, listed and revoked by their owner; the text is shown once, and reads only the calendar feed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from ...clock import Clock
from ...entropy import entropy
from ...model.accounts.account import OWNER_KIND
from ...model.accounts.principal import SCOPES_OF, Principal, Scope
from ...model.accounts.session import (
    CALENDAR_TOKEN_KIND,
    CALENDAR_TOKEN_PREFIX,
    CalendarToken,
    calendar_token_from,
    calendar_token_record,
    hash_secret,
    is_secret,
)
from ...model.ids import ENTROPY_BYTES, make_id
from ...model.limits import NAME_CHARACTERS
from ...model.record import Record, RecordWrite
from ...model.refusals import refuse as refuse_task
from ...model.text.field_checks import check_text
from ...ports.full_store import FullStore
from .audit import Audit
from .owners import Accounts
from .refusals import refuse
from .rights import refuse_agent

MAX_CALENDAR_TOKENS: Final = 20
"""Limit per owner."""
VIA: Final = "calendar"
CALENDAR_TOKEN_TEXT: Final = re.compile(r"(cal_[0-9a-f]{32})_([0-9a-f]{64})", re.ASCII)
_ID: Final = re.compile(r"cal_[0-9a-f]{32}", re.ASCII)
_COUNTER_KIND: Final = "calendar_token_seats"
_SECRET_BYTES: Final = 32
_TRIES: Final = 100
_READ_ONLY: Final = frozenset({Scope.READ})


class CalendarTokens:
    def __init__(
        self,
        store: FullStore,
        clock: Clock,
        accounts: Accounts,
        audit: Audit,
        make_bytes: Callable[[int], bytes] = entropy,
    ) -> None:
        self._store = store
        self._clock = clock
        self._accounts = accounts
        self._audit = audit
        self._bytes = make_bytes

    async def make(self, principal: Principal, name: str) -> tuple[CalendarToken, str]:
        """Create a token for the caller's own calendar and return it with its text, which is shown only here."""
        refuse_agent(principal, "calendar tokens")
        principal.require_scope(Scope.WRITE)
        check_text("name", name, NAME_CHARACTERS)
        for _ in range(_TRIES):
            # Every new token replaces the counter record, so that concurrent calls cannot exceed the limit.
            counter = await self._store.get_record(_COUNTER_KIND, principal.owner)
            if len(await self._load(principal)) >= MAX_CALENDAR_TOKENS:
                raise refuse("too_many_calendar_tokens", most=MAX_CALENDAR_TOKENS)
            now, secret = self._clock.now(), self._bytes(_SECRET_BYTES).hex()
            token_id = make_id(CALENDAR_TOKEN_PREFIX.rstrip("_"), now, self._bytes(ENTROPY_BYTES))
            token = CalendarToken(token_id, principal.owner, name, hash_secret(secret), now)
            seat = Record(_COUNTER_KIND, principal.owner, principal.owner, "{}")
            writes = (
                RecordWrite(calendar_token_record(token)),
                RecordWrite(seat, None if counter is None else counter.version),
                *self._audit.row(principal, "calendar_token.make", token.id, {"name": name}),
            )
            if await self._store.write_records(writes):
                return token, f"{token.id}_{secret}"
        raise refuse_task("record_changed", kind=CALENDAR_TOKEN_KIND, key=principal.owner)

    async def all(self, principal: Principal) -> tuple[CalendarToken, ...]:
        """Return the caller's own tokens, oldest first."""
        refuse_agent(principal, "calendar tokens")
        principal.require_scope(Scope.READ)
        return await self._load(principal)

    async def revoke(self, principal: Principal, token_id: str) -> CalendarToken:
        """Remove one of the caller's own tokens: its feed ends at once, in every process."""
        refuse_agent(principal, "calendar tokens")
        principal.require_scope(Scope.WRITE)
        is_id = _ID.fullmatch(token_id) is not None
        for _ in range(_TRIES):
            record = await self._store.get_record(CALENDAR_TOKEN_KIND, token_id, principal.owner) if is_id else None
            if record is None:
                raise refuse("no_such_calendar_token", id=token_id)
            token = calendar_token_from(record)
            row = self._audit.row(principal, "calendar_token.revoke", token.id, {"name": token.name})
            if await self._store.write_records((RecordWrite(record, record.version, dropped=True), *row)):
                return token
        raise refuse_task("record_changed", kind=CALENDAR_TOKEN_KIND, key=token_id)

    async def authenticate(self, text: str, *, request: str = "") -> Principal:
        """Return a principal that reads what its owner owns; every kind of invalid token gets the same refusal.

        Also where the owner is an admin, the feed has the owner's own tasks only.
        """
        match = CALENDAR_TOKEN_TEXT.fullmatch(text)
        record = None if match is None else await self._store.get_record(CALENDAR_TOKEN_KIND, match[1])
        token = None if record is None else calendar_token_from(record)
        is_match = is_secret("" if match is None else match[2], None if token is None else token.hash)
        account = None if token is None else await self._store.get_record(OWNER_KIND, token.owner)
        owner = None if account is None else self._accounts.read(account)
        if token is None or not is_match or owner is None or owner.revoked is not None:
            raise refuse("bad_calendar_token")
        return Principal(
            owner.name,
            scopes=_READ_ONLY & SCOPES_OF[owner.role],
            actor=token.id,
            via=VIA,
            zone=owner.zone,
            quotas=owner.quotas,
            request=request,
            role=owner.role,
            language=owner.language,
        )

    async def _load(self, principal: Principal) -> tuple[CalendarToken, ...]:
        page = await self._store.records(CALENDAR_TOKEN_KIND, principal.owner, limit=MAX_CALENDAR_TOKENS)
        return tuple(map(calendar_token_from, page.items))
