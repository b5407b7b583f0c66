"""Copies the files of another installation into the workspace of a group: regular files only, no link is followed or copied.

A file that exists at its place is not changed, so that copying again changes nothing.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

MAX_FILES: Final = 100_000
MAX_BYTES: Final = 4 * 1024 * 1024 * 1024
MAX_DEPTH: Final = 40
_PARTIAL: Final = ".horae-import"


class CopiedFiles(NamedTuple):
    """`known` exist at their places. `left` are links, pipes, devices and unreadable files; `over` are beyond the limits."""

    copied: int = 0
    known: int = 0
    left: int = 0
    over: int = 0

    def __add__(self, other: object) -> CopiedFiles:
        if not isinstance(other, CopiedFiles):
            return NotImplemented
        return CopiedFiles(*(mine + theirs for mine, theirs in zip(tuple(self), tuple(other), strict=True)))


def copy_files(source: Path, target: Path, *, skipped: Collection[str] = (), dry_run: bool = False) -> CopiedFiles:
    """Copy the files below a directory; `skipped` are names of entries directly in it. A missing source has none."""
    try:
        descriptor = _open_directory(source)
    except OSError:
        return CopiedFiles(left=int(os.path.lexists(source)))
    try:
        return _Copy(dry_run=dry_run).directory(descriptor, target, 0, skipped)
    finally:
        os.close(descriptor)


class _Copy:
    """One copy with its limits. Directories are opened without following links, one below the other."""

    def __init__(self, *, dry_run: bool) -> None:
        self._dry_run = dry_run
        self._files = 0
        self._bytes = 0

    def directory(self, source: int, target: Path, depth: int, skipped: Collection[str] = ()) -> CopiedFiles:
        counts = CopiedFiles()
        for name in sorted(os.listdir(source)):
            if name in skipped:
                continue
            try:
                mode = os.stat(name, dir_fd=source, follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode) and depth < MAX_DEPTH:
                    with _opened(name, source) as below:
                        counts += self.directory(below, target / name, depth + 1)
                elif stat.S_ISREG(mode):
                    counts += self._file(source, name, target)
                else:
                    counts += CopiedFiles(left=1)
            except OSError:
                counts += CopiedFiles(left=1)
        return counts

    def _file(self, source: int, name: str, target: Path) -> CopiedFiles:
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=source)
        with os.fdopen(descriptor, "rb") as file:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                return CopiedFiles(left=1)
            if self._files >= MAX_FILES or self._bytes + found.st_size > MAX_BYTES:
                return CopiedFiles(over=1)
            self._files, self._bytes = self._files + 1, self._bytes + found.st_size
            if os.path.lexists(target / name):
                return CopiedFiles(known=1)
            if not self._dry_run:
                _make_directory(target)
                partial = target / f"{name[:100]}{_PARTIAL}"
                try:
                    with _created(partial, found.st_mode) as copy:
                        shutil.copyfileobj(file, copy, 1024 * 1024)
                    partial.rename(target / name)
                finally:
                    partial.unlink(missing_ok=True)
        return CopiedFiles(copied=1)


def _make_directory(target: Path) -> None:
    """Make a directory and those above it; refuse one that is a link, which an agent may have made."""
    target.mkdir(mode=0o755, parents=True, exist_ok=True)
    if target.is_symlink():
        raise NotADirectoryError(str(target))


@contextmanager
def _created(path: Path, mode: int) -> Iterator[BinaryIO]:
    path.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, stat.S_IMODE(mode) & 0o755 | 0o600), "wb") as file:
        yield file


@contextmanager
def _opened(name: str, parent: int) -> Iterator[int]:
    descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _open_directory(path: Path) -> int:
    return os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
