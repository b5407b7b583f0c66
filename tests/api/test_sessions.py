"""Browser sessions and sign-in links over HTTP; browsers that ask for `/` are sent to the console."""

from __future__ import annotations

from datetime import datetime, timedelta
from urllib.parse import parse_qs, urlsplit

from horae.model.accounts.session import LINK_LIFETIME
from horae.runtime.api_service import mount_console
from tests.api.api_server import Api, serve_api

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


async def open_sessions(api: Api, *owners: str) -> list[str]:
    sessions = api.service.sessions
    return [(await sessions.open_with_token(api.tokens[name], client="Firefox")).session.id for name in owners]


async def test_owner_lists_and_ends_its_own_sessions() -> None:
    async with serve_api() as api:
        *own, foreign = await open_sessions(api, "ada", "ada", "bob")
        # Ids of the same millisecond are in no order.
        first, second = sorted(own)
        listed = (await api.get("/v1/sessions?limit=1")).json
        assert ([each["id"] for each in listed["items"]], listed["items"][0]["client"]) == ([first], "Firefox")
        rest = (await api.get(f"/v1/sessions?limit=5&cursor={listed['next_cursor']}")).json
        assert ([each["id"] for each in rest["items"]], rest["next_cursor"]) == ([second], None)
        assert {each["owner"] for each in (await api.get("/v1/sessions", who="admin")).json["items"]} == {"ada", "bob"}
        only = (await api.get("/v1/sessions?owner=bob", who="admin")).json["items"]
        assert [each["id"] for each in only] == [foreign]
        tried = await api.delete(f"/v1/sessions/{first}?dry_run=true")
        assert (tried.status, tried.json["id"]) == (200, first)
        ended = await api.delete(f"/v1/sessions/{first}")
        assert (ended.status, ended.json["id"], ended.json["token"][:4]) == (200, first, "tok_")
        assert (await api.delete(f"/v1/sessions/{first}")).code == "no_such_session"
        assert (await api.delete(f"/v1/sessions/{foreign}")).code == "no_such_session"
        assert [each["id"] for each in (await api.get("/v1/sessions")).json["items"]] == [second]


async def test_answers_hold_no_secret_of_a_session() -> None:
    async with serve_api() as api:
        opened = await api.service.sessions.open_with_token(api.tokens["ada"])
        secret = opened.cookie.rpartition("_")[2]
        for who in ("ada", "admin"):
            text = (await api.get("/v1/sessions", who=who)).text
            assert (secret in text, opened.session.hash in text, "hash" in text) == (False, False, False)


async def test_sign_in_link_opens_one_session_of_the_owner_of_the_token() -> None:
    async with serve_api() as api:
        mount_console(api.app)
        before = api.app.context.clock.now()
        made = await api.post("/v1/sign-in-links", who="vic")
        assert (made.status, set(made.json), made.headers["cache-control"]) == (200, {"url", "expires"}, "no-store")
        assert made.json["url"].startswith(f"{api.base}/console/sign-in?code=")
        assert (
            timedelta(0) <= datetime.fromisoformat(made.json["expires"]) - before - LINK_LIFETIME < timedelta(minutes=1)
        )
        (code,) = parse_qs(urlsplit(made.json["url"]).query)["code"]
        opened = await api.service.sessions.open_with_link(code)
        assert opened.session.owner == "vic"
        assert (await api.post("/v1/sign-in-links", who="vic")).json["url"] != made.json["url"]


async def test_link_is_refused_where_the_console_is_not_installed() -> None:
    async with serve_api() as api:
        assert (await api.post("/v1/sign-in-links")).code == "missing_part"


async def test_browser_at_the_root_is_sent_to_the_console_and_programs_are_not() -> None:
    async with serve_api() as api:
        mount_console(api.app)
        redirected = await api.get("/", who=None, headers={"Accept": BROWSER})
        assert (redirected.status, redirected.headers["location"]) == (303, "/console/")
        for accept in ("*/*", "application/json", "application/json, text/html;q=0.5"):
            answer = await api.get("/", who=None, headers={"Accept": accept})
            assert (answer.status, answer.json["name"]) == (200, "horae")
