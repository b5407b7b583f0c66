"""Calendar tokens: stored as a hash, valid until revoked, and good for reading the owner's own calendar only."""

from __future__ import annotations

import pytest

from horae.model.accounts.principal import Role, Scope
from horae.service.accounts import calendar_tokens
from tests.unit.service.service_harness import ADA, BOB, CHIEF, ServiceHarness, code_of, open_harness


async def add_owner(harness: ServiceHarness, name: str = "ada", role: Role = Role.MEMBER) -> None:
    await harness.service.accounts.put(CHIEF, name, role=role)


async def test_token_reads_and_does_nothing_else() -> None:
    async with open_harness() as harness:
        await add_owner(harness)
        token, text = await harness.service.calendar_tokens.make(ADA, "phone")
        who = await harness.service.calendar_tokens.authenticate(text, request="req_1")
        assert (who.owner, who.admin, who.actor, who.via) == ("ada", False, token.id, "calendar")
        assert who.scopes == frozenset({Scope.READ})
        assert await code_of(harness.add(who=who)) == "not_allowed"
        assert await code_of(harness.service.tokens.authenticate(text, via="http")) == "bad_token"
        assert await code_of(harness.service.sessions.authenticate(text)) == "session_ended"
        assert await code_of(harness.service.sessions.open_with_token(text)) == "bad_token"


async def test_feed_of_an_admin_has_the_own_tasks_only() -> None:
    async with open_harness() as harness:
        await add_owner(harness, "chief", Role.ADMIN)
        _, text = await harness.service.calendar_tokens.make(CHIEF, "phone")
        assert (await harness.service.calendar_tokens.authenticate(text)).owner_filter == "chief"


async def test_only_a_hash_is_stored() -> None:
    async with open_harness() as harness:
        await add_owner(harness)
        member = ADA._replace(actor="tok_1", via="console")
        _, text = await harness.service.calendar_tokens.make(member, "phone")
        secret = text.rpartition("_")[2]
        for kind in ("calendar_token", "audit.open"):
            records = (await harness.store.records(kind)).items
            assert records
            assert not [record for record in records if secret in record.body]


async def test_invalid_tokens_are_refused_alike() -> None:
    async with open_harness() as harness:
        await add_owner(harness)
        await add_owner(harness, "bob")
        tokens = harness.service.calendar_tokens
        token, text = await tokens.make(ADA, "phone")
        _, other = await tokens.make(BOB, "phone")
        wrong = f"{token.id}_{other.rpartition('_')[2]}"
        for invalid in ("", "cal_", text[:-1], text + "0", text.upper(), wrong, f"cal_{'0' * 32}_{'0' * 64}"):
            assert await code_of(tokens.authenticate(invalid)) == "bad_calendar_token"
        await harness.service.accounts.revoke(CHIEF, "bob")
        assert await code_of(tokens.authenticate(other)) == "bad_calendar_token"
        await tokens.revoke(ADA, token.id)
        assert await code_of(tokens.authenticate(text)) == "bad_calendar_token"
        assert await code_of(tokens.revoke(ADA, token.id)) == "no_such_calendar_token"
        assert await tokens.all(ADA) == ()


async def test_number_of_tokens_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calendar_tokens, "MAX_CALENDAR_TOKENS", 2)
    async with open_harness() as harness:
        tokens = harness.service.calendar_tokens
        first, _ = await tokens.make(ADA, "one")
        await tokens.make(ADA, "two")
        assert await code_of(tokens.make(ADA, "three")) == "too_many_calendar_tokens"
        await tokens.make(BOB, "one")
        await tokens.revoke(ADA, first.id)
        await tokens.make(ADA, "three")
        assert await code_of(tokens.make(BOB, "")) == "bad_text"
