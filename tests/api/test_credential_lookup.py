"""Lookups of credentials by a router: the right answer for a proof, nothing without one, and nobody else may ask."""

from __future__ import annotations

from ipaddress import ip_network

import pytest

from horae.model.accounts.principal import LOCAL, Role
from horae.service.accounts.credential_lookup import Credential, CredentialState, read_credential
from horae.service.accounts.owner_moves import MOVE_KIND, MOVED_KIND, MovePhase, OwnerMove, encode_held
from horae.testing.factories import NOON
from horae.web.request_context import WebSettings
from horae.web.trusted_proxies import TrustedProxies
from tests.api.api_server import Api, serve_api

PATH = "/internal/credential-lookup"
LOOPBACK = TrustedProxies((ip_network("127.0.0.0/8"),))
PLACE = "https://south.example.com"


def credential_of(text: str) -> Credential:
    found = read_credential(text)
    assert found is not None
    return found


async def state_of(api: Api, credential: Credential) -> CredentialState:
    return (await api.service.credential_lookup.locate(credential)).state


async def write_move(api: Api, phase: MovePhase, kind: str) -> None:
    await api.service.store.put_record(OwnerMove("ada", phase, PLACE, "south", NOON).to_record(kind), replacing=None)
    api.service.owner_moves.forget()


async def test_valid_credentials_of_every_kind_are_found() -> None:
    async with serve_api() as api:
        ada = LOCAL._replace(owner="ada", admin=False, role=Role.MEMBER)
        _, calendar = await api.service.calendar_tokens.make(ada, "phone")
        link = await api.service.sessions.make_link(ada)
        for text in (api.tokens["ada"], calendar, link.code):
            found = await api.service.credential_lookup.locate(credential_of(text))
            assert (found.state, found.owner, found.is_admin) == (CredentialState.HERE, "ada", False)
        admin = await api.service.credential_lookup.locate(credential_of(api.tokens["admin"]))
        assert admin.is_admin


async def test_nothing_is_known_without_the_secret() -> None:
    async with serve_api() as api:
        credential = credential_of(api.tokens["ada"])
        wrong = credential_of(api.tokens["ada"][:-1] + ("0" if api.tokens["ada"][-1] != "0" else "1"))
        other = credential_of(api.tokens["bob"])
        for each in (wrong, credential._replace(proof=other.proof), credential._replace(key="tok_" + "0" * 32)):
            assert await api.service.credential_lookup.locate(each) == (CredentialState.UNKNOWN, "", False, "")
        record = await api.service.store.get_record(credential.kind, credential.key)
        assert record is not None
        # What travels is neither the secret nor its stored hash.
        assert credential.proof not in record.body
        assert credential.proof not in api.tokens["ada"]


@pytest.mark.parametrize("text", ["", "x", "horae_1_2", "Bearer horae_", "horae_" + "0" * 32 + "_" + "0" * 63])
def test_other_texts_are_no_credentials(text: str) -> None:
    assert read_credential(text) is None


async def test_revoked_tokens_and_owners_are_unknown() -> None:
    async with serve_api() as api:
        credential = credential_of(api.tokens["ada"])
        await api.service.tokens.revoke(LOCAL, credential.key)
        assert await state_of(api, credential) is CredentialState.UNKNOWN
        bob = credential_of(api.tokens["bob"])
        await api.service.accounts.revoke(LOCAL, "bob")
        assert await state_of(api, bob) is CredentialState.UNKNOWN


async def test_tokens_of_an_owner_that_moves_have_the_state_of_the_move() -> None:
    async with serve_api() as api:
        credential = credential_of(api.tokens["ada"])
        await write_move(api, MovePhase.LEAVING, MOVE_KIND)
        assert await state_of(api, credential) is CredentialState.HERE
    async with serve_api() as api:
        credential = credential_of(api.tokens["ada"])
        await write_move(api, MovePhase.LEFT, MOVED_KIND)
        found = await api.service.credential_lookup.locate(credential)
        assert (found.state, found.place) == (CredentialState.MOVED, PLACE)


async def test_held_tokens_of_an_owner_that_arrives_are_found_with_their_proof() -> None:
    async with serve_api() as api:
        credential = credential_of(api.tokens["ada"])
        record = await api.service.store.get_record(credential.kind, credential.key)
        assert record is not None
        await api.service.store.drop_record(record.kind, record.key, record.version)
        await api.service.store.put_record(encode_held("ada", record), replacing=None)
        assert await state_of(api, credential) is CredentialState.UNKNOWN
        await write_move(api, MovePhase.ARRIVING, MOVE_KIND)
        assert await state_of(api, credential) is CredentialState.ARRIVING
        assert await state_of(api, credential._replace(proof="0" * 64)) is CredentialState.UNKNOWN


async def test_only_trusted_addresses_may_ask() -> None:
    elsewhere = WebSettings(trusted_proxies=TrustedProxies((ip_network("10.0.0.0/8"),)))
    for settings in (None, elsewhere):
        async with serve_api(settings=settings) as api:
            fields = credential_of(api.tokens["ada"])._asdict()
            # The headers of an address that is not trusted are not believed.
            for headers in ({}, {"X-Forwarded-For": "10.0.0.1"}):
                refused = await api.post(PATH, fields, who=None, headers=headers)
                assert (refused.status, refused.code) == (404, "no_such_path")
    async with serve_api(settings=WebSettings(trusted_proxies=LOOPBACK)) as api:
        fields = credential_of(api.tokens["ada"])._asdict()
        answer = await api.post(PATH, fields, who=None)
        assert answer.json == {"state": "here", "owner": "ada", "is_admin": False, "place": ""}
        passed_on = await api.post(PATH, fields, who=None, headers={"X-Forwarded-For": "127.0.0.1"})
        assert (passed_on.status, passed_on.code) == (404, "no_such_path")
        for bad in ({}, {**fields, "kind": "session"}, {**fields, "proof": 7}, {**fields, "more": ""}):
            assert (await api.post(PATH, bad, who=None)).status == 404


async def test_failures_are_counted_for_the_forwarded_address() -> None:
    async with serve_api(settings=WebSettings(trusted_proxies=LOOPBACK)) as api:
        wrong = {"Authorization": f"Bearer horae_{'0' * 32}_{'0' * 64}"}

        async def code_from(address: str) -> str:
            return (await api.get("/v1/whoami", who=None, headers={**wrong, "X-Forwarded-For": address})).code

        codes = {await code_from("192.0.2.1") for _ in range(70)}
        assert codes == {"bad_token", "too_many_failures"}
        # The client may write what it likes before the address that the proxy adds.
        assert await code_from("192.0.2.9, 192.0.2.1") == "too_many_failures"
        assert await code_from("192.0.2.1, 192.0.2.2") == "bad_token"
