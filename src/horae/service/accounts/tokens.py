"""Tokens: made, shown once, listed, revoked; and whoever comes with one is told who they are."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Awaitable, Callable, Collection
from datetime import UTC, datetime
from hashlib import sha256
from hmac import compare_digest
from typing import Final, NamedTuple, Protocol

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
from ...model.field_checks import check_choice, check_text
from ...model.ids import ENTROPY, named
from ...model.lane import agent_lane
from ...model.limits import NAME_CHARACTERS
from ...model.page import LARGEST_PAGE, Page
from ...model.reason import Reason
from ...model.record import Record, Writing
from ...model.refusals import refuse as refuse_task
from ...ports.records import Records
from ...ports.store import Book
from ..query.argument_checks import check_page
from ..query.id_prefix import resolve_record
from ..runs.lanes import MOST_IN_LANE
from ..tasks.task_quota import seat_of
from .agents import Agents
from .audit import Audit
from .owners import Accounts
from .record_conflicts import unless_changed
from .refusals import refuse
from .rights import LOCAL_ACTORS, TOKEN_PREFIX, refuse_agent

FIRST_OWNER: Final = LOCAL_OWNER
"""The first token is for the person at this machine, who owns what the command line makes."""
MOST_TOKENS: Final = LARGEST_PAGE
"""Of one owner."""
CACHED_SECONDS: Final = 0.5
"""So long a revocation may be unseen by another process."""
_SECRET_BYTES: Final = 32
_TEXT: Final = re.compile(r"horae_([0-9a-f]{32})_([0-9a-f]{64})", re.ASCII)
_ID: Final = re.compile(r"tok_[0-9a-f]{32}", re.ASCII)
_NOBODY: Final = "0" * 64
_MOST_CACHED: Final = 4_096
_TRIES: Final = 100
_SEATS: Final = "token_seats"


class Keeping(Book, Records, Protocol):
    """What it asks of the store."""


class _Known(NamedTuple):
    """What a token was when somebody looked; None: it opens nothing."""

    found: tuple[Token, Owner, Quotas] | None
    until: float


class Tokens:
    def __init__(
        self,
        store: Keeping,
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
        self._known: dict[bytes, _Known] = {}
        self.on_agent_revoked: Callable[[Principal, str, str], Awaitable[object]] = _nothing_to_stop
        """Called with an owner and an agent whose last token was revoked: its tasks are paused."""
        # A changed role or quota counts at once in this process, and within `CACHED_SECONDS` in others.
        accounts.on_change = agents.on_change = self._known.clear

    async def authenticate(self, text: str, *, via: str, request: str = "") -> Principal:
        """Who comes with this token. Whatever is wrong with it, the answer is the same."""
        match = _TEXT.fullmatch(text)
        if match is None:
            raise refuse("bad_token")
        found = await self._looked_up(sha256(text.encode()).digest(), match[1], match[2])
        # Its end may come while it is still remembered.
        if found is None or not found[0].valid(self._clock.now()):
            raise refuse("bad_token")
        return principal_of(*found, via, request)

    async def make(
        self,
        who: Principal,
        *,
        owner: str | None = None,
        name: str,
        scopes: Collection[Scope] | None = None,
        expires: datetime | None = None,
        agent: str | None = None,
    ) -> tuple[Token, str]:
        """A new token, and its text, which is shown this once. Without `scopes` it has all that it may."""
        refuse_agent(who, "tokens")
        who.must(Scope.WRITE)
        wanted = who.owner if owner is None else owner
        if wanted != who.owner and who.scope is not None:
            raise refuse("no_such_owner", name=wanted)
        check_text("name", name, NAME_CHARACTERS)
        if agent is not None and not is_agent_name(agent):
            raise refuse("bad_agent_name", name=agent, most=AGENT_CHARACTERS)
        for _ in range(_TRIES):
            new = await self._own_account(who, wanted)
            account = await self._account(wanted) if new is None else new
            # The record first: of two that look at the same time, the slower one finds it replaced.
            seat = await self._seat(wanted)
            await self._check_room(who, account)
            chosen = _scopes(who, account, scopes, agent)
            token, text = self._new(wanted, name, chosen, agent, await self._end(who, expires))
            more = () if new is None else (Writing(owner_record(new)),)
            if await self._write_new(who, token, account, (seat, *more)):
                return token, text
        raise refuse_task("record_changed", kind=TOKEN_KIND, key=wanted)

    async def _own_account(self, who: Principal, owner: str) -> Owner | None:
        """A new account for the person at this machine, who needed none so far; None where there is one, or for others."""
        if owner != LOCAL_OWNER or who.scope is not None or who.actor not in LOCAL_ACTORS:
            return None
        known = await self._store.get_record(OWNER_KIND, LOCAL_OWNER)
        return None if known is not None else Owner(LOCAL_OWNER, Role.ADMIN, self._clock.now())

    async def page(
        self, who: Principal, owner: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[Token]:
        """Oldest first: one's own, for an admin everybody's or those of the owner that is named."""
        refuse_agent(who, "tokens")
        who.must(Scope.READ)
        check_page(after, limit)
        if owner is not None and not is_owner_name(owner):
            raise refuse("no_such_owner", name=owner)
        page = await self._store.records(TOKEN_KIND, owner if who.scope is None else who.scope, after, limit)
        mine = owner is None or who.scope in (None, owner)
        return Page(tuple(map(token_from, page.items)), page.after) if mine else Page(())

    async def get(self, who: Principal, token_id: str) -> Token:
        refuse_agent(who, "tokens")
        who.must(Scope.READ)
        return await self._found(who, token_id)

    async def revoke(self, who: Principal, token_id: str) -> Token:
        """It opens nothing any more: here at once, in other processes within a second."""
        refuse_agent(who, "tokens")
        who.must(Scope.WRITE)
        for _ in range(_TRIES):
            token = await self._found(who, token_id)
            if token.revoked is not None:
                return token
            gone = token._replace(revoked=self._clock.now())
            row = self._audit.row(who, "token.revoke", token.id, {"name": token.name}, owner=token.owner)
            beside = (Writing(token_record(gone), token.version), *row)
            if await (
                self._store.write_records(beside) if token.agent is None else self._write_end(who, token, beside)
            ):
                self._known.clear()
                return gone._replace(version=token.version + 1)
        raise refuse_task("record_changed", kind=TOKEN_KIND, key=token_id)

    async def _write_end(self, who: Principal, token: Token, beside: tuple[Writing, ...]) -> bool:
        """With its last valid token an agent loses the right to run anything: its tasks stop in the same transaction."""
        agent = str(token.agent)
        # First the seat, then the tokens: of two tokens that are revoked at once, the second write looks again.
        seat, version = await seat_of(self._store, token.owner, agent)
        if await self._has_another(token):
            return await self._store.write_records((*beside, Writing(seat, version)))
        revoked = seat._replace(body=json.dumps({**json.loads(seat.body), "revoked": True}))
        lane = agent_lane(token.owner, agent)
        stopped = self._store.bar(lane, Reason.OWNER_REVOKED, beside=(*beside, Writing(revoked, version)))
        if not await unless_changed(stopped):
            return False
        await self.on_agent_revoked(who, token.owner, agent)
        return True

    async def _has_another(self, token: Token) -> bool:
        """Whether the agent of this token has another one that is valid now."""
        now = self._clock.now()
        page = await self._store.records(TOKEN_KIND, token.owner, limit=MOST_TOKENS)
        others = (each for each in map(token_from, page.items) if each.id != token.id and each.agent == token.agent)
        return any(each.valid(now) for each in others)

    async def first(self) -> str | None:
        """The first admin's token of a deployment, for the person at this machine; None where one was made before."""
        # The owner is read first: whoever makes a token between these two looks has changed the owner as well.
        known = await self._store.get_record(OWNER_KIND, FIRST_OWNER)
        owner = Owner(FIRST_OWNER, Role.ADMIN, self._clock.now()) if known is None else self._accounts.read(known)
        has_any, has_admins = await self._made_before()
        # Where tokens are in use, an operator's choice that this owner is no admin stays.
        if has_admins or (has_any and (owner.role is not Role.ADMIN or owner.revoked is not None)):
            return None
        owner = owner._replace(role=Role.ADMIN, revoked=None)
        token, text = self._new(FIRST_OWNER, "first", SCOPES_OF[Role.ADMIN])
        writings = [
            Writing(owner_record(owner), None if known is None else known.version),
            Writing(token_record(token)),
        ]
        # Of two processes that start together, the second finds that the owner was changed.
        return text if await self._store.write_records(writings) else None

    async def _made_before(self) -> tuple[bool, bool]:
        """Whether any token was ever made, and whether an admin's was; one that was revoked counts too."""
        page = await self._store.records(TOKEN_KIND, limit=LARGEST_PAGE)
        has_any = bool(page.items)
        while True:
            if any(Scope.ADMIN in token_from(record).scopes for record in page.items):
                return True, True
            if page.after is None:
                return has_any, False
            page = await self._store.records(TOKEN_KIND, None, page.after, LARGEST_PAGE)

    async def _looked_up(self, digest: bytes, key: str, secret: str) -> tuple[Token, Owner, Quotas] | None:
        now = self._clock.steady()
        known = self._known.get(digest)
        if known is not None and now < known.until:
            return known.found
        found = await self._opened(TOKEN_PREFIX + key, secret)
        if len(self._known) >= _MOST_CACHED:
            self._known.clear()
        # From before it was read: whatever happened since is seen in time.
        self._known[digest] = _Known(found, now + CACHED_SECONDS)
        return found

    async def _opened(self, token_id: str, secret: str) -> tuple[Token, Owner, Quotas] | None:
        record = await self._store.get_record(TOKEN_KIND, token_id)
        token = None if record is None else token_from(record)
        # As much work for a token that is not there as for a wrong secret.
        fits = compare_digest(_hash(secret), _NOBODY if token is None else token.hash)
        if token is None or not fits or token.revoked is not None:
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

    async def _seat(self, owner: str) -> Writing:
        """A record that every new token of an owner replaces, so that only one at a time is added to what was counted."""
        known = await self._store.get_record(_SEATS, owner)
        return Writing(Record(_SEATS, owner, owner, "{}"), None if known is None else known.version)

    async def _check_room(self, who: Principal, account: Owner) -> None:
        records = (await self._store.records(TOKEN_KIND, account.name, limit=MOST_TOKENS)).items
        if len(records) >= MOST_TOKENS:
            raise refuse("too_many_tokens", owner=account.name, most=MOST_TOKENS)
        most = account.quotas.tokens
        if most is None or (who.scope is None and who.owner != account.name):
            return
        now = self._clock.now()
        if sum(token_from(record).valid(now) for record in records) >= most:
            raise refuse("too_many_valid_tokens", owner=account.name, most=most)

    async def _end(self, who: Principal, expires: datetime | None) -> datetime | None:
        """Nobody gets for longer what they have for a while only."""
        if expires is not None:
            if expires.tzinfo is None:
                raise refuse_task("naive_instant", value=expires)
            expires = expires.astimezone(UTC)
            if expires <= self._clock.now():
                raise refuse("expires_past", value=expires.isoformat())
        maker = await self._store.get_record(TOKEN_KIND, who.actor) if who.actor.startswith(TOKEN_PREFIX) else None
        ends = [expires, None if maker is None else token_from(maker).expires]
        return min((end for end in ends if end is not None), default=None)

    def _new(
        self,
        owner: str,
        name: str,
        scopes: frozenset[Scope],
        agent: str | None = None,
        expires: datetime | None = None,
    ) -> tuple[Token, str]:
        now = self._clock.now()
        token_id = named(TOKEN_PREFIX.rstrip("_"), now, self._entropy(ENTROPY))
        secret = self._entropy(_SECRET_BYTES).hex()
        token = Token(token_id, owner, name, scopes, now, _hash(secret), agent, expires)
        return token, f"horae_{token_id.removeprefix(TOKEN_PREFIX)}_{secret}"

    async def _write_new(self, who: Principal, token: Token, account: Owner, more: tuple[Writing, ...]) -> bool:
        detail = {"name": token.name, "scopes": sorted(token.scopes), "agent": token.agent}
        row = self._audit.row(who, "token.make", token.id, detail, owner=token.owner)
        beside = (Writing(token_record(token)), *more, *row)
        if token.agent is None:
            return await self._store.write_records(beside)
        return await self._write_agent(token, token.agent, account, beside)

    async def _resolved(self, who: Principal, token_id: str) -> str | None:
        """The whole id; None where no token is called so."""
        if not isinstance(token_id, str):
            return None
        letters = TOKEN_PREFIX.rstrip("_")
        found = await resolve_record(self._store, who.scope, TOKEN_KIND, letters, token_id)
        return found if _might_be(found) else None

    async def _write_agent(self, token: Token, agent: str, account: Owner, beside: tuple[Writing, ...]) -> bool:
        """A new token gives its agent the right to run back; what was stopped stays paused until somebody restarts it."""
        seat, version = await seat_of(self._store, token.owner, agent)
        body = json.loads(seat.body)
        whole = (*beside, Writing(seat._replace(body=json.dumps({**body, "revoked": False})), version))
        runs = (await self._agents.quotas(account.name, agent, account.quotas)).concurrent_runs
        lane, seats = agent_lane(token.owner, agent), MOST_IN_LANE if runs is None else runs
        if not body.get("revoked"):
            return await unless_changed(self._store.set_lane(lane, seats, beside=whole))
        spent = dict(account.spent).get(agent) == self._clock.now().astimezone(UTC).date()
        lifted = self._store.bar(lane, Reason.AGENT_QUOTA if spent else None, beside=whole)
        if not await unless_changed(lifted):
            return False
        await self._store.set_lane(lane, seats)
        return True

    async def _found(self, who: Principal, token_id: str) -> Token:
        found = await self._resolved(who, token_id)
        record = None if found is None else await self._store.get_record(TOKEN_KIND, found, who.scope)
        if record is None:
            raise refuse("no_such_token", id=token_id)
        return token_from(record)


async def _nothing_to_stop(_who: Principal, _owner: str, _agent: str) -> None:
    return None


def principal_of(token: Token, owner: Owner, quotas: Quotas, via: str, request: str = "") -> Principal:
    """Whoever bears it has what the token says, and never more than the owner's role allows now."""
    scopes = token.scopes & SCOPES_OF[owner.role]
    guest = token.agent is not None
    return Principal(
        owner.name,
        admin=Scope.ADMIN in scopes and not guest,
        scopes=scopes - {Scope.ADMIN} if guest else scopes,
        actor=token.id,
        via=via,
        agent=token.agent,
        zone=owner.zone,
        quotas=quotas,
        request=request,
        role=owner.role,
    )


def _scopes(who: Principal, account: Owner, wanted: Collection[Scope] | None, agent: str | None) -> frozenset[Scope]:
    allowed = SCOPES_OF[account.role]
    if who.scope is not None or account.role is Role.ADMIN:
        # Who has a part of what an admin may does not give themselves, or another admin, the rest.
        allowed &= who.scopes
    if agent is not None:
        allowed -= {Scope.ADMIN}
    if wanted is None:
        return allowed
    for scope in wanted:
        check_choice("scopes", scope, tuple(Scope))
        if scope not in allowed:
            raise refuse("scopes_too_wide", scope=str(scope), allowed=", ".join(sorted(allowed)) or "-")
    if not wanted:
        raise refuse_task("bad_choice", name="scopes", value="", allowed=", ".join(sorted(allowed)))
    return frozenset(Scope(scope) for scope in wanted)


def _might_be(token_id: object) -> bool:
    """No store needs to be asked for what no token is called."""
    return isinstance(token_id, str) and _ID.fullmatch(token_id) is not None


def _hash(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()
