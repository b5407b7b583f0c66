"""Secrets in and out: set, listed by name, removed, sealed anew. Only what carries a run sees a value again."""

from __future__ import annotations

import json
import re
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from ...clock import Clock
from ...encryption import KeyFile, Sealing
from ...encryption.key_location import Unnamed
from ...encryption.refusals import refuse
from ...errors import Refusal
from ...model.accounts.account import AGENT_CHARACTERS, RESERVED_OWNERS, is_agent_name
from ...model.accounts.principal import Principal, Scope
from ...model.field_checks import check_text
from ...model.limits import KEY_CHARACTERS
from ...model.page import LARGEST_PAGE, Page
from ...model.refusals import refuse as refuse_task
from ...ports.records import Record, Records, Writing
from ..query.argument_checks import check_page
from .audit import Audit
from .refusals import refuse as refuse_account
from .rights import refuse_agent
from .secret_grants import SECRET_KIND, granted_agents, secret_key

KIND: Final = SECRET_KIND
NAME_CHARACTERS: Final = 100
VALUE_BYTES: Final = 65_536
MOST_SECRETS: Final = LARGEST_PAGE
"""Of one owner."""
_LISTED_GRANTS: Final = 5
MOST_GRANTS: Final = 100
"""Agents of one secret."""
_NAME: Final = re.compile(rf"[A-Za-z0-9_.-]{{1,{NAME_CHARACTERS}}}")
_LONGEST_KEY: Final = KEY_CHARACTERS + 1 + NAME_CHARACTERS
_TRIES: Final = 100
"""Each lost race means that somebody else got through, so that only a storm of writers can use them up."""


class SecretName(NamedTuple):
    """All that is ever shown of a secret."""

    name: str
    owner: str
    updated: datetime
    agents: tuple[str, ...] = ()
    """The agents whose tasks may reference it."""


class SecretBox:
    """The values are sealed for their owner and name before they leave this process."""

    def __init__(self, records: Records, key: Sealing, clock: Clock) -> None:
        self._records = records
        self._key = key
        self._coming: Sealing | None = None
        """While a rotation goes on: what seals from now on."""
        self._clock = clock
        self._audit = Audit(records, clock)

    @property
    def has_key(self) -> bool:
        """Whether a key is named that can open secrets."""
        return not isinstance(self._key, Unnamed)

    def on(self, records: Records) -> SecretBox:
        """The same on other records."""
        return SecretBox(records, self._key, self._clock)

    async def set(self, who: Principal, name: str, value: str, owner: str | None = None) -> SecretName:
        """A new secret, or a new value for one; an admin may do so for somebody else."""
        refuse_agent(who, "secrets")
        who.must(Scope.WRITE)
        owner = _acting_for(who, owner)
        _check_name(name)
        content = _content(name, value)
        for _ in range(_TRIES):
            known = await self._records.get_record(KIND, secret_key(owner, name))
            if known is None:
                await self._check_room(owner)
            # Sealed anew in every try: a rotation may be what came between.
            now = self._clock.now()
            agents = () if known is None else granted_agents(known)
            record = self._sealed(owner, name, content, now, agents)
            row = self._audit.row(who, "secret.set", name, owner=owner)
            writing = Writing(record, None if known is None else known.version)
            written = await self._records.write_records((writing, *row))
            # Written after a rotation had looked for the last time, it would be lost with the old key.
            if written and _will_open(record, self._coming or self._key):
                return SecretName(name, owner, now, agents)
        raise refuse("secret_contested", name=name)

    async def grant(self, who: Principal, name: str, agent: str, owner: str | None = None) -> SecretName:
        """The tasks of this agent may reference the secret. Nothing changes where it was granted before."""
        return await self._set_grant(who, name, agent, owner, granted=True)

    async def revoke_grant(self, who: Principal, name: str, agent: str, owner: str | None = None) -> SecretName:
        """The tasks of this agent may no longer reference the secret: its runs fail from now on, and say so."""
        return await self._set_grant(who, name, agent, owner, granted=False)

    async def _set_grant(
        self, who: Principal, name: str, agent: str, owner: str | None, *, granted: bool
    ) -> SecretName:
        refuse_agent(who, "secrets")
        who.must(Scope.WRITE)
        _check_name(name)
        if not is_agent_name(agent):
            raise refuse_account("bad_agent_name", name=agent, most=AGENT_CHARACTERS)
        if owner not in (None, who.owner) and who.scope is not None:
            raise refuse("no_such_secret", name=name)
        if owner is not None:
            check_text("owner", owner, KEY_CHARACTERS)
        key = secret_key(who.owner if owner is None else owner, name)
        for _ in range(_TRIES):
            known = await self._records.get_record(KIND, key)
            if known is None:
                raise refuse("no_such_secret", name=name)
            agents = set(granted_agents(known))
            if granted and agent in agents:
                return _shown(known)
            if not granted and agent not in agents:
                raise _no_such_grant(name, agent, sorted(agents))
            if granted and len(agents) >= MOST_GRANTS:
                raise refuse_account("too_many_grants", name=name, owner=known.owner, most=MOST_GRANTS)
            wanted = sorted(agents | {agent} if granted else agents - {agent})
            changed = known._replace(body=json.dumps({**json.loads(known.body), "agents": wanted}))
            action = "secret.grant" if granted else "secret.revoke"
            row = self._audit.row(who, action, name, {"agent": agent}, owner=known.owner)
            if await self._records.write_records((Writing(changed, known.version), *row)):
                return _shown(changed)
        raise refuse("secret_contested", name=name)

    async def names(
        self, who: Principal, owner: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[SecretName]:
        """By owner and name: one's own; for an admin everybody's, or those of the owner that is named."""
        refuse_agent(who, "secrets")
        who.must(Scope.READ)
        wanted = who.scope if owner is None else _acting_for(who, owner)
        check_page(after, limit, _LONGEST_KEY)
        page = await self._records.records(KIND, wanted, after, limit)
        # What signs webhooks is sealed beside them, and is nobody's to name.
        ours = (record for record in page.items if not record.owner.startswith(RESERVED_OWNERS))
        return Page(tuple(_shown(record) for record in ours), page.after)

    async def remove(self, who: Principal, name: str, owner: str | None = None) -> None:
        """For good. What is not there and what is somebody else's answer alike."""
        refuse_agent(who, "secrets")
        who.must(Scope.WRITE)
        _check_name(name)
        if owner not in (None, who.owner) and who.scope is not None:
            raise refuse("no_such_secret", name=name)
        if owner is not None:
            check_text("owner", owner, KEY_CHARACTERS)
        key = secret_key(who.owner if owner is None else owner, name)
        for _ in range(_TRIES):
            known = await self._records.get_record(KIND, key)
            if known is None:
                raise refuse("no_such_secret", name=name)
            row = self._audit.row(who, "secret.remove", name, owner=known.owner)
            if await self._records.write_records((Writing(known, known.version, dropped=True), *row)):
                return
        raise refuse("secret_contested", name=name)

    async def reveal(self, owner: str, name: str) -> str | None:
        """The value, for a run of that owner and for nobody else; None when there is none of that name."""
        if _NAME.fullmatch(name) is None:
            return None
        record = await self._records.get_record(KIND, secret_key(owner, name), owner)
        if record is None:
            return None
        content = _opened(record, self._key)
        if content is None and self._coming is not None:
            content = _opened(record, self._coming)
        if content is None:
            raise self._sealed_otherwise(record)
        return content.decode()

    async def rotate(self, new: Sealing) -> int:
        """Seal everything with another key, from now on too; how many values that were.

        It may be broken off and begun again: what has the new key already is left alone, and what neither key opens is
        refused before anything is lost.
        """
        total = 0
        self._coming = new
        try:
            while changed := await self._reseal_all(new):
                # Others may have written meanwhile: it is done when there was nothing left to do.
                total += changed
            self._key = new
        finally:
            self._coming = None
        return total

    async def check(self) -> None:
        """Refuses when there is a value that the key does not open."""
        async for record in self._all():
            if _opened(record, self._key) is None:
                raise self._sealed_otherwise(record)

    async def _reseal_all(self, new: Sealing) -> int:
        return sum([await self._reseal(record, new) async for record in self._all()])

    async def _all(self) -> AsyncIterator[Record]:
        after = None
        while True:
            page = await self._records.records(KIND, None, after, LARGEST_PAGE)
            for record in page.items:
                yield record
            after = page.after
            if after is None:
                return

    async def _reseal(self, record: Record, new: Sealing) -> bool:
        if _opened(record, new) is not None:
            return False
        content = _opened(record, self._key)
        if content is None:
            raise self._sealed_otherwise(record)
        shown = _shown(record)
        renewed = _closed(record.owner, shown.name, content, new, shown.updated, shown.agents)
        await self._records.put_record(renewed, replacing=record.version)
        # Also after a lost race: whoever was faster is looked at again.
        return True

    async def _check_room(self, owner: str) -> None:
        page = await self._records.records(KIND, owner, limit=MOST_SECRETS)
        if len(page.items) >= MOST_SECRETS:
            raise refuse("too_many_secrets", owner=owner, most=MOST_SECRETS)

    def _sealed(self, owner: str, name: str, content: bytes, now: datetime, agents: tuple[str, ...]) -> Record:
        return _closed(owner, name, content, self._coming or self._key, now, agents)

    def _sealed_otherwise(self, record: Record) -> Refusal:
        return refuse("secret_sealed_otherwise", name=_name_of(record), owner=record.owner, origin=self._key.origin)


async def renew_key(box: SecretBox, file: KeyFile) -> int:
    """Give a deployment a new key: seal everything with it, then let it take the place of the old file.

    Other processes go on meanwhile; broken off at any point, it is finished by doing it again.
    """
    # A machine with a wrong key must not get a next one: from then on it would seal with what nobody else has.
    await box.check()
    changed = await box.rotate(file.next_key())
    file.promote()
    return changed


def _acting_for(who: Principal, owner: str | None) -> str:
    if owner is None or owner == who.owner:
        return who.owner
    if who.scope is not None:
        raise refuse_task("foreign_owner", owner=owner)
    check_text("owner", owner, KEY_CHARACTERS)
    return owner


def _check_name(name: object) -> None:
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise refuse("bad_secret_name", name=name, most=NAME_CHARACTERS)


def _content(name: str, value: object) -> bytes:
    """The value itself must never stand in a refusal."""
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


def _about(owner: str, name: str) -> bytes:
    return json.dumps([KIND, owner, name]).encode()


def _closed(owner: str, name: str, content: bytes, key: Sealing, updated: datetime, agents: tuple[str, ...]) -> Record:
    sealed = b64encode(key.seal(content, _about(owner, name))).decode()
    said = {"sealed": sealed, "updated": updated.isoformat()}
    body = json.dumps({**said, "agents": list(agents)} if agents else said)
    return Record(KIND, secret_key(owner, name), owner, body)


def _opened(record: Record, key: Sealing) -> bytes | None:
    try:
        sealed = _sealed_part(record)
    except (ValueError, KeyError, TypeError):
        # Somebody wrote there who cannot seal.
        return None
    return key.open(sealed, _about(record.owner, _name_of(record)))


def _will_open(record: Record, key: Sealing) -> bool:
    return key.will_open(_sealed_part(record), _about(record.owner, _name_of(record)))


def _sealed_part(record: Record) -> bytes:
    return b64decode(json.loads(record.body)["sealed"])


def _no_such_grant(name: str, agent: str, agents: Sequence[str]) -> Refusal:
    """A mistyped name would otherwise look like a secret that was taken back."""
    listed = ", ".join(agents[:_LISTED_GRANTS]) + (", …" if len(agents) > _LISTED_GRANTS else "")
    remedy = f"These agents have it: {listed}." if agents else "No agent has it."
    remedy_zh = f"已获授权的智能体：{listed}。" if agents else "没有智能体获得授权。"
    return refuse_account("no_such_grant", name=name, agent=agent, remedy=remedy, remedy_zh=remedy_zh)


def _shown(record: Record) -> SecretName:
    updated = datetime.fromisoformat(json.loads(record.body)["updated"])
    return SecretName(_name_of(record), record.owner, updated, granted_agents(record))
