"""Records of an owner, stored at the target under another kind, so that a token, a webhook or a delivery does nothing
before the start. Secrets are sealed again with the key of the target."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from hashlib import blake2b
from typing import Any, Final, NamedTuple

from ...encryption import Cipher
from ...model.accounts.account import OWNER_KIND, TOKEN_KIND
from ...model.accounts.session import LINK_KIND, SESSION_KIND
from ...model.events.destination import DESTINATION_KIND
from ...model.events.event import REMOVED_EVENTS
from ...model.events.webhook import WEBHOOK_KIND
from ...model.page import MAX_PAGE_SIZE
from ...ports.full_store import FullStore
from ...ports.records import Record, RecordWrite
from ...ports.transfer import Part
from ...service.accounts.audit import HEAD_KIND, OPEN_KIND, SEALED_KIND
from ...service.accounts.owner_moves import HELD_KIND, MOVE_KIND, MOVED_KIND, decode_held, encode_held, held_key
from ...service.accounts.secret_grants import SECRET_KIND
from ...service.accounts.secrets import open_sealed, seal_again
from ...service.events.delivery import SIGNING_OWNER_PREFIX
from ...service.events.message_client import ADDRESS_OWNER_PREFIX
from ..digest import PartDigest, read_pages
from .content import names_of

_STAYING: Final = frozenset(
    {MOVE_KIND, MOVED_KIND, HELD_KIND, REMOVED_EVENTS, OPEN_KIND, SEALED_KIND, HEAD_KIND, SESSION_KIND, LINK_KIND}
)
"""Kinds that belong to a deployment: its audit log, its moves, and the browsers that are signed in to it."""
_KEPT_KINDS: Final = frozenset({OWNER_KIND, TOKEN_KIND})
"""Kinds that the source keeps as well: a request with a token gets the new address of its owner."""
_WITH_POSITION: Final = frozenset({WEBHOOK_KIND, DESTINATION_KIND})
_PAGE: Final = 50


class Deployment(NamedTuple):
    """One of the two deployments. `name` is its store without credentials, `cipher` has the key of its secrets."""

    name: str
    store: FullStore
    cipher: Cipher


class OwnerRecords:
    def __init__(self, source: Deployment, target: Deployment, owner: str) -> None:
        self._source = source
        self._target = target
        self._owner = owner

    async def copy(self) -> None:
        """Store every record at the target, held; remove held ones that the source no longer has."""
        copied: set[str] = set()
        async for record in self._read():
            copied.add(await self._hold(record))
        async for held in self._read_held():
            if held.key not in copied:
                await self._target.store.drop_record(HELD_KIND, held.key, held.version)

    async def digest_source(self) -> PartDigest:
        part_digest = PartDigest()
        async for record in self._read():
            part_digest = part_digest.add_items(Part.RECORDS, [_plain(record, self._source.cipher)])
        return part_digest

    async def digest_target(self) -> PartDigest:
        part_digest = PartDigest()
        async for held in self._read_held():
            part_digest = part_digest.add_items(Part.RECORDS, [_plain(decode_held(held), self._target.cipher)])
        return part_digest

    async def clear_source(self) -> None:
        """Remove the records at the source. What a node has changed since the copy is copied again before."""
        while True:
            is_changed = False
            async for record in self._read():
                if record.kind in _KEPT_KINDS:
                    continue
                await self._hold(record)
                is_dropped = await self._source.store.drop_record(record.kind, record.key, record.version)
                is_changed = is_changed or not is_dropped
            if not is_changed:
                return

    async def start(self) -> None:
        """Turn the held records into what they are: each page in one transaction."""
        position = await self._target.store.last_event()
        while True:
            held = (await self._target.store.records(HELD_KIND, self._owner, limit=_PAGE)).items
            if not held:
                return
            writes: list[RecordWrite] = []
            for each in held:
                record = _at_position(decode_held(each), position)
                known = await self._target.store.get_record(record.kind, record.key)
                writes.append(RecordWrite(record, None if known is None else known.version))
                writes.append(RecordWrite(each, each.version, dropped=True))
            # If another writer was faster, the next turn reads again.
            await self._target.store.write_records(writes)

    async def drop_held(self) -> None:
        """Remove what was copied, when the move is given up."""
        async for held in self._read_held():
            await self._target.store.drop_record(HELD_KIND, held.key, held.version)

    async def _hold(self, record: Record) -> str:
        key = held_key(self._owner, record.kind, record.key)
        known = await self._target.store.get_record(HELD_KIND, key)
        wanted = _plain(record, self._source.cipher)
        if known is None or _plain(decode_held(known), self._target.cipher) != wanted:
            copy = record
            if record.kind == SECRET_KIND:
                copy = seal_again(record, open_sealed(record, self._source.cipher), self._target.cipher)
            replaced = None if known is None else known.version
            await self._target.store.put_record(encode_held(self._owner, copy), replacing=replaced)
        return key

    async def _read(self) -> AsyncIterator[Record]:
        """Yield the records of the owner at the source, with the secrets of its webhooks and destinations."""
        owners = set(names_of(self._owner))
        for kind in _WITH_POSITION:
            async for record in _read_kind(self._source.store, kind, self._owner):
                owners.add(_owner_of_secret(record))
        # Some may be held at the target already, and removed at the source.
        async for held in self._read_held():
            record = decode_held(held)
            if record.kind in _WITH_POSITION:
                owners.add(_owner_of_secret(record))
        async for items, _ in read_pages(self._source.store, Part.RECORDS):
            for item in items:
                if isinstance(item, Record) and item.owner in owners and item.kind not in _STAYING:
                    yield item

    async def _read_held(self) -> AsyncIterator[Record]:
        async for record in _read_kind(self._target.store, HELD_KIND, self._owner):
            yield record


async def _read_kind(store: FullStore, kind: str, owner: str) -> AsyncIterator[Record]:
    after: str | None = None
    while True:
        page = await store.records(kind, owner, after, MAX_PAGE_SIZE)
        for record in page.items:
            yield record
        after = page.after
        if after is None:
            return


def _owner_of_secret(record: Record) -> str:
    """Return the reserved owner of the secrets of a webhook or a destination."""
    if record.kind == WEBHOOK_KIND:
        return SIGNING_OWNER_PREFIX + record.key
    return f"{ADDRESS_OWNER_PREFIX}{json.loads(record.body)['id']}"


def _plain(record: Record, cipher: Cipher) -> Any:
    """Return what must be equal in both deployments: of a secret its value, which each seals with its own key."""
    body = record.body
    if record.kind == SECRET_KIND:
        fields = json.loads(body)
        fields["sealed"] = blake2b(open_sealed(record, cipher), digest_size=16).hexdigest()
        body = json.dumps(fields, sort_keys=True)
    return record.kind, record.key, record.owner, body, record.expires


def _at_position(record: Record, position: int) -> Record:
    """Return the record with positions of the target's event log: nothing is delivered that happened before the start."""
    if record.kind not in _WITH_POSITION:
        return record
    fields = json.loads(record.body) | {"since": position}
    return record._replace(body=json.dumps(fields, ensure_ascii=False, separators=(",", ":")))
