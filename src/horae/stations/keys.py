"""CURVE key pairs in files: made on first use, readable by their owner only; the secret half is never shown."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final, final

from ..model.stations.station import is_station_key
from .refusals import refuse

SERVER_KEY_FILE: Final = "server.key"
_HEADER: Final = "# CURVE key pair of Horae. Keep it secret: the second line is the secret key.\n"
_MAX_FILE_BYTES: Final = 1_000
_OTHERS: Final = 0o077
_READ_FLAGS: Final = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_CREATE_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)


@final
class KeyPair:
    """`public` may be shown; the representation hides the other half."""

    __slots__ = ("public", "secret")

    def __init__(self, public: str, secret: str) -> None:
        self.public = public
        self.secret = secret

    def __repr__(self) -> str:
        return f"<KeyPair {self.public}>"


def make_key_pair() -> KeyPair:
    try:
        import zmq  # noqa: PLC0415 - an optional library
    except ImportError:
        raise refuse("stations_library_missing") from None
    public, secret = zmq.curve_keypair()
    return KeyPair(public.decode(), secret.decode())


def load_or_make_keys(path: Path) -> KeyPair:
    """Return the key pair of the file, made now if there is none; of several processes that make it, the first one wins.

    A file that other users may read is refused.
    """
    return _load(path) or _make(path)


def _load(path: Path) -> KeyPair | None:
    try:
        with os.fdopen(os.open(path, _READ_FLAGS), "rb") as file:
            _check_file(path, os.fstat(file.fileno()))
            lines = file.read(_MAX_FILE_BYTES).decode("ascii", "replace").splitlines()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise refuse("station_key_file", path=path, problem=error.strerror or "it cannot be read") from error
    keys = [line.strip() for line in lines if not line.startswith("# ")]
    if len(keys) != 2 or not all(map(is_station_key, keys)):
        raise refuse("station_key_file", path=path, problem="it has no key pair")
    return KeyPair(*keys)


def _make(path: Path) -> KeyPair:
    pair = make_key_pair()
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(8).hex()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(temporary, _CREATE_FLAGS, 0o600), "w", encoding="ascii") as file:
                file.write(f"{_HEADER}{pair.public}\n{pair.secret}\n")
                file.flush()
                os.fsync(file.fileno())
            # A hard link never replaces the file of a process that was faster.
            with suppress(FileExistsError):
                os.link(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise refuse("station_key_file", path=path, problem=error.strerror or "it cannot be written") from error
    made = _load(path)
    if made is None:
        raise refuse("station_key_file", path=path, problem="it disappeared")
    return made


def _check_file(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise refuse("station_key_file", path=path, problem="it is not a regular file")
    if os.name == "posix" and status.st_mode & _OTHERS:
        raise refuse("station_key_file", path=path, problem="other users can read it")
