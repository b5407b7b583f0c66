"""The key in a file of its own: made once however many ask at the same time, readable by its owner alone, rotated in place."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Final

from .cipher import KEY_BYTES, Key
from .refusals import refuse

_OTHERS: Final = 0o077
_NEXT: Final = ".next"
_READ: Final = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_MAKE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class KeyFile:
    """The file is looked at again whenever a value does not open, so that a rotation elsewhere needs no restart.

    While a rotation goes on there are two files, and whatever is sealed is sealed with the next key.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._next = path.with_name(path.name + _NEXT)
        self._last: Key | None = None

    @property
    def origin(self) -> str:
        return str(self.path)

    @property
    def is_there(self) -> bool:
        return self.path.exists() or self._next.exists()

    def seal(self, value: bytes, about: bytes) -> bytes:
        """The first use makes the key."""
        self._last = self._sealing_key() or make_key(self.path)
        return self._last.seal(value, about)

    def will_open(self, sealed: bytes, about: bytes) -> bool:
        """As the files are at this moment, whatever was read before."""
        key = self._sealing_key()
        return key is not None and key.open(sealed, about) is not None

    def _sealing_key(self) -> Key | None:
        return load_key(self._next) or load_key(self.path)

    def open(self, sealed: bytes, about: bytes) -> bytes | None:
        """To open makes no key: a new one could open nothing."""
        for key in self._known():
            value = key.open(sealed, about)
            if value is not None:
                self._last = key
                return value
        return None

    def _known(self) -> Iterator[Key]:
        if self._last is not None:
            yield self._last
        for path in (self.path, self._next):
            key = load_key(path)
            if key is not None and key != self._last:
                yield key

    # --- rotation ----------------------------------------------------------------------------------------------------

    def next_key(self) -> Key:
        """The key that will take the place of this one; a rotation that was broken off goes on with the same."""
        return load_key(self._next) or make_key(self._next)

    def promote(self) -> None:
        """Everything is sealed with the next key: it is the key now, and the one before is gone."""
        try:
            self._next.replace(self.path)
            _sync_folder(self.path.parent)
        except OSError as error:
            raise _unusable(self.path, error) from error

    def __repr__(self) -> str:
        return f"<KeyFile {self.path}>"


def load_key(path: Path) -> Key | None:
    """The key, or None when there is no file. Others who may read it, and a wrong length, are refused."""
    try:
        with os.fdopen(os.open(path, _READ), "rb", buffering=0) as file:
            _check_file(path, os.fstat(file.fileno()))
            # One more than there may be: a longer file is no key either.
            return Key(file.read(KEY_BYTES + 1) or b"", str(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unusable(path, error) from error


def make_key(path: Path) -> Key:
    """A new key, on the disk before it is used; where somebody else was faster, theirs.

    The file appears under its name only when it is complete: a link, unlike a rename, never replaces what is there.
    """
    draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(8).hex()}")
    try:
        try:
            _write(draft, os.urandom(KEY_BYTES))
            with suppress(FileExistsError):
                os.link(draft, path)
        finally:
            draft.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise _unusable(path, error) from error
    made = load_key(path)
    if made is None:
        raise refuse("key_file_unusable", path=path, why="it was removed again")
    return made


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, _MAKE, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _check_file(path: Path, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise refuse("key_file_unusable", path=path, why="it is not a regular file")
    if os.name == "posix" and found.st_mode & _OTHERS:
        mode = f"{stat.S_IMODE(found.st_mode):04o}"
        raise refuse("key_file_exposed", path=path, mode=mode, quoted=quote(str(path)))


def _sync_folder(folder: Path) -> None:
    """A name is durable when its folder is; only POSIX can say so."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unusable(path: Path, error: OSError) -> Exception:
    return refuse("key_file_unusable", path=path, why=error.strerror or type(error).__name__)
