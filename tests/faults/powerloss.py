"""SQLite VFS that simulates power loss: unsynced writes may be lost, kept in part, or torn.

Every write also goes to the real file, so that SQLite's locks, shared memory and reads work. For each file the VFS has
an image of the synced content and the list of writes since the last sync. At a power loss both freeze, and
`write_survivors` writes the files that a machine would find afterwards.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Final, NamedTuple

import apsw

SECTOR: Final = 512
"""Bytes that a disk writes atomically."""
_DURABLE_SUFFIXES: Final = ("", "-journal", "-wal")
"""Files that survive a process; SQLite rebuilds the index of the write-ahead log."""


class Write(NamedTuple):
    """`data` written at `offset`, or a truncation there if `data` is None."""

    offset: int
    data: bytes | None


@dataclass(slots=True)
class Disk:
    """Durable state of one file: created by its first sync, deleted when the folder is synced."""

    durable: bytearray = field(default_factory=bytearray)
    pending: list[Write] = field(default_factory=list)
    exists: bool = False
    deleted: bool = False


class PowerLost(Exception):  # noqa: N818 - an event, not a defect
    """Raised after power loss: a machine without power acknowledges nothing."""


class Power:
    """Power supply that fails after `operations` file operations; `lying` makes every sync a no-op."""

    def __init__(self, operations: int | None = None, *, lying: bool = False) -> None:
        self.used = 0
        self.syncs: Counter[str] = Counter()
        self._lying = lying
        self._operations = operations
        self._disks: dict[str, Disk] = {}
        self._lock = Lock()

    def acknowledge(self) -> None:
        """Raise `PowerLost` if the power failed before the store's answer."""
        with self._lock:
            if self._is_off:
                raise PowerLost

    def write(self, path: str, written: Write) -> None:
        with self._lock:
            if self._use_power():
                if self._disk(path).deleted:
                    self._disks[path] = Disk()
                self._disk(path).pending.append(written)

    def sync(self, path: str) -> None:
        """Make pending writes durable; the first sync of a new file also syncs its folder, as SQLite does."""
        with self._lock:
            if self._use_power() and not self._lying:
                self.syncs[path] += 1
                disk = self._disk(path)
                for written in disk.pending:
                    _apply(disk.durable, written)
                disk.pending.clear()
                if not disk.exists:
                    disk.exists = True
                    self._disks = {name: each for name, each in self._disks.items() if not each.deleted}

    def delete(self, path: str) -> None:
        with self._lock:
            if self._use_power():
                self._disk(path).deleted = True

    def write_survivors(self, store: Path, into: Path, chance: random.Random) -> None:
        """Write the files as found after the power is back."""
        for suffix in _DURABLE_SUFFIXES:
            disk = self._disks.get(f"{store}{suffix}", Disk())
            left = bytearray(disk.durable)
            for written in _survivors(disk.pending, chance):
                _apply(left, written)
            gone = disk.deleted and chance.random() < 0.5
            if (disk.exists or left) and not gone:
                Path(f"{into}{suffix}").write_bytes(left)

    @property
    def _is_off(self) -> bool:
        return self._operations is not None and self.used >= self._operations

    def _use_power(self) -> bool:
        if self._is_off:
            return False
        self.used += 1
        return not self._is_off

    def _disk(self, path: str) -> Disk:
        return self._disks.setdefault(path, Disk())


def _survivors(pending: list[Write], chance: random.Random) -> list[Write]:
    """Choose the pending writes that reached the disk: none, a prefix with a torn last write, or a random subset."""
    kind = chance.choice(("none", "prefix", "subset"))
    if kind == "none" or not pending:
        return []
    if kind == "subset":
        return [written for written in pending if chance.random() < 0.5]
    written = pending[: chance.randrange(len(pending) + 1)]
    if written and written[-1].data is not None:
        sectors = chance.randrange(len(written[-1].data) // SECTOR + 1)
        written[-1] = Write(written[-1].offset, written[-1].data[: sectors * SECTOR])
    return written


def _apply(image: bytearray, written: Write) -> None:
    offset, data = written
    if data is None:
        del image[offset:]
        return
    if len(image) < offset:
        image.extend(bytes(offset - len(image)))
    image[offset : offset + len(data)] = data


class LossyFile(apsw.VFSFile):
    def __init__(self, name: str | apsw.URIFilename | None, flags: list[int], power: Power) -> None:
        super().__init__("", name, flags)
        self._path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        self._power = power

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802 - SQLite's own name
        self._power.write(self._path, Write(offset, bytes(data)))
        super().xWrite(data, offset)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._power.write(self._path, Write(newsize, None))
        super().xTruncate(newsize)

    def xSync(self, flags: int) -> None:  # noqa: N802, ARG002 - the real file is not synced
        self._power.sync(self._path)


class LossyVFS(apsw.VFS):
    def __init__(self, name: str, power: Power) -> None:
        super().__init__(name, "")
        self._power = power

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return LossyFile(name, flags, self._power)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802, FBT001
        self._power.delete(filename)
        super().xDelete(filename, syncdir)
