"""Tokens: shown once, stored as a hash, and refused alike whatever is wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from horae.encryption import Key
from horae.model.accounts.principal import AGENT_QUOTAS, MEMBER_QUOTAS, NO_QUOTAS, SCOPES_OF, Role, Scope
from horae.ports.store import RunFilter
from horae.runtime.stores import make_store
from horae.service.accounts.secrets import SecretVault
from horae.service.accounts.tokens import CACHED_SECONDS, MAX_TOKENS
from horae.service.service import Service
from horae.testing.factories import HOUR, NOON
from horae.virtual_time import VirtualClock
from tests.unit.service.service_harness import ADA, CHIEF, ROOT, ServiceHarness, code_of, open_harness, refusal_of


async def test_token_authenticates_its_owner_role_and_scopes() -> None:
    async with open_harness() as harness:
        service = harness.service
        await service.accounts.put(CHIEF, "ada", zone="Asia/Tokyo", quotas={"active_tasks": 3})
        token, text = await service.tokens.make(CHIEF, owner="ada", name="laptop")
        who = await service.tokens.authenticate(text, via="http", request="req_9")
        assert (who.owner, who.admin, who.scopes) == ("ada", False, SCOPES_OF[Role.MEMBER])
        assert (who.actor, who.via, who.request, who.agent) == (token.id, "http", "req_9", None)
        assert (who.zone, who.quotas) == ("Asia/Tokyo", MEMBER_QUOTAS._replace(active_tasks=3))
        assert who.owner_filter == "ada"


async def test_only_the_hash_of_a_token_is_stored() -> None:
    async with open_harness() as harness:
        await harness.make_member("ada")
        token, text = await harness.service.tokens.make(CHIEF, owner="ada", name="laptop")
        prefix, name, secret = text.split("_")
        assert (prefix, "tok_" + name, len(secret)) == ("horae", token.id, 64)
        for kind in ("owner", "token", "audit.open"):
            for record in (await harness.store.records(kind)).items:
                assert secret not in record.body
        assert secret not in repr(token)


async def test_invalid_tokens_are_refused_alike() -> None:
    async with open_harness() as harness:
        tokens, accounts = harness.service.tokens, harness.service.accounts
        await accounts.put(CHIEF, "ada")
        await accounts.put(CHIEF, "bob")
        _, good = await tokens.make(CHIEF, owner="ada", name="good")
        _, short = await tokens.make(CHIEF, owner="ada", name="short", expires=harness.clock.now() + HOUR)
        taken, revoked = await tokens.make(CHIEF, owner="ada", name="revoked")
        _, of_bob = await tokens.make(CHIEF, owner="bob", name="of bob")
        _, elsewhere = await _token_of_another_deployment()
        assert (await tokens.authenticate(short, via="http")).owner == "ada"
        harness.advance(HOUR)
        await tokens.revoke(CHIEF, taken.id)
        await accounts.revoke(CHIEF, "bob")
        head, _, secret = good.rpartition("_")
        wrong = f"{head}_{'0' * 64}"
        bad = [
            "",
            " ",
            "horae",
            "horae__",
            good + "0",
            good.upper(),
            f" {good}",
            wrong,
            short,
            revoked,
            of_bob,
            elsewhere,
        ]
        bad += [f"horae_{'0' * 32}_{secret}", "héllo", good.replace("horae", "hórae"), "x" * 10_000]
        said = {str(await refusal_of(tokens.authenticate(text, via="http"))) for text in bad}
        assert len(said) == 1, "the answer does not show what was wrong"
        assert {await code_of(tokens.authenticate(text, via="http")) for text in bad} == {"bad_token"}
        assert (await tokens.authenticate(good, via="http")).owner == "ada"


async def _token_of_another_deployment() -> tuple[object, str]:
    other = ServiceHarness()
    await other.service.accounts.put(CHIEF, "ada")
    return await other.service.tokens.make(CHIEF, owner="ada", name="elsewhere")


async def test_unknown_token_writes_nothing() -> None:
    async with open_harness() as harness:
        before = [(await harness.store.records(kind)).items for kind in ("token", "owner", "audit.open", "seats")]
        for number in range(20):
            await refusal_of(harness.service.tokens.authenticate(f"horae_{number:032x}_{'0' * 64}", via="http"))
        assert [
            (await harness.store.records(kind)).items for kind in ("token", "owner", "audit.open", "seats")
        ] == before


async def test_a_revocation_elsewhere_is_seen_within_a_second() -> None:
    """Two processes: what one revokes, the other forgets in time."""

    async with open_harness() as harness:
        other = Service(harness.store, harness.clock, "UTC", harness.service.secrets)
        await harness.service.accounts.put(CHIEF, "ada")
        token, text = await harness.service.tokens.make(CHIEF, owner="ada", name="laptop")
        assert (await other.tokens.authenticate(text, via="http")).owner == "ada"
        await harness.service.tokens.revoke(CHIEF, token.id)
        assert await code_of(harness.service.tokens.authenticate(text, via="http")) == "bad_token", "here at once"
        harness.clock.advance(CACHED_SECONDS)
        assert await code_of(other.tokens.authenticate(text, via="http")) == "bad_token"
        assert CACHED_SECONDS < 1


async def test_cached_token_expires() -> None:
    async with open_harness() as harness:
        await harness.service.accounts.put(CHIEF, "ada")
        end = harness.clock.now() + timedelta(milliseconds=100)
        _, text = await harness.service.tokens.make(CHIEF, owner="ada", name="brief", expires=end)
        assert (await harness.service.tokens.authenticate(text, via="http")).owner == "ada"
        harness.clock.advance(0.1)
        assert await code_of(harness.service.tokens.authenticate(text, via="http")) == "bad_token"


async def test_lowering_a_role_limits_existing_tokens() -> None:
    async with open_harness() as harness:
        tokens, accounts = harness.service.tokens, harness.service.accounts
        await accounts.put(CHIEF, "ada", role=Role.ADMIN)
        _, text = await tokens.make(CHIEF, owner="ada", name="laptop")
        before = await tokens.authenticate(text, via="http")
        assert (before.admin, before.owner_filter, before.quotas) == (True, None, NO_QUOTAS)
        await accounts.put(CHIEF, "ada", role=Role.VIEWER)
        harness.clock.advance(CACHED_SECONDS)
        after = await tokens.authenticate(text, via="http")
        assert (after.admin, after.owner_filter, after.scopes) == (False, "ada", frozenset({Scope.READ}))


async def test_agent_token_never_has_admin_rights() -> None:
    async with open_harness() as harness:
        robot = await harness.make_member("ada", Role.ADMIN, agent="robot")
        assert (robot.agent, robot.admin, robot.owner_filter) == ("robot", False, "ada")
        assert Scope.ADMIN not in robot.scopes
        assert robot.quotas == AGENT_QUOTAS
        strict = await harness.make_member("bob", agent="robot", active_tasks=3, shortest_interval="1h")
        assert (strict.quotas.active_tasks, strict.quotas.shortest_interval) == (3, timedelta(hours=1))
        assert strict.quotas.longest_life == AGENT_QUOTAS.longest_life
        lanes = {lane.name: lane.limit for lane in await harness.store.lanes()}
        assert lanes["ada/agent:robot"] == AGENT_QUOTAS.concurrent_runs


async def test_token_cannot_exceed_the_rights_of_its_creator() -> None:
    async with open_harness() as harness:
        tokens = harness.service.tokens
        ada = await harness.make_member("ada")
        for scope in (Scope.ADMIN,):
            assert await code_of(tokens.make(ada, name="x", scopes={scope})) == "scopes_too_wide"
        token, text = await tokens.make(ada, name="x", scopes={Scope.WRITE})
        assert token.scopes == {Scope.WRITE}
        writer = await tokens.authenticate(text, via="http")
        assert await code_of(tokens.make(writer, name="y", scopes={Scope.RUN})) == "scopes_too_wide"
        widest, _ = await tokens.make(writer, name="y")
        assert widest.scopes == {Scope.WRITE}
        viewer = await harness.make_member("eve", Role.VIEWER)
        assert await code_of(tokens.make(viewer, name="z")) == "not_allowed"
        assert await code_of(tokens.make(CHIEF, owner="eve", name="z", scopes={Scope.WRITE})) == "scopes_too_wide"
        assert await code_of(tokens.make(CHIEF, owner="ada", name="z", scopes=[])) == "bad_choice"


async def test_admin_token_with_fewer_scopes_is_no_full_admin() -> None:
    async with open_harness() as harness:
        tokens = harness.service.tokens
        for name in ("root", "other"):
            await harness.service.accounts.put(CHIEF, name, role=Role.ADMIN)
        parts = {Scope.ADMIN, Scope.WRITE}
        _, text = await tokens.make(CHIEF, owner="root", name="x", scopes=parts)
        partly = await tokens.authenticate(text, via="http")
        for owner in ("root", "other"):
            widest, _ = await tokens.make(partly, owner=owner, name="y")
            assert widest.scopes == parts
            assert await code_of(tokens.make(partly, owner=owner, name="y", scopes={Scope.RUN})) == "scopes_too_wide"
        await harness.service.accounts.put(CHIEF, "ada")
        theirs, _ = await tokens.make(partly, owner="ada", name="z")
        assert theirs.scopes == SCOPES_OF[Role.MEMBER], "an admin gives others what their role allows"


async def test_token_cannot_outlive_that_of_its_creator() -> None:
    async with open_harness() as harness:
        tokens, end = harness.service.tokens, harness.clock.now() + HOUR
        await harness.make_member("ada")
        _, text = await tokens.make(CHIEF, owner="ada", name="brief", expires=end)
        brief = await tokens.authenticate(text, via="http")
        assert (await tokens.make(brief, name="child"))[0].expires == end
        assert (await tokens.make(brief, name="child", expires=end + HOUR))[0].expires == end
        assert (await tokens.make(brief, name="child", expires=end - HOUR / 2))[0].expires == end - HOUR / 2


@pytest.mark.parametrize(
    ("ask", "code"),
    [
        (lambda harness: harness.service.tokens.make(CHIEF, owner="ada", name=""), "bad_text"),
        (lambda harness: harness.service.tokens.make(CHIEF, owner="ada", name="x", agent="a b"), "bad_agent_name"),
        (lambda harness: harness.service.tokens.make(CHIEF, owner="ada", name="x", agent="a" * 65), "bad_agent_name"),
        (lambda harness: harness.service.tokens.make(CHIEF, owner="ada", name="x", expires=NOON), "expires_past"),
        (
            lambda harness: harness.service.tokens.make(
                CHIEF, owner="ada", name="x", expires=datetime(2030, 1, 1, tzinfo=UTC).replace(tzinfo=None)
            ),
            "naive_instant",
        ),
        (lambda harness: harness.service.tokens.make(CHIEF, owner="nobody", name="x"), "no_such_owner"),
        (lambda harness: harness.service.tokens.make(CHIEF, owner="a/b", name="x"), "no_such_owner"),
        (lambda harness: harness.service.tokens.make(CHIEF, owner="ada", name="x", scopes=["all"]), "bad_choice"),
        (lambda harness: harness.service.tokens.get(CHIEF, "tok_\ud800"), "no_such_token"),
        (lambda harness: harness.service.tokens.revoke(CHIEF, "x" * 10_000), "no_such_token"),
    ],
)
async def test_invalid_token_request_is_refused(ask: Callable[[ServiceHarness], Awaitable[object]], code: str) -> None:
    async with open_harness() as harness:
        await harness.service.accounts.put(CHIEF, "ada")
        assert await code_of(ask(harness)) == code
        assert not (await harness.store.records("token")).items


async def test_tokens_are_listed_to_their_owner_and_deleted_after_expiry() -> None:
    async with open_harness() as harness:
        tokens = harness.service.tokens
        ada = await harness.make_member("ada")
        harness.advance(HOUR)
        await harness.make_member("bob")
        assert [token.owner for token in (await tokens.page(ada)).items] == ["ada"]
        assert [token.owner for token in (await tokens.page(ada, "ada")).items] == ["ada"]
        assert not (await tokens.page(ada, "bob")).items
        assert [token.owner for token in (await tokens.page(ROOT)).items] == ["ada", "bob"]
        assert [token.owner for token in (await tokens.page(ROOT, "bob")).items] == ["bob"]
        gone = await tokens.revoke(ada, ada.actor)
        assert (await tokens.get(ADA, ada.actor)).revoked == gone.revoked == harness.clock.now()
        assert await tokens.revoke(ADA, ada.actor) == gone, "twice is once"
        assert await harness.store.drop_expired(harness.clock.now() + timedelta(days=89), 10) == 0
        assert await harness.store.drop_expired(harness.clock.now() + timedelta(days=90), 10) == 1


async def test_number_of_tokens_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.service.accounts.tokens.MAX_TOKENS", 3)
    assert MAX_TOKENS == 1_000

    async with open_harness() as harness:
        ada = await harness.make_member("ada")
        for _ in range(2):
            await harness.service.tokens.make(ada, name="x")
        assert await code_of(harness.service.tokens.make(ada, name="x")) == "too_many_tokens"
        await harness.make_member("bob")


async def test_only_the_first_start_creates_an_admin_token(tmp_path: Path) -> None:
    store = make_store(f"sqlite:///{tmp_path}/horae.db")
    await store.open()
    clock = VirtualClock(NOON)
    services = [Service(store, clock, "UTC", SecretVault(store, Key.random(), clock)) for _ in range(5)]
    texts = await asyncio.gather(*(service.tokens.make_first() for service in services))
    (text,) = [text for text in texts if text is not None]
    who = await services[0].tokens.authenticate(text, via="cli")
    assert (who.owner, who.admin, who.scopes) == ("local", True, frozenset(Scope))
    assert await services[1].tokens.make_first() is None
    await services[1].tokens.revoke(who, who.actor)
    assert await services[2].tokens.make_first() is None, "a deployment has one beginning"
    await store.close()


async def test_first_admin_token_is_created_although_members_have_tokens() -> None:
    async with open_harness() as harness:
        tokens = harness.service.tokens
        await harness.make_member("ada")
        await tokens.make(CHIEF, owner="ada", name="reader", scopes=[Scope.READ])
        text = await tokens.make_first()
        assert text is not None
        assert (await tokens.authenticate(text, via="cli")).admin
        assert await tokens.make_first() is None


async def test_first_token_does_not_make_a_demoted_owner_admin_again() -> None:
    async with open_harness() as harness:
        await harness.service.accounts.put(CHIEF, "local", role=Role.MEMBER)
        await harness.make_member("ada")
        assert await harness.service.tokens.make_first() is None


async def test_tasks_of_a_revoked_owner_are_skipped_with_the_reason() -> None:
    async with open_harness() as harness:
        ada = await harness.make_member("ada")
        task = await harness.add("every 1h", who=ada)
        await harness.service.accounts.revoke(CHIEF, "ada")
        harness.advance(HOUR)
        assert await harness.claim() == []
        (row,) = (await harness.runs.page(ROOT, RunFilter(task_id=task.id))).items
        assert (row.state, row.reason) == ("skipped", "owner_revoked")
        why = await harness.explanations.explain(ROOT, task.id, None)
        assert "revoked" in why.explanation.english
        await harness.service.accounts.restore(CHIEF, "ada")
        harness.advance(HOUR)
        assert len(await harness.claim()) == 1
