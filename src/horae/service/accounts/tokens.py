"""API tokens: create, list, revoke and authenticate; the text is shown once, only its hash is stored."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Awaitable, Callable, Collection
from datetime import UTC, datetime
from hashlib import sha256
from typing import Final, NamedTuple

from ...clock import Clock
from ...model.accounts.account import (
    AGENT_CHARACTERS,
    OWNER_KIND,
    TOKEN_KIND,
    Owner,
    Token,
    is_agent_name,
    is_owner_name,
    owner_record,
    token_from,
    token_record,
)
from ...model.accounts.principal import LOCAL_OWNER, SCOPES_OF, Principal, Quotas, Role, Scope
from ...model.accounts.session import hash_secret, is_secret
from ...model.ids import ENTROPY_BYTES, make_id
from ...model.lanes.lane import agent_lane
from ...model.limits import NAME_CHARACTERS
from ...model.page import MAX_PAGE_SIZE, Page
from ...model.reason import Reason
from ...model.record import Record, RecordWrite
from ...model.refusals import refuse as refuse_task
from ...model.text.field_checks import check_choice, check_text
from ...ports.full_store import FullStore
from ...ports.records import write_unless_changed
from ..query.argument_checks import check_page
from ..query.id_prefix import resolve_record
from ..runs.lanes import MAX_LANE_LIMIT
from ..tasks.task_quota import load_agent_record
from .agents import Agents
from .audit import Audit
from .owners import Accounts, ignore_owner, new_local_owner
from .refusals import refuse
from .rights import TOKEN_PREFIX, refuse_agent

FIRST_OWNER: Final = LOCAL_OWNER
"""The first token is for the user of this machine, who owns the tasks that the command line makes."""
MAX_TOKENS: Final = MAX_PAGE_SIZE
"""Limit per owner."""
CACHED_SECONDS: Final = 0.5
"""Cache lifetime: another process may honour a revoked token for so long."""
_SECRET_BYTES: Final = 32
TOKEN_TEXT: Final = re.compile(r"horae_([0-9a-f]{32})_([0-9a-f]{64})", re.ASCII)
_ID: Final = re.compile(r"tok_[0-9a-f]{32}", re.ASCII)
_MAX_CACHED: Final = 4_096
_TRIES: Final = 100
_COUNTER_KIND: Final = "token_seats"


class _CachedToken(NamedTuple):
    """Cached lookup of a token; `found` None: the token is not valid."""

    found: tuple[Token, Owner, Quotas] | None
    until: float
    principals: dict[str, Principal]
    """Principals of requests by front end, without the id of the request."""


class Tokens:
    def __init__(
        self,
        store: FullStore,
        clock: Clock,
        accounts: Accounts,
        audit: Audit,
        agents: Agents,
        entropy: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._store = store
        self._clock = clock
        self._accounts = accounts
        self._audit = audit
        self._agents = agents
        self._entropy = entropy
        self._cache: dict[bytes, _CachedToken] = {}
        self.on_agent_revoked: Callable[[Principal, str, str], Awaitable[object]] = _nothing_to_stop
        """Called with an owner and an agent whose last token was revoked, to pause its tasks."""
        self.check_access: Callable[[str], Awaitable[object]] = ignore_owner
        """Called with the owner of each valid token; refuses one that lives in another deployment."""
        # A changed role or quota counts at once in this process, and within `CACHED_SECONDS` in others.
        accounts.on_change = agents.on_change = self._cache.clear

    async def authenticate(self, text: str, *, via: str, request: str = "") -> Principal:
        """Return the principal of a token; every kind of invalid token gets the same refusal."""
        match = TOKEN_TEXT.fullmatch(text)
        if match is None:
            raise refuse("bad_token")
        found, _, principals = await self._look_up(sha256(text.encode()).digest(), match[1], match[2])
        # It may expire while it is cached.
        if found is None or not found[0].is_valid(self._clock.now()):
            raise refuse("bad_token")
        await self.check_access(found[1].name)
        principal = principals.get(via)
        if principal is None:
            principal = principals[via] = principal_of(*found, via)
        return principal._replace(request=request)

    async def make(
        self,
        principal: Principal,
        *,
        owner: str | None = None,
        name: str,
        scopes: Collection[Scope] | None = None,
        expires: datetime | None = None,
        agent: str | None = None,
    ) -> tuple[Token, str]:
        """Create a token and return it with its text, which is shown only here.

        Without `scopes` it gets all that are allowed.
        """
        refuse_agent(principal, "tokens")
        principal.require_scope(Scope.WRITE)
        account_name = principal.owner if owner is None else owner
        if account_name != principal.owner and principal.owner_filter is not None:
            raise refuse("no_such_owner", name=account_name)
        check_text("name", name, NAME_CHARACTERS)
        if agent is not None and not is_agent_name(agent):
            raise refuse("bad_agent_name", name=agent, most=AGENT_CHARACTERS)
        for _ in range(_TRIES):
            new = await new_local_owner(self._store, self._clock, principal, account_name)
            account = await self._account(account_name) if new is None else new
            # The counter record is read first: of two concurrent calls, the slower one finds it replaced.
            counter = await self._counter_writing(account_name)
            await self._check_count(principal, account)
            chosen = _check_scopes(principal, account, scopes, agent)
            token, text = self._generate(
                account_name, name, chosen, agent, await self._check_expiry(principal, expires)
            )
            extra = () if new is None else (RecordWrite(owner_record(new)),)
            if await self._write_new(principal, token, account, (counter, *extra)):
                return token, text
        raise refuse_task("record_changed", kind=TOKEN_KIND, key=account_name)

    async def page(
        self, principal: Principal, owner: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[Token]:
        """Return tokens, oldest first: the caller's own, for an admin all or those of the named owner."""
        refuse_agent(principal, "tokens")
        principal.require_scope(Scope.READ)
        check_page(after, limit)
        if owner is not None and not is_owner_name(owner):
            raise refuse("no_such_owner", name=owner)
        page = await self._store.records(
            TOKEN_KIND, owner if principal.owner_filter is None else principal.owner_filter, after, limit
        )
        is_allowed = owner is None or principal.owner_filter in (None, owner)
        return Page(tuple(map(token_from, page.items)), page.after) if is_allowed else Page(())

    async def get(self, principal: Principal, token_id: str) -> Token:
        refuse_agent(principal, "tokens")
        principal.require_scope(Scope.READ)
        return await self._get_token(principal, token_id)

    async def revoke(self, principal: Principal, token_id: str) -> Token:
        """Revoke a token: in this process at once, in others within `CACHED_SECONDS`."""
        refuse_agent(principal, "tokens")
        principal.require_scope(Scope.WRITE)
        for _ in range(_TRIES):
            token = await self._get_token(principal, token_id)
            if token.revoked is not None:
                return token
            revoked_token = token._replace(revoked=self._clock.now())
            row = self._audit.row(principal, "token.revoke", token.id, {"name": token.name}, owner=token.owner)
            writings = (RecordWrite(token_record(revoked_token), token.version), *row)
            if await (
                self._store.write_records(writings)
                if token.agent is None
                else self._write_agent_revocation(principal, token, writings)
            ):
                self._cache.clear()
                return revoked_token._replace(version=token.version + 1)
        raise refuse_task("record_changed", kind=TOKEN_KIND, key=token_id)

    async def _write_agent_revocation(
        self, principal: Principal, token: Token, writings: tuple[RecordWrite, ...]
    ) -> bool:
        """Block the agent in the same transaction, if this was its last valid token."""
        agent = str(token.agent)
        # The quota record is read before the tokens: of two concurrent revocations, the second write fails and retries.
        quota_record, version = await load_agent_record(self._store, token.owner, agent)
        if await self._has_other_token(token):
            return await self._store.write_records((*writings, RecordWrite(quota_record, version)))
        revoked = quota_record._replace(body=json.dumps({**json.loads(quota_record.body), "revoked": True}))
        lane = agent_lane(token.owner, agent)
        block = self._store.block_owner(
            lane, Reason.OWNER_REVOKED, attached_records=(*writings, RecordWrite(revoked, version))
        )
        if not await write_unless_changed(block):
            return False
        await self.on_agent_revoked(principal, token.owner, agent)
        return True

    async def _has_other_token(self, token: Token) -> bool:
        """Whether the agent of this token has another valid one."""
        now = self._clock.now()
        page = await self._store.records(TOKEN_KIND, token.owner, limit=MAX_TOKENS)
        others = (each for each in map(token_from, page.items) if each.id != token.id and each.agent == token.agent)
        return any(each.is_valid(now) for each in others)

    async def make_first(self) -> str | None:
        """Create the first admin token of a deployment for the user of this machine; None if one was made before."""
        # The owner is read first: a token that is made between these two reads has changed the owner as well.
        known = await self._store.get_record(OWNER_KIND, FIRST_OWNER)
        owner = Owner(FIRST_OWNER, Role.ADMIN, self._clock.now()) if known is None else self._accounts.read(known)
        has_any, has_admins = await self._find_earlier_tokens()
        # Where tokens are in use, an operator's choice that this owner is no admin stays.
        if has_admins or (has_any and (owner.role is not Role.ADMIN or owner.revoked is not None)):
            return None
        owner = owner._replace(role=Role.ADMIN, revoked=None)
        token, text = self._generate(FIRST_OWNER, "first", SCOPES_OF[Role.ADMIN])
        writings = [
            RecordWrite(owner_record(owner), None if known is None else known.version),
            RecordWrite(token_record(token)),
        ]
        # Of two processes that start together, the write of the second one fails.
        return text if await self._store.write_records(writings) else None

    async def _find_earlier_tokens(self) -> tuple[bool, bool]:
        """Return whether any token was ever made, and whether an admin token was; revoked ones count too."""
        page = await self._store.records(TOKEN_KIND, limit=MAX_PAGE_SIZE)
        has_any = bool(page.items)
        while True:
            if any(Scope.ADMIN in token_from(record).scopes for record in page.items):
                return True, True
            if page.after is None:
                return has_any, False
            page = await self._store.records(TOKEN_KIND, None, page.after, MAX_PAGE_SIZE)

    async def _look_up(self, digest: bytes, key: str, secret: str) -> _CachedToken:
        now = self._clock.steady()
        cached = self._cache.get(digest)
        if cached is not None and now < cached.until:
            return cached
        account = await self._read_token(TOKEN_PREFIX + key, secret)
        if len(self._cache) >= _MAX_CACHED:
            self._cache.clear()
        # The lifetime counts from before the read, so that a change after it is seen in time.
        cached = self._cache[digest] = _CachedToken(account, now + CACHED_SECONDS, {})
        return cached

    async def _read_token(self, token_id: str, secret: str) -> tuple[Token, Owner, Quotas] | None:
        record = await self._store.get_record(TOKEN_KIND, token_id)
        token = None if record is None else token_from(record)
        is_match = is_secret(secret, None if token is None else token.hash)
        if token is None or not is_match or token.revoked is not None:
            return None
        owner = await self._store.get_record(OWNER_KIND, token.owner)
        if owner is None:
            return None
        account = self._accounts.read(owner)
        if account.revoked is not None:
            return None
        if token.agent is None:
            return token, account, account.quotas
        return token, account, await self._agents.quotas(account.name, token.agent, account.quotas)

    async def _account(self, name: str) -> Owner:
        record = await self._store.get_record(OWNER_KIND, name) if is_owner_name(name) else None
        if record is None:
            raise refuse("no_such_owner", name=name)
        return self._accounts.read(record)

    async def _counter_writing(self, owner: str) -> RecordWrite:
        """A record that every new token of an owner replaces, so that concurrent creations cannot exceed the limit."""
        known = await self._store.get_record(_COUNTER_KIND, owner)
        return RecordWrite(Record(_COUNTER_KIND, owner, owner, "{}"), None if known is None else known.version)

    async def _check_count(self, principal: Principal, account: Owner) -> None:
        records = (await self._store.records(TOKEN_KIND, account.name, limit=MAX_TOKENS)).items
        if len(records) >= MAX_TOKENS:
            raise refuse("too_many_tokens", owner=account.name, most=MAX_TOKENS)
        most = account.quotas.tokens
        if most is None or (principal.owner_filter is None and principal.owner != account.name):
            return
        now = self._clock.now()
        if sum(token_from(record).is_valid(now) for record in records) >= most:
            raise refuse("too_many_valid_tokens", owner=account.name, most=most)

    async def _check_expiry(self, principal: Principal, expires: datetime | None) -> datetime | None:
        """Return the expiry of a new token: a token cannot create one that outlives it."""
        if expires is not None:
            if expires.tzinfo is None:
                raise refuse_task("naive_instant", value=expires)
            expires = expires.astimezone(UTC)
            if expires <= self._clock.now():
                raise refuse("expires_past", value=expires.isoformat())
        maker = (
            await self._store.get_record(TOKEN_KIND, principal.actor)
            if principal.actor.startswith(TOKEN_PREFIX)
            else None
        )
        limits = [expires, None if maker is None else token_from(maker).expires]
        return min((limit for limit in limits if limit is not None), default=None)

    def _generate(
        self,
        owner: str,
        name: str,
        scopes: frozenset[Scope],
        agent: str | None = None,
        expires: datetime | None = None,
    ) -> tuple[Token, str]:
        now = self._clock.now()
        token_id = make_id(TOKEN_PREFIX.rstrip("_"), now, self._entropy(ENTROPY_BYTES))
        secret = self._entropy(_SECRET_BYTES).hex()
        token = Token(token_id, owner, name, scopes, now, hash_secret(secret), agent, expires)
        return token, f"horae_{token_id.removeprefix(TOKEN_PREFIX)}_{secret}"

    async def _write_new(
        self, principal: Principal, token: Token, account: Owner, extra: tuple[RecordWrite, ...]
    ) -> bool:
        detail = {"name": token.name, "scopes": sorted(token.scopes), "agent": token.agent}
        row = self._audit.row(principal, "token.make", token.id, detail, owner=token.owner)
        writings = (RecordWrite(token_record(token)), *extra, *row)
        if token.agent is None:
            return await self._store.write_records(writings)
        return await self._write_agent_token(token, token.agent, account, writings)

    async def _resolve_id(self, principal: Principal, token_id: str) -> str | None:
        """Return the whole id; None if there is no such token."""
        if not isinstance(token_id, str):
            return None
        prefix = TOKEN_PREFIX.rstrip("_")
        whole_id = await resolve_record(self._store, principal.owner_filter, TOKEN_KIND, prefix, token_id)
        return whole_id if _is_token_id(whole_id) else None

    async def _write_agent_token(
        self, token: Token, agent: str, account: Owner, writings: tuple[RecordWrite, ...]
    ) -> bool:
        """Unblock the agent of a new token; its stopped tasks stay paused until it is restarted."""
        quota_record, version = await load_agent_record(self._store, token.owner, agent)
        body = json.loads(quota_record.body)
        restored = quota_record._replace(body=json.dumps({**body, "revoked": False}))
        attached = (*writings, RecordWrite(restored, version))
        runs = (await self._agents.quotas(account.name, agent, account.quotas)).concurrent_runs
        lane, slots = agent_lane(token.owner, agent), MAX_LANE_LIMIT if runs is None else runs
        if not body.get("revoked"):
            return await write_unless_changed(self._store.set_lane(lane, slots, attached_records=attached))
        is_spent = dict(account.exhausted_agents).get(agent) == self._clock.now().astimezone(UTC).date()
        unblock = self._store.block_owner(lane, Reason.AGENT_QUOTA if is_spent else None, attached_records=attached)
        if not await write_unless_changed(unblock):
            return False
        await self._store.set_lane(lane, slots)
        return True

    async def _get_token(self, principal: Principal, token_id: str) -> Token:
        whole_id = await self._resolve_id(principal, token_id)
        record = (
            None if whole_id is None else await self._store.get_record(TOKEN_KIND, whole_id, principal.owner_filter)
        )
        if record is None:
            raise refuse("no_such_token", id=token_id)
        return token_from(record)


async def _nothing_to_stop(_who: Principal, _owner: str, _agent: str) -> None:
    return None


def principal_of(token: Token, owner: Owner, quotas: Quotas, via: str) -> Principal:
    """Return the principal of a token: its scopes, and never more than the owner's role allows now."""
    scopes = token.scopes & SCOPES_OF[owner.role]
    is_agent = token.agent is not None
    return Principal(
        owner.name,
        admin=Scope.ADMIN in scopes and not is_agent,
        scopes=scopes - {Scope.ADMIN} if is_agent else scopes,
        actor=token.id,
        via=via,
        agent=token.agent,
        zone=owner.zone,
        quotas=quotas,
        role=owner.role,
        language=owner.language,
    )


def _check_scopes(
    principal: Principal, account: Owner, requested: Collection[Scope] | None, agent: str | None
) -> frozenset[Scope]:
    allowed = SCOPES_OF[account.role]
    if principal.owner_filter is not None or account.role is Role.ADMIN:
        # A caller without all admin scopes cannot create a token with them.
        allowed &= principal.scopes
    if agent is not None:
        allowed -= {Scope.ADMIN}
    if requested is None:
        return allowed
    for scope in requested:
        check_choice("scopes", scope, tuple(Scope))
        if scope not in allowed:
            raise refuse("scopes_too_wide", scope=str(scope), allowed=", ".join(sorted(allowed)) or "-")
    if not requested:
        raise refuse_task("bad_choice", name="scopes", value="", allowed=", ".join(sorted(allowed)))
    return frozenset(Scope(scope) for scope in requested)


def _is_token_id(token_id: object) -> bool:
    """Whether the text has the form of a token id; other texts need no lookup."""
    return isinstance(token_id, str) and _ID.fullmatch(token_id) is not None
