"""Browser sessions: one per sign-in, stored as a hash, ended by expiry, revocation, and the end of their token or owner."""

from __future__ import annotations

from datetime import timedelta

from horae.model.accounts.principal import LOCAL, Role, Scope
from horae.model.accounts.session import ABSOLUTE_LIMIT, IDLE_LIMIT, LINK_LIFETIME, USE_RESOLUTION
from horae.service.accounts.sessions import CACHED_SECONDS, csrf_token
from tests.unit.service.service_harness import CHIEF, ServiceHarness, code_of, open_harness

CACHED = timedelta(seconds=CACHED_SECONDS)
HERE = LOCAL._replace(actor="local", via="cli")


async def make_token(harness: ServiceHarness, owner: str = "ada", role: Role = Role.MEMBER) -> tuple[str, str]:
    """Create an owner with a token; returns its id and its text."""
    await harness.service.accounts.put(CHIEF, owner, role=role)
    token, text = await harness.service.tokens.make(CHIEF, owner=owner, name="laptop")
    return token.id, text


async def test_session_of_a_token_has_its_owner_and_rights() -> None:
    async with open_harness() as harness:
        token, text = await make_token(harness)
        opened = await harness.service.sessions.open_with_token(text, client="Firefox\n on  Linux", request="req_7")
        assert (opened.session.owner, opened.session.token, opened.session.client) == ("ada", token, "Firefox on Linux")
        who = await harness.service.sessions.authenticate(opened.cookie, request="req_8")
        assert (who.owner, who.admin, who.actor, who.via, who.request) == ("ada", False, token, "console", "req_8")
        assert Scope.ADMIN not in who.scopes


async def test_only_hashes_are_stored() -> None:
    async with open_harness() as harness:
        _, text = await make_token(harness)
        opened = await harness.service.sessions.open_with_token(text)
        ada = await harness.service.sessions.authenticate(opened.cookie)
        code = (await harness.service.sessions.make_link(ada)).code
        secret = opened.cookie.rpartition("_")[2]
        for kind in ("session", "sign_in_link", "audit.open"):
            records = (await harness.store.records(kind)).items
            assert records
            assert not [each for each in records if secret in each.body or code in each.body]
        assert (secret in repr(opened.session), code[16:] in repr(opened.session)) == (False, False)


async def test_link_opens_one_session_only() -> None:
    async with open_harness() as harness:
        await harness.service.tokens.make_first()
        sessions = harness.service.sessions
        code = (await sessions.make_link(HERE)).code
        opened = await sessions.open_with_link(code, client="Chromium")
        who = await sessions.authenticate(opened.cookie)
        assert (who.owner, who.admin, who.actor) == ("local", True, opened.session.id)
        assert await code_of(sessions.open_with_link(code)) == "bad_sign_in_link"
        assert len((await sessions.page(HERE)).items) == 1


async def test_link_works_on_a_store_that_has_no_account_yet() -> None:
    async with open_harness() as harness:
        made = await harness.service.sessions.make_link(HERE)
        assert (made.expires, made.code in repr(made)) == (harness.clock.now() + LINK_LIFETIME, False)
        opened = await harness.service.sessions.open_with_link(made.code)
        who = await harness.service.sessions.authenticate(opened.cookie)
        assert (who.owner, who.role, who.admin) == ("local", Role.ADMIN, True)
        assert await harness.service.tokens.make_first() is not None


async def test_link_expires_and_wrong_codes_are_refused_alike() -> None:
    async with open_harness() as harness:
        await harness.service.tokens.make_first()
        sessions = harness.service.sessions
        code = (await sessions.make_link(HERE)).code
        wrong = code[:16] + "0" * 32
        for bad in ("", "x", code + "0", code.upper(), wrong, "0" * 48):
            assert await code_of(sessions.open_with_link(bad)) == "bad_sign_in_link", bad
        harness.advance(LINK_LIFETIME)
        assert await code_of(sessions.open_with_link(code)) == "bad_sign_in_link"


async def test_link_of_a_token_ends_with_the_token() -> None:
    async with open_harness() as harness:
        token, text = await make_token(harness)
        sessions, tokens = harness.service.sessions, harness.service.tokens
        ada = await tokens.authenticate(text, via="http")
        unused, code = [(await sessions.make_link(ada)).code for _ in range(2)]
        opened = await sessions.open_with_link(code)
        assert (await sessions.authenticate(opened.cookie)).actor == token
        await tokens.revoke(CHIEF, token)
        harness.advance(CACHED)
        assert await code_of(sessions.authenticate(opened.cookie)) == "session_ended"
        assert await code_of(sessions.open_with_link(unused)) == "bad_sign_in_link"


async def test_session_ends_when_it_is_idle() -> None:
    async with open_harness() as harness:
        _, text = await make_token(harness)
        sessions = harness.service.sessions
        opened = await sessions.open_with_token(text)
        for _ in range(3):
            harness.advance(IDLE_LIMIT - USE_RESOLUTION)
            assert (await sessions.authenticate(opened.cookie)).owner == "ada"
        harness.advance(IDLE_LIMIT)
        assert await code_of(sessions.authenticate(opened.cookie)) == "session_ended"
        assert not (await sessions.page(CHIEF)).items


async def test_session_ends_at_its_absolute_limit_although_it_is_used() -> None:
    async with open_harness() as harness:
        _, text = await make_token(harness)
        sessions = harness.service.sessions
        opened = await sessions.open_with_token(text)
        end = harness.clock.now() + ABSOLUTE_LIMIT
        while harness.clock.now() + IDLE_LIMIT / 2 < end:
            harness.advance(IDLE_LIMIT / 2)
            assert (await sessions.authenticate(opened.cookie)).owner == "ada"
        harness.advance(IDLE_LIMIT / 2)
        assert await code_of(sessions.authenticate(opened.cookie)) == "session_ended"


async def test_use_is_written_rarely() -> None:
    async with open_harness() as harness:
        _, text = await make_token(harness)
        sessions = harness.service.sessions
        opened = await sessions.open_with_token(text)
        for _ in range(100):
            harness.advance(USE_RESOLUTION / 50)
            await sessions.authenticate(opened.cookie)
        (stored,) = (await sessions.page(CHIEF)).items
        assert (stored.version, stored.used - stored.created) == (3, 2 * USE_RESOLUTION)


async def test_revoked_session_is_refused_and_audited() -> None:
    async with open_harness() as harness:
        _, text = await make_token(harness)
        sessions = harness.service.sessions
        kept, ended = await sessions.open_with_token(text), await sessions.open_with_token(text)
        ada = await sessions.authenticate(kept.cookie)
        await sessions.revoke(ada, ended.session.id)
        assert await code_of(sessions.authenticate(ended.cookie)) == "session_ended"
        assert (await sessions.authenticate(kept.cookie)).owner == "ada"
        assert await code_of(sessions.revoke(ada, ended.session.id)) == "no_such_session"
        rows = (await harness.service.audit.page(CHIEF)).items
        assert [row.action for row in rows if row.action.startswith("session")] == [
            "session.revoke",
            "session.open",
            "session.open",
        ]


async def test_owners_see_and_end_only_their_own_sessions() -> None:
    async with open_harness() as harness:
        sessions = harness.service.sessions
        opened = [await sessions.open_with_token((await make_token(harness, name))[1]) for name in ("ada", "bob")]
        ada, bob = [await sessions.authenticate(each.cookie) for each in opened]
        assert [each.owner for each in (await sessions.page(ada)).items] == ["ada"]
        assert not (await sessions.page(ada, "bob")).items
        assert await code_of(sessions.revoke(ada, opened[1].session.id)) == "no_such_session"
        assert (await sessions.authenticate(opened[1].cookie)).owner == bob.owner
        assert {each.owner for each in (await sessions.page(CHIEF)).items} == {"ada", "bob"}
        assert [each.owner for each in (await sessions.page(CHIEF, "bob")).items] == ["bob"]


async def test_session_never_has_more_rights_than_the_role_of_its_owner() -> None:
    async with open_harness() as harness:
        _, text = await make_token(harness, "eve", Role.ADMIN)
        sessions, accounts = harness.service.sessions, harness.service.accounts
        opened = await sessions.open_with_token(text)
        assert (await sessions.authenticate(opened.cookie)).admin
        await accounts.put(CHIEF, "eve", role=Role.VIEWER)
        harness.advance(CACHED)
        who = await sessions.authenticate(opened.cookie)
        assert (who.admin, who.scopes) == (False, frozenset({Scope.READ}))
        await accounts.revoke(CHIEF, "eve")
        harness.advance(CACHED)
        assert await code_of(sessions.authenticate(opened.cookie)) == "session_ended"


async def test_agents_have_no_sessions() -> None:
    async with open_harness() as harness:
        await harness.service.accounts.put(CHIEF, "ada")
        _, text = await harness.service.tokens.make(CHIEF, owner="ada", name="bot", agent="claude")
        assert await code_of(harness.service.sessions.open_with_token(text)) == "not_for_agents"


async def test_malformed_cookies_are_refused_alike() -> None:
    async with open_harness() as harness:
        _, text = await make_token(harness)
        sessions = harness.service.sessions
        good = (await sessions.open_with_token(text)).cookie
        other = good[:-1] + ("0" if good[-1] != "0" else "1")
        for bad in ("", "ses_", good + "0", good.upper(), other, text, "é" * 5):
            assert await code_of(sessions.authenticate(bad)) == "session_ended", bad
        assert csrf_token(good) != csrf_token(other)
