"""Browser sessions: opened with a token or a one-time sign-in link, listed, revoked, and ended by idle and absolute expiry."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from hashlib import sha256
from hmac import digest as hmac_digest
from typing import Final, NamedTuple

from ...clock import Clock
from ...entropy import entropy
from ...model.accounts.account import OWNER_KIND, TOKEN_KIND, Owner, owner_record, token_from
from ...model.accounts.principal import LOCAL, SCOPES_OF, Principal, Scope
from ...model.accounts.session import (
    LINK_KIND,
    LINK_LIFETIME,
    SESSION_KIND,
    SESSION_PREFIX,
    USE_RESOLUTION,
    Session,
    SignInLink,
    hash_secret,
    is_secret,
    link_from,
    link_record,
    session_from,
    session_record,
)
from ...model.ids import ENTROPY_BYTES, make_id
from ...model.limits import shorten
from ...model.page import Page
from ...model.record import RecordWrite
from ...model.refusals import refuse as refuse_task
from ...ports.full_store import FullStore
from ..query.argument_checks import check_page
from ..query.id_prefix import resolve_record
from .audit import Audit
from .identity import Identity
from .owners import Accounts, ignore_owner, new_local_owner
from .refusals import refuse
from .rights import TOKEN_PREFIX, is_foreign, refuse_agent
from .tokens import Tokens

VIA: Final = "console"
IDENTITY_ACTOR: Final = "identity"
"""Actor of owners that a sign-in with an identity provider creates."""
CACHED_SECONDS: Final = 0.5
"""Cache lifetime: another process may honour a revoked session for so long."""
_SECRET_BYTES: Final = 32
_CODE_BYTES: Final = 24
LINK_KEY_CHARACTERS: Final = 16
_COOKIE: Final = re.compile(r"ses_([0-9a-f]{32})_([0-9a-f]{64})", re.ASCII)
LINK_CODE: Final = re.compile(r"[0-9a-f]{48}", re.ASCII)
_CLIENT_CHARACTERS: Final = 200
_MAX_CACHED: Final = 4_096
_TRIES: Final = 100
_CSRF: Final = b"horae console form"


class OpenedSession(NamedTuple):
    """A new session, and the value of its cookie, which is known only here."""

    session: Session
    cookie: str


class MadeLink(NamedTuple):
    """The code of a new sign-in link, which is known only here, and its expiry."""

    code: str
    expires: datetime

    def __repr__(self) -> str:
        return f"MadeLink(expires={self.expires!r})"


class _Account(NamedTuple):
    session: Session
    owner: Owner


class _CachedAccount(NamedTuple):
    found: _Account | None
    until: float


class Sessions:
    def __init__(
        self,
        store: FullStore,
        clock: Clock,
        accounts: Accounts,
        tokens: Tokens,
        audit: Audit,
        make_bytes: Callable[[int], bytes] = entropy,
    ) -> None:
        self._store = store
        self._clock = clock
        self._accounts = accounts
        self._tokens = tokens
        self._audit = audit
        self._bytes = make_bytes
        self._cache: dict[bytes, _CachedAccount] = {}
        self.check_access: Callable[[str], Awaitable[object]] = ignore_owner
        """Called with the owner of each valid session; refuses one that lives in another deployment."""
        self._on_account_change = accounts.on_change
        # A changed role, zone or language counts at once in this process, and within `CACHED_SECONDS` in others.
        accounts.on_change = self._forget_accounts

    def _forget_accounts(self) -> None:
        self._on_account_change()
        self._cache.clear()

    # --- sign in -------------------------------------------------------------------------------------------------------

    async def open_with_token(self, text: str, *, client: str = "", request: str = "") -> OpenedSession:
        """Open a session for the owner of a token. Tokens of agents are refused: the console is for people."""
        principal = await self._tokens.authenticate(text, via=VIA, request=request)
        refuse_agent(principal, "sessions")
        return await self._open(principal, self._generate(principal.owner, principal.scopes, principal.actor, client))

    async def make_link(self, principal: Principal) -> MadeLink:
        """Return a code that opens one session for the caller's owner, within `LINK_LIFETIME`."""
        refuse_agent(principal, "sign-in links")
        principal.require_scope(Scope.READ)
        code = self._bytes(_CODE_BYTES).hex()
        token = principal.actor if principal.actor.startswith(TOKEN_PREFIX) else ""
        key, expires = code[:LINK_KEY_CHARACTERS], self._clock.now() + LINK_LIFETIME
        link = SignInLink(key, principal.owner, principal.scopes, hash_secret(code), expires, token)
        row = self._audit.row(principal, "link.make", principal.owner)
        # The session needs an account; the local owner has none before its first token.
        new = await new_local_owner(self._store, self._clock, principal, principal.owner)
        if new is not None:
            await self._store.put_record(owner_record(new), replacing=None)
        await self._store.write_records((RecordWrite(link_record(link)), *row))
        return MadeLink(code, expires)

    async def open_with_link(self, code: str, *, client: str = "", request: str = "") -> OpenedSession:
        """Open a session with a code. The same transaction uses the code up, so that it opens one session only."""
        record = (
            await self._store.get_record(LINK_KIND, code[:LINK_KEY_CHARACTERS]) if LINK_CODE.fullmatch(code) else None
        )
        link = None if record is None else link_from(record)
        is_match = is_secret(code, None if link is None else link.hash)
        if record is None or link is None or not is_match or link.expires <= self._clock.now():
            raise refuse("bad_sign_in_link")
        opened = self._generate(link.owner, link.scopes, link.token, client)
        account = await self._load_account(opened.session)
        if account is None:
            raise refuse("bad_sign_in_link")
        return await self._open(
            _principal_of(account, request), opened, RecordWrite(record, link.version, dropped=True)
        )

    async def open_for_identity(
        self, identity: Identity, *, creates_owner: bool = False, client: str = "", request: str = ""
    ) -> OpenedSession:
        """Open a session for a verified identity, with its role and never more than the role of its owner.

        An unknown owner is refused, or created with that role.
        """
        record = await self._store.get_record(OWNER_KIND, identity.owner)
        if record is None and creates_owner:
            maker = LOCAL._replace(actor=IDENTITY_ACTOR, via=VIA, request=request)
            await self._accounts.put(maker, identity.owner, role=identity.role, note=f"by {identity.issuer}")
        opened = self._generate(identity.owner, SCOPES_OF[identity.role], "", client)
        account = await self._load_account(opened.session)
        if account is None:
            raise refuse("identity_without_owner", name=identity.owner)
        detail = {"issuer": identity.issuer, "subject": identity.subject}
        return await self._open(_principal_of(account, request), opened, detail=detail)

    async def _open(
        self,
        principal: Principal,
        opened: OpenedSession,
        *extra: RecordWrite,
        detail: Mapping[str, str] | None = None,
    ) -> OpenedSession:
        session = opened.session
        facts = {"token": session.token, "client": session.client, **(detail or {})}
        row = self._audit.row(principal, "session.open", session.id, facts, owner=session.owner)
        if not await self._store.write_records((RecordWrite(session_record(session)), *extra, *row)):
            # Another request used the link at the same time.
            raise refuse("bad_sign_in_link")
        return opened

    def _generate(self, owner: str, scopes: frozenset[Scope], token: str, client: str) -> OpenedSession:
        now = self._clock.now()
        session_id = make_id(SESSION_PREFIX.rstrip("_"), now, self._bytes(ENTROPY_BYTES))
        secret = self._bytes(_SECRET_BYTES).hex()
        session = Session(session_id, owner, scopes, hash_secret(secret), now, now, token, _one_line(client))
        return OpenedSession(session, f"{session_id}_{secret}")

    # --- use -----------------------------------------------------------------------------------------------------------

    async def authenticate(self, cookie: str, *, request: str = "") -> Principal:
        """Return the principal of a session; every kind of invalid cookie gets the same refusal."""
        match = _COOKIE.fullmatch(cookie)
        account = None if match is None else await self._look_up(cookie, SESSION_PREFIX + match[1], match[2])
        # It may expire while it is cached.
        if account is None or not account.session.is_valid(self._clock.now()):
            raise refuse("session_ended")
        await self.check_access(account.owner.name)
        return _principal_of(account, request)

    async def _look_up(self, cookie: str, session_id: str, secret: str) -> _Account | None:
        now, key = self._clock.steady(), sha256(cookie.encode()).digest()
        cached = self._cache.get(key)
        if cached is not None and now < cached.until:
            return cached.found
        account = await self._read(session_id, secret)
        if len(self._cache) >= _MAX_CACHED:
            self._cache.clear()
        # The lifetime counts from before the read, so that a change after it is seen in time.
        self._cache[key] = _CachedAccount(account, now + CACHED_SECONDS)
        return account

    async def _read(self, session_id: str, secret: str) -> _Account | None:
        record = await self._store.get_record(SESSION_KIND, session_id)
        session = None if record is None else session_from(record)
        is_match = is_secret(secret, None if session is None else session.hash)
        now = self._clock.now()
        if session is None or not is_match or not session.is_valid(now):
            return None
        account = await self._load_account(session)
        if account is not None and now - session.used >= USE_RESOLUTION:
            used = session._replace(used=now)
            if await self._store.put_record(session_record(used), replacing=session.version):
                return account._replace(session=used._replace(version=session.version + 1))
        return account

    async def _load_account(self, session: Session) -> _Account | None:
        """Return the session with its owner; None if the owner is revoked, or the token of the session is not valid."""
        if session.token:
            token = await self._store.get_record(TOKEN_KIND, session.token)
            if token is None or not token_from(token).is_valid(self._clock.now()):
                return None
        record = await self._store.get_record(OWNER_KIND, session.owner)
        owner = None if record is None else self._accounts.read(record)
        return None if owner is None or owner.revoked is not None else _Account(session, owner)

    # --- list and end --------------------------------------------------------------------------------------------------

    async def page(
        self, principal: Principal, owner: str | None = None, after: str | None = None, limit: int = 100
    ) -> Page[Session]:
        """Return the sessions that have not ended, oldest first: the caller's own, for an admin all or those of an owner."""
        refuse_agent(principal, "sessions")
        principal.require_scope(Scope.READ)
        check_page(after, limit)
        if is_foreign(principal, owner):
            return Page(())
        page = await self._store.records(SESSION_KIND, principal.owner_filter or owner, after, limit)
        now = self._clock.now()
        return Page(tuple(each for each in map(session_from, page.items) if each.is_valid(now)), page.after)

    async def revoke(self, principal: Principal, session_id: str) -> Session:
        """End a session: in this process at once, in others within `CACHED_SECONDS`."""
        refuse_agent(principal, "sessions")
        principal.require_scope(Scope.READ)
        prefix = SESSION_PREFIX.rstrip("_")
        whole_id = await resolve_record(self._store, principal.owner_filter, SESSION_KIND, prefix, session_id)
        for _ in range(_TRIES):
            record = await self._store.get_record(SESSION_KIND, whole_id, principal.owner_filter)
            if record is None:
                raise refuse("no_such_session", id=session_id)
            session = session_from(record)
            row = self._audit.row(principal, "session.revoke", session.id, owner=session.owner)
            if await self._store.write_records((RecordWrite(record, record.version, dropped=True), *row)):
                self._cache.clear()
                return session
        raise refuse_task("record_changed", kind=SESSION_KIND, key=session_id)


def csrf_token(cookie: str) -> str:
    """Return the token that forms of a session carry: it proves that the form came from a page of this session."""
    return hmac_digest(cookie.encode(), _CSRF, "sha256").hex()


def _principal_of(account: _Account, request: str) -> Principal:
    session, owner = account
    scopes = session.scopes & SCOPES_OF[owner.role]
    return Principal(
        owner.name,
        admin=Scope.ADMIN in scopes,
        scopes=scopes,
        actor=session.token or session.id,
        via=VIA,
        zone=owner.zone,
        quotas=owner.quotas,
        request=request,
        role=owner.role,
        language=owner.language,
    )


def _one_line(text: str) -> str:
    return shorten(" ".join("".join(c if c.isprintable() else " " for c in text).split()), _CLIENT_CHARACTERS)
