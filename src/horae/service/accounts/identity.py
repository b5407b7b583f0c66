"""Identities of an external provider: rules that map verified claims to an owner and a role; pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from ...model.accounts.account import OWNER_CHARACTERS, is_owner_name
from ...model.accounts.principal import LOCAL_OWNER, Role
from .refusals import refuse

EVERYONE: Final = "*"
_EMAIL: Final = "email"
_ORDER: Final = (Role.ADMIN, Role.MEMBER, Role.VIEWER)


class Identity(NamedTuple):
    """The owner and role of a person here, and their identity at the provider."""

    owner: str
    role: Role
    issuer: str
    subject: str


class ClaimRules(NamedTuple):
    """`roles` maps values of the role claim to roles, `*` stands for everyone; without any, everyone is a member.

    `domains` are the allowed domains of verified addresses; empty: all. The name of a claim may be a path with dots.
    """

    owner_claim: str = _EMAIL
    role_claim: str = "groups"
    roles: tuple[tuple[str, Role], ...] = ()
    domains: frozenset[str] = frozenset()

    def identify(self, claims: Mapping[str, Any]) -> Identity:
        """Return the identity. Raises a refusal if a claim is missing, not verified, or not allowed here."""
        if self.domains or self.owner_claim == _EMAIL:
            self._check_email(claims)
        owner = find_claim(claims, self.owner_claim)
        if not isinstance(owner, str) or not owner.strip():
            raise refuse("identity_claim_missing", claim=self.owner_claim)
        name = owner.strip().lower() if self.owner_claim == _EMAIL else owner.strip()
        # The local owner is the user of the machine; no provider identifies that user.
        if not is_owner_name(name) or name == LOCAL_OWNER:
            raise refuse("identity_owner_invalid", claim=self.owner_claim, name=name[:OWNER_CHARACTERS])
        return Identity(name, self._role(claims), str(claims.get("iss", "")), str(claims.get("sub", "")))

    def _check_email(self, claims: Mapping[str, Any]) -> None:
        email = claims.get(_EMAIL)
        if not isinstance(email, str) or "@" not in email:
            raise refuse("identity_claim_missing", claim=_EMAIL)
        if claims.get("email_verified") is not True:
            raise refuse("identity_email_unverified", email=email[:OWNER_CHARACTERS])
        domain = email.rpartition("@")[2].strip().lower()
        if self.domains and domain not in self.domains:
            raise refuse("identity_domain_refused", domain=domain[:OWNER_CHARACTERS])

    def _role(self, claims: Mapping[str, Any]) -> Role:
        """Return the highest role that the rules give."""
        if not self.roles:
            return Role.MEMBER
        found = find_claim(claims, self.role_claim)
        values = {EVERYONE, *(found if isinstance(found, list) else [found])} if _is_hashable(found) else {EVERYONE}
        granted = {role for value, role in self.roles if value in values}
        for role in _ORDER:
            if role in granted:
                return role
        raise refuse("identity_role_refused", claim=self.role_claim)


def find_claim(claims: Mapping[str, Any], path: str) -> Any:
    """Return a claim by its name, or by a path of names with dots; None if it is absent."""
    if path in claims:
        return claims[path]
    found: Any = claims
    for name in path.split("."):
        if not isinstance(found, Mapping) or name not in found:
            return None
        found = found[name]
    return found


def _is_hashable(found: object) -> bool:
    each = found if isinstance(found, list) else [found]
    return all(isinstance(value, str | int | bool | None) for value in each)
