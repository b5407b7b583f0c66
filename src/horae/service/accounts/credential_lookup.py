"""Says to a trusted router whether a credential is valid in this deployment: the router proves that it saw the secret, and
sends neither the secret nor its stored hash."""

from __future__ import annotations

from enum import StrEnum
from hashlib import sha256
from hmac import compare_digest
from typing import Final, NamedTuple

from ...clock import Clock
from ...model.accounts.account import OWNER_KIND, TOKEN_KIND, token_from
from ...model.accounts.principal import Role
from ...model.accounts.session import (
    CALENDAR_TOKEN_KIND,
    LINK_KIND,
    calendar_token_from,
    hash_secret,
    link_from,
)
from ...model.record import Record
from ...ports.records import Records
from .calendar_tokens import CALENDAR_TOKEN_TEXT
from .owner_moves import HELD_KIND, MovePhase, OwnerMoves, decode_held, held_key
from .owners import Accounts
from .rights import TOKEN_PREFIX
from .sessions import LINK_CODE, LINK_KEY_CHARACTERS
from .tokens import TOKEN_TEXT

_NO_HASH: Final = "0" * 64
_DOMAIN: Final = "horae.credential-lookup"
"""A proof is worth nothing where a secret or a hash is expected."""


class Credential(NamedTuple):
    """A credential without its secret: the kind and key of its record, and a proof that the secret is known."""

    kind: str
    key: str
    proof: str


class CredentialState(StrEnum):
    UNKNOWN = "unknown"
    HERE = "here"
    """It is valid in this deployment."""
    ARRIVING = "arriving"
    """Its owner is moving here."""
    MOVED = "moved"
    """Its owner has left for another deployment."""


class CredentialLocation(NamedTuple):
    """State of a credential in one deployment. `place` is what callers of an owner that has left are told."""

    state: CredentialState
    owner: str = ""
    is_admin: bool = False
    place: str = ""


_UNKNOWN: Final = CredentialLocation(CredentialState.UNKNOWN)


def read_credential(text: str) -> Credential | None:
    """Return the credential in the text of a token, a calendar token or a sign-in code; None for any other text."""
    if (match := TOKEN_TEXT.fullmatch(text)) is not None:
        return Credential(TOKEN_KIND, TOKEN_PREFIX + match[1], _proof_of(hash_secret(match[2])))
    if (match := CALENDAR_TOKEN_TEXT.fullmatch(text)) is not None:
        return Credential(CALENDAR_TOKEN_KIND, match[1], _proof_of(hash_secret(match[2])))
    if LINK_CODE.fullmatch(text) is not None:
        return Credential(LINK_KIND, text[:LINK_KEY_CHARACTERS], _proof_of(hash_secret(text)))
    return None


def _proof_of(secret_hash: str) -> str:
    return sha256(f"{_DOMAIN}\0{secret_hash}".encode()).hexdigest()


class _Found(NamedTuple):
    """What a lookup needs of the record of a credential."""

    owner: str
    hash: str
    is_valid: bool


class CredentialLookup:
    def __init__(self, records: Records, clock: Clock, accounts: Accounts, moves: OwnerMoves) -> None:
        self._records = records
        self._clock = clock
        self._accounts = accounts
        self._moves = moves

    async def locate(self, credential: Credential) -> CredentialLocation:
        """Return the state of a credential; without the right proof every credential is unknown."""
        record = await self._records.get_record(credential.kind, credential.key)
        found = None if record is None else self._read(record)
        # The comparison takes as long where there is no such record.
        is_proven = compare_digest(_proof_of(_NO_HASH if found is None else found.hash), credential.proof)
        if found is None or not is_proven:
            return await self._find_held(credential)
        moves = await self._moves.moved() | await self._moves.under_way()
        move = moves.get(found.owner)
        if move is not None and move.phase is MovePhase.LEFT:
            return CredentialLocation(CredentialState.MOVED, found.owner, place=move.place)
        if move is not None and move.phase is MovePhase.ARRIVING:
            return CredentialLocation(CredentialState.ARRIVING, found.owner)
        account = await self._records.get_record(OWNER_KIND, found.owner)
        owner = None if account is None else self._accounts.read(account)
        if not found.is_valid or owner is None or owner.revoked is not None:
            return _UNKNOWN
        return CredentialLocation(CredentialState.HERE, found.owner, owner.role is Role.ADMIN)

    async def _find_held(self, credential: Credential) -> CredentialLocation:
        """Find a credential among the records of owners that are moving here."""
        for owner, move in (await self._moves.under_way()).items():
            if move.phase is not MovePhase.ARRIVING:
                continue
            held = await self._records.get_record(HELD_KIND, held_key(owner, credential.kind, credential.key))
            found = None if held is None else self._read(decode_held(held))
            if found is not None and found.is_valid and compare_digest(_proof_of(found.hash), credential.proof):
                return CredentialLocation(CredentialState.ARRIVING, owner)
        return _UNKNOWN

    def _read(self, record: Record) -> _Found | None:
        now = self._clock.now()
        match record.kind:
            case kind if kind == TOKEN_KIND:
                token = token_from(record)
                return _Found(token.owner, token.hash, token.is_valid(now))
            case kind if kind == CALENDAR_TOKEN_KIND:
                calendar_token = calendar_token_from(record)
                return _Found(calendar_token.owner, calendar_token.hash, is_valid=True)
            case kind if kind == LINK_KIND:
                link = link_from(record)
                return _Found(link.owner, link.hash, now < link.expires)
        return None


def read_lookup(fields: object) -> Credential | None:
    """Return the credential in the JSON body of a lookup; None where it is not one."""
    if not isinstance(fields, dict) or set(fields) != set(Credential._fields):
        return None
    if not all(isinstance(each, str) and each.isascii() and len(each) <= 100 for each in fields.values()):
        return None
    known = fields["kind"] in (TOKEN_KIND, CALENDAR_TOKEN_KIND, LINK_KIND)
    return Credential(**fields) if known else None


def read_location(fields: object) -> CredentialLocation | None:
    """Return the location in the JSON answer of a deployment; None where it is not one."""
    if not isinstance(fields, dict) or fields.get("state") not in tuple(CredentialState):
        return None
    owner, place = fields.get("owner", ""), fields.get("place", "")
    if not isinstance(owner, str) or not isinstance(place, str):
        return None
    return CredentialLocation(CredentialState(fields["state"]), owner, fields.get("is_admin") is True, place)
