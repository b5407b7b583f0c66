"""Message streams: send, read, list, set caps, delete; register and remove readers. Cursors move only with runs."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

from ...clock import Clock
from ...errors import Refusal
from ...model.accounts.principal import NO_QUOTAS, Principal, Scope
from ...model.handled import CURSOR_KIND, cursor_key
from ...model.ids import ENTROPY_BYTES, make_id
from ...model.message_refusals import refuse
from ...model.messages import (
    APPEND_MESSAGES,
    PAGE_MESSAGES,
    SENT_SOURCE,
    Cursor,
    MessagePage,
    NewMessage,
    Stream,
    StreamQuota,
    StreamState,
    check_keep,
    check_message,
    check_reader,
    check_stream_name,
    encode_references,
    stream_quota_of,
)
from ...model.page import Page
from ...model.refusals import refuse as refuse_task
from ...model.text.field_checks import check_number
from ...ports.full_store import FullStore
from ..accounts.audit import Audit
from ..accounts.rights import refuse_agent
from ..events.webhook_checks import check_owner
from ..query.argument_checks import check_page, check_position

_MAX_KEY_CHARACTERS: Final = 1_000
_MOST_RUNS: Final = 100
"""Cursors of a stream whose runs are looked for: each is one read."""


class MessageDraft(NamedTuple):
    """Message as a caller sends it. Without `id` it gets one, and a repeated request appends it again.

    `source` names the system that assigned the id.
    """

    text: str = ""
    sender: str | None = None
    id: str | None = None
    source: str | None = None
    references: Sequence[Any] = ()


class Streams:
    """`on_write` is called after each append, so that other processes look for events."""

    def __init__(
        self,
        store: FullStore,
        audit: Audit,
        clock: Clock,
        on_write: Callable[[datetime | None], None] = lambda _due: None,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._store = store
        self._audit = audit
        self._clock = clock
        self._on_write = on_write
        self._entropy = entropy

    async def send(
        self, principal: Principal, name: str, drafts: Sequence[MessageDraft], owner: str | None = None
    ) -> tuple[int, ...]:
        """Append messages to a stream, which is created by its first message; return their numbers."""
        principal.require_scope(Scope.WRITE)
        _check_agent(principal, name)
        owner_name = check_owner(principal, owner)
        if not drafts:
            raise refuse("no_messages")
        if len(drafts) > APPEND_MESSAGES:
            raise refuse("too_many_messages", most=APPEND_MESSAGES)
        now = self._clock.now()
        quota = _quota_for(principal, owner_name)
        messages: list[NewMessage] = []
        for place, draft in enumerate(drafts):
            try:
                messages.append(self._build(principal, name, draft, now))
                check_message(messages[-1], quota.text_bytes)
            except Refusal as refusal:
                refusal.facts["place"] = place
                raise
        numbers = await self._store.append_messages(owner_name, messages, quota)
        self._on_write(None)
        return numbers

    def _build(self, principal: Principal, name: str, draft: MessageDraft, now: datetime) -> NewMessage:
        fields: tuple[tuple[str, object], ...] = (
            ("text", draft.text),
            ("sender", draft.sender),
            ("id", draft.id),
            ("source", draft.source),
        )
        for field, value in fields:
            if not isinstance(value, str) and (value is not None or field == "text"):
                raise refuse_task("bad_policy", name=field, value=value, wanted="text")
        source_id = make_id("msg", now, self._entropy(ENTROPY_BYTES)) if draft.id is None else draft.id
        return NewMessage(
            name,
            draft.text,
            principal.agent or principal.owner if draft.sender is None else draft.sender,
            SENT_SOURCE if draft.source is None else draft.source,
            source_id,
            now,
            encode_references(draft.references),
        )

    async def messages(
        self,
        principal: Principal,
        name: str,
        *,
        owner: str | None = None,
        after: int = 0,
        limit: int = 50,
        reader: str | None = None,
    ) -> MessagePage:
        """Return messages after a number, or after the cursor of a reader, oldest first. No cursor moves."""
        principal.require_scope(Scope.READ)
        check_position("after", after)
        check_number("limit", limit, 1, PAGE_MESSAGES)
        owner_name = _owner_of(principal, name, owner)
        page = await self._store.read_messages(owner_name, name, after, limit, reader)
        if page is None:
            if reader is not None and await self._store.stream(owner_name, name) is not None:
                raise refuse("no_such_reader", stream=name, reader=reader)
            raise refuse("no_such_stream", name=name)
        return page

    async def page(
        self, principal: Principal, after: str | None = None, limit: int = 100, owner: str | None = None
    ) -> Page[Stream]:
        """Return streams by owner and name."""
        refuse_agent(principal, "streams")
        principal.require_scope(Scope.READ)
        check_page(after, limit, _MAX_KEY_CHARACTERS)
        chosen = principal.owner_filter if owner is None else check_owner(principal, owner)
        return await self._store.streams(chosen, after, limit)

    async def get(self, principal: Principal, name: str, owner: str | None = None) -> StreamState:
        """Return a stream with its cursors, the runs that moved them, and its gaps."""
        principal.require_scope(Scope.READ)
        state = await self._get(principal, name, owner)
        cursors = [await self._with_run(state.stream, cursor) for cursor in state.cursors[:_MOST_RUNS]]
        return state._replace(cursors=(*cursors, *state.cursors[_MOST_RUNS:]))

    async def _with_run(self, stream: Stream, cursor: Cursor) -> Cursor:
        record = await self._store.get_record(CURSOR_KIND, cursor_key(stream.owner, stream.name, cursor), stream.owner)
        return cursor if record is None else cursor._replace(run_id=json.loads(record.body))

    async def put(
        self,
        principal: Principal,
        name: str,
        owner: str | None = None,
        *,
        keep: int | None = None,
        keep_for: timedelta | None = None,
    ) -> Stream:
        """Create a stream, or set its caps; None is the setting of the deployment."""
        _check_person(principal)
        owner_name = check_owner(principal, owner)
        check_keep(keep, keep_for)
        stream = Stream(owner_name, check_stream_name(name), self._clock.now(), keep=keep, keep_for=keep_for)
        detail = {"keep": keep, "keep_for": None if keep_for is None else keep_for.total_seconds()}
        row = self._audit.row(principal, "stream.set", name, detail, owner=owner_name)
        return await self._store.put_stream(stream, _quota_for(principal, owner_name), row)

    async def remove(self, principal: Principal, name: str, owner: str | None = None) -> None:
        """Delete a stream with its messages and cursors."""
        _check_person(principal)
        stream = (await self._get(principal, name, owner)).stream
        row = self._audit.row(principal, "stream.remove", name, {"messages": stream.stored}, owner=stream.owner)
        if not await self._store.delete_stream(stream.owner, name, row):
            raise refuse("no_such_stream", name=name)

    async def register(
        self, principal: Principal, name: str, reader: str, owner: str | None = None, *, after: int | None = None
    ) -> Cursor:
        """Register a reader after a number, at the end where None; a registered one stays where it is."""
        _check_person(principal)
        if after is not None:
            check_position("after", after)
        state = await self._get(principal, name, owner)
        known = next((cursor for cursor in state.cursors if cursor.reader == check_reader(reader)), None)
        if known is not None:
            return known
        detail = {"reader": reader, "after": after}
        row = self._audit.row(principal, "stream.reader_add", name, detail, owner=state.stream.owner)
        now = self._clock.now()
        quota = _quota_for(principal, state.stream.owner)
        cursor = await self._store.register_reader(state.stream.owner, name, reader, after, now, row, quota=quota)
        if cursor is None:
            raise refuse("no_such_stream", name=name)
        return cursor

    async def unregister(self, principal: Principal, name: str, reader: str, owner: str | None = None) -> None:
        """Remove a reader: its cursor no longer keeps messages from removal."""
        _check_person(principal)
        stream = (await self._get(principal, name, owner)).stream
        row = self._audit.row(principal, "stream.reader_remove", name, {"reader": reader}, owner=stream.owner)
        if not await self._store.remove_reader(stream.owner, name, check_reader(reader), row):
            raise refuse("no_such_reader", stream=name, reader=reader)

    async def _get(self, principal: Principal, name: str, owner: str | None) -> StreamState:
        state = await self._store.stream(_owner_of(principal, name, owner), name)
        if state is None:
            raise refuse("no_such_stream", name=name)
        return state


def _owner_of(principal: Principal, name: str, owner: str | None) -> str:
    """Return the owner of a stream that the caller may read; a foreign stream is refused like an absent one."""
    _check_agent(principal, name)
    owner_name = principal.owner if owner is None else owner
    check_stream_name(name)
    if owner_name != principal.owner and principal.owner_filter is not None:
        raise refuse("no_such_stream", name=name)
    return owner_name


def _quota_for(principal: Principal, owner: str) -> StreamQuota:
    """Return the limits of the caller; an admin who acts for another owner has none."""
    is_foreign = owner != principal.owner and principal.owner_filter is None
    return stream_quota_of(NO_QUOTAS if is_foreign else principal.quotas)


def _check_person(principal: Principal) -> None:
    """Refuse agents: they send and read, and do not manage streams."""
    refuse_agent(principal, "streams")
    principal.require_scope(Scope.WRITE)


def _check_agent(principal: Principal, name: str) -> None:
    """Refuse an agent every stream but its own, whether it exists or not."""
    agent = principal.agent
    if agent is not None and name != f"agent:{agent}" and not name.startswith(f"agent:{agent}:"):
        raise refuse("agent_stream", agent=agent)
