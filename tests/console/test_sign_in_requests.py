"""Requests of the sign-in page and of sessions, without a browser: codes, cookies, CSRF, Origin, expiry, revocation."""

from __future__ import annotations

import asyncio
import logging
from datetime import timedelta
from urllib.parse import urlencode, urlsplit

import pytest

from horae.console.request import SESSION_COOKIE
from horae.console.viewer import THEME_COOKIE
from horae.model.accounts.session import ABSOLUTE_LIMIT, IDLE_LIMIT, session_record
from horae.service.accounts.sessions import CACHED_SECONDS, csrf_token
from horae.web.event_streams import CHECK_SECONDS
from tests.console.sign_in_requests import get, make_link, post, serve_console_api, sessions_of


async def test_console_is_found_without_its_last_slash() -> None:
    async with serve_console_api() as api:
        found = await api.get("/console", who=None)
        assert (found.status, found.headers["location"]) == (307, "/console/")


async def test_preview_of_a_link_uses_nothing_up_and_stores_nothing() -> None:
    async with serve_console_api() as api:
        link, code = await make_link(api)
        path = link.removeprefix(api.base + "/console")
        for method in ("GET", "HEAD", "GET"):
            seen = await api.request(method, f"/console{path}", who=None, headers={"User-Agent": "LinkPreview/1.0"})
            assert (seen.status, seen.headers.get("set-cookie")) == (200, None)
            assert seen.headers["referrer-policy"] == "strict-origin"
            assert seen.headers["cache-control"] == "no-store"
        assert await sessions_of(api, "local") == []
        assert (await post(api, "/sign-in", {"code": code})).status == 303


async def test_too_many_wrong_codes_are_refused_and_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    async with serve_console_api() as api:
        caplog.set_level(logging.DEBUG)
        wrong = "0" * 48
        statuses = [(await post(api, "/sign-in", {"code": wrong})).status for _ in range(70)]
        assert (statuses[0], statuses[-1]) == (401, 429)
        good = await post(api, "/sign-in", {"token": api.tokens["ada"]})
        assert good.status == 303
        robot = await post(api, "/sign-in", {"token": api.tokens["robot"]})
        assert (robot.status, "set-cookie" in robot.headers) == (403, False)
        texts = [record.getMessage() for record in caplog.records]
        assert not [text for text in texts if wrong in text or api.tokens["ada"] in text]


async def test_cookie_is_strict_hidden_from_scripts_and_secure_where_the_browser_uses_https() -> None:
    async with serve_console_api() as api:
        fields = {"token": api.tokens["ada"]}
        plain = (await post(api, "/sign-in", fields)).headers["set-cookie"]
        parts = {part.strip().lower() for part in plain.split(";")[1:]}
        assert {
            "httponly",
            "samesite=strict",
            "path=/console",
            f"max-age={int(ABSOLUTE_LIMIT.total_seconds())}",
        } <= parts
        assert "secure" not in parts
        assert not [part for part in parts if part.startswith("domain")]
        host = urlsplit(api.base).netloc
        behind_proxy = (await post(api, "/sign-in", fields, Origin=f"https://{host}")).headers["set-cookie"]
        assert "secure" in {part.strip().lower() for part in behind_proxy.split(";")}


async def test_forms_of_other_sites_and_without_the_token_of_the_session_change_nothing() -> None:
    async with serve_console_api() as api:
        opened = await api.service.sessions.open_with_token(api.tokens["ada"])
        other = await api.service.sessions.open_with_token(api.tokens["ada"])
        form = {"theme": "dark", "csrf": csrf_token(opened.cookie)}
        good = await post(api, "/preferences", form, opened.cookie)
        assert (good.status, THEME_COOKIE in good.headers["set-cookie"]) == (303, True)
        refused: list[tuple[dict[str, str], dict[str, str | None]]] = [
            (form, {"Origin": "https://evil.example"}),
            (form, {"Origin": "null"}),
            (form, {"Origin": None}),
            (form, {"Origin": None, "Sec_Fetch_Site": "cross-site"}),
            (form, {"Origin": None, "Sec_Fetch_Site": "same-site"}),
            ({"theme": "dark"}, {}),
            ({**form, "csrf": ""}, {}),
            ({**form, "csrf": csrf_token(other.cookie)}, {}),
            (form, {"Content_Type": "application/json"}),
            (form, {"Content_Type": "text/plain"}),
        ]
        for fields, headers in refused:
            answer = await post(api, "/preferences", fields, opened.cookie, **headers)
            assert (answer.status in (403, 422), "set-cookie" in answer.headers) == (True, False), (
                headers,
                answer.status,
            )
        same_origin = await post(api, "/preferences", form, opened.cookie, Origin=None, Sec_Fetch_Site="same-origin")
        assert same_origin.status == 303
        for origin in ("https://evil.example", "null", None):
            stolen = await post(api, "/sign-in", {"token": api.tokens["ada"]}, Origin=origin)
            assert (stolen.status, "set-cookie" in stolen.headers) == (403, False)


async def test_link_changes_the_owner_of_a_browser_and_ends_its_former_session() -> None:
    async with serve_console_api() as api:
        former = await api.service.sessions.open_with_token(api.tokens["bob"])
        link, code = await make_link(api)
        shown = await get(api, link.removeprefix(f"{api.base}/console"), former.cookie)
        assert (shown.status, code in shown.text) == (200, True)
        signed_in = await post(api, "/sign-in", {"code": code}, former.cookie)
        assert signed_in.status == 303
        assert (await sessions_of(api, "bob"), len(await sessions_of(api, "local"))) == ([], 1)


async def test_kept_form_has_its_address_and_hides_secrets_until_it_is_sent() -> None:
    async with serve_console_api() as api:
        fields = {"name": "deploy", "value": "hush-hush", "csrf": "old"}
        interrupted = await post(api, "/preferences?tz=UTC", fields)
        assert (interrupted.status, "/console/preferences?tz=UTC" in interrupted.text) == (401, True)
        kept = {"kept": urlencode(fields), "next": "/console/preferences?tz=UTC"}
        elsewhere = await post(api, "/sign-in", kept)
        assert elsewhere.status == 401, "neither a token nor a session"
        opened = await api.service.sessions.open_with_token(api.tokens["ada"])
        resumed = await post(api, "/sign-in", kept, opened.cookie)
        assert resumed.status == 200
        assert resumed.text.count("hush-hush") == 1, "in the hidden field, and not shown"
        assert csrf_token(opened.cookie) in resumed.text
        assert 'action="/console/preferences?tz=UTC"' in resumed.text


async def test_sign_in_goes_on_to_a_page_of_the_console_only() -> None:
    async with serve_console_api() as api:
        token = api.tokens["ada"]
        for wanted, expected in (
            ("/console/tasks?q=a", "/console/tasks?q=a"),
            ("", "/console/"),
            ("https://evil.example/", "/console/"),
            ("//evil.example/console/", "/console/"),
            ("/console/\\evil.example", "/console/"),
            ("/v1/tasks", "/console/"),
            ("javascript:alert(1)", "/console/"),
            ("/console/\r\nSet-Cookie: a=b", "/console/"),
        ):
            assert (await post(api, "/sign-in", {"token": token, "next": wanted})).headers["location"] == expected
        asked = await get(api, "/runs?q=state%3Afailed")
        assert asked.status in (303, 404)


async def test_idle_and_old_sessions_are_sent_to_the_sign_in_page() -> None:
    async with serve_console_api() as api:
        now, store = api.app.context.clock.now(), api.service.store
        cases = (
            (timedelta(hours=1), IDLE_LIMIT - timedelta(minutes=1), 200),
            (timedelta(hours=13), IDLE_LIMIT, 303),
            (ABSOLUTE_LIMIT - timedelta(minutes=1), timedelta(0), 200),
            (ABSOLUTE_LIMIT, timedelta(0), 303),
        )
        for age, idle, status in cases:
            opened = await api.service.sessions.open_with_token(api.tokens["ada"])
            aged = opened.session._replace(created=now - max(age, idle), used=now - idle)
            assert await store.put_record(session_record(aged), replacing=1)
            answer = await get(api, "/", opened.cookie)
            assert answer.status == status, (age, idle)
            if status == 303:
                assert answer.headers["location"] == "/console/sign-in"
                assert (await get(api, "/events", opened.cookie)).status == 303


async def test_revoked_session_ends_its_open_event_stream_within_a_second() -> None:
    async with serve_console_api() as api:
        opened = await api.service.sessions.open_with_token(api.tokens["ada"])
        clock = api.app.context.clock
        headers = {"Cookie": f"{SESSION_COOKIE}={opened.cookie}"}
        async with api.session.get(f"{api.base}/console/events", headers=headers) as stream:
            assert (stream.status, stream.content_type) == (200, "text/event-stream")
            assert (await stream.content.readline()).startswith(b": horae")
            began = clock.steady()
            assert (await api.delete(f"/v1/sessions/{opened.session.id}", who="admin")).status == 200
            rest = await asyncio.wait_for(stream.content.read(), 10)
            took = clock.steady() - began
        assert b"revoked" in rest
        assert CACHED_SECONDS + CHECK_SECONDS < 1
        assert took < 3, "a busy machine is given some more time"
        assert (await get(api, "/", opened.cookie)).status == 303


async def test_stream_resumes_after_the_last_event_that_the_browser_has() -> None:
    async with serve_console_api() as api:
        opened = await api.service.sessions.open_with_token(api.tokens["ada"])
        headers = {"Cookie": f"{SESSION_COOKIE}={opened.cookie}", "Last-Event-ID": "0"}
        await api.create_task(name="made before")
        async with api.session.get(f"{api.base}/console/events", headers=headers) as stream:
            found = b""
            while b"task.created" not in found:
                found += await asyncio.wait_for(stream.content.readline(), 20)


async def test_link_of_a_viewer_gives_no_more_rights_than_its_role() -> None:
    async with serve_console_api() as api:
        _, code = await make_link(api, "vic")
        signed_in = await post(api, "/sign-in", {"code": code})
        cookie = signed_in.headers["set-cookie"].partition("=")[2].partition(";")[0]
        principal = await api.service.sessions.authenticate(cookie)
        assert (principal.owner, principal.admin, sorted(principal.scopes)) == ("vic", False, ["tasks:read"])
