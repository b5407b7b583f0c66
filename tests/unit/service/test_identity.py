"""Claims of an identity provider become an owner and a role, or a refusal; sessions never exceed the role of the owner."""

from __future__ import annotations

from typing import Any

import pytest

from horae.errors import Refusal
from horae.model.accounts.principal import Role, Scope
from horae.service.accounts.identity import ClaimRules, Identity
from tests.unit.service.service_harness import CHIEF, code_of, open_harness

ADA: dict[str, Any] = {"iss": "https://id.example.org", "sub": "7", "email": "Ada@Example.org", "email_verified": True}
GROUPS = (("ops", Role.ADMIN), ("staff", Role.MEMBER), ("guests", Role.VIEWER))


def code(rules: ClaimRules, claims: dict[str, Any]) -> str:
    with pytest.raises(Refusal) as found:
        rules.identify(claims)
    return found.value.code


def test_verified_address_is_the_owner_in_lower_case() -> None:
    assert ClaimRules().identify(ADA) == Identity("ada@example.org", Role.MEMBER, "https://id.example.org", "7")


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"email": None}, "identity_claim_missing"),
        ({"email": "ada"}, "identity_claim_missing"),
        ({"email": ["ada@example.org"]}, "identity_claim_missing"),
        ({"email_verified": False}, "identity_email_unverified"),
        ({"email_verified": "false"}, "identity_email_unverified"),
        ({"email_verified": "true"}, "identity_email_unverified"),
        ({"email_verified": None}, "identity_email_unverified"),
        ({"email": "a b@example.org"}, "identity_owner_invalid"),
        ({"email": "@example.org"}, "identity_owner_invalid"),
    ],
)
def test_address_that_is_missing_or_not_verified_is_refused(changed: dict[str, Any], expected: str) -> None:
    assert code(ClaimRules(), ADA | changed) == expected


def test_only_allowed_domains_sign_in_also_with_another_owner_claim() -> None:
    rules = ClaimRules("sub", domains=frozenset({"example.org"}))
    assert rules.identify(ADA).owner == "7"
    for email in (
        "eve@evil.example",
        "eve@example.org.evil.example",
        "eve@sub.example.org",
        "example.org@evil.example",
    ):
        assert code(rules, ADA | {"email": email}) == "identity_domain_refused"
    assert code(rules, ADA | {"email_verified": False}) == "identity_email_unverified"


@pytest.mark.parametrize("name", ["local", "horae:x", "", " ", "a/b", "<script>", "x" * 101, 7, None, ["ada"]])
def test_no_claim_names_the_local_owner_or_an_impossible_one(name: object) -> None:
    found = code(ClaimRules("preferred_username"), ADA | {"preferred_username": name})
    assert found in ("identity_owner_invalid", "identity_claim_missing")


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        (["staff"], Role.MEMBER),
        (["guests", "ops", "staff"], Role.ADMIN),
        ("guests", Role.VIEWER),
    ],
)
def test_highest_role_of_the_groups_counts(groups: object, role: Role) -> None:
    assert ClaimRules(roles=GROUPS).identify(ADA | {"groups": groups}).role is role


@pytest.mark.parametrize("groups", [None, [], ["other"], "other", {"ops": True}, [["ops"]], ["OPS"], "*"])
def test_sign_in_without_a_group_that_has_a_role_is_refused(groups: object) -> None:
    assert code(ClaimRules(roles=GROUPS), ADA | {"groups": groups}) == "identity_role_refused"


def test_star_gives_a_role_to_everyone_and_claims_may_be_nested() -> None:
    rules = ClaimRules(role_claim="realm_access.roles", roles=(("*", Role.VIEWER), ("ops", Role.ADMIN)))
    assert rules.identify(ADA).role is Role.VIEWER
    assert rules.identify(ADA | {"realm_access": {"roles": ["ops"]}}).role is Role.ADMIN
    assert rules.identify(ADA | {"realm_access": "ops"}).role is Role.VIEWER


async def test_unknown_owner_is_refused_or_created_with_the_mapped_role() -> None:
    async with open_harness() as harness:
        sessions, identity = harness.service.sessions, ClaimRules(roles=(("*", Role.VIEWER),)).identify(ADA)
        assert await code_of(sessions.open_for_identity(identity)) == "identity_without_owner"
        opened = await sessions.open_for_identity(identity, creates_owner=True, client="Firefox")
        who = await sessions.authenticate(opened.cookie)
        assert (who.owner, who.role, who.scopes) == ("ada@example.org", Role.VIEWER, frozenset({Scope.READ}))
        owner = await harness.service.accounts.get(CHIEF, "ada@example.org")
        assert (owner.role, owner.note) == (Role.VIEWER, "by https://id.example.org")
        rows = (await harness.service.audit.page(CHIEF)).items
        (row,) = [each for each in rows if each.action == "session.open"]
        assert (row.detail["subject"], row.detail["issuer"]) == ("7", "https://id.example.org")


async def test_session_has_the_lower_of_the_mapped_role_and_the_role_of_the_owner() -> None:
    async with open_harness() as harness:
        sessions, accounts = harness.service.sessions, harness.service.accounts
        for own, mapped, admin, scopes in (
            (Role.MEMBER, Role.ADMIN, False, 3),
            (Role.ADMIN, Role.VIEWER, False, 1),
            (Role.ADMIN, Role.ADMIN, True, 4),
        ):
            await accounts.put(CHIEF, "eve", role=own)
            opened = await sessions.open_for_identity(Identity("eve", mapped, "i", "s"), creates_owner=True)
            who = await sessions.authenticate(opened.cookie)
            assert (who.admin, len(who.scopes)) == (admin, scopes)
        await accounts.revoke(CHIEF, "eve")
        refused = sessions.open_for_identity(Identity("eve", Role.ADMIN, "i", "s"), creates_owner=True)
        assert await code_of(refused) == "identity_without_owner"
