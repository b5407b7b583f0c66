"""The API on a unix socket: same authentication, closed to other users, and no file of a living process removed."""

from __future__ import annotations

import asyncio
import socket
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from horae.cli.output.printer import Printer
from horae.cli.output.startup_lines import show_api
from horae.client.connection import Connection, check_address
from horae.clock import SystemClock
from horae.errors import NotAuthenticated, Refusal
from horae.node.reports import ApiReady
from horae.runtime.http_server import open_listener, open_unix_listener, serve_app
from tests.api.api_server import serve_api
from tests.api.up_process import WITH_API, run_up
from tests.cli.command_line import Cli


@pytest.fixture
def path() -> Iterator[Path]:
    with TemporaryDirectory(prefix="horae") as folder:  # shorter than the path of a test, which a socket cannot have
        yield Path(folder) / "api.sock"


async def test_requests_over_the_socket_need_a_token_like_others(path: Path) -> None:
    async with serve_api() as api:
        with open_listener("127.0.0.1", 0) as listener, open_unix_listener(path) as local:
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
            async with serve_app(api.app, listener, local):
                for token, owner in ((api.tokens["ada"], "ada"), ("hor_nothing", None)):
                    connection = Connection(f"unix:{path}", token, SystemClock())
                    try:
                        assert (await connection.get("/v1/whoami"))["owner"] == owner
                    except NotAuthenticated:
                        assert owner is None
                    finally:
                        await connection.close()
    assert not path.exists()


def test_socket_of_a_dead_process_is_replaced(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    with open_unix_listener(path) as listener:
        assert listener.getsockname() == str(path)


def test_socket_of_a_living_process_and_other_files_are_left_alone(path: Path) -> None:
    with open_unix_listener(path), pytest.raises(Refusal, match="another process"), open_unix_listener(path):
        pass
    path.write_text("mine")
    with pytest.raises(Refusal, match="another kind"), open_unix_listener(path):
        pass
    assert path.read_text() == "mine"
    with pytest.raises(Refusal) as refused, open_unix_listener(path.parent / ("x" * 200)):
        pass
    assert refused.value.code == "socket_unusable"


def test_socket_that_was_replaced_meanwhile_is_not_removed(path: Path) -> None:
    with open_unix_listener(path):
        path.unlink()
        path.write_text("theirs")
    assert path.read_text() == "theirs"


async def test_running_node_prints_its_socket_and_a_command_that_works(
    path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with run_up(tmp_path, "--port", "0", "--socket", str(path)) as up:
        ready = up.expect("api.ready")
        assert ready["socket"] == str(path)
        token_path = Path(ready["token_file"])
        show_api(
            Printer(), ApiReady(ready["url"], "", token_path, None, socket=str(path)), f"{sys.executable} -m horae"
        )
        (line,) = (each for each in capsys.readouterr().out.splitlines() if "Socket" in each)
        command = line.partition("(try: ")[2].removesuffix(")")
        process = await asyncio.create_subprocess_shell(command, env=WITH_API | {"HOME": str(tmp_path)})
        assert await process.wait() == 0
        assert up.stop() == 0
    assert not path.exists()


def test_socket_without_the_api_is_refused(path: Path, tmp_path: Path) -> None:
    refused = Cli(tmp_path)("up", "--no-api", "--socket", str(path))
    assert (refused.code, path.exists()) == (2, False)
    assert "--socket is for the HTTP API" in refused.err


@pytest.mark.parametrize(
    ("text", "address"), [("unix:/run/h.sock", "unix:/run/h.sock"), ("unix:///run/h.sock", "unix:/run/h.sock")]
)
def test_address_of_a_socket(text: str, address: str) -> None:
    assert check_address(text) == address


@pytest.mark.parametrize("text", ["unix:", "unix:relative", "unix:/a\nb"])
def test_bad_address_of_a_socket(text: str) -> None:
    with pytest.raises(Refusal, match=r"unix:/run/horae\.sock with the whole path"):
        check_address(text)
