"""`GET /v1/doctor`: the checks that the command line and the console show for the same store, in both languages."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections import Counter
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from horae.cli.doctor.http_checks import check_server_clock
from horae.console.request import SESSION_COOKIE
from horae.model.accounts.principal import LOCAL
from horae.ports.doctor import GROUP_OF_CODE
from horae.runtime.api_service import CONSOLE_PATH, mount_console
from tests.api.api_server import Api, serve_api
from tests.cli.command_line import Cli
from tests.servers.redis import RedisServer

ROW = re.compile(r'<li id="check-(\w+)-\d+">')


async def page_codes(api: Api) -> Counter[str]:
    """Return the codes of the checks on the page, after the background work."""
    opened = await api.service.sessions.open_with_token(api.tokens["admin"])
    async with api.session.get(
        f"{api.base}{CONSOLE_PATH}/settings/doctor", headers={"Cookie": f"{SESSION_COOKIE}={opened.cookie}"}
    ) as response:
        assert response.status == 200
        return Counter(ROW.findall(await response.text()))


async def test_command_line_api_and_console_show_the_same_checks(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    async with serve_api(cli.url) as api:
        mount_console(api.app)
        await api.create_task(when="every 1h")
        await api.service.lanes.limit(LOCAL, "shut", 0)
        await api.service.secrets.set(LOCAL, "token", "value")
        (tmp_path / "horae.key").chmod(0o644)
        reply = await api.get("/v1/doctor", who="admin")
        on_page = await page_codes(api)
        at_server = await asyncio.to_thread(
            cli.process, "doctor", "--json", "--server", api.base, HORAE_TOKEN_FILE=token_file(tmp_path, api)
        )
        on_store = await asyncio.to_thread(cli.process, "doctor", "--json", "--store", cli.url)
    served = reply.json["checks"]
    codes = Counter(each["check"] for each in served)
    assert {"integrity", "lanes", "secrets", "listeners", "disk", "clock"} <= codes.keys() <= GROUP_OF_CODE.keys()
    assert on_page == codes
    assert Counter(each["check"] for each in at_server.json["server_checks"]) == codes
    assert Counter(each["check"] for each in on_store.json["checks"]) == codes
    assert graded(on_store.json["checks"]) == graded(served) == graded(at_server.json["server_checks"])
    assert reply.json["errors"] == 1


def graded(checks: list[dict[str, Any]]) -> dict[str, str]:
    """Return what does not depend on the process that made the checks."""
    return {each["check"]: each["grade"] for each in checks if each["group"] not in ("machine", "settings")}


def token_file(folder: Path, api: Api) -> str:
    path = folder / "admin.token"
    path.touch(mode=0o600)
    path.write_text(api.tokens["admin"], encoding="utf-8")
    return str(path)


async def checks_in(api: Api, language: str) -> dict[str, dict[str, Any]]:
    reply = await api.get("/v1/doctor", who="admin", headers={"Accept-Language": language})
    return {each["check"]: each for each in reply.json["checks"]}


async def test_report_is_in_the_language_of_the_request_and_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: SimpleNamespace(free=5_000_000))
    async with serve_api(f"sqlite:///{tmp_path / 'horae.db'}") as api:
        await api.create_task(when="every 1h")
        chinese, english = [await checks_in(api, language) for language in ("zh", "en")]
        refused = await api.get("/v1/doctor", who="ada")
    assert (english["disk"]["grade"], english["disk"]["message"]) == (
        "error",
        "Only 5.0 MB free on the disk of the store",
    )
    assert chinese["disk"]["message"] == "存储所在磁盘仅剩 5.0 MB"
    assert (chinese["backup"]["fix"], english["backup"]["command"]) == ("horae db backup 路径", "horae db backup PATH")
    assert refused.status == 403


def test_clock_of_the_server_is_compared_with_that_of_the_command() -> None:
    assert check_server_clock(None) == []
    (near,), (far,) = check_server_clock(timedelta(seconds=0.5)), check_server_clock(timedelta(minutes=-3))
    assert (near.grade, far.grade) == ("ok", "warning")
    assert far.sentence("en") == "Against the server's, this machine's clock is 3m ahead of it"
    assert far.fix is not None
    assert far.fix.command == "timedatectl set-ntp true"


async def test_token_without_admin_rights_gets_the_checks_of_the_connection(tmp_path: Path) -> None:
    cli = Cli(tmp_path)
    async with serve_api(cli.url) as api:
        path = tmp_path / "ada.token"
        path.touch(mode=0o600)
        path.write_text(api.tokens["ada"], encoding="utf-8")
        done = await asyncio.to_thread(
            cli.process, "doctor", "--json", "--server", api.base, HORAE_TOKEN_FILE=str(path)
        )
    found = {each["check"]: each["grade"] for each in done.json["checks"]}
    assert (done.json["server_checks"], found["server_checks"], found["server_clock"]) == (None, "skipped", "ok")


async def test_what_the_store_can_lose_is_said_with_the_nodes_in_every_front_end(tmp_path: Path) -> None:
    """The command line, at the store and at a server, and the console use the sentences of the doctor."""
    cli = Cli(tmp_path)
    with RedisServer(settings={"appendfsync": "everysec"}) as server:
        url = server.new_database()
        async with serve_api(url) as api:
            mount_console(api.app)
            reply = await api.get("/v1/doctor?only=durability", who="admin")
            checks = reply.json["checks"]
            opened = await api.service.sessions.open_with_token(api.tokens["admin"])
            cookie = {"Cookie": f"{SESSION_COOKIE}={opened.cookie}"}
            async with api.session.get(f"{api.base}{CONSOLE_PATH}/lanes", headers=cookie) as response:
                page = await response.text()
            token = token_file(tmp_path, api)
            at_server = await asyncio.to_thread(
                cli.process, "nodes", "--server", api.base, HORAE_TOKEN_FILE=token, COLUMNS="300"
            )
            at_store = await asyncio.to_thread(cli.process, "nodes", "--store", url, COLUMNS="300")
            refused = await api.get("/v1/doctor?only=durability", who="ada")
    assert [(each["check"], each["grade"]) for each in checks] == [("durability", "warning")]
    sentence = checks[0]["message"]
    assert "it can lose what it acknowledged in about the last second" in sentence
    assert sentence in page
    assert sentence in at_server.out
    assert sentence in at_store.out
    assert refused.status == 403


async def test_a_file_has_no_server_that_can_lose_writes(tmp_path: Path) -> None:
    async with serve_api(Cli(tmp_path).url) as api:
        assert (await api.get("/v1/doctor?only=durability", who="admin")).json["checks"] == []
