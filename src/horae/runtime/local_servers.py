"""API servers of this user on this machine: the file with the first token, and a registry by loopback address.

One file per address, readable by its user alone. The serving process holds a lock on it, so an entry that a crashed
server left behind is recognised, and its token goes to no other program that listens there later.
"""

from __future__ import annotations

import json
import logging
import os
import shlex
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import IO, Final, NamedTuple
from urllib.parse import urlsplit

from ..encryption.key_location import configured_path
from .process_settings import data_file
from .stores import has_secret, is_on_server, sqlite_path, without_password

SUFFIX: Final = ".token"
_OTHER_USERS: Final = 0o077
_MAX_LENGTH: Final = 1_000


def is_temporary(url: str) -> bool:
    """Whether the store lives in this process only, so that no later process can use its tokens."""
    return sqlite_path(url) is None and not is_on_server(url)


def store_argument(url: str) -> str:
    """Return the value of `--store` for this store from any folder, quoted for a shell and without a password."""
    if is_temporary(url):
        return ""
    database = sqlite_path(url)
    if database is not None:
        return shlex.quote(f"sqlite:///{os.path.realpath(database)}")
    # Read by other processes, whose HORAE_STORE may name another store.
    return shlex.quote(without_password(url) if has_secret(url) else url)


def token_path(url: str, key_file: str | None) -> Path:
    """Return the path: next to a SQLite file; for a server, next to the configured key, else in the user's data folder.

    A store in memory has one file per process.
    """
    database = sqlite_path(url)
    if database is not None:
        real = Path(os.path.realpath(database))
        return real.with_name(real.name + SUFFIX)
    if is_on_server(url):
        key = configured_path(key_file)
        folder = data_file().parent if key is None else key.parent
        return folder / f"{sha256(url.encode()).hexdigest()[:16]}{SUFFIX}"
    return data_file().parent / f"memory-{os.getpid()}{SUFFIX}"


def write_token(path: Path, text: str) -> None:
    """Write the token atomically (temporary file, then rename), readable by its user alone."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        temporary.unlink()
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_private_token(path: Path) -> str | None:
    """Return the token in this file; None where it is missing, or other users could read it."""
    try:
        with path.open("r", encoding="ascii") as file:
            if stat.S_IMODE(os.fstat(file.fileno()).st_mode) & _OTHER_USERS:
                return None
            return file.read(_MAX_LENGTH).strip() or None
    except (OSError, UnicodeDecodeError):
        return None


try:
    import fcntl
except ModuleNotFoundError:  # no such locks on this system: no server is registered, and users log in
    fcntl = None  # type: ignore[assignment]

_LOG: Final = logging.getLogger("horae")
_WILDCARD_ADDRESSES: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not listened on
_LOCALHOST: Final = ("127.0.0.1", "::1")
_PLAIN_PORT: Final = 80
_MAX_CHARACTERS: Final = 10_000
_FOLDER: Final = "servers"


class LocalServer(NamedTuple):
    """`store` is what `--store` takes, quoted for a shell; empty for a store that no other process can open.

    `has_console`: whether it serves the web console.
    """

    url: str
    token_file: Path
    store: str
    has_console: bool = False

    def read_token(self) -> str | None:
        return read_private_token(self.token_file)


@contextmanager
def register_server(server: LocalServer) -> Iterator[None]:
    """List the server under its loopback address while the block runs; without such an address, do nothing."""
    entry = _write(server)
    try:
        yield
    finally:
        if entry is not None:
            _remove(*entry)


def find_server(url: str) -> LocalServer | None:
    """Return this user's running server that listens on exactly this address; None: none is known."""
    for host, port in _addresses(url):
        server = _read(_path(host, port))
        if server is not None and server.url == _url(host, port):
            return server
    return None


def find_server_of(store: str) -> LocalServer | None:
    """Return a running server of this user on the store with this URL, one with a console first; None: none is known."""
    wanted, folder = store_argument(store), data_file().parent / _FOLDER
    entries = [_read(path) for path in sorted(folder.glob("*.json"))] if wanted else []
    found = [each for each in entries if each is not None and each.store == wanted]
    return max(found, key=lambda each: each.has_console, default=None)


def browser_address(url: str) -> str:
    """Return the address at which a browser on this machine reaches a server that listens at `url`."""
    parts = urlsplit(url)
    host = _WILDCARD_ADDRESSES.get(parts.hostname or "")
    return url if host is None else _url(host, parts.port or _PLAIN_PORT)


def _write(server: LocalServer) -> tuple[Path, IO[str]] | None:
    parts = urlsplit(server.url)
    host, port = parts.hostname or "", parts.port or _PLAIN_PORT
    host = _WILDCARD_ADDRESSES.get(host, host)
    if not (ip_address(host).is_loopback and fcntl is not None):
        return None
    path = _path(host, port)
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    entry = server._replace(url=_url(host, port))
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.unlink(missing_ok=True)
        file = os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8")
        fcntl.flock(file, fcntl.LOCK_EX)
        fields = {"url": entry.url, "token_file": str(entry.token_file), "store": entry.store}
        json.dump({**fields, "console": entry.has_console}, file)
        file.flush()
        temporary.replace(path)
    except OSError as error:
        _LOG.debug("the server %s is not listed for other commands: %s", entry.url, error)
        return None
    return path, file


def _remove(path: Path, file: IO[str]) -> None:
    """Remove the entry unless a later server has replaced it."""
    with file, suppress(OSError):
        if path.stat().st_ino == os.fstat(file.fileno()).st_ino:
            path.unlink()


def _read(path: Path) -> LocalServer | None:
    """Read an entry; None where it is missing, its server has ended, or another user could have written it."""
    try:
        # Where the system has no locks, no entry exists, and the file is not found.
        with path.open(encoding="utf-8") as file:
            info = os.fstat(file.fileno())
            if info.st_uid != os.getuid() or stat.S_IMODE(info.st_mode) != stat.S_IRUSR | stat.S_IWUSR:
                return None
            if not _is_locked(file):
                return None
            entry = json.loads(file.read(_MAX_CHARACTERS))
        # Servers of earlier versions write no `console`.
        return LocalServer(entry["url"], Path(entry["token_file"]), entry["store"], entry.get("console") is True)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None


def _is_locked(file: IO[str]) -> bool:
    """Whether the server that wrote this entry still runs: its lock ends with its process."""
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _addresses(url: str) -> list[tuple[str, int]]:
    """Return the loopback addresses that a URL may mean; none for `https:`, whose server is another program."""
    parts = urlsplit(url)
    if parts.scheme != "http" or parts.path.strip("/"):
        return []
    host, port = parts.hostname or "", parts.port or _PLAIN_PORT
    if host == "localhost":
        return [(each, port) for each in _LOCALHOST]
    try:
        address = ip_address(host)
    except ValueError:
        return []
    return [(str(address), port)] if address.is_loopback else []


def _url(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _path(host: str, port: int) -> Path:
    return data_file().parent / _FOLDER / f"{host.replace(':', '_')}-{port}.json"
