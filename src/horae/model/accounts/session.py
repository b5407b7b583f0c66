"""Browser sessions, one-time sign-in links and calendar tokens, as values and stored records; secrets are stored as hashes."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from hashlib import sha256
from hmac import compare_digest
from typing import Final, NamedTuple

from ..record import Record
from .principal import Scope

SESSION_KIND: Final = "session"
LINK_KIND: Final = "sign_in_link"
SESSION_PREFIX: Final = "ses_"
IDLE_LIMIT: Final = timedelta(hours=12)
"""A session that was not used for so long has ended."""
ABSOLUTE_LIMIT: Final = timedelta(days=14)
"""A session ends so long after the sign-in, however much it is used."""
LINK_LIFETIME: Final = timedelta(minutes=10)
USE_RESOLUTION: Final = timedelta(minutes=5)
"""The instant of the last use is written at most this often: a page that is open all day writes little."""


class Session(NamedTuple):
    """A signed-in browser. It has the scopes of the sign-in, and never more than its owner's role allows now.

    `token` is the token that it was opened with: the session ends when that token is revoked or expires. Empty: a link of
    a user with direct access to the store opened it. `client` is the browser's own description of itself.
    """

    id: str
    owner: str
    scopes: frozenset[Scope]
    hash: str
    created: datetime
    used: datetime
    token: str = ""
    client: str = ""
    version: int = 1

    @property
    def expires(self) -> datetime:
        return min(self.used + IDLE_LIMIT, self.created + ABSOLUTE_LIMIT)

    def is_valid(self, now: datetime) -> bool:
        return now < self.expires


class SignInLink(NamedTuple):
    """A code that opens one session for its owner until it expires."""

    key: str
    owner: str
    scopes: frozenset[Scope]
    hash: str
    expires: datetime
    token: str = ""
    version: int = 1


def session_record(session: Session) -> Record:
    body = {
        "scopes": sorted(session.scopes),
        "hash": session.hash,
        "created": session.created.isoformat(),
        "used": session.used.isoformat(),
        "token": session.token,
        "client": session.client,
    }
    text = json.dumps(body, ensure_ascii=False)
    return Record(SESSION_KIND, session.id, session.owner, text, expires=session.expires + USE_RESOLUTION)


def session_from(record: Record) -> Session:
    body = json.loads(record.body)
    return Session(
        record.key,
        record.owner,
        frozenset(Scope(scope) for scope in body["scopes"]),
        body["hash"],
        datetime.fromisoformat(body["created"]),
        datetime.fromisoformat(body["used"]),
        body["token"],
        body["client"],
        record.version,
    )


def link_record(link: SignInLink) -> Record:
    body = {
        "scopes": sorted(link.scopes),
        "hash": link.hash,
        "expires": link.expires.isoformat(),
        "token": link.token,
    }
    return Record(LINK_KIND, link.key, link.owner, json.dumps(body), expires=link.expires)


def link_from(record: Record) -> SignInLink:
    body = json.loads(record.body)
    return SignInLink(
        record.key,
        record.owner,
        frozenset(Scope(scope) for scope in body["scopes"]),
        body["hash"],
        datetime.fromisoformat(body["expires"]),
        body["token"],
        record.version,
    )


CALENDAR_TOKEN_KIND: Final = "calendar_token"  # noqa: S105 - the kind of a record
CALENDAR_TOKEN_PREFIX: Final = "cal_"  # noqa: S105 - how the ids begin


class CalendarToken(NamedTuple):
    id: str
    owner: str
    name: str
    hash: str
    created: datetime
    version: int = 1


def calendar_token_record(token: CalendarToken) -> Record:
    body = {"name": token.name, "hash": token.hash, "created": token.created.isoformat()}
    return Record(CALENDAR_TOKEN_KIND, token.id, token.owner, json.dumps(body, ensure_ascii=False))


def calendar_token_from(record: Record) -> CalendarToken:
    body = json.loads(record.body)
    created = datetime.fromisoformat(body["created"])
    return CalendarToken(record.key, record.owner, body["name"], body["hash"], created, record.version)


_NO_HASH: Final = "0" * 64


def hash_secret(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()


def is_secret(secret: str, stored_hash: str | None) -> bool:
    """Return whether the secret has this hash; where none is stored, the comparison takes as long as with a wrong secret."""
    return compare_digest(hash_secret(secret), _NO_HASH if stored_hash is None else stored_hash)
