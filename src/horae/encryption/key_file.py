"""Key file: created once even by concurrent processes, readable by its owner only, rotated in place."""

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

_OTHERS_MODE: Final = 0o077
_NEXT_SUFFIX: Final = ".next"
_READ_FLAGS: Final = (
    os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
)
_CREATE_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class KeyFile:
    """Encrypts with the key in a file. Reads the file again when a value does not open, so that a rotation by another
    process needs no restart. During a rotation there are two files, and the next key encrypts.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._next_path = path.with_name(path.name + _NEXT_SUFFIX)
        self._cached_key: Key | None = None

    @property
    def origin(self) -> str:
        return str(self.path)

    @property
    def exists(self) -> bool:
        return self.path.exists() or self._next_path.exists()

    def seal(self, value: bytes, associated_data: bytes) -> bytes:
        """Encrypt; the first use creates the key file."""
        self._cached_key = self._load_current_key() or make_key(self.path)
        return self._cached_key.seal(value, associated_data)

    def opens_with_current_key(self, sealed: bytes, associated_data: bytes) -> bool:
        """Check with the current files, not with a cached key."""
        key = self._load_current_key()
        return key is not None and key.open(sealed, associated_data) is not None

    def _load_current_key(self) -> Key | None:
        return load_key(self._next_path) or load_key(self.path)

    def open(self, sealed: bytes, associated_data: bytes) -> bytes | None:
        """Decrypt; never creates a key, as a new one could open nothing."""
        for key in self._candidate_keys():
            value = key.open(sealed, associated_data)
            if value is not None:
                self._cached_key = key
                return value
        return None

    def _candidate_keys(self) -> Iterator[Key]:
        if self._cached_key is not None:
            yield self._cached_key
        for path in (self.path, self._next_path):
            key = load_key(path)
            if key is not None and key != self._cached_key:
                yield key

    # --- rotation ----------------------------------------------------------------------------------------------------

    def next_key(self) -> Key:
        """Return the next key, created if needed; an interrupted rotation continues with the same one."""
        return load_key(self._next_path) or make_key(self._next_path)

    def promote(self) -> None:
        """Replace the current key by the next one. Call it when all values are encrypted with the next key."""
        try:
            self._next_path.replace(self.path)
            _sync_folder(self.path.parent)
        except OSError as error:
            raise _refuse_unusable(self.path, error) from error

    def __repr__(self) -> str:
        return f"<KeyFile {self.path}>"


def load_key(path: Path) -> Key | None:
    """Return the key, None if there is no file. Refuses a file that other users may read, or with a wrong length."""
    try:
        with os.fdopen(os.open(path, _READ_FLAGS), "rb", buffering=0) as file:
            _check_file(path, os.fstat(file.fileno()))
            # Read one byte more than a key has, to notice a file that is too long.
            return Key(file.read(KEY_BYTES + 1) or b"", str(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _refuse_unusable(path, error) from error


def make_key(path: Path) -> Key:
    """Create a key file, synced to disk, and return its key; if another process was faster, return that key.

    The file gets its name when it is complete, by a hard link: unlike a rename, that never replaces an existing file.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(8).hex()}")
    try:
        try:
            _write(temporary, os.urandom(KEY_BYTES))
            with suppress(FileExistsError):
                os.link(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise _refuse_unusable(path, error) from error
    key = load_key(path)
    if key is None:
        raise refuse("key_file_unusable", path=path, why="it was removed again")
    return key


def _write(path: Path, content: bytes) -> None:
    with os.fdopen(os.open(path, _CREATE_FLAGS, 0o600), "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _check_file(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise refuse("key_file_unusable", path=path, why="it is not a regular file")
    if os.name == "posix" and status.st_mode & _OTHERS_MODE:
        mode = f"{stat.S_IMODE(status.st_mode):04o}"
        raise refuse("key_file_exposed", path=path, mode=mode, quoted=quote(str(path)))


def _sync_folder(folder: Path) -> None:
    """Sync the folder, which makes a new file name durable; only possible on POSIX."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _refuse_unusable(path: Path, error: OSError) -> Exception:
    return refuse("key_file_unusable", path=path, why=error.strerror or type(error).__name__)
