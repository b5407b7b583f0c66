"""The API on a unix socket: same authentication, closed to other users, and no file of a living process removed."""

from __future__ import annotations

import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from horae.client.connection import Connection, check_address
from horae.clock import SystemClock
from horae.errors import NotAuthenticated, Refusal
from horae.runtime.http_server import open_listener, open_unix_listener, serve_app
from tests.api.api_server import serve_api


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


@pytest.mark.parametrize(
    ("text", "address"), [("unix:/run/h.sock", "unix:/run/h.sock"), ("unix:///run/h.sock", "unix:/run/h.sock")]
)
def test_address_of_a_socket(text: str, address: str) -> None:
    assert check_address(text) == address


@pytest.mark.parametrize("text", ["unix:", "unix:relative", "unix:/a\nb"])
def test_bad_address_of_a_socket(text: str) -> None:
    with pytest.raises(Refusal):
        check_address(text)
