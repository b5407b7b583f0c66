"""`horae.console` inside applications of users: FastAPI and Starlette under uvicorn, below a prefix."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from pathlib import Path

import aiohttp
import pytest
from fastapi import FastAPI
from playwright.async_api import expect
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

import horae
from horae import Horae
from horae.console.request import SESSION_COOKIE
from horae.errors import InvalidTask
from horae.model.accounts.principal import LOCAL
from horae.service.accounts.sessions import csrf_token
from horae.wire.tasks.task import read_task
from tests.console.tabs import Tabs
from tests.servers.asgi_server import serve_application

PREFIX = "/ops/horae"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


async def add_task(app: Horae, name: str) -> None:
    body = {"name": name, "when": "every day at 09:00", "zone": "UTC", "say": "hello"}
    await app.service.tasks.create(app.who, read_task(body))


async def make_account(url: str) -> tuple[str, str]:
    """Return the admin's first token of a store, and the code of a sign-in link."""
    async with Horae(url, engine=False) as app:
        text = await app.service.tokens.make_first()
        code = (await app.service.sessions.make_link(LOCAL._replace(actor="local", via="cli"))).code
        await add_task(app, "morning report")
    return str(text), code


def make_fastapi(url: str) -> FastAPI:
    app = FastAPI()

    @app.get("/hello")
    async def hello() -> dict[str, str]:
        return {"hello": "world"}

    app.mount(PREFIX, horae.console(url))
    return app


async def test_console_works_below_a_prefix_of_a_fastapi_application(
    tabs: Tabs, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    caplog.set_level(logging.INFO, "uvicorn.access")
    # Servers of other tests in this process set the loggers of uvicorn.
    for name in ("uvicorn", "uvicorn.access"):
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
    token, code = await make_account(url := f"sqlite:///{tmp_path}/horae.db")
    async with serve_application(make_fastapi(url)) as base, aiohttp.ClientSession(base) as http:
        async with http.get("/hello") as other:
            assert (await other.json(), other.headers.get("x-request-id")) == ({"hello": "world"}, None)
        context = await tabs.browser.new_context()
        page = await context.new_page()
        problems: list[str] = []
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        await page.goto(f"{base}{PREFIX}/")
        await expect(page).to_have_url(f"{base}{PREFIX}/sign-in")
        assert "horae open" not in await page.content()
        await page.get_by_label("Token").fill(token)
        await page.get_by_role("button", name="Sign in").click()
        await expect(page).to_have_url(f"{base}{PREFIX}/")
        await expect(page.get_by_role("link", name="morning report").first).to_be_visible()
        assert await page.evaluate("document.styleSheets[0].cssRules.length") > 10
        (cookie,) = [each for each in await context.cookies() if each["name"] == SESSION_COOKIE]
        assert (cookie["path"], cookie["httpOnly"], cookie["sameSite"]) == (PREFIX, True, "Strict")
        await page.locator("details.menu > summary").click()
        await page.get_by_label("Theme").select_option("dark")
        await page.get_by_role("button", name="Apply").click()
        await expect(page.locator("html")).to_have_attribute("data-theme", "dark")
        await context.close()
        assert problems == []
        await check_requests(http, base, cookie["value"])
        async with http.get(f"{PREFIX}/sign-in?code={code}") as preview:
            assert (preview.status, code in await preview.text()) == (200, True)
            assert preview.headers["x-request-id"].startswith("req_")
    logged = [record.getMessage() for record in caplog.records]
    assert [line for line in logged if f"GET {PREFIX}/sign-in HTTP" in line]
    assert not [line for line in logged if code in line or token in line]


async def check_requests(http: aiohttp.ClientSession, base: str, cookie: str) -> None:
    headers = {"Cookie": f"{SESSION_COOKIE}={cookie}"}
    async with http.get(f"{PREFIX}/nothing", headers=headers) as absent:
        assert (absent.status, absent.content_type) == (404, "text/html")
        assert absent.headers["content-security-policy"].startswith("default-src 'none'")
    fields = f"theme=light&csrf={csrf_token(cookie)}"
    async with http.post(
        f"{PREFIX}/preferences", data=fields, headers={**headers, **FORM, "Origin": "https://evil.example"}
    ) as foreign:
        assert foreign.status == 403
    async with http.post(
        f"{PREFIX}/preferences",
        data=fields,
        headers={**headers, **FORM, "Origin": base},
        allow_redirects=False,
    ) as saved:
        assert (saved.status, saved.headers["location"]) == (303, f"{PREFIX}/")
    async with http.get(f"{PREFIX}/events", headers=headers) as stream:
        assert (stream.status, stream.content_type) == (200, "text/event-stream")
        assert (await stream.content.readline()).startswith(b": horae")


async def test_console_of_a_running_app_is_part_of_a_starlette_application(tmp_path: Path) -> None:
    scheduler = Horae(f"sqlite:///{tmp_path}/horae.db")

    async def home(_request: Request) -> Response:
        return PlainTextResponse("home")

    web = Starlette(routes=[Route("/", home)], lifespan=scheduler.lifespan)
    web.mount(PREFIX, horae.console(scheduler))
    async with serve_application(web) as base, aiohttp.ClientSession(base) as http:
        opened = await scheduler.service.sessions.open_with_token(str(await scheduler.service.tokens.make_first()))
        await add_task(scheduler, "evening report")
        headers = {"Cookie": f"{SESSION_COOKIE}={opened.cookie}"}
        async with http.get(f"{PREFIX}/", headers=headers) as page:
            assert (page.status, "evening report" in await page.text()) == (200, True)
        await check_requests(http, base, opened.cookie)
        async with http.get("/") as home_page:
            assert await home_page.text() == "home"
    assert not scheduler.is_open


def test_app_that_is_not_open_and_other_sources_are_refused() -> None:
    web = Starlette()
    web.mount(PREFIX, horae.console(Horae("memory://")))
    with TestClient(web) as client:
        answer = client.get(f"{PREFIX}/")
        assert (answer.status_code, answer.json()["code"]) == (409, "not_open")
    for source in (None, 5, b"sqlite://"):
        with pytest.raises(InvalidTask):
            horae.console(source)  # type: ignore[arg-type]


def test_store_is_opened_again_for_another_event_loop(tmp_path: Path) -> None:
    web = Starlette()
    web.mount(PREFIX, horae.console(f"sqlite:///{tmp_path}/horae.db"))
    # Without `with`, each request of this client has an event loop of its own.
    client = TestClient(web)
    assert [client.get(f"{PREFIX}/sign-in").status_code for _ in range(3)] == [200, 200, 200]


def test_store_that_cannot_be_opened_answers_each_request_with_the_reason(tmp_path: Path) -> None:
    web = Starlette()
    web.mount(PREFIX, horae.console(f"sqlite:///{tmp_path}/absent/horae.db"))
    with TestClient(web) as client:
        for _ in range(2):
            answer = client.get(f"{PREFIX}/")
            assert (answer.status_code, str(tmp_path) in answer.text) == (503, False), answer.text
        (tmp_path / "absent").mkdir()
        assert client.get(f"{PREFIX}/sign-in").status_code == 200


PROGRAM = """
import sys
import uvicorn
from starlette.applications import Starlette
import horae

console = horae.console(sys.argv[1])
web = console
if sys.argv[2] == "mounted":
    web = Starlette(lifespan=console.lifespan)
    web.mount("/horae", console)
uvicorn.run(web, port=0, log_level="info")
"""


@pytest.mark.parametrize(("place", "path"), [("mounted", "/horae/sign-in"), ("alone", "/sign-in")])
def test_server_that_ends_closes_the_store(tmp_path: Path, place: str, path: str) -> None:
    store = tmp_path / "horae.db"
    command = [sys.executable, "-c", PROGRAM, f"sqlite:///{store}", place]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stderr is not None
        address = next(line.split()[-5] for line in process.stderr if "Uvicorn running on" in line)
        done = subprocess.run(
            [sys.executable, "-c", "import sys, urllib.request as u; u.urlopen(sys.argv[1]).read()", address + path],
            check=True,
            timeout=60,
        )
        assert done.returncode == 0
        assert store.with_name("horae.db-wal").exists()
        process.send_signal(signal.SIGTERM)
        rest = process.stderr.read()
        process.wait(60)
    assert "Traceback" not in rest
    # SQLite removes the write-ahead log when the last connection is closed properly.
    assert not store.with_name("horae.db-wal").exists()
