"""Commands send no token over plain HTTP to another machine without an explicit setting.

`0.0.0.0` reaches this machine on Linux and is no loopback address: it stands for a remote host.
"""

from __future__ import annotations

import re
import sys

import pytest

from horae.client.connection import Connection
from horae.clock import SystemClock
from horae.errors import NotAllowed
from tests.cli.command_line import CommandResult
from tests.cli.remote.server import RemoteCli

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="0.0.0.0 can be connected to on Linux")


def remote(cli: RemoteCli) -> str:
    return cli.server.url.replace("127.0.0.1", "0.0.0.0")  # noqa: S104 - a client address, not a listener


def login(cli: RemoteCli, *options: str, **environment: str) -> CommandResult:
    token = cli.server.tokens["local"]
    return cli("login", remote(cli), "--name", "far", "--token-stdin", "--json", *options, stdin=token, **environment)


@pytest.mark.parametrize("command", [("ls",), ("status",), ("add", "every 1h", "--say", "hi")], ids=" ".join)
def test_remote_server_over_plain_http_is_refused(cli: RemoteCli, command: tuple[str, ...]) -> None:
    refused = cli(*command, "--json", HORAE_SERVER=remote(cli))
    assert (refused.code, refused.problem["code"]) == (4, "plain_http")
    assert cli("ls", "--json", HORAE_SERVER=cli.server.url).json == []


def test_doctor_reports_plain_http_and_sends_no_token(cli: RemoteCli) -> None:
    done = cli("doctor", HORAE_SERVER=remote(cli))
    assert done.code == 1
    assert "HORAE_PLAIN_HTTP=on" in done.out


def test_variable_of_the_hint_allows_plain_http(cli: RemoteCli) -> None:
    hint = cli("ls", "--json", HORAE_SERVER=remote(cli)).problem["hint"]
    ((name, value),) = re.findall(r"(HORAE_\w+)=(\w+)", hint)
    assert cli("ls", HORAE_SERVER=remote(cli), **{name: value}).code == 0


def test_setting_of_the_hint_allows_plain_http(cli: RemoteCli) -> None:
    hint = cli("ls", "--json", HORAE_SERVER=remote(cli)).problem["hint"]
    ((line),) = re.findall(r"plain_http = \w+", hint)
    (cli.directory / "horae.toml").write_text(f"{line}\n", encoding="utf-8")
    assert cli("ls", HORAE_SERVER=remote(cli)).code == 0


def test_login_refuses_plain_http_before_reading_the_token(cli: RemoteCli) -> None:
    refused = login(cli)
    assert refused.problem["code"] == "plain_http"
    assert cli("context", "ls", "--json").json == []


@pytest.mark.parametrize("language", ["en", "zh"])
def test_login_option_of_the_hint_allows_plain_http_for_one_context(cli: RemoteCli, language: str) -> None:
    hint = login(cli, "--lang", language).problem["hint"]
    ((url, option),) = re.findall(r"horae login (\S+) (--[\w-]+)", hint)
    assert url == remote(cli)
    assert login(cli, option).code == 0
    assert cli("ls", "--server", "far").code == 0
    assert cli("ls", "--json", "--server", remote(cli).replace("0.0.0.0", "0.0.0.1")).problem["code"] == "plain_http"  # noqa: S104


@pytest.mark.parametrize("server", ["http://horae.example.org", "http://10.0.0.7:4672", "http://[2001:db8::1]"])
def test_client_library_refuses_plain_http(server: str) -> None:
    with pytest.raises(NotAllowed) as refused:
        Connection(server, "horae_x", SystemClock())
    assert refused.value.code == "plain_http"
    assert Connection(server, "horae_x", SystemClock(), plain_http=True).server == server


@pytest.mark.parametrize(
    "server", ["https://horae.example.org", "http://localhost:4672", "http://127.8.9.1", "http://[::1]:4672"]
)
def test_https_and_loopback_are_allowed(server: str) -> None:
    assert Connection(server, "horae_x", SystemClock()).server == server
