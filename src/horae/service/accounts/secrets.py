"""Encrypted secrets: set, list, remove, grant and re-encrypt; only a target that executes a run reads a value."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from ...clock import Clock
from ...encryption import Cipher, KeyFile
from ...encryption.key_location import UnconfiguredKey
from ...encryption.refusals import refuse
from ...errors import Refusal
from ...model.accounts.account import AGENT_CHARACTERS, RESERVED_OWNER_PREFIX, is_agent_name
from ...model.accounts.principal import Principal, Scope
from ...model.limits import KEY_CHARACTERS
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.refusals import refuse as refuse_task
from ...model.text.field_checks import check_text
from ...ports.records import Record, Records, RecordWrite
from ..query.argument_checks import check_page
from .audit import Audit
from .refusals import refuse as refuse_account
from .rights import refuse_agent
from .secret_grants import SECRET_KIND, granted_agents, secret_key

KIND: Final = SECRET_KIND
NAME_CHARACTERS: Final = 100
VALUE_BYTES: Final = 65_536
MAX_SECRETS: Final = MAX_PAGE_SIZE
"""Limit per owner."""
_MAX_LISTED: Final = 5
MAX_GRANTS: Final = 100
"""Agents per secret."""
_NAME: Final = re.compile(rf"[A-Za-z0-9_.-]{{1,{NAME_CHARACTERS}}}")
_MAX_KEY_CHARACTERS: Final = KEY_CHARACTERS + 1 + NAME_CHARACTERS
_TRIES: Final = 100
"""Each lost race means that another writer succeeded, so only a storm of writers can use up all tries."""


class SecretName(NamedTuple):
    """Everything of a secret that is ever shown."""

    name: str
    owner: str
    updated: datetime
    agents: tuple[str, ...] = ()
    """Agents whose tasks may reference it."""


class SecretVault:
    """Seals each value for its owner and name before it leaves this process."""

    def __init__(self, records: Records, key: Cipher, clock: Clock) -> None:
        self._records = records
        self._key = key
        self._next_key: Cipher | None = None
        """During a rotation: the key that seals from now on."""
        self._clock = clock
        self._audit = Audit(records, clock)

    @property
    def has_key(self) -> bool:
        """Whether a key is configured that can open secrets."""
        return not isinstance(self._key, UnconfiguredKey)

    def with_records(self, records: Records) -> SecretVault:
        """Return the same service on other records."""
        return SecretVault(records, self._key, self._clock)

    async def set(self, principal: Principal, name: str, value: str, owner: str | None = None) -> SecretName:
        """Create a secret, or replace its value; an admin may do so for another owner."""
        refuse_agent(principal, "secrets")
        principal.require_scope(Scope.WRITE)
        owner = _check_owner(principal, owner)
        _check_name(name)
        content = _encode_value(name, value)
        for _ in range(_TRIES):
            known = await self._records.get_record(KIND, secret_key(owner, name))
            if known is None:
                await self._check_count(owner)
            # Sealed again in every try, because a rotation may have happened in between.
            now = self._clock.now()
            agents = () if known is None else granted_agents(known)
            record = self._seal_record(owner, name, content, now, agents)
            row = self._audit.row(principal, "secret.set", name, owner=owner)
            writing = RecordWrite(record, None if known is None else known.version)
            is_written = await self._records.write_records((writing, *row))
            # A value written after the last pass of a rotation would be lost with the old key.
            if is_written and _will_open(record, self._next_key or self._key):
                return SecretName(name, owner, now, agents)
        raise refuse("secret_contested", name=name)

    async def grant(self, principal: Principal, name: str, agent: str, owner: str | None = None) -> SecretName:
        """Allow the tasks of this agent to reference the secret. Idempotent."""
        return await self._set_grant(principal, name, agent, owner, granted=True)

    async def revoke_grant(self, principal: Principal, name: str, agent: str, owner: str | None = None) -> SecretName:
        """Forbid the tasks of this agent to reference the secret: its runs fail from now on, with that reason."""
        return await self._set_grant(principal, name, agent, owner, granted=False)

    async def _set_grant(
        self, principal: Principal, name: str, agent: str, owner: str | None, *, granted: bool
    ) -> SecretName:
        refuse_agent(principal, "secrets")
        principal.require_scope(Scope.WRITE)
        _check_name(name)
        if not is_agent_name(agent):
            raise refuse_account("bad_agent_name", name=agent, most=AGENT_CHARACTERS)
        if owner not in (None, principal.owner) and principal.owner_filter is not None:
            raise refuse("no_such_secret", name=name)
        if owner is not None:
            check_text("owner", owner, KEY_CHARACTERS)
        key = secret_key(principal.owner if owner is None else owner, name)
        for _ in range(_TRIES):
            known = await self._records.get_record(KIND, key)
            if known is None:
                raise refuse("no_such_secret", name=name)
            agents = set(granted_agents(known))
            if granted and agent in agents:
                return _describe(known)
            if not granted and agent not in agents:
                raise _no_such_grant(name, agent, sorted(agents))
            if granted and len(agents) >= MAX_GRANTS:
                raise refuse_account("too_many_grants", name=name, owner=known.owner, most=MAX_GRANTS)
            new_agents = sorted(agents | {agent} if granted else agents - {agent})
            changed = known._replace(body=json.dumps({**json.loads(known.body), "agents": new_agents}))
            action = "secret.grant" if granted else "secret.revoke"
            row = self._audit.row(principal, action, name, {"agent": agent}, owner=known.owner)
            if await self._records.write_records((RecordWrite(changed, known.version), *row)):
                return _describe(changed)
        raise refuse("secret_contested", name=name)

    async def names(
        self, principal: Principal, owner: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[SecretName]:
        """Return names by owner and name: the caller's own; for an admin all, or those of the named owner."""
        refuse_agent(principal, "secrets")
        principal.require_scope(Scope.READ)
        scope = principal.owner_filter if owner is None else _check_owner(principal, owner)
        check_page(after, limit, _MAX_KEY_CHARACTERS)
        page = await self._records.records(KIND, scope, after, limit)
        # The signing secrets of webhooks are stored here too, and are never listed.
        listed = (record for record in page.items if not record.owner.startswith(RESERVED_OWNER_PREFIX))
        return Page(tuple(_describe(record) for record in listed), page.after)

    async def remove(self, principal: Principal, name: str, owner: str | None = None) -> None:
        """Remove a secret for good. A foreign secret answers like an absent one."""
        refuse_agent(principal, "secrets")
        principal.require_scope(Scope.WRITE)
        _check_name(name)
        if owner not in (None, principal.owner) and principal.owner_filter is not None:
            raise refuse("no_such_secret", name=name)
        if owner is not None:
            check_text("owner", owner, KEY_CHARACTERS)
        key = secret_key(principal.owner if owner is None else owner, name)
        for _ in range(_TRIES):
            known = await self._records.get_record(KIND, key)
            if known is None:
                raise refuse("no_such_secret", name=name)
            row = self._audit.row(principal, "secret.remove", name, owner=known.owner)
            if await self._records.write_records((RecordWrite(known, known.version, dropped=True), *row)):
                return
        raise refuse("secret_contested", name=name)

    async def reveal(self, owner: str, name: str) -> str | None:
        """Return the value, for a run of that owner only; None when there is none of that name."""
        if _NAME.fullmatch(name) is None:
            return None
        record = await self._records.get_record(KIND, secret_key(owner, name), owner)
        if record is None:
            return None
        content = _open_record(record, self._key)
        if content is None and self._next_key is not None:
            content = _open_record(record, self._next_key)
        if content is None:
            raise self._wrong_key(record)
        return content.decode()

    async def rotate(self, new: Cipher) -> int:
        """Seal everything with another key, from now on too; return the number of values.

        It may be interrupted and repeated: values under the new key are left alone, and a value that neither key opens
        is refused before anything is lost.
        """
        total = 0
        self._next_key = new
        try:
            while changed := await self._reseal_all(new):
                # Other processes may write meanwhile: repeat until a pass finds nothing to do.
                total += changed
            self._key = new
        finally:
            self._next_key = None
        return total

    async def check(self) -> None:
        """Refuse if there is a value that the key does not open."""
        async for record in self._all():
            if _open_record(record, self._key) is None:
                raise self._wrong_key(record)

    async def _reseal_all(self, new: Cipher) -> int:
        return sum([await self._reseal(record, new) async for record in self._all()])

    async def _all(self) -> AsyncIterator[Record]:
        after = None
        while True:
            page = await self._records.records(KIND, None, after, MAX_PAGE_SIZE)
            for record in page.items:
                yield record
            after = page.after
            if after is None:
                return

    async def _reseal(self, record: Record, new: Cipher) -> bool:
        if _open_record(record, new) is not None:
            return False
        content = _open_record(record, self._key)
        if content is None:
            raise self._wrong_key(record)
        described = _describe(record)
        resealed = _sealed_record(record.owner, described.name, content, new, described.updated, described.agents)
        await self._records.put_record(resealed, replacing=record.version)
        # Also after a lost race, so that the next pass checks the record again.
        return True

    async def _check_count(self, owner: str) -> None:
        page = await self._records.records(KIND, owner, limit=MAX_SECRETS)
        if len(page.items) >= MAX_SECRETS:
            raise refuse("too_many_secrets", owner=owner, most=MAX_SECRETS)

    def _seal_record(self, owner: str, name: str, content: bytes, now: datetime, agents: tuple[str, ...]) -> Record:
        return _sealed_record(owner, name, content, self._next_key or self._key, now, agents)

    def _wrong_key(self, record: Record) -> Refusal:
        return refuse("secret_sealed_otherwise", name=_name_of(record), owner=record.owner, origin=self._key.origin)


async def rotate_key(box: SecretVault, file: KeyFile) -> int:
    """Give a deployment a new key: seal everything with it, then replace the key file.

    Other processes continue meanwhile; an interrupted renewal is completed by repeating it.
    """
    # A machine with a wrong key must not get a next one: it would seal with a key that no other machine has.
    await box.check()
    changed = await box.rotate(file.next_key())
    file.promote()
    return changed


def _check_owner(principal: Principal, owner: str | None) -> str:
    if owner is None or owner == principal.owner:
        return principal.owner
    if principal.owner_filter is not None:
        raise refuse_task("foreign_owner", owner=owner)
    check_text("owner", owner, KEY_CHARACTERS)
    return owner


def _check_name(name: object) -> None:
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise refuse("bad_secret_name", name=name, most=NAME_CHARACTERS)


def _encode_value(name: str, value: object) -> bytes:
    """Encode and check a value; the value itself must never appear in a refusal."""
    try:
        content = value.encode() if isinstance(value, str) else None
    except UnicodeEncodeError:
        content = None
    if content is None:
        raise refuse("bad_secret_value", name=name, came="no text", came_zh="不是文本", most=VALUE_BYTES)
    if not 1 <= len(content) <= VALUE_BYTES:
        size = len(content)
        raise refuse(
            "bad_secret_value", name=name, came=f"{size} bytes long", came_zh=f"有 {size} 字节", most=VALUE_BYTES
        )
    return content


def _name_of(record: Record) -> str:
    return record.key.rpartition("/")[2]


def _associated_data(owner: str, name: str) -> bytes:
    return json.dumps([KIND, owner, name]).encode()


def _sealed_record(
    owner: str, name: str, content: bytes, key: Cipher, updated: datetime, agents: tuple[str, ...]
) -> Record:
    sealed_text = b64encode(key.seal(content, _associated_data(owner, name))).decode()
    body = {"sealed": sealed_text, "updated": updated.isoformat()}
    text = json.dumps({**body, "agents": list(agents)} if agents else body)
    return Record(KIND, secret_key(owner, name), owner, text)


def _open_record(record: Record, key: Cipher) -> bytes | None:
    try:
        sealed = _sealed_bytes(record)
    except (ValueError, KeyError, TypeError):
        # The record was not written by this service.
        return None
    return key.open(sealed, _associated_data(record.owner, _name_of(record)))


def open_sealed(record: Record, key: Cipher) -> bytes:
    """Return the value of a secret's record; raises a refusal if another key has sealed it."""
    content = _open_record(record, key)
    if content is None:
        raise refuse("secret_sealed_otherwise", name=_name_of(record), owner=record.owner, origin=key.origin)
    return content


def seal_again(record: Record, content: bytes, key: Cipher) -> Record:
    """Return the record of a secret sealed with the key of another deployment."""
    described = _describe(record)
    return _sealed_record(record.owner, described.name, content, key, described.updated, described.agents)


def _will_open(record: Record, key: Cipher) -> bool:
    return key.opens_with_current_key(_sealed_bytes(record), _associated_data(record.owner, _name_of(record)))


def _sealed_bytes(record: Record) -> bytes:
    return b64decode(json.loads(record.body)["sealed"])


def _no_such_grant(name: str, agent: str, agents: Sequence[str]) -> Refusal:
    """A mistyped agent name is refused; otherwise the revocation would seem to have worked."""
    listed = ", ".join(agents[:_MAX_LISTED]) + (", …" if len(agents) > _MAX_LISTED else "")
    remedy = f"These agents have it: {listed}." if agents else "No agent has it."
    remedy_zh = f"已获授权的智能体：{listed}。" if agents else "没有智能体获得授权。"
    return refuse_account("no_such_grant", name=name, agent=agent, remedy=remedy, remedy_zh=remedy_zh)


def _describe(record: Record) -> SecretName:
    updated = datetime.fromisoformat(json.loads(record.body)["updated"])
    return SecretName(_name_of(record), record.owner, updated, granted_agents(record))
