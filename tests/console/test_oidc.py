"""Sign-in with an identity provider: a loopback provider with real signatures, and every defect of its answers."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest
from joserfc import jwt
from joserfc.jwk import OctKey
from playwright.async_api import expect
from starlette.routing import Mount

from horae.clock import SystemClock
from horae.console.request import SESSION_COOKIE
from horae.errors import Refusal
from horae.model.accounts.principal import LOCAL, Role
from horae.runtime.api_service import mount_console
from horae.runtime.external_sign_in import open_external_sign_in, read_rules
from horae.runtime.service_factory import make_service
from horae.runtime.stores import make_store
from horae.runtime.target_kinds import TargetKinds
from horae.settings import Settings, read_settings
from horae.web.middleware import Application
from tests.api.api_server import Api, Reply, serve_api
from tests.console.accessibility import violations_of
from tests.console.console_server import Console
from tests.console.identity_server import (
    CLIENT_ID,
    CLIENT_SECRET,
    IdentityServer,
    make_key,
    serve_identities,
    unsigned,
)
from tests.console.sign_in_requests import ROOT, serve_console_api, sessions_of

NOW = SystemClock().now
ADA = "ada@example.org"


def settings_for(provider: IdentityServer, folder: Path, **more: str) -> Settings:
    secret = folder / "client-secret"
    secret.write_text(f"{CLIENT_SECRET}\n", encoding="utf-8")
    variables = {
        "HORAE_OIDC_ISSUER": provider.url,
        "HORAE_OIDC_CLIENT_ID": CLIENT_ID,
        "HORAE_OIDC_CLIENT_SECRET_FILE": str(secret),
        "HORAE_OIDC_NAME": "Example ID",
        "HORAE_OUTGOING_NETWORKS": "127.0.0.0/8",
        **{f"HORAE_{name.upper()}": value for name, value in more.items()},
    }
    return read_settings(variables)


class Flow(NamedTuple):
    api: Api
    provider: IdentityServer

    async def begin(self, query: str = "") -> tuple[str, str]:
        """Begin to sign in; returns the address at the provider and the cookie of the attempt."""
        answer = await self.api.get(f"/console/oidc/start{query}", who=None)
        assert answer.status == 303, answer.text
        return answer.headers["location"], cookie_of(answer)

    async def authorize(self, url: str) -> str:
        """Sign in at the provider; returns the path and query with which it leads back."""
        async with self.api.session.get(url, allow_redirects=False) as answer:
            assert answer.status == 302, await answer.text()
            return answer.headers["location"].removeprefix(self.api.base)

    async def finish(self, path: str, cookie: str) -> Reply:
        return await self.api.get(path, who=None, headers={"Cookie": cookie})

    async def run(self) -> Reply:
        url, cookie = await self.begin()
        return await self.finish(await self.authorize(url), cookie)


def cookie_of(answer: Reply) -> str:
    (found,) = SimpleCookie(answer.headers["set-cookie"]).values()
    return f"{found.key}={found.value}"


@asynccontextmanager
async def open_flow(folder: Path, **more: str) -> AsyncIterator[Flow]:
    async with (
        serve_identities() as provider,
        serve_api() as api,
        open_external_sign_in(settings_for(provider, folder, **more), api.service, SystemClock()) as external,
    ):
        api.app.context = replace(api.app.context, external_sign_in=external)
        mount_console(api.app)
        await api.service.accounts.put(LOCAL, ADA, role=Role.MEMBER)
        yield Flow(api, provider)


async def test_person_signs_in_with_the_provider_in_a_browser(console: Console, tmp_path: Path) -> None:
    async with (
        serve_identities() as provider,
        open_external_sign_in(settings_for(provider, tmp_path), console.service, SystemClock()) as external,
    ):
        # The console was mounted with the context of the application.
        for route in console.api.app.router.routes:
            if isinstance(route, Mount) and isinstance(route.app, Application):
                route.app.context = replace(console.api.app.context, external_sign_in=external)
        await console.service.accounts.put(LOCAL, ADA, role=Role.MEMBER)
        await check_browser(console, provider)


async def check_browser(console: Console, provider: IdentityServer) -> None:
    page = await console.open("/sign-in?next=/console/%3Ftz%3DAsia/Tokyo", None)
    await page.get_by_role("link", name="Sign in with Example ID").click()
    await expect(page).to_have_url(f"{console.url}/?tz=Asia/Tokyo")
    await expect(page.locator("details.menu > summary")).to_have_text(ADA)
    (session,) = await sessions_of(console.api, ADA)
    assert (session.owner, session.token) == (ADA, "")
    cookies = {each["name"]: each for each in await page.context.cookies()}
    assert [name for name in cookies if name.startswith("horae_oidc")] == []
    assert (cookies[SESSION_COOKIE]["httpOnly"], cookies[SESSION_COOKIE]["sameSite"]) == (True, "Strict")
    await console.service.sessions.revoke(ROOT, session.id)
    provider.denies = "access_denied"
    await page.goto(f"{console.url}/sign-in")
    await page.get_by_role("link", name="Sign in with Example ID").click()
    await expect(page.get_by_role("alert")).to_contain_text("did not sign you in (access_denied)")
    assert await violations_of(page) == []
    assert "code=" not in await page.content()
    console.problems.clear()


async def test_answer_opens_one_session_and_leaves_no_code_in_logs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "horae")
    async with open_flow(tmp_path) as flow:
        url, cookie = await flow.begin("?next=/console/tasks")
        asked = {name: value[0] for name, value in parse_qs(urlsplit(url).query).items()}
        assert asked["redirect_uri"] == f"{flow.api.base}/console/oidc/callback"
        assert (asked["scope"], asked["code_challenge_method"]) == ("openid email profile", "S256")
        assert min(len(asked[name]) for name in ("state", "nonce", "code_challenge")) >= 32
        back = await flow.authorize(url)
        answer = await flow.finish(back, cookie)
        assert (answer.status, 'content="0;url=/console/tasks"' in answer.text) == (200, True)
        assert answer.headers["referrer-policy"] == "strict-origin"
        code = parse_qs(urlsplit(back).query)["code"][0]
        assert code not in answer.text
        assert not [record for record in caplog.records if code in record.getMessage()]
        (session,) = await sessions_of(flow.api, ADA)
        assert session.owner == ADA
        # The same answer once more: the provider refuses a code that was used.
        again = await flow.finish(back, cookie)
        assert (again.status, "used already" in again.text) == (401, True)
        assert len(await sessions_of(flow.api, ADA)) == 1


async def test_answer_without_the_state_of_this_browser_is_refused(tmp_path: Path) -> None:
    async with open_flow(tmp_path) as flow:
        (first, cookie), (second, other) = await flow.begin("?next=https://evil.example/"), await flow.begin()
        back, foreign = await flow.authorize(first), await flow.authorize(second)
        before = len(flow.provider.requests)
        for path, sent in (
            (back, ""),
            (back, other),
            (foreign, cookie),
            (back.replace("state=", "state=0"), cookie),
            (back.partition("&state=")[0], cookie),
            (back, cookie.partition("=")[0] + "=bm9uc2Vuc2U="),
            ("/console/oidc/callback", cookie),
        ):
            refused = await flow.finish(path, sent)
            assert (refused.status, "not begun in this browser" in refused.text) == (401, True), (path, sent)
            assert SESSION_COOKIE not in refused.headers.get("set-cookie", "")
        assert len(flow.provider.requests) == before, "no code was sent to the provider"
        signed_in = await flow.finish(back, cookie)
        assert (signed_in.status, 'content="0;url=/console/"' in signed_in.text) == (200, True)
        assert (await flow.finish(foreign, other)).status == 200, "two tabs may sign in at once"


EXPIRED = {"iat": int(NOW().timestamp()) - 900, "exp": int(NOW().timestamp()) - 600}


async def test_defective_id_tokens_are_refused_with_the_reason(tmp_path: Path) -> None:
    async with open_flow(tmp_path) as flow:
        provider = flow.provider
        other = make_key("first")
        secret = OctKey.import_key(CLIENT_SECRET * 2)
        defects: list[tuple[str, dict[str, Any], Any]] = [
            ("claim nonce", {"nonce": "another"}, None),
            ("claim nonce", {"nonce": None}, None),
            ("expired", EXPIRED, None),
            ("claim aud", {"aud": "another-client"}, None),
            ("claim azp", {"aud": [CLIENT_ID, "another-client"], "azp": "another-client"}, None),
            ("claim iss", {"iss": "https://evil.example"}, None),
            ("claim sub", {"sub": None}, None),
            ("claim exp", {"exp": None}, None),
            ("claim exp", {"exp": "tomorrow"}, None),
            ("claim iat", {"iat": int(NOW().timestamp()) + 3600}, None),
            ("signature", {}, lambda claims: provider.sign(claims, other)),
            ("unknown key", {}, lambda claims: provider.sign(claims, make_key("other"))),
            ("", {}, unsigned),
            ("", {}, lambda claims: jwt.encode({"alg": "HS256"}, claims, secret)),
            ("", {}, lambda claims: provider.sign(claims) + "x"),
            ("", {}, lambda _claims: "nonsense"),
            ("", {}, lambda claims: provider.sign(claims).rpartition(".")[0] + "."),
        ]
        for reason, claims, issue in defects:
            provider.claims, provider.issue = claims, issue
            answer = await flow.run()
            assert (answer.status, "could not be verified" in answer.text) == (401, True), (reason, claims, answer.text)
            assert reason in answer.text, (reason, answer.text)
            assert SESSION_COOKIE not in answer.headers.get("set-cookie", "")
        assert await sessions_of(flow.api, ADA) == []
        provider.claims, provider.issue = {}, None
        assert (await flow.run()).status == 200


@pytest.mark.parametrize(
    ("claims", "more", "text"),
    [
        ({"email": None}, {}, "the claim &#39;email&#39; is missing"),
        ({"email_verified": False}, {}, "is not verified"),
        ({"email": "eve@evil.example"}, {"oidc_domains": "example.org"}, "may not sign in here"),
        ({"groups": ["guests"]}, {"oidc_roles": "ops=admin"}, "has a role here"),
        ({"email": "new@example.org"}, {}, "There is no owner"),
        ({"upn": "local"}, {"oidc_owner_claim": "upn"}, "cannot be an owner here"),
    ],
)
async def test_identity_that_is_not_mapped_is_refused_with_the_reason(
    tmp_path: Path, claims: dict[str, Any], more: dict[str, str], text: str
) -> None:
    async with open_flow(tmp_path, **more) as flow:
        flow.provider.claims = claims
        answer = await flow.run()
        assert (answer.status, text in answer.text) == (403, True), answer.text
        assert (await flow.api.service.sessions.page(ROOT)).items == ()


async def test_unknown_owner_is_created_where_the_settings_say_so(tmp_path: Path) -> None:
    async with open_flow(tmp_path, oidc_new_owners="create", oidc_roles="ops=admin,*=viewer") as flow:
        flow.provider.claims = {"email": "new@example.org"}
        assert (await flow.run()).status == 200
        owner = await flow.api.service.accounts.get(ROOT, "new@example.org")
        assert owner.role is Role.VIEWER
        flow.provider.claims = {"groups": ["ops"]}
        assert (await flow.run()).status == 200
        (session,) = await sessions_of(flow.api, ADA)
        assert len(session.scopes) == 4
        owner = await flow.api.service.accounts.get(ROOT, ADA)
        assert owner.role is Role.MEMBER, "the role of an owner is changed by admins only"


async def test_new_key_of_the_provider_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("horae.outgoing.identity_provider._KEYS_RETRY_SECONDS", 0.0)
    async with open_flow(tmp_path) as flow:
        assert (await flow.run()).status == 200
        flow.provider.key = make_key("second")
        assert (await flow.run()).status == 200
        assert flow.provider.requests.count("/keys") == 2


async def test_provider_that_is_away_or_answers_nonsense_leaves_the_other_ways(tmp_path: Path) -> None:
    for metadata in ({"issuer": "https://evil.example"}, {"token_endpoint": None}, {"jwks_uri": "/nothing"}):
        async with open_flow(tmp_path) as flow:
            flow.provider.metadata = metadata
            answer = await flow.api.get("/console/oidc/start", who=None)
            assert (answer.status, 'name="token"' in answer.text) == (503, True)
            asked = len(flow.provider.requests)
            assert (await flow.api.get("/console/oidc/start", who=None)).status == 503
            assert len(flow.provider.requests) == asked, "the failure is remembered for a moment"
    async with open_flow(tmp_path, outgoing_networks="10.0.0.0/8") as flow:
        answer = await flow.api.get("/console/oidc/start", who=None)
        assert (answer.status, "cannot be reached" in answer.text) == (503, True)
        assert flow.provider.requests == [], "a private address that is not allowed is never called"


async def test_wrong_client_secret_is_reported_without_showing_it(tmp_path: Path) -> None:
    async with open_flow(tmp_path) as flow:
        (tmp_path / "client-secret").write_text("wrong-secret", encoding="utf-8")
        answer = await flow.run()
        assert (answer.status, "status 401" in answer.text) == (503, True)
        assert "wrong-secret" not in answer.text


async def test_routes_do_not_exist_without_a_provider() -> None:
    async with serve_console_api() as api:
        for path in ("start", "callback?code=x&state=y"):
            assert (await api.get(f"/console/oidc/{path}", who=None)).status == 404
        assert "oidc" not in (await api.get("/console/sign-in", who=None)).text


async def test_address_of_the_console_behind_a_proxy_makes_redirects_and_cookies_secure(tmp_path: Path) -> None:
    async with open_flow(tmp_path, console_url="https://horae.example.org/console/") as flow:
        answer = await flow.api.get("/console/oidc/start", who=None)
        asked = parse_qs(urlsplit(answer.headers["location"]).query)
        assert asked["redirect_uri"] == ["https://horae.example.org/console/oidc/callback"]
        assert "secure" in answer.headers["set-cookie"].lower()
        simple = await flow.api.get("/scheduled-tasks/console/oidc/start", who=None)
        (redirect,) = parse_qs(urlsplit(simple.headers["location"]).query)["redirect_uri"]
        assert redirect == "https://horae.example.org/scheduled-tasks/console/oidc/callback"
        back = await flow.authorize(answer.headers["location"])
        signed_in = await flow.finish(back.removeprefix("https://horae.example.org"), cookie_of(answer))
        assert signed_in.status == 200
        session = next(each for each in signed_in.headers.getall("set-cookie") if SESSION_COOKIE in each)  # type: ignore[attr-defined]
        assert {"secure", "httponly", "samesite=strict"} <= {part.strip().lower() for part in session.split(";")}


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"HORAE_OIDC_CLIENT_ID": ""}, "missing_field"),
        ({"HORAE_OIDC_ISSUER": "ftp://id.example.org"}, "bad_policy"),
        ({"HORAE_OIDC_ISSUER": "https://id.example.org/?x=1"}, "bad_policy"),
        ({"HORAE_CONSOLE_URL": "horae.example.org"}, "bad_policy"),
        ({"HORAE_OIDC_NEW_OWNERS": "maybe"}, "bad_choice"),
        ({"HORAE_OIDC_ROLES": "ops"}, "bad_choice"),
        ({"HORAE_OIDC_ROLES": "ops=king"}, "bad_choice"),
    ],
)
async def test_incomplete_settings_are_refused_at_the_start(changed: dict[str, str], code: str) -> None:
    known = {"HORAE_OIDC_ISSUER": "https://id.example.org", "HORAE_OIDC_CLIENT_ID": "horae"}
    async with serve_api() as api:
        with pytest.raises(Refusal) as refused:
            async with open_external_sign_in(read_settings(known | changed), api.service, SystemClock()):
                pass
        assert refused.value.code == code


def test_rules_are_read_from_the_settings() -> None:
    rules = read_rules(
        read_settings({"HORAE_OIDC_ROLES": "ops=admin; cn=x=viewer", "HORAE_OIDC_DOMAINS": "@Example.org, b.example"})
    )
    assert rules.roles == (("ops", Role.ADMIN), ("cn=x", Role.VIEWER))
    assert rules.domains == {"example.org", "b.example"}
    assert (rules.owner_claim, rules.role_claim) == ("email", "groups")


async def test_client_secret_may_be_a_secret_of_the_local_owner(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/horae.db"
    store = make_store(url)
    await store.open()
    try:
        service = make_service(url, store, SystemClock(), "UTC", TargetKinds(read_settings({})))
        await service.secrets.set(LOCAL, "oidc", CLIENT_SECRET)
        known = {"HORAE_OIDC_ISSUER": "https://id.example.org", "HORAE_OIDC_CLIENT_ID": "horae"}
        for name, expected in (("oidc", CLIENT_SECRET), ("absent", None)):
            settings = read_settings({**known, "HORAE_OIDC_CLIENT_SECRET": name})
            async with open_external_sign_in(settings, service, SystemClock()) as external:
                assert external is not None
                read = external.provider.settings.read_secret()
                if expected is not None:
                    assert await read == expected
                else:
                    with pytest.raises(Refusal):
                        await read
        async with open_external_sign_in(read_settings(known), service, SystemClock()) as external:
            assert external is not None
            assert await external.provider.settings.read_secret() is None
        async with open_external_sign_in(read_settings({}), service, SystemClock()) as absent:
            assert absent is None
    finally:
        await store.close()
