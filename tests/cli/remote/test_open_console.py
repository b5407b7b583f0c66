"""`horae open` and `horae session`: one-time links of a running server, which no log and no list of processes shows."""

from __future__ import annotations

import asyncio
import json
import re
import stat
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest

from horae import Horae
from tests.cli.command_line import Cli
from tests.cli.json_schemas import check_schema
from tests.cli.operating.deployment import Deployment, Up
from tests.cli.remote.server import SESSIONS, RemoteCli, command_for
from tests.cli.terminal import Terminal

WITH_API = {"HORAE_API": "on"}
CODE = re.compile(r"[0-9a-f]{48}")


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    found = Deployment(tmp_path)
    yield found
    found.end()


def serve(deployment: Deployment, *options: str) -> tuple[Up, dict[str, str]]:
    up = deployment.up("--port", "0", "--json", *options, environment=WITH_API)
    ready: dict[str, str] = json.loads(up.expect('"api.ready"'))
    return up, ready


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: object) -> None:
        return None


def post_code(link: str) -> tuple[int, str, str]:
    """Send the code of a link as its page does; returns status, `Location` and `Set-Cookie`."""
    parts = urlsplit(link)
    (code,) = parse_qs(parts.query)["code"]
    origin = f"{parts.scheme}://{parts.netloc}"
    request = urllib.request.Request(  # noqa: S310 - a loopback address of this test
        origin + parts.path, urlencode({"code": code}).encode(), {"Origin": origin}
    )
    try:
        urllib.request.build_opener(_NoRedirect).open(request)
    except urllib.error.HTTPError as answer:
        with answer:
            return answer.code, answer.headers.get("Location", ""), answer.headers.get("Set-Cookie", "")
    raise AssertionError("it was not answered with a redirect")


def test_link_of_up_and_of_open_each_sign_in_once(deployment: Deployment) -> None:
    _, ready = serve(deployment)
    check_schema("up", ready)
    assert ready["console"] == f"{ready['url']}/console/"
    made = deployment.answer("open", "--print")
    check_schema("sign-in-link", made)
    assert made["opened"] is False
    by_server = deployment.answer("open", "--print", "--server", ready["url"])
    links = [ready["sign_in_link"], made["url"], by_server["url"]]
    assert len({CODE.search(link)[0] for link in links if CODE.search(link)}) == 3  # type: ignore[index]
    for link in links:
        assert link.startswith(f"{ready['console']}sign-in?code=")
        status, location, cookie = post_code(link)
        assert (status, location) == (303, "/console/")
        assert "HttpOnly" in cookie
        assert post_code(link)[0] == 401
    assert [each["owner"] for each in deployment.answer("session", "ls")] == ["local"] * 3


def test_open_prints_the_link_alone_on_standard_output(deployment: Deployment) -> None:
    _, ready = serve(deployment)
    for language, words in (("en", "within ten minutes"), ("zh", "十分钟")):
        done = deployment.horae("open", "--print", "--lang", language)
        assert re.fullmatch(rf"{re.escape(ready['console'])}sign-in\?code=[0-9a-f]{{48}}\n", done.stdout)
        assert words in done.stderr


def test_open_without_a_server_is_refused_with_the_command_that_starts_one(deployment: Deployment) -> None:
    deployment.ok("add", "every 1h", "--say", "x")
    done = deployment.horae("open", "--json")
    problem = json.loads(done.stderr.splitlines()[-1])
    assert (done.returncode, problem["code"]) == (5, "no_server_here")
    assert "horae up" in problem["hint"]


def test_open_finds_the_server_of_its_own_store(deployment: Deployment) -> None:
    _, ready = serve(deployment)
    other = f"sqlite:///{deployment.folder}/other.db"
    deployment.ok("add", "every 1h", "--say", "x", "--store", other)
    assert deployment.horae("open", "--print", "--store", other).returncode == 5
    assert deployment.answer("open", "--print", "--store", deployment.url)["url"].startswith(ready["console"])


def test_browser_gets_the_link_in_a_private_file_and_not_as_an_argument(deployment: Deployment) -> None:
    serve(deployment)
    seen = deployment.folder / "arguments"
    browser = deployment.write("browser", f'#!/bin/sh\nprintf "%s\\n" "$@" > "{seen}"\n')
    browser.chmod(0o755)
    done = deployment.horae("open", "--json", environment={"DISPLAY": ":99", "BROWSER": str(browser)})
    made = json.loads(done.stdout)
    assert made["opened"] is True
    (argument,) = seen.read_text(encoding="utf-8").split()
    assert CODE.search(argument) is None
    page = Path(urlsplit(argument).path)
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert made["url"] in page.read_text(encoding="utf-8")
    without = deployment.horae("open", "--json", environment={"DISPLAY": "", "WAYLAND_DISPLAY": ""})
    assert json.loads(without.stdout)["opened"] is False


def test_link_is_shown_on_a_terminal_and_never_where_output_or_logs_are_kept(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    arguments = ("up", "--port", "0", "--seconds", "1")
    link = r"http://\S+sign-in\?code=[0-9a-f]{48}"
    for columns, line in ((200, rf"Console +{link}  one-time link"), (60, rf"Console +one-time link\n  {link}")):
        with Terminal(cli, *arguments, columns=columns, HORAE_API="on") as terminal:
            assert terminal.ended() == 0
            shown = terminal.shown
        assert re.search(line, shown), shown
    log = tmp_path / "horae.log"
    kept = cli.process(*arguments, HORAE_API="on", HORAE_LOG_FILE=str(log), HORAE_LOG_LEVEL="debug")
    assert re.search(r"Console +http://127\.0\.0\.1:\d+/console/  \(sign in: \S*horae open\)", kept.out), kept.out
    output = tmp_path / "out.json"
    command = [sys.executable, "-m", "horae", *arguments, "--json"]
    environment = cli.environment(HORAE_API="on", HORAE_LOG_FILE=str(log), HORAE_LOG_LEVEL="debug")
    with output.open("w") as file:
        subprocess.run(command, cwd=tmp_path, env=environment, stdout=file, check=True, timeout=60)
    texts = [kept.out, kept.err, *(path.read_text(encoding="utf-8") for path in (output, log))]
    assert [text for text in texts if CODE.search(text)] == []
    assert '"sign_in_link": null' in texts[2]


async def _sign_in(url: str, token: str) -> str:
    """Open a session with a token, as a browser does; returns its id."""
    async with Horae(url, engine=False) as app:
        return (await app.service.sessions.open_with_token(token, client="Firefox 140")).session.id


@pytest.mark.parametrize("session", SESSIONS)
def test_sessions_are_listed_and_ended(cli: RemoteCli, session: str) -> None:
    horae = command_for(session, cli)
    horae("owner", "set", "bob", "--role", "member")
    text = horae("token", "make", "x", "--owner", "bob", "--json").json["text"]

    name = asyncio.run(_sign_in(cli.url, text))
    listed = horae("session", "ls", "--json")
    check_schema("sessions", listed.json)
    assert [each["id"] for each in listed.json] == [name]
    shown = horae("session", "ls").out
    assert ("Firefox 140" in shown, "bob" in shown, "BROWSER" in shown) == (True, True, True)
    assert horae("session", "ls", "--owner", "local", "--json").json == []
    assert horae("session", "ls", "--quiet").out == f"{name}\n"
    ended = horae("session", "rm", name[:20], "--json")
    check_schema("session", ended.json)
    assert ended.json["id"] == name
    assert "horae" in horae("session", "ls").err
    again = horae("session", "rm", name, "--json")
    assert (again.code, again.problem["code"]) == (3, "no_such_session")
