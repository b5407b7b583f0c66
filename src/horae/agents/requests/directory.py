"""Directories that a container can write to, opened by descriptor so that no link in them leads the host elsewhere."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex
from typing import Final

_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_MOVED: Final = "00000000-"
"""Before every name of a quarantine, so that what could not be removed is the first to be tried again."""


class UnsafeFile(Exception):  # noqa: N818 - a property of the file, not a defect of the host
    """The file is not one that the host reads: a link, a device, a directory, too large, or with a second name."""


@contextmanager
def open_directory(root: Path, *parts: str) -> Iterator[int]:
    """Open a directory below `root` part by part; a link anywhere below raises `UnsafeFile`. Missing ones are made."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            inner = _open_part(descriptor, part)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _open_part(parent: int, name: str) -> int:
    with suppress(FileExistsError):
        os.mkdir(name, 0o755, dir_fd=parent)
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except OSError as error:
        raise UnsafeFile(f"{name} is not a directory: {error.strerror}") from None


def read_regular_file(name: str, directory: int, limit: int) -> bytes:
    """Return the content of a regular file with one name and at most `limit` bytes; raises `UnsafeFile` for any other."""
    try:
        descriptor = os.open(name, _READ, dir_fd=directory)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnsafeFile(f"not a readable file: {error.strerror}") from None
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnsafeFile("not a regular file")
        if status.st_nlink != 1:
            raise UnsafeFile("the file has another name")
        # One byte more than allowed: the file may grow while it is read.
        content = bytearray()
        while len(content) <= limit and (chunk := os.read(descriptor, limit + 1 - len(content))):
            content += chunk
        if len(content) > limit:
            raise UnsafeFile(f"longer than {limit} bytes")
        return bytes(content)
    finally:
        os.close(descriptor)


def write_file(name: str, content: bytes, directory: int, *, mode: int = 0o644) -> None:
    """Write a file whole or not at all: a reader sees the old content or the new. A link of that name is replaced."""
    temporary = f".{token_hex(8)}.tmp"
    descriptor = os.open(temporary, _CREATE, mode, dir_fd=directory)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            # The umask of the host must not hide an answer from the user of the container.
            os.fchmod(file.fileno(), mode)
        os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary, dir_fd=directory)
        raise


def remove_tree(name: str, directory: int) -> None:
    """Remove a file, a link or a directory with its content; no link is followed, and what cannot be removed stays.

    Inner directories are first moved up, because an agent can nest them deeper than a recursion or open files allow.
    """
    waiting = [name]
    while waiting:
        each = waiting.pop()
        try:
            opened = os.open(each, _DIRECTORY, dir_fd=directory)
        except OSError:
            with suppress(OSError):
                os.unlink(each, dir_fd=directory)
            continue
        try:
            for inner in os.listdir(opened):  # noqa: PTH208 - by its descriptor
                try:
                    os.unlink(inner, dir_fd=opened)
                except IsADirectoryError:
                    moved = f"{_MOVED}{token_hex(8)}"
                    with suppress(OSError):
                        os.rename(inner, moved, src_dir_fd=opened, dst_dir_fd=directory)
                        waiting.append(moved)
                except OSError:
                    continue
        finally:
            os.close(opened)
        with suppress(OSError):
            os.rmdir(each, dir_fd=directory)
